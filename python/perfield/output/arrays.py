# SPDX-License-Identifier: BSD-3-Clause
"""Collects what the pipelines need to know of the written arrays: points or cells, ranges over all steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.util.vtkConstants import VTK_DOUBLE, VTK_FLOAT
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkDataSet

from perfield.output.scales import usual_peak
from perfield.pictures.exploded import OFFSET

ASSOCIATIONS = {vtkDataObject.POINT: "POINTS", vtkDataObject.CELL: "CELLS"}
SHAPES = (OFFSET, "radius", "anchor_x")  # arrays that say where and how thick, and are no values


class Arrays:
    """The arrays of one layer of a picture over all noted steps, without those that have no finite value.

    Arrays that only shape the picture (SHAPES) are no values and are left out.

    bounds : x0, x1, y0, y1, z0, z1 of all datasets; None if no dataset had points.
    spread : how far pieces go along x, y and z in a view exploded by 1; None if they carry no vectors.
    """

    def __init__(self) -> None:
        self.bounds: tuple[float, ...] | None = None
        self.spread: tuple[float, ...] | None = None
        self._found: dict[str, dict[str, Any]] = {}
        self._absent: set[str] = set()
        self._ends: dict[str, dict[int, tuple[float, float]]] = {}  # array -> step -> smallest, largest value

    def note(self, step: int, dataset: vtkDataSet) -> None:
        """Takes in a dataset of a step."""
        if dataset.GetNumberOfPoints():
            box = dataset.GetBounds()
            before = self.bounds or box
            ends = enumerate(zip(before, box))
            self.bounds = tuple(max(pair) if at % 2 else min(pair) for at, pair in ends)
        offset = dataset.GetPointData().GetArray(OFFSET)
        if offset is not None and offset.GetNumberOfTuples():
            far = np.abs(offset.GetTuple3(0))
            self.spread = tuple(np.maximum(self.spread or far, far).tolist())
        for association, word in ASSOCIATIONS.items():
            attributes = dataset.GetAttributes(association)
            for number in range(attributes.GetNumberOfArrays()):
                array = attributes.GetArray(number)
                if array is not None and array.GetNumberOfTuples() and array.GetName() not in SHAPES:
                    self._note(step, array, word)

    def _note(self, step: int, array: Any, association: str) -> None:
        name, components = array.GetName(), array.GetNumberOfComponents()
        if array.GetDataType() in (VTK_FLOAT, VTK_DOUBLE) and np.isnan(vtk_to_numpy(array)).any():
            self._absent.add(name)
        low, high = array.GetFiniteRange(0 if components == 1 else -1)  # -1: the magnitude
        if not (low <= high and np.isfinite([low, high]).all()):
            return
        found = self._found.setdefault(name, {"range": (low, high)})
        before = found["range"]
        found.update(association=association, components=components)
        found["range"] = (min(low, before[0]), max(high, before[1]))
        ends = self._ends.setdefault(name, {})
        least, most = ends.get(step, (low, high))
        ends[step] = min(low, least), max(high, most)

    def description(self) -> dict[str, dict[str, Any]]:
        """Describes each array, by name.

        association : "POINTS" or "CELLS". components : their number. range : smallest and largest finite
        value over all steps, of the magnitude for vectors. absent : whether some values are NaN.
        usual_peak : the largest value of all typical steps; only there if some step is an outlier.
        """
        described = {}
        for name, found in self._found.items():
            described[name] = {**found, "absent": name in self._absent}
            peak = usual_peak(np.array([most for _, most in self._ends[name].values()]))
            if peak is not None:
                described[name]["usual_peak"] = peak
        return described

    def beyond(self, name: str, end: float) -> dict[str, tuple[float, float]]:
        """Smallest and largest value of an array in each step that goes beyond the end of its colours."""
        return {str(step): ends for step, ends in self._ends[name].items() if ends[1] > end}
