# SPDX-License-Identifier: BSD-3-Clause
"""Collects what the pipelines need to know of the written arrays: points or cells, ranges over all steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.util.vtkConstants import VTK_DOUBLE, VTK_FLOAT
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkDataSet

from perfield.catalyst_scripts.pictures_json import MOST
from perfield.output.scales import end_without_outliers, is_category, peak_without_outliers
from perfield.pictures.exploded import OFFSET

ASSOCIATIONS = {vtkDataObject.POINT: "POINTS", vtkDataObject.CELL: "CELLS"}
SAMPLE, MOST_SAMPLED = 4096, 200_000  # values of a dataset's array that are kept, and of all datasets
LISTED = 32  # values of a category; of more, the range says enough
CHECKED = 256  # arrays from one look at that limit to the next
SHAPES = (OFFSET, "radius", "anchor_x")  # arrays that say where and how thick, and are no values


class Arrays:
    """The arrays of one layer of a picture over all noted steps, without those that have no finite value,
    or values that no scale of colours reaches.

    Arrays that only shape the picture (SHAPES) are no values and are left out.

    bounds : x0, x1, y0, y1, z0, z1 of all datasets; None if no dataset had points.
    spread : how far pieces go along x, y and z in a view exploded by 1; None if they carry no vectors.
    """

    def __init__(self, samples: bool = True) -> None:
        """samples : whether to keep values, for `variation` and for scales that leave few of them out."""
        self._sampled: dict[str, list[np.ndarray]] | None = {} if samples else None
        self.bounds: tuple[float, ...] | None = None
        self.spread: tuple[float, ...] | None = None
        self._found: dict[str, dict[str, Any]] = {}
        self._absent: set[str] = set()
        self._values: dict[str, set[float]] = {}  # of each category
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
        if not -MOST < low <= high < MOST:
            return
        found = self._found.setdefault(name, {"range": (low, high)})
        before = found["range"]
        found.update(association=association, components=components)
        if array.GetDataType() not in (VTK_FLOAT, VTK_DOUBLE):
            found["whole"] = True
        found["range"] = (min(low, before[0]), max(high, before[1]))
        if is_category(name) and components == 1 and self._sampled is not None:
            known = self._values.setdefault(name, set())
            if len(known) <= LISTED:
                values = np.array([low]) if low == high else np.unique(vtk_to_numpy(array))
                known.update(values[np.isfinite(values)].tolist())
        ends = self._ends.setdefault(name, {})
        least, most = ends.get(step, (low, high))
        ends[step] = min(low, least), max(high, most)
        if self._sampled is not None and components == 1:
            self._sample(name, array, low, high)

    def _sample(self, name: str, array: Any, low: float, high: float) -> None:
        """Keeps values of an array, of large ones some; one number for a piece with one value."""
        kept = self._sampled.setdefault(name, [])
        if low == high:
            kept.append(np.array([high]))
        else:
            values = vtk_to_numpy(array)[:: max(1, array.GetNumberOfTuples() // SAMPLE)].astype(float)
            kept.append(values[np.isfinite(values)])
        if len(kept) % CHECKED == 0 and sum(map(len, kept)) > MOST_SAMPLED:
            some = np.random.default_rng(0).permutation(np.concatenate(kept))[: MOST_SAMPLED // 2]
            self._sampled[name] = [some]

    def variation(self, name: str) -> float:
        """How much an array varies over places and steps: its standard deviation, as a share of its largest
        magnitude; 0 for vectors."""
        values = np.concatenate([np.zeros(0), *(self._sampled or {}).get(name, [])])
        most = float(np.abs(values).max(initial=0.0))
        return float(values.std()) / most if most else 0.0

    def description(self) -> dict[str, dict[str, Any]]:
        """Describes each array, by name.

        association : "POINTS" or "CELLS". components : their number. range : smallest and largest finite
        value over all steps, of the magnitude for vectors. absent : whether some values are NaN. whole :
        True if all are of an integer type, else not there. values : those of a category, ascending, if there
        are at most LISTED and samples are kept.
        scale_end : where the scale of the colours should end, as few values go far beyond: steps that are
        outliers, or 2 % of all values. Only there if there are such values, and if samples are kept.
        """
        described = {}
        for name, found in self._found.items():
            described[name] = {**found, "absent": name in self._absent}
            if self._sampled is None:
                continue
            if 0 < len(known := self._values.get(name, ())) <= LISTED:
                described[name]["values"] = sorted(known)
            peaks = np.array([most for _, most in self._ends[name].values()])
            values = np.concatenate([np.zeros(0), *self._sampled.get(name, [])])
            ends = [peak_without_outliers(peaks), end_without_outliers(values, peaks)]
            if ends := [end for end in ends if end is not None]:
                described[name]["scale_end"] = min(ends)
        return described

    def beyond(self, name: str, end: float) -> dict[str, tuple[float, float]]:
        """Smallest and largest value of an array in each step that goes beyond the end of its colours."""
        return {str(step): ends for step, ends in self._ends[name].items() if ends[1] > end}
