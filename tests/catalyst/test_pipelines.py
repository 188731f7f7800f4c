# SPDX-License-Identifier: BSD-3-Clause
"""perfield's pipelines in the program: what each makes, and what options change."""

from __future__ import annotations

from pathlib import Path

import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOImage import vtkPNGReader
from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataReader

from perfield.output.images import display

THROUGH = "the program is through"
PLACE = "3 2 9; 3 2 0; 0 1 0"


def pixels(path: Path):
    """The pixels of an image, (height, width, 3)."""
    reader = vtkPNGReader()
    reader.SetFileName(str(path))
    reader.Update()
    width, height, _ = reader.GetOutput().GetDimensions()
    return vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars()).reshape(height, width, -1)[..., :3]


def made(result) -> list[str]:
    """The files that pipelines wrote, without pieces."""
    return sorted(
        path.name for path in (result.cwd / "perfield-run/catalyst").glob("[!.]*") if path.is_file()
    )


def arrays_of_a_piece(path: Path) -> set[str]:
    """The point arrays of the first piece of an extract."""
    reader = vtkXMLMultiBlockDataReader()
    reader.SetFileName(str(path))
    reader.Update()
    data = reader.GetOutput().GetBlock(0).GetPointData()
    return {data.GetArrayName(n) for n in range(data.GetNumberOfArrays())}


def test_images_only_draws_the_chosen_fields_from_the_chosen_side_and_writes_no_data(in_process, program):
    look = {"fields": "heat,compute_time_s,solve_tim_s", "camera": PLACE, "size": "400x300", "every": 2}
    with display() as number:
        result = in_process(program(), ranks=0, scripts="images_only", env={"DISPLAY": number}, **look)
    assert result.returncode == 0, result.stderr
    assert "there is no field 'solve_tim_s' here; did you mean solve_time_s?" in result.stderr
    # Only the first rank has the machine; the other must take part in drawing it, or the program hangs.
    shown = ("geometry_compute_time_s", "geometry_heat", "topology_compute_time_s")
    assert made(result) == [f"{name}_00000{step}.png" for name in shown for step in (0, 2)]
    drawn = result.cwd / "perfield-run/catalyst"
    first, last = (pixels(drawn / f"geometry_heat_00000{step}.png") for step in (0, 2))
    assert first.shape == last.shape == (300, 400, 3)
    assert (first != last).any()
    # An image of 30 degrees, seen from 9 above, is 4.8 high: the mesh of 8 x 2 begins at its column 13.
    row = (first[100] != 255).any(axis=1)
    assert not row[:11].any() and row[15:].all()
    assert not (first[155:160, :300] != 255).any()  # the focus is the mesh's upper edge


@pytest.mark.long
def test_extracts_only_writes_the_chosen_fields_alone(in_process, program):
    result = in_process(program(), scripts="extracts_only", fields="heat,solve_time_s", images="true")
    assert result.returncode == 0, result.stderr
    assert "perfield: " not in result.stderr
    names = [f"{picture}_00000{n}.vtm" for picture in ("geometry", "topology") for n in range(3)]
    assert made(result) == sorted([*names, "geometry.pvd", "topology.pvd"])
    extract = result.cwd / "perfield-run/catalyst/geometry_000001.vtm"
    assert arrays_of_a_piece(extract) == {"heat", "solve_time_s", "rank"}


@pytest.mark.parametrize(
    "key, value, words",
    [
        ("camera", "tpo", "catalyst_camera: 'tpo' is no camera; did you mean top?"),
        ("size", "big", "catalyst_size: 'big' is no size of an image; give its width and height"),
        ("scripts", "extract_only", "no file extract_only; did you mean extracts_only?"),
    ],
)
def test_wrong_options_end_the_pictures_with_the_nearest_words(in_process, program, key, value, words):
    result = in_process(program(), n=1, **{key: value})
    assert result.returncode == 0
    assert THROUGH in result.stdout
    assert words in result.stderr
    assert not (result.cwd / "perfield-run/catalyst").exists()
