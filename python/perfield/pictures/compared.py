# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a field before, after, and as difference, on the mesh and on the machine of the run after.

Where both runs divide the mesh alike, a piece shows its rank's values. Where they divide it differently,
compute times become times per cell, and cells find each other by their middles; of other fields each cell
shows the value of the rank that has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataSet
from vtkmodules.vtkFiltersCore import vtkCellCenters

from perfield.analysis.comparing.cells import matching_cells
from perfield.pictures.blocks import GHOSTS, MeshError, attach, centre_and_size, is_owned
from perfield.pictures.exploded import attach_offset, piece_offsets
from perfield.pictures.pieces import Pieces
from perfield.topology import Placement

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame

BEFORE, AFTER, DIFFERENCE = "_before", "_after", "_difference"
COST = "compute_time_s"  # fields that end so are shared out among cells


@dataclass(frozen=True)
class Side:
    """One side of a comparison. name, steps : in words, "before" and "mean of 60 steps". frame : whose mesh
    it has. values : (n_ranks,), NaN where absent. pieces : of its mesh. mesh_changes : whether it does so
    during these steps."""

    name: str
    steps: str
    run: AnyRun
    frame: Frame
    values: np.ndarray
    pieces: Pieces | None = None
    mesh_changes: bool = False


@dataclass(frozen=True)
class ComparedMesh:
    """A field on the mesh. per_cell : whether values are times per cell. alike : whether both sides divide
    the mesh alike. pieces : rank, name, dataset and the values before and after of its cells."""

    per_cell: bool
    alike: bool
    pieces: list[tuple[int, str, vtkDataSet, np.ndarray, np.ndarray]]

    def blocks(self, field: str) -> Iterator[tuple[str, vtkDataSet]]:
        """Names and datasets with the cell arrays `<field>_before`, `_after`, `_difference` and `rank`."""
        of_rank: dict[int, list[vtkDataSet]] = {}
        for rank, _, dataset, _, _ in self.pieces:
            of_rank.setdefault(rank, []).append(dataset)
        centres = np.full((max(of_rank, default=0) + 1, 3), np.nan)
        for rank, datasets in of_rank.items():
            centres[rank] = centre_and_size(datasets)[0]
        offsets = piece_offsets(centres)
        for rank, name, dataset, before, after in self.pieces:
            for array, values in arrays_of(field, before, after).items():
                attach(dataset, array, values, "cell")
            attach(dataset, "rank", np.full(dataset.GetNumberOfCells(), float(rank)), "cell")
            attach_offset(dataset, offsets[rank])
            yield name, dataset


def arrays_of(field: str, before: np.ndarray, after: np.ndarray) -> dict[str, np.ndarray]:
    """The three arrays of a field, by name."""
    return {field + BEFORE: before, field + AFTER: after, field + DIFFERENCE: after - before}


def compared_mesh(before: Side, after: Side, field: str) -> ComparedMesh:
    """A field on the mesh of the side after.

    Raises MeshError where a cell of either side has no counterpart, with their number.
    """
    there, here = _Cells(before), _Cells(after)
    found = matching_cells(there.middles[there.owned], here.middles)
    match = np.where(found >= 0, np.flatnonzero(there.owned)[found], -1)
    missing = int((match[here.owned] < 0).sum())
    counted = int(there.owned.sum()), int(here.owned.sum())
    if missing or counted[0] != counted[1] or len(np.unique(match[here.owned])) != counted[1]:
        raise MeshError(
            f"the meshes differ: {missing:,} of {counted[1]:,} cells of {after.name} have no cell of "
            f"{before.name}, which has {counted[0]:,} cells, at their middle; only equal meshes are compared "
            "cell by cell."
        )
    owner = np.where(match >= 0, there.rank[match], -1)
    alike = bool((owner[here.owned] == here.rank[here.owned]).all())
    per_cell = not alike and field.endswith(COST)
    values = [
        side.values / np.maximum(cells.n_owned, 1) if per_cell else side.values
        for side, cells in ((before, there), (after, here))
    ]
    old = np.where(owner >= 0, values[0][owner], np.nan)
    new = values[1][here.rank]
    pieces = [
        (rank, name, dataset, old[begin:end], new[begin:end])
        for rank, name, dataset, begin, end in here.datasets
    ]
    return ComparedMesh(per_cell, alike, pieces)


def compared_frame(before: Side, after: Side, field: str) -> Frame:
    """The frame after with the three arrays of a field by rank, and without messages, for a picture of the
    machine. Both sides have the same ranks."""
    frame = after.frame
    return replace(
        frame,
        values=arrays_of(field, before.values, after.values),
        block_values={},
        messages=frame.messages[:0],
        received=frame.received[:0],
        waits=frame.waits[:0],
    )


def other_places(before: Placement, after: Placement) -> list[int]:
    """Ranks that sat elsewhere: on another node, counted in their order, or on other PUs."""
    columns = "node_id", "package_id", "numa_id", "core_id"
    pairs = [(np.asarray(getattr(side, name), float) for side in (before, after)) for name in columns]
    apart = [np.nan_to_num(one, nan=-1) != np.nan_to_num(other, nan=-1) for one, other in pairs]
    return np.flatnonzero(np.any(apart, axis=0)).tolist()


class _Cells:
    """All cells of a side: middle, rank, and whether they are the rank's own (else ghosts)."""

    def __init__(self, side: Side):
        self.datasets: list[tuple[int, str, vtkDataSet, int, int]] = []
        middles, ranks, owned, begin = [], [], [], 0
        for rank in range(side.run.n_ranks):
            blocks = side.pieces.blocks(rank, side.frame) if side.pieces is not None else []
            for number, dataset in blocks:
                size = dataset.GetNumberOfCells()
                if not size:
                    continue
                middles.append(_middles(dataset))
                ranks.append(np.full(size, rank))
                owned.append(is_owned(dataset))
                name = f"rank_{rank}" if len(blocks) == 1 else f"rank_{rank}_block_{number}"
                self.datasets.append((rank, name, _bare(dataset), begin, begin + size))
                begin += size
        if not begin:
            raise MeshError(f"{side.name} has no mesh with cells; describe it, or name it with --mesh.")
        self.middles, self.rank = np.concatenate(middles), np.concatenate(ranks)
        self.owned = np.concatenate(owned)
        self.n_owned = np.bincount(self.rank[self.owned], minlength=side.run.n_ranks)


def _middles(dataset: vtkDataSet) -> np.ndarray:
    centres = vtkCellCenters()
    centres.SetInputData(dataset)
    centres.Update()
    return vtk_to_numpy(centres.GetOutput().GetPoints().GetData()).astype(float)


def _bare(dataset: vtkDataSet) -> vtkDataSet:
    """The mesh with its ghost arrays, without the simulation's own fields."""
    bare = dataset.NewInstance()
    bare.CopyStructure(dataset)
    for whole, new in (
        (dataset.GetCellData(), bare.GetCellData()),
        (dataset.GetPointData(), bare.GetPointData()),
    ):
        ghosts = whole.GetArray(GHOSTS)
        if ghosts is not None:
            new.AddArray(ghosts)
    return bare
