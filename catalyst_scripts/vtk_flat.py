# SPDX-License-Identifier: BSD-3-Clause
"""Texts and rectangles in front of what VTK draws, in pixels from the lower left, for `vtk_drawing`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import vtkmodules.vtkRenderingFreeType  # noqa: F401  draws text
from vtkmodules.vtkCommonCore import vtkPoints, vtkUnsignedCharArray
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
from vtkmodules.vtkRenderingCore import (
    vtkActor2D,
    vtkPolyDataMapper2D,
    vtkTextActor,
    vtkTextProperty,
    vtkTextRenderer,
)

RGB = Sequence[float]
DPI = 72  # ParaView's, for text


def letters(size: int, rgb: RGB, spacing: float = 1.0) -> vtkTextProperty:
    """Letters of a size in points, as ParaView's; spacing : of the lines."""
    look = vtkTextProperty()
    look.SetFontFamilyToArial()
    look.SetFontSize(size)
    look.SetColor(*rgb)
    look.SetLineSpacing(spacing)
    return look


def extent(text: str, look: vtkTextProperty) -> list[int]:
    """Left, right, low and high of a text in pixels."""
    box = [0, 0, 0, 0]
    vtkTextRenderer.GetInstance().GetBoundingBox(look, text, box, DPI)
    return box


def text_at(text: str, x: float, y: float, look: vtkTextProperty) -> vtkTextActor:
    """A text with its lower left at a pixel, or the middle of its left end if letters are centred."""
    actor = vtkTextActor()
    actor.SetInput(text)
    actor.SetTextProperty(look)
    actor.SetTextScaleModeToNone()
    actor.SetPosition(x, y)
    return actor


def boxes_of(boxes: Sequence[tuple[Any, ...]], opacity: float = 1.0) -> vtkActor2D:
    """Rectangles in pixels: left, low, right, high and colour."""
    points, cells, colours = vtkPoints(), vtkCellArray(), vtkUnsignedCharArray()
    colours.SetNumberOfComponents(3)
    for left, low, right, high, rgb in boxes:
        corners = ((left, low), (right, low), (right, high), (left, high))
        cells.InsertNextCell(4, [points.InsertNextPoint(x, y, 0.0) for x, y in corners])
        colours.InsertNextTuple3(*(round(255 * part) for part in rgb))
    data, mapper, actor = vtkPolyData(), vtkPolyDataMapper2D(), vtkActor2D()
    data.SetPoints(points)
    data.SetPolys(cells)
    data.GetCellData().SetScalars(colours)
    mapper.SetInputData(data)
    actor.SetMapper(mapper)
    actor.GetProperty().SetOpacity(opacity)
    return actor
