# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of a run on disk: what they hold, how large they are, and that the estimate knows it."""

from __future__ import annotations

import json

import fake_run
import numpy as np
import pytest

import perfield
import twin
from perfield.output.pictures import Pictures, human_bytes
from perfield.output.steps import choose_steps
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.topology_picture import topology, topology_scene


def pictures_of(run, directory, steps=None, **options):
    """The geometry pictures of a run, default steps."""
    geometry = GeometryOptions(pieces=choose_pieces(run), **options)
    return Pictures(run, steps or choose_steps(run), directory, geometry, None)


def both_pictures(run, directory, steps):
    """Geometry and topology of a run."""
    scene = topology_scene(run)
    geometry = GeometryOptions(pieces=choose_pieces(run))
    return Pictures(run, steps, directory, geometry, lambda run, frame: topology(run, frame, scene))


def bytes_in(directory):
    """Sum of the sizes of all files."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def test_all_series_and_their_description_are_written(tmp_path):
    twin.write_run(tmp_path / "run", ranks=4, steps=3, hosts=("a", "b"))
    written = both_pictures(perfield.open(tmp_path / "run"), tmp_path / "pictures", [0, 2]).write()
    assert [path.name for path in written] == ["geometry.pvd", "messages.pvd", "topology.pvd"]
    description = json.loads((tmp_path / "pictures/pictures.json").read_text())
    assert description["steps"] == [
        {"frame": 0, "label": 1, "shown_at": 0.5},
        {"frame": 2, "label": 3, "shown_at": 1.5},
    ]
    assert description["regions"] == ["solve", "exchange"]
    shortest, longest = twin.solve_ns(0, 0) * 1e-9, twin.solve_ns(3, 2) * 1e-9
    for series in ("geometry", "topology"):
        assert description["ranges"][series]["solve_time_s"] == pytest.approx([shortest, longest])
    assert description["ranges"]["messages"]["source"] == [0, 3]


@pytest.mark.parametrize("kind", ["image", "structured", "unstructured"])
@pytest.mark.parametrize("ranks", [1, 40])
def test_the_estimate_is_within_a_fifth_of_what_is_written(tmp_path, kind, ranks):
    run = fake_run.FakeRun(tmp_path, ranks=ranks, steps=6, kind=kind, cells=8)
    for rank in range(ranks):
        noise = np.random.default_rng(rank).random(9**3)
        run.own_fields[rank] = {(0, "temperature"): fake_run.FakeField(noise)}
    pictures = pictures_of(run, tmp_path / "pictures")
    expected = pictures.estimate()
    pictures.write()
    assert expected == pytest.approx(bytes_in(tmp_path / "pictures"), rel=0.2)


def test_the_estimate_knows_that_the_machine_is_written_once(tmp_path):
    twin.write_run(tmp_path / "run", ranks=16, steps=12, hosts=("a", "b"))
    run = perfield.open(tmp_path / "run")
    pictures = both_pictures(run, tmp_path / "pictures", list(range(12)))
    expected = pictures.estimate()
    pictures.write()
    assert expected == pytest.approx(bytes_in(tmp_path / "pictures"), rel=0.2)
    assert len(list((tmp_path / "pictures").rglob("machine.vtp"))) == 1


def test_the_estimate_leaves_nothing_behind(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    pictures_of(run, tmp_path / "pictures").estimate()
    assert not (tmp_path / "pictures").exists()


def test_doubling_the_steps_of_a_run_does_not_double_the_bytes_of_its_mesh(tmp_path):
    sizes = {}
    for steps in (20, 40):
        run = fake_run.FakeRun(tmp_path, ranks=4, steps=steps, kind="unstructured", cells=10)
        pictures_of(run, tmp_path / f"{steps}").write()
        sizes[steps] = bytes_in(tmp_path / f"{steps}/geometry")
    assert sizes[40] == pytest.approx(sizes[20], rel=0.05)


def test_a_step_of_a_regular_mesh_costs_values_and_no_coordinates(tmp_path):
    sizes = {}
    for kind in ("image", "unstructured"):
        run = fake_run.FakeRun(tmp_path, ranks=2, steps=4, kind=kind, cells=20)
        pictures_of(run, tmp_path / kind, steps=[0, 1, 2, 3], fields=["solve_time_s"]).write()
        sizes[kind] = bytes_in(tmp_path / kind / "geometry")
    assert sizes["image"] < sizes["unstructured"] / 5


def test_a_frame_before_the_first_mesh_is_an_empty_step(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=3)
    run.frame(0).mesh_version[:] = 0
    pictures_of(run, tmp_path / "pictures").write()
    steps = sorted((tmp_path / "pictures/geometry").glob("*.vtm"))
    assert ["<DataSet " in path.read_text() for path in steps] == [False, True, True]


def test_frames_that_stand_for_one_step_in_many_are_named_by_their_place(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, steps=3)
    for frame in run.frames():
        frame.index *= 10
        frame.time = np.nan
    pictures = pictures_of(run, tmp_path / "pictures")
    pictures.write()
    assert pictures.shown_at == "step"
    assert [step["shown_at"] for step in pictures.description["steps"]] == [0, 10, 20]


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1234567, "1.2 MB"), (2.5e13, "25.0 TB")]
)
def test_bytes_are_told_in_units_for_people(number, text):
    assert human_bytes(number) == text


def test_regions_in_which_the_ranks_differ_come_first(tmp_path):
    def even_and_uneven(rank, step, entry):
        for row in entry["regions"]:
            if row["id"] == 2:  # longer than any other, but the same everywhere
                row.update(dict.fromkeys(("inclusive_sum_ns", "inclusive_max_ns"), 10**9))
                row.update(dict.fromkeys(("self_sum_ns", "self_max_ns"), 10**9))

    twin.write_run(tmp_path / "run", ranks=4, steps=2, change_step=even_and_uneven)
    run = perfield.open(tmp_path / "run")
    names = [region.field for region in run.regions]
    pictures = Pictures(run, [0, 1], tmp_path, GeometryOptions(pieces=choose_pieces(run)), None)
    pictures.write()
    assert pictures.description["regions"][0] == "solve"
    assert set(pictures.description["regions"]) == set(names)
