# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a comparison: files, scales that both sides share, and three panels with the same camera."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOImage import vtkPNGReader

import perfield
from perfield.derived.comparing import mean_by_rank
from perfield.output.compared import ComparedPictures, share_scales
from perfield.output.images import draw_images
from perfield.pictures.compared import Side, compared_mesh
from perfield.pictures.pieces import choose_pieces
from twins import twin

FIELD = "compute_time_s"


@pytest.fixture
def pictures(tmp_path):
    """Rank 1 computes 61 ms before and 1 ms after, rank 3 the other way round."""
    sides = []
    for name, hot in (("A", 1), ("B", 3)):
        path = twin.write_run(tmp_path / name, steps=3, change_step=twin.one_hot_rank(hot))
        run = perfield.open(path)
        values = mean_by_rank(run, FIELD, np.arange(3))
        sides.append(Side(name, "mean of 3 steps", run, run.frame(2), values, choose_pieces(run)))
    made = ComparedPictures(tmp_path / "pictures", *sides, FIELD)
    made.write(compared_mesh(*sides, FIELD), machine=True)
    return made


def test_files_hold_three_arrays_on_mesh_and_machine(pictures):
    names = {f"{FIELD}_{ending}" for ending in ("before", "after", "difference")}
    layers = json.loads((pictures.directory / "pictures.json").read_text())["layers"]
    assert names | {"rank"} == set(layers["geometry"]["arrays"])
    assert names <= set(layers["topology/measurements"]["arrays"])
    assert {path.name for path in pictures.directory.glob("*.pvd")} == {"geometry.pvd", "topology.pvd"}


def test_both_sides_share_a_scale_and_the_difference_is_around_zero(pictures):
    arrays = pictures.description["layers"]["geometry"]["arrays"]
    before, after, difference = (arrays[f"{FIELD}_{end}"] for end in ("before", "after", "difference"))
    assert before["scale"] == after["scale"] and before["scale"][0] == 0.0
    assert difference["scale"][0] == -difference["scale"][1] < -0.05
    assert difference["title"] == "compute time, difference" and difference["unit"] == "s"


def test_scales_of_equal_sides_are_not_empty():
    arrays = {f"{FIELD}_{end}": {"range": (0.0, 0.0)} for end in ("before", "after", "difference")}
    share_scales(arrays, FIELD, "compute time", "s")
    assert all(about["scale"][0] < about["scale"][1] for about in arrays.values())


def test_rounding_is_not_beyond_a_scale():
    arrays = {f"{FIELD}_difference": {"range": (-0.06, 0.06000000001)}}
    share_scales(arrays, FIELD, "compute time", "s")
    assert arrays[f"{FIELD}_difference"]["range"] == arrays[f"{FIELD}_difference"]["scale"] == (-0.06, 0.06)


def pixels(path) -> np.ndarray:
    """(height, width, 3) uint8 of an image, its first row the lowest."""
    reader = vtkPNGReader()
    reader.SetFileName(str(path))
    reader.Update()
    width, height, _ = reader.GetOutput().GetDimensions()
    return vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars())[:, :3].reshape(height, width, 3)


@pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is not installed")
def test_three_panels_show_who_is_costly_and_what_changed(pictures):
    planned = pictures.images()
    assert [image["files"] for image in planned] == [[f"01_mesh_{FIELD}.png"], [f"02_machine_{FIELD}.png"]]
    [path] = draw_images(pictures.directory, planned[:1])
    image = pixels(path).astype(int)
    assert image.shape == (600, 1920, 3)
    panels = [image[:, at : at + 500] for at in (0, 640, 1280)]  # without legends
    red, green, blue = (np.stack([panel[..., n] for panel in panels]) for n in range(3))
    costly = (green > 150) & (red < 150) & (blue < 120)  # of viridis
    more, less = (red > 60) & (blue < 60) & (green < 40), (blue > 60) & (red < 40)
    middle = [np.flatnonzero(found.any(axis=0)).mean() for found in costly[:2]]
    assert costly[0].sum() > 1000 and costly[1].sum() > 1000 and abs(middle[0] - middle[1]) > 50
    assert more[2].sum() > 1000 and less[2].sum() > 1000
    # The difference shows what became costlier where the second panel shows it, with the same camera.
    assert (more[2] & costly[1]).sum() > 0.9 * more[2].sum()
    assert (less[2] & costly[0]).sum() > 0.9 * less[2].sum()
