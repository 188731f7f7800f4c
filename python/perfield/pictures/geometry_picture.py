# SPDX-License-Identifier: BSD-3-Clause
"""The geometry picture: one frame's values on the simulation's own mesh.

Each (rank, block) is one named dataset with the simulation's own fields and perfield's values as point or
cell arrays. A rank has one value per field, except times that the program assigned to single blocks. Values
that were not measured are NaN, so all pieces of all frames have the same arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkCommonCore import vtkDoubleArray, vtkStringArray
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkDataSet, vtkMultiBlockDataSet

from perfield.pictures.blocks import (
    MeshMissingError,
    centre_and_size,
    check_reach,
    check_room,
    owned_cells,
)
from perfield.pictures.exploded import attach_offset, piece_offsets
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.mesh_messages import focus_values
from perfield.pictures.own_fields import name_own_fields, text_columns
from perfield.pictures.pieces import Pieces, choose_pieces

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame


@dataclass
class GeometryOptions:
    """Options of the geometry picture.

    pieces : the source of the mesh; None lets `choose_pieces` find it.
    association : "point" or "cell", where perfield's values go.
    fields : names of the values to show; None shows all.
    focus : ranks f that get arrays `<call>_count_to_<f>` and so on.
    view : how images show the mesh: "auto", "plain", "exploded", "highest" or "cut". explode : factor of an
        exploded view; None lets the drawing side choose.
    offsets : whether points carry the way that their piece takes in an exploded view (see `exploded`).
    lines : which messages between pieces become lines; None takes all.
    """

    pieces: Pieces | None = None
    association: str = "point"
    fields: Collection[str] | None = None
    focus: Collection[int] = field(default_factory=tuple)
    view: str = "auto"
    explode: float | None = None
    offsets: bool = False
    lines: LineChoice | None = None


def geometry(run: AnyRun, frame: Frame, options: GeometryOptions | None = None) -> vtkMultiBlockDataSet:
    """One frame's values on the mesh: a block per (rank, block), named `rank_3` or `rank_3_block_1`.

    run, frame : from `perfield.open`. The picture leaves out ranks without a mesh and pieces without points
    (see `ranks_without_mesh`). Field data of each block: `field_name` and `region_name` name each array's
    region; `array_name` and `own_field_name` name the simulation's own fields (see `own_fields`).
    Raises MeshMissingError if no rank has a mesh, MeshError if a mesh is inconsistent.
    """
    picture = vtkMultiBlockDataSet()
    for name, dataset in geometry_blocks(run, frame, options):
        index = picture.GetNumberOfBlocks()
        picture.SetBlock(index, dataset)
        picture.GetMetaData(index).Set(vtkCompositeDataSet.NAME(), name)
    if not picture.GetNumberOfBlocks():
        raise MeshMissingError(
            f"no rank has a mesh in frame {frame.index} of {run.path}; describe it before the first "
            "perfield_step, or name pieces on disk with --mesh PATH."
        )
    return picture


def geometry_blocks(
    run: AnyRun, frame: Frame, options: GeometryOptions | None = None
) -> Iterator[tuple[str, vtkDataSet]]:
    """Yields the names and datasets of `geometry` one by one, so only one piece need be in memory."""
    options = options or GeometryOptions()
    pieces = options.pieces or choose_pieces(run)
    values = PieceValues(run, frame, options)
    regions = region_names(run, frame)
    offsets = piece_offsets(centres_and_sizes(run, frame, pieces)[0]) if options.offsets else None
    for rank in range(run.n_ranks):
        blocks = pieces.blocks(rank, frame)
        are_cells = getattr(pieces, "are_cells", True)
        cells = [owned_cells(dataset) if are_cells else 0 for _, dataset in blocks]
        for (number, dataset), n_cells in zip(blocks, cells):
            if not dataset.GetNumberOfPoints():
                continue
            n_values = max(dataset.GetNumberOfPoints(), dataset.GetNumberOfCells())
            block = f"block {number} of rank {rank}"
            check_room(block, n_values, len(values.names))
            check_reach(block, dataset)
            name_own_fields(dataset, values.names)
            constants = _Constants(dataset, options.association)
            for name, value in zip(values.names, values.of(rank, number, n_cells, sum(cells)).tolist()):
                constants.add(name, value)
            for array in regions:
                dataset.GetFieldData().AddArray(array)
            if offsets is not None:
                attach_offset(dataset, offsets[rank])
            yield block_name(rank, number, len(blocks)), dataset


def block_name(rank: int, number: int, n_blocks: int) -> str:
    """The name of a block of a rank that has so many of them."""
    return f"rank_{rank}" if n_blocks == 1 else f"rank_{rank}_block_{number}"


class PieceValues:
    """perfield's values of a frame for each piece of the mesh. names : of the arrays that they become."""

    def __init__(self, run: AnyRun, frame: Frame, options: GeometryOptions):
        values = {name: column for name, column in frame.values.items() if _wanted(name, options)}
        values.update(focus_values(frame, options.focus, run.n_ranks))
        costs = {name: of for name, of in per_cell_fields(run, frame).items() if _wanted(name, options)}
        self.names = [*values, *costs]
        self._sources = [*values, *costs.values()]
        columns = [*values.values(), *(frame.values[of] for of in costs.values())]
        self._columns = np.array(columns, dtype=float).reshape(len(columns), run.n_ranks)
        self._n_plain = len(values)
        self._computes = ~np.isnan(frame.values["compute_time_s"])
        self._of_blocks = [(n, frame.block_values.get(name)) for n, name in enumerate(self._sources)]
        self._of_blocks = [(n, of_blocks) for n, of_blocks in self._of_blocks if of_blocks]

    def of(self, rank: int, block: int, cells: int, cells_of_rank: int) -> np.ndarray:
        """(len(names),) the values of a rank, or of the block where it has its own.

        cells, cells_of_rank : without ghosts, of the block and of all blocks of the rank.
        """
        values = self._columns[:, rank].copy()
        n_cells = np.full(len(values) - self._n_plain, cells_of_rank, dtype=float)
        for n, of_blocks in self._of_blocks:
            if (rank, block) in of_blocks:
                values[n] = of_blocks[rank, block]
                if n >= self._n_plain:
                    n_cells[n - self._n_plain] = cells
        n_cells[(n_cells == 0) | ~self._computes[rank]] = np.nan
        values[self._n_plain :] /= n_cells
        return values


