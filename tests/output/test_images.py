# SPDX-License-Identifier: BSD-3-Clause
"""Images: which are drawn, and what is said when they cannot be."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOImage import vtkPNGReader

import perfield
import twin
from perfield.output import images
from perfield.output.images import ImagesError, draw_images, plan_images
from perfield.output.pictures import Pictures
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.topology_picture import topology, topology_scene

RANGES = {
    "geometry": {name: [0, 1] for name in ("rank", "compute_time_s", "solve_time_s", "sent_count_to_3", "T")},
    "messages": {name: [0, 1] for name in ("source", "target", "sent_bytes")},
    "topology": {
        name: [0, 1]
        for name in ("rank", "compute_time_s", "solve_time_s", "source", "node_id", "topology_type")
    },
}
DESCRIPTION = {
    "steps": [{"frame": n, "label": n, "shown_at": n / 10} for n in (0, 5, 9)],
    "regions": ["never", "solve"],
    "focus": [3],
    "ranges": RANGES,
    "usual_peaks": {},
}


def files(planned):
    """Names of all files of some images."""
    return [name for image in planned for name in image["files"]]


def test_by_default_partition_times_messages_machine_and_focus_are_drawn():
    planned = plan_images(DESCRIPTION, None, [5])
    assert files(planned) == [
        "geometry_rank.png",
        "topology_rank.png",
        "geometry_compute_time_s_step_000005.png",
        "topology_compute_time_s_step_000005.png",
        "geometry_solve_time_s_step_000005.png",
        "topology_solve_time_s_step_000005.png",
        "messages_source_step_000005.png",
        "topology_source_step_000005.png",
        "messages_target_step_000005.png",
        "topology_topology_type.png",
        "topology_node_id.png",
        "geometry_sent_count_to_3_step_000005.png",
    ]


def test_fields_are_drawn_in_each_step_that_was_chosen():
    assert files(plan_images(DESCRIPTION, ["T", "target"], [0, 9])) == [
        "geometry_T_step_000000.png",
        "geometry_T_step_000009.png",
        "messages_target_step_000000.png",
        "messages_target_step_000009.png",
    ]


def test_without_a_mesh_only_the_machine_is_drawn():
    planned = plan_images({**DESCRIPTION, "ranges": {"topology": RANGES["topology"]}}, None, [0])
    assert {image["kind"] for image in planned} == {"topology"}


def test_without_a_display_the_package_to_install_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(images.shutil, "which", lambda name: None)
    with pytest.raises(ImagesError, match="Debian package xvfb"):
        draw_images(tmp_path, plan_images(DESCRIPTION, None, [0]))


def test_without_paraview_the_package_to_install_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(images.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImagesError, match="Debian package python3-paraview"):
        draw_images(tmp_path, [])


def test_images_that_paraview_did_not_draw_are_counted_and_its_words_passed_on(tmp_path):
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    (tmp_path / "pictures.json").write_text("{}")
    with pytest.raises(ImagesError, match=r"(?s)drew 0 of 1 images and ended with 1;.*KeyError"):
        draw_images(tmp_path, plan_images(DESCRIPTION, ["T"], [0]))


def pixels(path):
    """(height, width, 3) uint8 of an image."""
    reader = vtkPNGReader()
    reader.SetFileName(str(path))
    reader.Update()
    width, height, _ = reader.GetOutput().GetDimensions()
    return vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars())[:, :3].reshape(height, width, 3)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Images of a run of 4 ranks on 2 hosts; rank 2 did not measure `solve` in the last step."""
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")

    def absent(rank, step, entry):
        if (rank, step) == (2, 2):
            entry["regions"] = [row for row in entry["regions"] if row["id"] != 1]

    path = tmp_path_factory.mktemp("drawn")
    twin.write_run(path / "run", ranks=4, steps=3, hosts=("a", "b"), change_step=absent)
    run = perfield.open(path / "run")
    scene = topology_scene(run)
    options = GeometryOptions(pieces=choose_pieces(run), focus=[1])
    pictures = Pictures(run, [0, 2], path, options, lambda run, frame: topology(run, frame, scene))
    pictures.write()
    return draw_images(path, plan_images(pictures.description, None, [0, 2]))


def test_every_image_is_white_with_something_in_it_and_nothing_cut_off(drawn):
    assert len(drawn) == 26
    for path in drawn:
        image = pixels(path)
        assert image.shape == (1000, 1600, 3)
        background = (image == 255).all(axis=2)
        assert 0.3 < background.mean() < 0.99, path.name
        border = np.concatenate([background[0], background[-1], background[:, 0], background[:, -1]])
        assert border.all(), f"{path.name} reaches its border"


def test_a_rank_without_a_value_is_grey_in_its_step_and_not_in_another(drawn):
    def grey(step):
        (path,) = [path for path in drawn if path.name == f"geometry_solve_time_s_step_00000{step}.png"]
        image = pixels(path)[100:, :1200].astype(int)  # without title and legend
        low, high = image.min(axis=2), image.max(axis=2)
        return ((high - low < 8) & (high < 200) & (low > 90)).mean()

    assert grey(2) > 0.02
    assert grey(0) < 0.005


def test_colours_mean_the_same_in_all_steps(drawn):
    legends = [pixels(path)[200:700, 1310:1345] for path in drawn if "geometry_compute_time_s" in path.name]
    assert len(legends) == 2
    assert (legends[0] == legends[1]).all()


def test_displays_keep_away_from_those_that_mpi_programs_look_at_and_from_each_other():
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    with images.display() as one, images.display() as two:
        assert one != two
        assert all(int(name.removeprefix(":")) >= 10 for name in (one, two))
