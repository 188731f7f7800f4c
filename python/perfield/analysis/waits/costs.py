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
# Beside sampled functions; the last one where it is not known whether a rank waited for a PU.
FILES, WITHOUT_PU = "files", "waiting for a PU"
BLOCKED, NOT_IN_USER_MODE = "in the kernel or blocked", "not in user mode"


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


@dataclass(frozen=True)
class Sampled:
    """How long ranks computed, and where samples found them meanwhile, in some steps.

    cpu_ns : (n_functions, n_ranks) ns of CPU time in each function, by samples; variances : of these, ns^2.
    all_cpu_ns, all_variances : (n_ranks,) the same of all functions but MPI's. wall_ns, files_ns : (n_ranks,)
    ns outside of MPI calls that may wait and of files, and ns in files. delayed_ns : (n_ranks,) of wall_ns
    for which the rank waited for a PU, at least, as the kernel reports it; NaN: not known.
    """

    cpu_ns: NDArray[np.float64]
    variances: NDArray[np.float64]
    all_cpu_ns: NDArray[np.float64]
    all_variances: NDArray[np.float64]
    wall_ns: NDArray[np.float64]
    files_ns: NDArray[np.float64]
    delayed_ns: NDArray[np.float64]

    @property
    def not_in_user_mode(self) -> str:
        """What the time not in user mode is that no known wait for a PU explains."""
        return NOT_IN_USER_MODE if np.isnan(self.delayed_ns[self.all_cpu_ns > 0]).any() else BLOCKED

    @property
    def stretch(self) -> NDArray[np.float64]:
        """(n_ranks,) how long a second of CPU time took, in s; NaN without samples."""
        cpu = self.all_cpu_ns
        return np.divide(self.wall_ns, cpu, out=np.full(len(cpu), np.nan), where=cpu > 0)


def by_function(costs: NDArray, sampled: Sampled) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Divides costs among what made the rank compute longer than the one that waited: sampled functions,
    files, waiting for a PU, and other time not in user mode, in which the rank was in the kernel or blocked.

    With c for CPU time and s for how long a second of it took, ranks B and A differ by c_B s_B - c_A s_A.
    This is the mean s times (c_B - c_A), which functions explain in proportion to their own differences,
    and the mean c times (s_B - s_A), time not in user mode. Only differences of more than SURE standard
    deviations count. So a function that a busy processor slows down in all ranks alike has all its time, and
    a rank whose processor was taken away has none of that in functions. The kernel reports how much of s is
    waiting for a PU; what it does not report is in the rest (`Sampled.not_in_user_mode`).

    costs : (n_costs,) COST. Returns the costs as (n_functions + 3, n_ranks) ns: by function, in FILES,
    WITHOUT_PU and the rest; and what is left, (n_ranks,) ns.
    """
    own, waiting = costs["rank"], costs["waiting"]
    stretch = sampled.stretch
    mean_stretch = np.nan_to_num((stretch[own] + _known(stretch[waiting], stretch[own])) / 2)
    longer = np.zeros((len(sampled.cpu_ns) + 3, len(costs)))
    longer[:-3] = _surely_more(sampled.cpu_ns, sampled.variances, own, waiting) * mean_stretch
    longer[-3] = np.maximum(sampled.files_ns[own] - sampled.files_ns[waiting], 0.0)
    longer[-2] = _waiting_for_pus(sampled, own, waiting)
    longer[-1] = np.maximum(_not_in_user_mode(sampled, own, waiting) - longer[-2], 0.0)
    in_all = longer.sum(axis=0)
    # As much of the delay as these explain.
    share = np.minimum(1.0, in_all / np.maximum(costs["longer_ns"], 1.0))
    explained = costs["computing_ns"] * share
    parts, left = np.zeros((len(longer), len(stretch))), np.zeros(len(stretch))
    np.add.at(parts, (slice(None), own), longer * (explained / np.where(in_all > 0, in_all, 1.0)))
    np.add.at(left, own, costs["computing_ns"] - explained + costs["communicating_ns"])
    return parts, left


def _known(values: NDArray, others: NDArray) -> NDArray[np.float64]:
    return np.where(np.isnan(values), others, values)


def _surely_more(values: NDArray, variances: NDArray, own: NDArray, waiting: NDArray) -> NDArray[np.float64]:
    """(..., n_costs) by how much the values of ranks `own` exceed those of ranks `waiting`; 0 where that is
    not sure."""
    more = values[..., own] - values[..., waiting]
    return np.where(more > SURE * np.sqrt(variances[..., own] + variances[..., waiting]), more, 0.0)


def _not_in_user_mode(sampled: Sampled, own: NDArray, waiting: NDArray) -> NDArray[np.float64]:
    cpu, stretch = sampled.all_cpu_ns, np.nan_to_num(sampled.stretch)
    known = cpu > 0
    variances = np.divide(stretch**2 * sampled.all_variances, cpu**2, out=np.zeros(len(cpu)), where=known)
    more = _surely_more(stretch, variances, own, waiting) * (cpu[own] + cpu[waiting]) / 2
    return np.where(
        known[own] & known[waiting], np.minimum(more, np.maximum(sampled.wall_ns - cpu, 0.0)[own]), 0.0
    )


def _waiting_for_pus(sampled: Sampled, own: NDArray, waiting: NDArray) -> NDArray[np.float64]:
    """Likewise, the part that the kernel reports: it has no statistical error."""
    cpu, delayed = sampled.all_cpu_ns, sampled.delayed_ns
    rate = np.divide(delayed, cpu, out=np.full(len(cpu), np.nan), where=cpu > 0)
    more = (rate[own] - rate[waiting]) * (cpu[own] + cpu[waiting]) / 2
    return np.nan_to_num(np.clip(more, 0.0, delayed[own]))


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
