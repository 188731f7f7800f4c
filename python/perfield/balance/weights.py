# SPDX-License-Identifier: BSD-3-Clause
"""Writes costs of cells as the weights that METIS, ParMETIS and Zoltan read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from perfield.analysis.cell_costs import CellCosts, whole_weights
from perfield.catalyst_scripts.owned_folder import new_file


def write_metis(path: Path, costs: CellCosts, graph: csr_array | None) -> float:
    """Writes METIS's graph file with a weight for each cell, or only the weights where there is no graph.

    graph : of the cells of all parts in their order (`dual_graph`). Returns the seconds of one unit.
    Source: METIS 5.1 manual, section 4.1.1.
    """
    weights, unit_s = whole_weights(costs.cost_s, costs.n_cells)
    of_cells = np.repeat(weights, costs.n_cells)
    with new_file(path) as place, place.open("w", encoding="ascii") as file:
        if graph is None:
            np.savetxt(file, of_cells, fmt="%d")
            return unit_s
        file.write(f"{graph.shape[0]} {graph.nnz // 2} 010\n")
        for cell, weight in enumerate(of_cells.tolist()):
            sides = graph.indices[graph.indptr[cell] : graph.indptr[cell + 1]] + 1
            file.write(" ".join(map(str, [weight, *sides.tolist()])) + "\n")
    return unit_s


def write_parmetis(folder: Path, costs: CellCosts) -> float:
    """Writes vtxdist.txt and, for each rank, vwgt.<rank>.txt with a weight per line; returns s of one unit.

    Source: ParMETIS 4.0 manual, section 4.2 (vtxdist, vwgt).
    """
    weights, unit_s = whole_weights(costs.cost_s, costs.n_cells)
    _write(folder / "vtxdist.txt", np.append(0, costs.cells_of_rank.cumsum()), "%d")
    for rank in range(costs.n_ranks):
        mine = costs.rank == rank
        _write(folder / f"vwgt.{rank}.txt", np.repeat(weights[mine], costs.n_cells[mine]), "%d")
    return unit_s


def write_zoltan(folder: Path, costs: CellCosts) -> None:
    """Writes, for each rank, objects.<rank>.txt: a line for each cell with its global number and its cost, s.

    Cells are numbered from 0, rank by rank. Source: Zoltan User's Guide, ZOLTAN_OBJ_LIST_FN (weights are
    float).
    """
    first = np.append(0, costs.cells_of_rank.cumsum())
    for rank in range(costs.n_ranks):
        mine = costs.rank == rank
        weights = np.repeat(costs.cost_s[mine], costs.n_cells[mine])
        numbers = np.arange(first[rank], first[rank + 1])
        rows = np.rec.fromarrays([numbers, weights])
        _write(folder / f"objects.{rank}.txt", rows, "%d %.6e")


def _write(path: Path, rows: np.ndarray, form: str) -> None:
    with new_file(path) as place:
        np.savetxt(place, rows, fmt=form)
