# SPDX-License-Identifier: BSD-3-Clause
"""What a cell of the mesh costs to compute, and the whole numbers that graph partitioners take for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MEAN_WEIGHT = 1000  # of a cell, so that rounding changes few costs by more than 0.1 %
LARGEST_SUM = 2**30  # of all weights; METIS adds them up in 32 bits


@dataclass(frozen=True)
class CellCosts:
    """Compute time per cell and step of each part of the mesh, ordered by rank and block.

    rank, block, n_cells : int64 (n_parts,). cost_s : float64 (n_parts,), s per cell and step; of parts that
    were not measured it is the mean over all measured cells. measured : bool (n_parts,). n_ranks : of the
    world. n_steps : that were measured.
    """

    rank: np.ndarray
    block: np.ndarray
    n_cells: np.ndarray
    cost_s: np.ndarray
    measured: np.ndarray
    n_ranks: int
    n_steps: int

    @property
    def of_cells(self) -> np.ndarray:
        """float64 (n_cells of all parts,), s: the cost of each cell, part by part."""
        return np.repeat(self.cost_s, self.n_cells)

    @property
    def load_s(self) -> np.ndarray:
        """float64 (n_ranks,), s per step: the cost of all cells of each rank."""
        return np.bincount(self.rank, self.cost_s * self.n_cells, self.n_ranks)

    @property
    def cells_of_rank(self) -> np.ndarray:
        """int64 (n_ranks,): the cells of each rank."""
        return np.bincount(self.rank, self.n_cells, self.n_ranks).astype(np.int64)


def cost_per_cell(compute_s: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Compute time per cell and step of each rank: all its compute time over all cells of its steps.

    compute_s, cells : (n_steps, n_ranks), s and cells in each step; a step in which one of them is NaN does
    not count. Returns float64 (n_ranks,), s; NaN for ranks without such a step or without cells.
    """
    known = np.isfinite(compute_s) & np.isfinite(cells)
    computed = np.where(known, compute_s, 0.0).sum(axis=0, dtype=float)
    counted = np.where(known, cells, 0.0).sum(axis=0, dtype=float)
    return np.divide(computed, counted, out=np.full(len(counted), np.nan), where=counted > 0)


def filled(cost_s: np.ndarray, n_cells: np.ndarray) -> np.ndarray:
    """Costs with the mean over all measured cells in place of NaN.

    cost_s, n_cells : (n_parts,). Raises ValueError if no part with cells was measured.
    """
    known = np.isfinite(cost_s) & (n_cells > 0)
    total = float(n_cells[known].sum())
    if not total:
        raise ValueError("no cell has a measured cost; expected a rank with cells and with compute time.")
    mean = float((cost_s[known] * n_cells[known]).sum()) / total
    return np.where(np.isfinite(cost_s), cost_s, mean)


def unit_of(cost_s: np.ndarray, n_cells: np.ndarray) -> float:
    """The seconds that one unit of a whole weight represents, 0 if nothing costs time (`whole_weights`)."""
    total = float((cost_s * n_cells).sum())
    return max(total / float(n_cells.sum()) / MEAN_WEIGHT, total / LARGEST_SUM) if total > 0 else 0.0


def whole_weights(cost_s: np.ndarray, n_cells: np.ndarray) -> tuple[np.ndarray, float]:
    """Costs as whole numbers of at least 1, as METIS and ParMETIS take them.

    cost_s, n_cells : (n_parts,). Returns int64 (n_parts,) and the seconds that one unit represents: the mean
    cell weighs MEAN_WEIGHT, or less where the sum would pass LARGEST_SUM. All weigh 1 if nothing costs time.
    """
    unit_s = unit_of(cost_s, n_cells)
    if not unit_s:
        return np.ones(len(cost_s), np.int64), 0.0
    return np.maximum(np.rint(cost_s / unit_s), 1).astype(np.int64), unit_s


def imbalance(load_s: np.ndarray) -> float:
    """The largest load over the mean; 1 if nothing is loaded. load_s : (n,), of each rank or part."""
    mean = float(np.mean(load_s)) if len(load_s) else 0.0
    return float(np.max(load_s)) / mean if mean > 0 else 1.0
