# SPDX-License-Identifier: BSD-3-Clause
"""What a rank costs the others: where their waiting began. `bridge/waits/delay_costs.cpp` computes it, after
Boehme et al., Identifying the root causes of wait states in large-scale parallel applications (ICPP 2010)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfield import _bridge
from perfield.analysis.waits.states import BOUND

COST: np.dtype = _bridge.WAIT_COST
FOLLOWED = 64  # steps
SURE = 2  # standard deviations
# In place of a region. Costs have other reasons where a rank communicated longer, or it is not known why it
# was late; the critical path lies in MPI where it is not in a rank's computation.
NO_REGION, OTHER_REASONS, IN_MPI = "no region", "other reasons", "in MPI"


@dataclass(frozen=True)
class DelayCosts:
    """Others' waiting, by the rank and step in which it began, and by who waited for it.

    costs : structured (COST), by step, rank and waiting (the rank that waited). computing_ns : since it
    computed longer than that one. communicating_ns : since it communicated longer, or for no known reason.
    longer_ns : by how much longer it computed. unbooked_ns : waiting that is not exact or has no known cause.
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


def by_region(
    costs: NDArray, frame: ArrayLike, of_regions_ns: ArrayLike, by_time: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Divides costs among the regions in which the rank was later than the one that waited for it.

    Of a step only the sums of regions are known, not when a region ran, so this is an estimate. As much as
    the rank computed longer in that step than the one that waited is divided in proportion to how much longer
    it was in each region (after Boehme et al.). The rest of the delay came of the order of events in the
    step; `by_time` divides it in proportion to the rank's time in each region, as far as that is long enough.
    `bridge/waits/divided_costs.cpp` does it.

    costs : (n_costs,) COST. frame : (n_costs,) index into of_regions_ns. of_regions_ns : (n_frames,
    n_regions, n_ranks) ns that ranks were in each region, without MPI calls that may wait; a last region may
    hold what is in none.
    Returns the costs by region, as of_regions_ns, and what is left, (n_frames, n_ranks) ns: the rank
    communicated longer, or why it was late is not known. Raises ValueError for other dtypes and shapes.
    """
    of_regions = np.nan_to_num(np.asarray(of_regions_ns, dtype=float))
    found = _bridge.divide_costs(costs, np.asarray(frame, dtype=np.int64), of_regions, by_time)
    return found["of_regions_ns"], found["left_ns"]


def by_function(
    costs: NDArray, times_ns: ArrayLike, variances: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Divides costs among sampled functions in which the rank was longer than the one that waited for it, as
    `by_region` does, but only among those where samples tell so: by more than SURE standard deviations.

    costs : (n_costs,) COST. times_ns : (n_functions, n_ranks) ns that ranks were in each, as samples tell it.
    variances : of these, ns^2. Returns the costs by function, as times_ns, and what is left, (n_ranks,) ns.
    """
    times, variances = np.asarray(times_ns, dtype=float), np.asarray(variances, dtype=float)
    ranks, waiting = costs["rank"], costs["waiting"]
    longer = times[:, ranks] - times[:, waiting]
    sure = longer > SURE * np.sqrt(variances[:, ranks] + variances[:, waiting])
    longer = np.where(sure, longer, 0.0)
    in_all = longer.sum(axis=0)
    # As much of the delay as these functions explain.
    share = np.minimum(1.0, in_all / np.maximum(costs["longer_ns"], 1.0))
    explained = costs["computing_ns"] * share
    parts, left = np.zeros_like(times), np.zeros(times.shape[1])
    of_function = longer * (explained / np.where(in_all > 0, in_all, 1.0))
    np.add.at(parts, (slice(None), ranks), of_function)
    np.add.at(left, ranks, costs["computing_ns"] - explained + costs["communicating_ns"])
    return parts, left


def bound_costs(states: NDArray) -> NDArray:
    """Waiting that is known as a lower bound alone, as COST: as if the rank waited for had computed so much
    longer. It is not followed, and counts for the step in which the others waited. states : STATE."""
    bounds = states[(states["cause"] >= 0) & (states["exactness"] == BOUND)]
    costs = np.zeros(len(bounds), COST)
    costs["step"], costs["rank"], costs["waiting"] = bounds["step"], bounds["cause"], bounds["rank"]
    costs["computing_ns"] = costs["longer_ns"] = bounds["time_ns"]
    return costs


def costs_in_all(*parts: NDArray) -> NDArray:
    """Costs (COST) of several steps as a row for each pair of ranks, of step -1."""
    rows = np.concatenate([np.zeros(0, COST), *parts])
    pairs, place = np.unique(rows[["rank", "waiting"]], return_inverse=True)
    found = np.zeros(len(pairs), COST)
    found["step"] = -1
    for name in pairs.dtype.names:
        found[name] = pairs[name]
    for name in COST.names:
        if name.endswith("_ns"):
            found[name] = np.bincount(place, rows[name], minlength=len(pairs))
    return found
