# SPDX-License-Identifier: BSD-3-Clause
"""Reads from the written mesh what the pipelines decide by: each rank's values and the place of its piece."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from processes import all_of, surfaces
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet

OFFSET = "piece_offset"  # the vector that moves a piece away from the middle of the mesh


@dataclass(frozen=True)
class Moment:
    """The mesh at one time. All tables go by rank; ranks without a piece are missing.

    shape : equal for times with the same mesh. boxes : x0 to z1 of the rank's piece. blocks : the names of
    its blocks. values : array -> the rank's value, the largest of its blocks; absent ones are missing.
    """

    shape: int = 0
    boxes: dict[int, np.ndarray] = field(default_factory=dict)
    blocks: dict[int, list[str]] = field(default_factory=dict)
    values: dict[str, dict[int, float]] = field(default_factory=dict)


class MeshValues:
    """The written mesh, step by step. Reads each time once.

    pictures : as in `scene`. fields : the arrays whose values are of interest.
    """

    def __init__(self, pictures: Any, fields: Collection[str]):
        self._pictures, self._fields = pictures, list(fields)
        self._reader: Any = None
        self._moments: dict[float, Moment] = {}

    def data(self, time: float) -> Any:
        """The geometry picture at a time; valid until another time is requested."""
        if self._reader is None:
            self._reader = surfaces(self._pictures.read("geometry"))
        return all_of(self._reader, time)

    def at(self, time: float) -> Moment:
        """What the pieces hold at a time."""
        if time not in self._moments:
            moment = Moment(values={name: {} for name in self._fields})
            sizes = []
            for rank, name, piece in pieces_of(self.data(time)):
                _note(moment, rank, name, piece)
                sizes.append((rank, piece.GetBounds(), piece.GetNumberOfPoints(), piece.GetNumberOfCells()))
            self._moments[time] = replace(moment, shape=hash(tuple(sizes)))
        return self._moments[time]


def pieces_of(data: Any) -> Iterator[tuple[int, str, Any]]:
    """Rank, name and dataset of each block of the geometry picture, however deep, but for empty ones."""
    for number in range(data.GetNumberOfBlocks()):
        block = data.GetBlock(number)
        if block is None:
            continue
        if block.IsA("vtkMultiBlockDataSet"):
            yield from pieces_of(block)
            continue
        name = data.GetMetaData(number).Get(vtkCompositeDataSet.NAME()) or ""
        word, _, rest = name.partition("_")
        if word == "rank" and block.GetNumberOfPoints():
            yield int(rest.partition("_")[0]), name, block


def _note(moment: Moment, rank: int, name: str, piece: Any) -> None:
    box = np.array(piece.GetBounds())
    before = moment.boxes.get(rank, box)
    ends = [np.minimum(box, before)[0::2], np.maximum(box, before)[1::2]]
    moment.boxes[rank] = np.stack(ends, axis=1).ravel()
    moment.blocks.setdefault(rank, []).append(name)
    for field_name, of_rank in moment.values.items():
        for data in (piece.GetPointData(), piece.GetCellData()):
            array = data.GetArray(field_name)
            if array is not None and array.GetNumberOfTuples() and array.GetNumberOfComponents() == 1:
                value = array.GetTuple1(0)
                if np.isfinite(value):
                    of_rank[rank] = max(value, of_rank.get(rank, value))


def highest(values: Mapping[int, float], most: int = 3) -> list[int]:
    """The ranks with the largest values, the largest first; of equal ones the lowest rank."""
    return sorted(values, key=lambda rank: (-values[rank], rank))[:most]
