# SPDX-License-Identifier: BSD-3-Clause
"""Draws a field before, after, and as difference, side by side in one image, with the same camera.

`images.py` calls it for the images of `perfield compare`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import machine_picture
import mesh_picture
from colours import TEXT
from drawing import pv
from mesh_values import MeshValues
from mesh_views import Chooser, MeshView
from scene import Pictures, new_view
from ticks import unit_of
from vtkmodules.vtkFiltersCore import vtkImageAppend
from vtkmodules.vtkIOImage import vtkPNGReader, vtkPNGWriter

SIZE = (640, 600)  # of a panel
AREA = (0.04, 0.8, 0.05, 0.84)  # left, right, bottom and top of the picture in it
HEAD, LINE, NUMBERS = 20, 15, 16  # sizes of letters
LETTERS = 52  # of a title that fits


def draw(pictures: Pictures, image: dict[str, Any], target: Path) -> None:
    """Draws an image with three panels. image : as in the job of `images.py`, with "panels", each with
    "field", "title" and "line"."""
    parts = [target.with_name(f".{target.stem}_{number}.png") for number in range(len(image["panels"]))]
    way = _way(pictures, image) if image["layer"] == "geometry" else MeshView()
    view = new_view(alone=True)
    view.ViewSize = SIZE
    words = f" ({way.words})" if way.words else ""
    for number, (panel, part) in enumerate(zip(image["panels"], parts)):
        legend = _show(pictures, view, image["layer"], panel["field"], way)
        about = pictures.arrays(image["layer"])[panel["field"]]
        _name(legend, about)
        _write(view, panel["title"], panel["line"] + ("" if number else words))
        pv.SaveScreenshot(str(part), view, ImageResolution=SIZE, TransparentBackground=0)
        for shape in view.Representations:
            if hasattr(shape, "SetScalarBarVisibility"):
                shape.SetScalarBarVisibility(view, False)
            shape.Visibility = 0
    _join(parts, target)
    pv.Delete(view)


def _show(pictures: Pictures, view: Any, layer: str, field: str, way: MeshView) -> Any:
    """Shows a field; returns its legend."""
    if layer == "geometry":
        mesh_picture.show_field(pictures, view, field, way)
        mesh_picture.look(pictures, view, way, area=AREA)
    else:
        machine_picture.Layers(pictures, view).colour(layer.partition("/")[2], field)
        machine_picture.look(pictures, view, AREA)
    return pv.GetScalarBar(pv.GetColorTransferFunction(field), view)


def _way(pictures: Pictures, image: dict[str, Any]) -> MeshView:
    """How all panels show the mesh: plain, or exploded if ranks would be hidden."""
    values = MeshValues(pictures, ["rank"])
    times = [step["shown_at"] for step in image["steps"]]
    return Chooser(pictures, values, times, mesh_picture.sight(pictures, values)).choose("rank")


def _name(legend: Any, about: dict[str, Any]) -> None:
    _, unit = unit_of(about)
    beyond = [line for line in legend.Title.split("\n") if line.startswith("orange")]
    legend.Title = "\n".join([unit, *beyond, " "])
    legend.Position = [0.83, 0.2]
    legend.TitleFontSize = legend.LabelFontSize = NUMBERS
    legend.ScalarBarThickness = 20


def _write(view: Any, title: str, line: str) -> None:
    """The two lines above a panel."""
    for text, size, height in ((title, HEAD, 0.935), (line, LINE, 0.885)):
        short = text if len(text) <= LETTERS * HEAD // size else f"{text[: LETTERS * HEAD // size - 3]}..."
        source = pv.Text(Text=short)
        display = pv.Show(source, view, "TextSourceRepresentation")
        display.WindowLocation = "Any Location"
        display.Position, display.Justification = [0.04, height], "Left"
        display.Color, display.FontSize = TEXT, size


def _join(parts: list[Path], target: Path) -> None:
    """Puts images side by side in one file, and removes them."""
    append = vtkImageAppend()
    append.SetAppendAxis(0)
    for part in parts:
        reader = vtkPNGReader()
        reader.SetFileName(str(part))
        append.AddInputConnection(reader.GetOutputPort())
    writer = vtkPNGWriter()
    writer.SetFileName(str(target))
    writer.SetInputConnection(append.GetOutputPort())
    writer.Write()
    for part in parts:
        part.unlink()
