# SPDX-License-Identifier: BSD-3-Clause
"""What decided how long logged steps took: the critical path, what balance would gain, and POP's
efficiencies, added up over stretches of steps that follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from perfield.analysis.waits.coverage import ENOUGH, Coverage
from perfield.analysis.waits.efficiency import Efficiency
from perfield.analysis.waits.path import balanced, critical_path, replay

ALIKE = 0.1  # steps whose numbers differ by less than this share may represent others


@dataclass(frozen=True)
class StepMeans:
    """Means of some steps, to test whether they are like others.

    step_s : s that a step took, of the slowest rank. outside_mpi : share of the ranks' time.
    """

    step_s: float
    outside_mpi: float

    def is_like(self, others: StepMeans) -> bool:
        """Whether both numbers differ by less than ALIKE, as a share; not if one of them is not known."""
        return all(
            abs(own - other) < ALIKE * max(own, other)
            for own, other in ((self.step_s, others.step_s), (self.outside_mpi, others.outside_mpi))
        )


@dataclass(frozen=True)
class Stretch:
    """Consecutive steps whose events are all known.

    steps : (n_steps,) their indexes, ascending. events : EVENT with marks (`with_marks`). states : STATE,
    found in these events. coverage : how much they explain. of_regions_s : (n_steps, n_regions + 1, n_ranks)
    s that a rank was in each region, without MPI calls that may wait; the last one holds what is in none.
    """

    steps: NDArray[np.int64]
    events: NDArray
    states: NDArray
    coverage: Coverage
    of_regions_s: NDArray[np.float64]


@dataclass
class PathSums:
    """Sums over stretches of steps. A step's share in a region is that of the rank's whole step, since nobody
    knows when in a step a region ran.

    n_steps : steps. length_s : s from the begin of the first rank to the end of the last. instant_s : the
    same on a network without delay. gain_s : what they would be shorter by, at most, if ranks computed
    equally long. computing_s : (n_ranks,) s of computation. on_path_in_s : (n_regions + 2, n_ranks) s on the
    critical path: in each region, in no region, and in MPI. region_gain_s : s by region that was balanced
    alone. is_known : (n_ranks,) ranks with events; others are in no mean. n_of_run, run_s : of how many steps
    these are a sample, and how long those took. means, means_of_run : of these steps, and of all. blocked_s,
    explained_s : s in MPI calls whose events are known, and of that, what wait states explain.
    """

    n_ranks: int
    n_regions: int = 0
    n_steps: int = 0
    length_s: float = 0.0
    instant_s: float = 0.0
    gain_s: float = 0.0
    n_of_run: int = 0
    run_s: float = 0.0
    blocked_s: float = 0.0
    explained_s: float = 0.0
    means: StepMeans = StepMeans(np.nan, np.nan)
    means_of_run: StepMeans = StepMeans(np.nan, np.nan)
    computing_s: NDArray[np.float64] = field(init=False)
    is_known: NDArray[np.bool_] = field(init=False)
    on_path_in_s: NDArray[np.float64] = field(init=False)
    region_gain_s: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.computing_s = np.zeros(self.n_ranks)
        self.is_known = np.zeros(self.n_ranks, bool)
        self.on_path_in_s = np.zeros((self.n_regions + 2, self.n_ranks))

    @property
    def is_like_run(self) -> bool:
        """Whether these steps represent all: they are all, or their means are alike."""
        return self.n_steps >= self.n_of_run or self.means.is_like(self.means_of_run)

    @property
    def on_path_s(self) -> NDArray[np.float64]:
        """(n_ranks,) s on the critical path."""
        return self.on_path_in_s.sum(axis=0)

    @property
    def region_on_path_s(self) -> NDArray[np.float64]:
        """(n_regions,) s on the critical path, of all ranks."""
        return self.on_path_in_s[:-2].sum(axis=1)

    @property
    def explained(self) -> float:
        """Share of the time in MPI that is explained; 1 where there is none."""
        return self.explained_s / self.blocked_s if self.blocked_s > 0 else 1.0

    @property
    def names_path(self) -> bool:
        """Whether enough is explained to follow the critical path."""
        return self.explained >= ENOUGH

    @property
    def efficiency(self) -> Efficiency | None:
        """POP's efficiencies (pop-coe.eu) of these steps; None where nothing is known, or too little."""
        if not self.names_path:
            return None
        longest = float(self.computing_s.max(initial=0.0))
        if not longest > 0 or not self.length_s > 0:
            return None
        instant = min(max(self.instant_s, longest), self.length_s)
        balance = float(self.computing_s[self.is_known].mean()) / longest
        return Efficiency(balance, longest / instant, instant / self.length_s)

    def add(self, stretch: Stretch) -> None:
        """Adds all but the balance of regions. Raises ValueError for arrays of other dtypes."""
        events, states = stretch.events, stretch.states
        found = replay(events, states, np.ones(self.n_ranks), is_instant=True)
        self.n_steps += len(stretch.steps)
        covered = stretch.coverage
        self.blocked_s += covered.total("blocked_ns") * 1e-9
        self.explained_s += (covered.total("exact_ns") + covered.total("bounded_ns")) * 1e-9
        self.length_s += float(found.measured_ns.max(initial=0.0)) * 1e-9
        self.instant_s += float(found.end_ns.max(initial=0.0)) * 1e-9
        self.gain_s += balanced(events, states, found.computing_ns).gain_ns * 1e-9
        self.computing_s += found.computing_ns * 1e-9
        self.is_known[events["rank"]] = True
        parts = critical_path(events, states).parts
        inside = np.isin(parts["step"], stretch.steps)
        of_parts_s = path_by_region(parts[inside], stretch.steps, stretch.of_regions_s)
        np.add.at(self.on_path_in_s.T, parts["rank"][inside], of_parts_s)

    def balance(self, stretch: Stretch, regions: Sequence[int]) -> None:
        """Adds what the stretch would be shorter by if one of these regions alone were balanced."""
        for region in regions:
            computed_ns = stretch.of_regions_s.sum(axis=(0, 1)) * 1e9
            region_ns = stretch.of_regions_s[:, region].sum(axis=0) * 1e9
            found = balanced(stretch.events, stretch.states, computed_ns, region_ns)
            self.region_gain_s[region] = self.region_gain_s.get(region, 0.0) + found.gain_ns * 1e-9


def path_by_region(
    parts: NDArray, steps: NDArray[np.int64], of_regions_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(n_parts, n_regions + 2) s of each part of a path: in each region, in no region, and in MPI.

    parts : PATH, of these steps. steps, of_regions_s : as in `Stretch`.
    """
    of_regions = of_regions_s[np.searchsorted(steps, parts["step"]), :, parts["rank"]]
    whole = of_regions.sum(axis=1, keepdims=True)
    share = np.divide(of_regions, whole, out=np.zeros_like(of_regions), where=whole > 0)
    share[whole[:, 0] <= 0, -1] = 1.0
    computing_s = share * (parts["computing_ns"] * 1e-9)[:, np.newaxis]
    return np.column_stack([computing_s, parts["communicating_ns"] * 1e-9])
