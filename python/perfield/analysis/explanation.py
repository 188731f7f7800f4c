# SPDX-License-Identifier: BSD-3-Clause
"""What explains an imbalance: the rules of the summary, by the same code.

docs/chance.md explains them; `bridge/summary/explanation.cpp` computes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfield import _bridge
from perfield.analysis.chance import Differences

__all__ = [
    "CostOfCells",
    "Explanation",
    "cost_of_cells",
    "explanation",
    "follow_counts",
    "rank_waited_for",
    "rank_without_work",
    "regions_to_report",
]


@dataclass(frozen=True)
class Explanation:
    """What explains that ranks differ in compute time.

    cause : its name; None where none of those that were tried explains most of it beyond chance.
    imbalance : what the cause makes of itself, slowest over mean; 1 without a cause.
    """

    cause: str | None
    imbalance: float


@dataclass(frozen=True)
class CostOfCells:
    """What the cells of the slowest ranks cost, where the number of cells explains nothing.

    are_alike : all ranks have as many, to 1 %. may_explain : there are two ranks, too few to test what their
    cells would explain. alone : the imbalance of the numbers of cells. relative : compute time per cell,
    relative to the other ranks. costs_more : by enough to be reported.
    """

    are_alike: bool
    may_explain: bool
    alone: float
    relative: float
    costs_more: bool


def explanation(
    compute: np.ndarray, found: Differences, causes: Mapping[str, np.ndarray | None]
) -> Explanation:
    """The first cause that makes most of an imbalance.

    compute : compute time (n_steps, n_ranks). found : its differences. causes : by name, what each rank has
    in each step, in the same shape; a table with a NaN is not known. All are counted as tried.
    Raises ValueError for other shapes.
    """
    cause, imbalance = _bridge.explanation(compute, _tables(causes), found.pattern, found.most, found.stay)
    return Explanation(None if cause is None else list(causes)[cause], imbalance)


def follow_counts(
    compute: np.ndarray, found: Differences, causes: Mapping[str, np.ndarray | None]
) -> tuple[Differences, Explanation] | None:
    """What ranks follow where times alone name nobody: those with more of a cause compute longer.

    Counts have no noise, so that is one question to the times in place of one for each rank; 0.05 % for all
    causes. Arguments as of `explanation`. Returns the differences, now "fixed", of the ranks with most of the
    first such cause, and that cause; None without one. Raises ValueError for other shapes.
    """
    if found.pattern != "chance":
        return None
    followed = _bridge.follow_counts(compute, _tables(causes))
    if followed is None:
        return None
    explained = Explanation(list(causes)[followed["cause"]], followed["imbalance"])
    of_counts = {name: followed[name] for name in ("n_most", "saved", "chance")}
    return replace(found, pattern="fixed", most=tuple(followed["most"]), **of_counts), explained


def cost_of_cells(compute: np.ndarray, found: Differences, cells: np.ndarray) -> CostOfCells | None:
    """What cells cost on the ranks that are slowest step after step; None where nobody knows.

    compute, cells : (n_steps, n_ranks). Raises ValueError for other shapes, and if no ranks are slowest.
    """
    if not np.isfinite(cells).all():
        return None
    cost = _bridge.cost_of_cells(_known(compute), _known(cells), found.most)
    return None if cost is None else CostOfCells(**cost)


def regions_to_report(
    saved: Sequence[float], share: Sequence[float], elapsed: float, most: float
) -> list[int]:
    """Numbers of regions that are worth reporting, the one with most to save first.

    saved : what balancing each would save; 0 where its ranks differ by chance. share : of all ranks' time,
    what is in it. elapsed, and what the ranks' PUs leave to save at most : in the unit of saved.
    """
    return _bridge.regions_to_report(saved, share, elapsed, most)


def rank_without_work(compute: np.ndarray) -> int | None:
    """The column of the one of three ranks or more that computes a tenth of the others' median at most,
    as one that only hands out work; None where there is none, or several.

    compute : compute time (n_steps, n_ranks), whose NaN count as 0.
    """
    return _bridge.rank_without_work(_known(compute))


def rank_waited_for(waited: np.ndarray, named: float, waiting: float) -> int | None:
    """The column of the one rank that others wait for beyond chance.

    waited : how long each was waited for, (n_steps, n_ranks). named : all waiting that names a rank;
    waiting : all there is. None where no rank stands out, or most waiting names nobody.
    """
    return _bridge.rank_waited_for(_known(waited), named, waiting)


def _tables(causes: Mapping[str, np.ndarray | None]) -> list[np.ndarray | None]:
    """Tables as the C++ code takes them; one with a NaN is not known."""
    return [_known(t) if t is not None and np.isfinite(t).all() else None for t in causes.values()]


def _known(table: np.ndarray | None) -> np.ndarray | None:
    return None if table is None else np.asarray(table, dtype=np.float64)
