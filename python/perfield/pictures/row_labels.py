# SPDX-License-Identifier: BSD-3-Clause
"""Names the rows of the topology picture, as text at the left of the first plane."""

from __future__ import annotations

from vtkmodules.vtkCommonDataModel import vtkPolyData
from vtkmodules.vtkCommonTransforms import vtkTransform
from vtkmodules.vtkFiltersCore import vtkAppendPolyData
from vtkmodules.vtkFiltersGeneral import vtkTransformPolyDataFilter
from vtkmodules.vtkRenderingFreeType import vtkVectorText

from perfield.topology import LEVELS, Cells

WORDS = {"numa": "NUMA", "l3": "L3", "l2": "L2", "l1": "L1", "pu": "PU", "measurement": "values"}
HEIGHT = 0.62  # of a capital letter, in rows
DISTANCE = 0.5  # from the plane
BASELINE = 0.25  # below the middle of a row


def row_labels(cells: Cells) -> vtkPolyData:
    """The name of each drawn row, right-aligned at the left end of the first node's plane."""
    letters = vtkAppendPolyData()
    right = float((cells.x - cells.width / 2).min()) - DISTANCE if len(cells.x) else 0.0
    for level in sorted(set(cells.level.tolist())):
        name = LEVELS[level]
        text = vtkVectorText()
        text.SetText(WORDS.get(name, name))
        text.Update()
        bounds = text.GetOutput().GetBounds()
        height = float(cells.y[cells.level == level][0])
        place = vtkTransform()
        place.Translate(right - HEIGHT * bounds[1], height - BASELINE, float(cells.node_z[0]))
        place.Scale(HEIGHT, HEIGHT, 1.0)
        placed = vtkTransformPolyDataFilter()
        placed.SetTransform(place)
        placed.SetInputConnection(text.GetOutputPort())
        letters.AddInputConnection(placed.GetOutputPort())
    if not letters.GetNumberOfInputConnections(0):
        return vtkPolyData()
    letters.Update()
    return letters.GetOutput()
