# SPDX-License-Identifier: BSD-3-Clause
"""Draws lines of messages as tubes: thick at the sender, thin at the receiver, thicker for more bytes."""

from __future__ import annotations

from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkPolyData
from vtkmodules.vtkFiltersCore import vtkTubeFilter

from perfield.paraview.proxies import Flag

SIDES = 8
TUBES = Flag(
    "tubes",
    "Lines as tubes",
    """Draw each line as a tube, thick at the sender and thin at the receiver; the more bytes, the thicker.
    Plain lines are easier to select in a spreadsheet.""",
    True,
)


def as_tubes(lines: vtkPolyData) -> vtkPolyData:
    """Tubes along lines, whose points carry `radius`; they keep the cell and field arrays of the lines."""
    if not lines.GetNumberOfCells():
        return lines
    tubes = vtkTubeFilter()
    tubes.SetInputData(lines)
    tubes.SetInputArrayToProcess(0, 0, 0, vtkDataObject.FIELD_ASSOCIATION_POINTS, "radius")
    tubes.SetVaryRadiusToVaryRadiusByAbsoluteScalar()
    tubes.SetNumberOfSides(SIDES)
    tubes.Update()
    made = tubes.GetOutput()
    made.GetFieldData().ShallowCopy(lines.GetFieldData())
    return made
