# SPDX-License-Identifier: BSD-3-Clause
"""Images: their content, and the messages if they cannot be drawn."""

from __future__ import annotations

import contextlib
import shutil
import socket

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOImage import vtkPNGReader

import perfield
from perfield.catalyst_scripts.owned_folder import OwnedFolder
from perfield.output import images
from perfield.output.image_plan import plan_images
from perfield.output.images import ImagesError, divided, draw_images
from perfield.output.picture_series import PictureSeries
from perfield.pictures.geometry_picture import GeometryOptions
from perfield.pictures.pieces import choose_pieces
from perfield.pictures.topology_picture import topology_scene
from twins import twin

LEGEND = slice(144, 504), slice(1048, 1076)  # its colours
IMAGE = {
    **{"layer": "geometry", "field": "T", "focus": None, "static": True},
    **{"steps": [{"shown_at": 0.0}], "files": ["geometry_T.png"]},
}


def test_missing_display_names_the_package(tmp_path, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(images.shutil, "which", lambda name: None)
    with pytest.raises(ImagesError, match="Debian package xvfb"):
        draw_images(tmp_path, [IMAGE])


def test_display_without_a_server_is_reported_before_anything_draws(tmp_path, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":77")
    monkeypatch.setattr(images.shutil, "which", lambda name: None)
    with pytest.raises(ImagesError, match="no X server answers at DISPLAY=:77"):
        draw_images(tmp_path, [IMAGE])


def test_vtk_that_draws_in_memory_needs_no_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(images.shutil, "which", lambda name: None)
    monkeypatch.setattr(images, "window_in_memory", lambda: "vtkOSOpenGLRenderWindow")
    assert images.check_drawing() == "by OSMesa"
    with images.where_to_draw() as variables:
        assert variables == {"VTK_DEFAULT_OPENGL_WINDOW": "vtkOSOpenGLRenderWindow"}


def test_missing_vtk_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(images.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImagesError, match="Debian package python3-paraview"):
        draw_images(tmp_path, [])


def test_failed_images_are_counted_and_the_error_is_shown(tmp_path):
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    (tmp_path / "pictures.json").write_text("no JSON")
    with pytest.raises(
        ImagesError, match=r"(?s)drew 0 of 1 images and ended with 1;.*pictures.json is not JSON"
    ):
        draw_images(tmp_path, [IMAGE])


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
    options = GeometryOptions(pieces=choose_pieces(run), focus=[1])
    path = path / "pictures"
    pictures = PictureSeries(run, [0, 2], path, options, topology_scene(run))
    pictures.write()
    OwnedFolder(path / "images").write("99_geometry_old.png", "old")
    for name in ("98_geometry_old.png", "mine.png"):
        (path / "images" / name).write_text("the user's")
    counted = []
    (path.parent / "paraview.py").write_text("raise ImportError('images need VTK alone')")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(path.parent))
        planned = [image for image in plan_images(pictures.description, None, [0, 2]) if "layer" in image]
        drawn = draw_images(path, planned, lambda: counted.append(1))
    assert len(counted) == len(drawn)
    return drawn


def test_images_of_an_earlier_call_are_removed_and_no_others(drawn):
    names = {path.name for path in drawn[0].parent.glob("*.png")}
    assert names == {path.name for path in drawn} | {"98_geometry_old.png", "mine.png"}


def test_images_are_divided_by_layer_and_step():
    steps = [{"frame": 0, "shown_at": 0.0}, {"frame": 5, "shown_at": 2.5}]
    planned = [
        {"layer": layer, "steps": at, "files": [f"{layer}_{step['frame']}" for step in at]}
        for layer, at in (("b", steps), ("a", steps), ("b", steps[:1]), ("a", steps[1:]))
    ]
    assert divided(planned, 1) == [[(1, 0), (1, 1), (3, 0), (0, 0), (2, 0), (0, 1)]]
    assert divided(planned, 2) == [[(1, 0), (1, 1), (3, 0)], [(0, 0), (2, 0), (0, 1)]]
    assert divided([], 2) == [[]]


