# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of a run on disk: their content, their size, and the estimate of the size."""

from __future__ import annotations

import json

import numpy as np
import pytest
from known_runs import fake_run

import perfield
from perfield.output.picture_series import PictureSeries
from perfield.output.steps import choose_steps
from perfield.output.survey import survey
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.topology_picture import topology_scene
from twins import twin


def pictures_of(run, directory, steps=None, **options):
    """The geometry pictures of a run, by default of the default steps."""
    geometry = GeometryOptions(pieces=choose_pieces(run), **options)
    return PictureSeries(run, steps or choose_steps(run), directory, geometry, None)


def both_pictures(run, directory, steps):
    """Geometry and topology of a run."""
    geometry = GeometryOptions(pieces=choose_pieces(run))
    return PictureSeries(run, steps, directory, geometry, topology_scene(run))


def bytes_in(directory):
    """Sum of the sizes of all files."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def test_series_and_description_are_written(tmp_path):
    twin.write_run(tmp_path / "run", ranks=4, steps=3, hosts=("a", "b"))
    written = both_pictures(perfield.open(tmp_path / "run"), tmp_path / "pictures", [0, 2]).write()
    assert [path.name for path in written] == ["geometry.pvd", "messages.pvd", "topology.pvd"]
    description = json.loads((tmp_path / "pictures/pictures.json").read_text())
    assert description["steps"] == [
        {
            **{"frame": 0, "title": "step 1, time 0.5", "shown_at": 0.5, "mesh": 0},
            **{"mesh_age": "", "fields_age": "", "fields_of": "fields of step 1"},
        },
        {
            **{"frame": 2, "title": "step 3, time 1.5, the slowest to compute", "shown_at": 1.5},
            **{"mesh": 0, "mesh_age": "", "fields_age": "", "fields_of": "fields of step 3"},
        },
    ]
    assert description["regions"] == ["solve", "exchange"]
    shortest, longest = twin.solve_ns(0, 0) * 1e-9, twin.solve_ns(3, 2) * 1e-9
    for layer in ("geometry", "topology/measurements"):
        about = description["layers"][layer]["arrays"]["solve_time_s"]
        assert about["range"] == pytest.approx([shortest, longest])
        assert (about["title"], about["unit"]) == ("solve time", "s")
    assert description["layers"]["messages"]["arrays"]["higher_rank"]["range"] == [1, 3]
    assert description["layers"]["geometry"]["bounds"] == pytest.approx([0, 1, 0, 1, 0, 1])
    assert description["own_fields"] == {"temperature": "temperature"}


@pytest.mark.parametrize("kind", ["image", "structured", "unstructured"])
@pytest.mark.parametrize("ranks", [1, 40])
def test_estimate_is_within_a_fifth_of_written_bytes(tmp_path, kind, ranks):
    run = fake_run.FakeRun(tmp_path, ranks=ranks, steps=6, kind=kind, cells=8)
    for rank in range(ranks):
        noise = np.random.default_rng(rank).random(9**3)
        run.own_fields[rank] = {(0, "temperature"): fake_run.FakeField(noise)}
    pictures = pictures_of(run, tmp_path / "pictures")
    expected = pictures.estimate()
    pictures.write()
    assert expected == pytest.approx(bytes_in(tmp_path / "pictures"), rel=0.2)


def test_estimate_counts_the_ranks_once(tmp_path):
    twin.write_run(tmp_path / "run", ranks=16, steps=12, hosts=("a", "b"))
    run = perfield.open(tmp_path / "run")
    pictures = both_pictures(run, tmp_path / "pictures", list(range(12)))
    expected = pictures.estimate()
    pictures.write()
    assert expected == pytest.approx(bytes_in(tmp_path / "pictures"), rel=0.2)
    assert len(list((tmp_path / "pictures").rglob("ranks.vtp"))) == 1


def test_estimate_leaves_no_files(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2)
    pictures_of(run, tmp_path / "pictures").estimate()
    assert not (tmp_path / "pictures").exists()


def test_longer_run_needs_no_more_bytes_for_its_mesh(tmp_path):
    sizes = {}
    for steps in (20, 40):
        run = fake_run.FakeRun(tmp_path, ranks=4, steps=steps, kind="unstructured", cells=10)
        pictures_of(run, tmp_path / f"{steps}").write()
        sizes[steps] = bytes_in(tmp_path / f"{steps}/geometry")
    assert sizes[40] == pytest.approx(sizes[20], rel=0.05)


def test_regular_mesh_writes_no_coordinates(tmp_path):
    sizes = {}
    for kind in ("image", "unstructured"):
        run = fake_run.FakeRun(tmp_path, ranks=2, steps=4, kind=kind, cells=20)
        pictures_of(run, tmp_path / kind, steps=[0, 1, 2, 3], fields=["solve_time_s"]).write()
        sizes[kind] = bytes_in(tmp_path / kind / "geometry")
    assert sizes["image"] < sizes["unstructured"] / 5


def test_frame_before_the_first_mesh_is_empty(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=3)
    run.frame(0).mesh_version[:] = 0
    pictures_of(run, tmp_path / "pictures").write()
    steps = sorted((tmp_path / "pictures/geometry").glob("*.vtm"))
    assert ["<DataSet " in path.read_text() for path in steps] == [False, True, True]


def test_sampled_frames_are_titled_with_step_and_frame(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, steps=3)
    for frame in run.frames():
        frame.index *= 10
        frame.time = np.nan
    pictures = pictures_of(run, tmp_path / "pictures")
    pictures.write()
    assert pictures.shown_at == "step"
    steps = pictures.description["steps"]
    assert [step["shown_at"] for step in steps] == [0, 10, 20]
    assert [step["title"] for step in steps] == [
        "step 0",
        "step 10, a typical step",
        "step 20, the slowest to compute",
    ]


def slowed(regions, seconds):
    """A change_step that makes a rank spend seconds(rank, step) in the regions with these ids."""

    def change(rank, step, entry):
        for row in entry["regions"]:
            if row["id"] in regions:
                spent = round(1e9 * seconds(rank, step))
                row.update(dict.fromkeys(("inclusive_sum_ns", "inclusive_max_ns"), spent))
                row.update(dict.fromkeys(("self_sum_ns", "self_max_ns"), spent))

    return change


def regions_of(path, steps, change):
    """The order of regions in pictures.json, for a run of 4 ranks with regions solve (1) and exchange (2)."""
    twin.write_run(path / "run", ranks=4, steps=steps, change_step=change)
    run = perfield.open(path / "run")
    return survey(run).regions


def test_regions_with_imbalance_come_first(tmp_path):
    assert regions_of(tmp_path, 2, slowed([2], lambda rank, step: 1.0)) == ["solve", "exchange"]


def test_regions_are_ordered_by_what_balancing_would_save_in_all_steps(tmp_path):
    """`solve` is 1.5 ms longer than the mean in each of 5 steps."""
    for seconds, first in ((0.009, "solve"), (0.011, "exchange")):
        spike = slowed([2], lambda rank, step, most=seconds: most if (rank, step) == (0, 0) else 1e-4)
        assert regions_of(tmp_path / first, 5, spike)[0] == first


def test_changed_mesh_gets_a_number_and_bounds_span_all_steps(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, steps=3, cells=1)
    versions = {1: run.meshes[0], 2: [fake_run.cube(2, "image", cells=1)]}
    run.mesh = lambda rank, version: versions[version]
    for frame, version in zip(run.frames(), (1, 2, 2)):
        frame.mesh_version[0] = version
    pictures = pictures_of(run, tmp_path / "pictures")
    pictures.write()
    assert [step["mesh"] for step in pictures.description["steps"]] == [0, 1, 1]
    assert pictures.description["layers"]["geometry"]["bounds"] == pytest.approx([0, 3, 0, 1, 0, 1])


def test_frame_of_a_run_without_steps_is_not_titled_step(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, steps=1)
    run.frame(0).kind = "whole"
    pictures = pictures_of(run, tmp_path / "pictures")
    pictures.write()
    assert [step["title"] for step in pictures.description["steps"]] == ["from start to end"]


def test_familiar_own_fields_come_first(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, cells=1)
    values = fake_run.FakeField(np.arange(8.0))
    run.own_fields[0] = {(0, name): values for name in ("density", "alpha.water", "T", "phi")}
    pictures = pictures_of(run, tmp_path / "pictures")
    pictures.write()
    assert list(pictures.description["own_fields"]) == ["T", "alpha_water", "density", "phi"]
    assert pictures.description["layers"]["geometry"]["arrays"]["alpha_water"]["title"] == "alpha.water"


def test_output_steps_are_titled_so(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=5, cells=1)
    for frame in run.frames():
        frame.values["io_write_bytes"] = np.full(2, 1e6 if frame.index == 3 else 0.0)
    pictures = pictures_of(run, tmp_path / "pictures")
    pictures.write()
    assert [step["title"].partition(", time ")[2] for step in pictures.description["steps"]] == [
        *("0", "0.5", "1, a typical step", "1.5, writes output", "2, the slowest to compute"),
    ]


def test_older_mesh_and_fields_are_dated(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=4, cells=1)
    stored = {0: -1, 1: -1, 2: 1, 3: 3}  # the newest field at each step
    run.fields = lambda rank, index: {(0, "T"): fake_run.FakeField(np.arange(8.0), index=stored[index])}
    for frame in run.frames():
        frame.mesh_version[1] = 1 + (frame.index >= 2)
    pictures = pictures_of(run, tmp_path / "pictures")
    pictures.write()
    steps = pictures.description["steps"]
    assert [step["mesh_age"] for step in steps] == ["", "mesh of step 0", "", "mesh of step 20"]
    ages = ["fields of set-up", "fields of set-up", "fields of step 10", ""]
    assert [step["fields_age"] for step in steps] == ages


def test_mesh_that_never_changes_has_no_age(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=3, cells=1)
    pictures = pictures_of(run, tmp_path / "pictures")
    pictures.write()
    assert [step["mesh_age"] for step in pictures.description["steps"]] == ["", "", ""]


def test_each_quantity_has_a_scale_of_its_own(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=3, cells=1)
    for frame in run.frames():
        frame.values["compute_time_s"] = np.array([0.9, 1.0])
        frame.values["mpi_time_s"] = np.array([0.02, 0.01])
    pictures = pictures_of(run, tmp_path / "pictures")
    pictures.write()
    arrays = pictures.description["layers"]["geometry"]["arrays"]
    for ending in ("", "_mean", "_p95", "_maximum"):
        assert arrays[f"compute_time_s{ending}"]["scale"] == (0.0, 1.0)
        assert arrays[f"mpi_time_s{ending}"]["scale"] == (0.0, 0.02)
    assert arrays["compute_time_s_mean"]["title"] == "compute time: mean of 3 steps"
    assert arrays["compute_time_imbalance"]["unit"] == ""


def test_steps_beyond_the_scale_are_noted_and_get_their_own_if_nothing_else_is_seen(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=6, cells=1)
    for frame in run.frames():
        frame.values["compute_time_s"] = np.array([0.02, 0.028])
    run.frame(2).values["compute_time_s"][1] = 0.3
    run.frame(4).values["compute_time_s"][:] = 0.338, 0.2
    pictures = pictures_of(run, tmp_path / "pictures")
    pictures.write()
    about = pictures.description["layers"]["geometry"]["arrays"]["compute_time_s"]
    assert about["scale"] == (0.0, 0.03)
    assert about["beyond"] == {
        "2": {"peak": 0.3, "scale": None},
        "4": {"peak": 0.338, "scale": (0.0, 0.4)},
    }


def test_values_over_steps_are_on_the_mesh_of_every_step(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=2, steps=3, cells=1)
    pictures = pictures_of(run, tmp_path / "pictures", steps=[1], fields=["rank"])
    pictures.write()
    arrays = pictures.description["layers"]["geometry"]["arrays"]
    assert arrays["compute_time_s_mean"]["range"] == pytest.approx([1.1, 1.2])
    assert pictures.description["over_steps"]["compute_time_s_mean"] == ["compute_time_s", "mean"]


def test_pieces_on_disk_are_dated_by_the_time_that_was_written(tmp_path):
    run = fake_run.FakeRun(tmp_path, ranks=1, steps=3, cells=1)
    pieces = choose_pieces(run)
    pieces.older_times = lambda frame: (None, 0.5) if frame.time > 0.5 else (None, None)
    options = GeometryOptions(pieces=pieces)
    pictures = PictureSeries(run, [0, 1, 2], tmp_path / "pictures", options, None)
    pictures.write()
    ages = [(step["mesh_age"], step["fields_age"]) for step in pictures.description["steps"]]
    assert ages == [("", ""), ("", ""), ("", "fields of time 0.5")]