def ranks_without_mesh(run: AnyRun, frame: Frame, pieces: Pieces) -> list[int]:
    """Ranks that the geometry picture of this frame leaves out: they have no mesh or an empty piece."""
    return [
        rank
        for rank in range(run.n_ranks)
        if not any(dataset.GetNumberOfPoints() for _, dataset in pieces.blocks(rank, frame))
    ]


def centres_and_sizes(run: AnyRun, frame: Frame, pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
    """Middle (n_ranks, 3) and diagonal (n_ranks,) of the box around each rank's piece.

    A rank without a mesh has NaN for its middle and a diagonal of 0.
    """
    centres, sizes = np.full((run.n_ranks, 3), np.nan), np.zeros(run.n_ranks)
    for rank in range(run.n_ranks):
        blocks = pieces.blocks(rank, frame)
        place = centre_and_size(dataset for _, dataset in blocks) if blocks else None
        if place is not None:
            centres[rank], sizes[rank] = place
    return centres, sizes


def per_cell_fields(run: AnyRun, frame: Frame) -> dict[str, str]:
    """The arrays of compute time per cell, which the picture adds, and the field that each comes from.

    `solve_compute_time_per_cell_s` comes from `solve_compute_time_s`. Where no calls were seen inside any
    region, its computing is all of its time, `solve_time_s`. The values are NaN where MPI was not watched.
    """
    sources = {"compute_time_per_cell_s": "compute_time_s"}
    for region in run.known_regions:
        computing, all_time = f"{region.field}_compute_time_s", f"{region.field}_time_s"
        sources[f"{region.field}_compute_time_per_cell_s"] = (
            computing if computing in frame.values else all_time
        )
    return {name: of for name, of in sources.items() if of in frame.values}


def region_names(run: AnyRun, frame: Frame) -> list[vtkStringArray]:
    """Two columns of text: `field_name`, and `region_name`, the region's name in the program."""
    shown = [region for region in run.known_regions if f"{region.field}_time_s" in frame.values]
    return text_columns("field_name", "region_name", [(region.field, region.name) for region in shown])


def _wanted(name: str, options: GeometryOptions) -> bool:
    return options.fields is None or name in options.fields


class _Constants:
    """Adds constant arrays to a dataset. Arrays of the same value share their memory."""

    def __init__(self, dataset: vtkDataSet, association: str):
        on_points = association == "point"
        self._data = dataset.GetPointData() if on_points else dataset.GetCellData()
        self._size = dataset.GetNumberOfPoints() if on_points else dataset.GetNumberOfCells()
        self._first: dict[bytes, str] = {}  # value -> first array with this value

    def add(self, name: str, value: float) -> None:
        key = np.float64(value).tobytes()  # as bytes, NaN equals itself
        known = self._data.GetArray(self._first.setdefault(key, name))
        if known is not None:
            array = known.NewInstance()
            array.ShallowCopy(known)
        else:
            array = vtkDoubleArray()
            array.SetNumberOfTuples(self._size)
            array.Fill(value)
        array.SetName(name)
        self._data.AddArray(array)
