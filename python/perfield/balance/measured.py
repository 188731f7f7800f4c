# SPDX-License-Identifier: BSD-3-Clause
"""Reads from a run what a cell of each part of its mesh costs to compute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfield.analysis.cell_costs import CellCosts, cost_per_cell, filled
from perfield.analysis.steps import kinds_of_steps
from perfield.derived.run import Run
from perfield.pictures.blocks import MeshMissingError, owned_cells
from perfield.pictures.pieces import Pieces, choose_pieces
from perfield.run.snapshot import Snapshot
from perfield.text import did_you_mean


class BalanceError(ValueError):
    """A run or a case gives no weights; the text says why and what to do."""


def ordinary_steps(run: Run) -> np.ndarray:
    """Positions of the frames to take costs from: all but output steps, and those whose ranks are uneven."""
    positions = _even(run, np.arange(len(run)))
    names, spans = ["compute_time_s", "io_write_bytes", "io_time_s"], run.spans[positions]
    kinds = kinds_of_steps(*(values / spans[:, None] for values in _read(run, positions, names)))
    return positions[~kinds.is_output] if not kinds.is_output.all() else positions


def measure(
    run: Run, positions: Sequence[int], pieces: Pieces | None = None, region: str | None = None
) -> CellCosts:
    """The cost of a cell of each rank's piece, or of each block of it where a region was measured by block.

    positions : of the frames to take it from. pieces : the mesh; None finds it where it is needed, since the
    run does not have the field `cells`. region : whose compute time counts alone; None counts all.
    Cells are those of the last of these frames. In pieces that change, a cell costs the rank's compute time
    over all frames, divided by its cells in all these frames. Cells that several ranks hold count once.
    Raises BalanceError if the run does not have cells or compute times of these frames, MeshMissingError if
    it has no mesh.
    """
    positions = _even(run, np.asarray(positions, np.int64))
    if not len(positions):
        raise BalanceError(
            f"{run.path} has no step to take costs from: it closed none, or its ranks closed different ones. "
            "Measure a program that closes steps; `perfield steps` helps to find its call."
        )
    name = _time_field(run, region)
    compute_s, whole_s, cells = _read(run, positions, [name, "compute_time_s", "cells"])
    compute_s = np.where(np.isfinite(whole_s), np.nan_to_num(compute_s), compute_s)  # a region not entered
    if not np.isfinite(compute_s).any():
        raise BalanceError(
            f"no rank of {run.path} has a {name} in these {len(positions)} steps; name others."
        )
    if pieces is None and not np.isfinite(cells[-1]).all():
        pieces = _mesh_of(run, bool(np.isfinite(cells[-1]).any()))
    rank, block, n_cells = _parts(run, int(positions[-1]), cells, pieces)
    of_rank = np.bincount(rank, n_cells, run.n_ranks)
    _check_version(run, int(positions[-1]), cells[-1], of_rank)
    cells = np.where(np.isfinite(cells), cells, of_rank)
    of_ranks = cost_per_cell(compute_s, cells)
    cost_s = of_ranks[rank]
    for one, number, time_s in _times_of_blocks(run, positions, name, region):
        mine = (rank == one) & (block == number) & (n_cells > 0)
        cost_s[mine] = time_s / n_cells[mine] / len(positions)
    return CellCosts(
        rank=rank,
        block=block,
        n_cells=n_cells,
        cost_s=filled(cost_s, n_cells),
        measured=np.isfinite(cost_s),
        n_ranks=run.n_ranks,
        n_steps=len(positions),
    )


def _even(run: Run, positions: np.ndarray) -> np.ndarray:
    return positions[~run.read(positions)["uneven"]] if len(positions) else positions


def _read(run: Run, positions: np.ndarray, names: list[str]) -> np.ndarray:
    """(len(names), n_positions, n_ranks), NaN for fields that the run lacks."""
    known = [name for name in dict.fromkeys(names) if name in run.all_fields]
    chunks = [read for _, read in Snapshot(run).in_chunks(positions, known)]
    read = np.concatenate(chunks) if chunks else np.zeros((0, len(known), run.n_ranks))
    absent = np.full((len(read), run.n_ranks), np.nan)
    return np.array([read[:, known.index(name)] if name in known else absent for name in names])


def _time_field(run: Run, region: str | None) -> str:
    """The field that counts: compute time of all or of a region, or its time where no calls were seen."""
    if region is None:
        wanted = ["compute_time_s"]
    else:
        stems = {known.field for known in run.known_regions}
        stems |= {known.name for known in run.known_regions}
        if region not in stems:
            advice = did_you_mean(region, sorted(stems), 1) or f"'perfield fields {run.path}' lists them"
            raise BalanceError(f"{run.path} has no region '{region}'; {advice}")
        stem = next(known.field for known in run.known_regions if region in (known.field, known.name))
        wanted = [f"{stem}_compute_time_s", f"{stem}_time_s"]
    for name in wanted:
        if name in run.columns.names:
            return name
    raise BalanceError(
        f"{run.path} has no {wanted[0]}: MPI was not watched, so computing cannot be separated from "
        "waiting. Measure again with the source pmpi."
    )


def _mesh_of(run: Run, partly_known: bool) -> Pieces | None:
    try:
        return choose_pieces(run)
    except MeshMissingError:
        if partly_known:
            return None
        raise


def _parts(
    run: Run, position: int, cells: np.ndarray, pieces: Pieces | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rank, block and number of cells of each part of the mesh, in the order of ranks and blocks."""
    if pieces is None:
        n_cells = np.nan_to_num(cells[-1]).astype(np.int64)
        rank, block = np.arange(run.n_ranks), np.zeros(run.n_ranks, np.int64)
    else:
        frame = run.frame(position)
        found = [
            (rank, number, owned_cells(dataset))
            for rank in range(run.n_ranks)
            for number, dataset in pieces.blocks(rank, frame)
        ]
        rank, block, n_cells = np.array(found, np.int64).reshape(-1, 3).T
    if not n_cells.sum():
        raise BalanceError(
            f"no rank of {run.path} has cells, so no cell has a cost. Describe the mesh with perfield_mesh_* "
            "(perfield.h), or name a .pvtu file or an OpenFOAM case with --mesh PATH."
        )
    return rank, block, n_cells


def _check_version(run: Run, position: int, cells: np.ndarray, of_rank: np.ndarray) -> None:
    """Raises BalanceError if the mesh that was found is not that of the step."""
    wrong = np.flatnonzero(np.isfinite(cells) & (cells != of_rank))
    if len(wrong):
        rank = int(wrong[0])
        raise BalanceError(
            f"rank {rank} has {of_rank[rank]:,.0f} cells in the mesh that was found, but {cells[rank]:,.0f} "
            f"in step {int(run.step_indexes[position])} of {run.path}; {len(wrong)} of {run.n_ranks} ranks "
            "differ. Expected is the mesh of the last of the chosen steps. Name its mesh with --mesh, or end "
            "--steps at a step whose mesh was written."
        )


def _times_of_blocks(
    run: Run, positions: np.ndarray, name: str, region: str | None
) -> list[tuple[int, int, float]]:
    """(rank, block, s) of a region that the program measured block by block, summed over the frames."""
    if region is None:
        return []
    rows = run.columns.read_tables(run.places(positions), [name])["blocks"]
    found: dict[tuple[int, int], float] = {}
    for _, _, rank, block, _, value in rows.tolist():
        if np.isfinite(value):
            found[rank, block] = found.get((rank, block), 0.0) + value
    return [(rank, block, time_s) for (rank, block), time_s in found.items()]
