# SPDX-License-Identifier: BSD-3-Clause
"""What a rank costs the others: where their waiting began. `bridge/waits/delay_costs.cpp` computes it, after
Boehme et al., Identifying the root causes of wait states in large-scale parallel applications (ICPP 2010)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfield import _bridge

COST: np.dtype = _bridge.WAIT_COST
FOLLOWED = 64  # steps


@dataclass(frozen=True)
class DelayCosts:
    """Others' waiting, by the rank and step in which it began.

    costs : structured (COST: step, rank, computing_ns, communicating_ns), by step and rank. The two times say
    why the rank was late. unbooked_ns : waiting that is not exact or has no known cause.
    """

    costs: NDArray
    unbooked_ns: float

    @property
    def time_ns(self) -> NDArray[np.float64]:
        """(n_costs,) all that the row cost, in ns."""
        return self.costs["computing_ns"] + self.costs["communicating_ns"]

    def by_rank(self, n_ranks: int) -> NDArray[np.float64]:
        """(n_ranks,) ns of others' waiting that began on each rank, in all steps."""
        return np.bincount(self.costs["rank"], self.time_ns, minlength=n_ranks)[:n_ranks]

    def by_step(self, steps: ArrayLike, n_ranks: int) -> NDArray[np.float64]:
        """(n_steps, n_ranks) ns of others' waiting that began there. steps : unique, ascending."""
        steps = np.asarray(steps, dtype=np.int64)
        at = np.searchsorted(steps, self.costs["step"])
        kept = (at < len(steps)) & (self.costs["rank"] < n_ranks)
        kept[kept] = steps[at[kept]] == self.costs["step"][kept]
        values = np.zeros((len(steps), n_ranks))
        np.add.at(values, (at[kept], self.costs["rank"][kept]), self.time_ns[kept])
        return values


def delay_costs(events: NDArray, states: NDArray, followed: int = FOLLOWED) -> DelayCosts:
    """Follows each wait back to where it began.

    events : EVENT. states : STATE, found in these events. followed : over how many steps a delay is followed;
    what began earlier counts for the rank and step reached. The costs and unbooked_ns add up to the waiting.
    Raises ValueError for arrays of other dtypes, states of other events, and fewer than one step.
    """
    if followed < 1:
        raise ValueError(f"followed is {followed}; expected at least 1 step.")
    found = _bridge.delay_costs(events, states, followed)
    return DelayCosts(found["costs"], found["unbooked_ns"])


def by_region(cost_s: ArrayLike, computing_s: ArrayLike) -> NDArray[np.float64]:
    """Divides what ranks cost among their regions, in proportion to what they compute there beyond the mean.

    cost_s : (n_ranks,) s of others' waiting. computing_s : (n_regions, n_ranks) s of computation by region.
    Returns (n_regions, n_ranks) s that add up to cost_s. If a rank computes nowhere longer than the mean, its
    cost is divided in proportion to its time, and if it computes nothing, equally.
    """
    cost, computing = np.asarray(cost_s, dtype=float), np.nan_to_num(np.asarray(computing_s, dtype=float))
    if computing.ndim != 2 or computing.shape[1:] != cost.shape:
        raise ValueError(
            f"computing_s has shape {computing.shape}; expected (n_regions, {len(cost)}), a column per rank."
        )
    if not len(computing):
        return computing
    share = np.maximum(computing - computing.mean(axis=1, keepdims=True), 0)
    share = np.where(share.sum(axis=0) > 0, share, computing)
    share = np.where(share.sum(axis=0) > 0, share, 1.0)
    return share / share.sum(axis=0) * cost