@pytest.mark.parametrize(
    ("n_images", "cores", "load", "expected"),
    [(40, 2, 0.1, 2), (40, 2, 1.0, 1), (40, 1, 0.0, 1), (4, 8, 0, 1)],
)
def test_two_processes_draw_where_a_core_is_free(monkeypatch, n_images, cores, load, expected):
    monkeypatch.setattr(images.os, "sched_getaffinity", lambda pid: set(range(cores)))
    monkeypatch.setattr(images.os, "getloadavg", lambda: (load, load, load))
    assert images.processes(n_images) == expected


def test_images_are_white_not_empty_and_not_cut_off(drawn):
    assert len(drawn) == 22
    for path in drawn:
        image = pixels(path)
        assert image.shape == (720, 1280, 3)
        background = (image == 255).all(axis=2)
        assert 0.3 < background.mean() < 0.99, path.name
        border = np.concatenate([background[0], background[-1], background[:, 0], background[:, -1]])
        assert border.all(), f"{path.name} reaches its border"


def test_absent_value_is_grey_only_in_its_step(drawn):
    def grey(step):
        (path,) = [
            path
            for path in drawn
            if path.name.endswith(f"geometry_solve_compute_time_s_frame_00000{step}.png")
        ]
        image = pixels(path)[72:, :960].astype(int)  # without title and legend
        low, high = image.min(axis=2), image.max(axis=2)
        return ((high - low < 8) & (high < 200) & (low > 90)).mean()

    assert grey(2) > 0.02
    assert grey(0) < 0.01  # edges of pieces


def test_legend_is_the_same_in_all_steps(drawn):
    legends = [pixels(path)[LEGEND] for path in drawn if "geometry_compute_time_s_frame" in path.name]
    assert len(legends) == 2
    assert (legends[0] == legends[1]).all()


def test_both_pictures_have_the_same_legend_with_numbers(drawn):
    names = {f"{of}_compute_time_s_frame_000000.png" for of in ("geometry", "topology")}
    mesh, machine = (pixels(path) for path in drawn if path.name[3:] in names)
    assert mesh[LEGEND].reshape(-1, 3).mean(axis=0) == pytest.approx(
        machine[LEGEND].reshape(-1, 3).mean(axis=0), abs=2
    )
    numbers = slice(135, 513), slice(1080, 1130)
    assert (mesh[numbers] == machine[numbers]).all()
    assert (mesh[numbers] < 128).any(axis=2).sum() > 50


def test_mesh_colours_match_the_legend(drawn):
    (path,) = [path for path in drawn if path.name.endswith("geometry_rank.png")]
    image = pixels(path).astype(int)
    legend, mesh = image[LEGEND].reshape(-1, 3), image[:, :960].reshape(-1, 3)
    of_ranks, counts = np.unique(legend[np.ptp(legend, axis=1) > 60], axis=0, return_counts=True)
    of_ranks = of_ranks[counts > 640]
    assert len(of_ranks) == 4
    shown, counts = np.unique(mesh[np.ptp(mesh, axis=1) > 60], axis=0, return_counts=True)
    for colour in shown[counts > 640]:
        shades = [of_rank * shade for of_rank in of_ranks for shade in np.linspace(0.85, 1, 16)]
        assert min(np.abs(colour - shade).max() for shade in shades) < 4, colour


def test_a_display_held_by_a_container_with_another_tmp_is_passed_over(monkeypatch):
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    monkeypatch.setattr(images, "DISPLAYS", range(190, 199))
    with contextlib.ExitStack() as held:
        for number in range(190, 198):
            holder = held.enter_context(socket.socket(socket.AF_UNIX))
            holder.bind(f"\0/tmp/.X11-unix/X{number}")
            holder.listen()
        with images.display() as display:
            assert display == ":198"


def test_virtual_displays_avoid_low_numbers_and_each_other():
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    with images.display() as one, images.display() as two:
        assert one != two
        assert all(int(name.removeprefix(":")) >= 10 for name in (one, two))
