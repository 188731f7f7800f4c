# SPDX-License-Identifier: BSD-3-Clause
"""What decided how long logged steps took: the critical path, what balance would gain, and POP's
efficiencies, added up over stretches of steps that follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from perfield.analysis.waits.efficiency import Efficiency
from perfield.analysis.waits.path import CriticalPath, balanced, critical_path, replay


@dataclass(frozen=True)
class Stretch:
    """Steps that follow one another, of which every event is known.

    steps : (n_steps,) their indexes, ascending. events : EVENT with marks (`with_marks`). states : STATE,
    found in these events. computed_s : (n_steps, n_ranks) s that a rank computed. of_regions_s : (n_steps,
    n_regions, n_ranks) s of that in each region.
    """

    steps: NDArray[np.int64]
    events: NDArray
    states: NDArray
    computed_s: NDArray[np.float64]
    of_regions_s: NDArray[np.float64]


@dataclass
class PathSums:
    """Sums over stretches of steps. A step's share in a region is that of the rank's whole step, since nobody
    knows when in a step a region ran.

    n_steps : steps. length_s : s from the begin of the first rank to the end of the last. instant_s : the
    same on a network without delay. gain_s : what they would be shorter by, at most, if ranks computed
    equally long. computing_s, on_path_s : (n_ranks,) s of computation, and on the critical path.
    region_on_path_s : (n_regions,) s. region_gain_s : s by region that was balanced alone.
    """

    n_ranks: int
    n_regions: int = 0
    n_steps: int = 0
    length_s: float = 0.0
    instant_s: float = 0.0
    gain_s: float = 0.0
    computing_s: NDArray[np.float64] = field(init=False)
    on_path_s: NDArray[np.float64] = field(init=False)
    region_on_path_s: NDArray[np.float64] = field(init=False)
    region_gain_s: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.computing_s, self.on_path_s = np.zeros((2, self.n_ranks))
        self.region_on_path_s = np.zeros(self.n_regions)

    @property
    def efficiency(self) -> Efficiency | None:
        """POP's efficiencies (pop-coe.eu) of these steps; None where nothing is known."""
        longest = float(self.computing_s.max(initial=0.0))
        if not longest > 0 or not self.length_s > 0:
            return None
        instant = min(max(self.instant_s, longest), self.length_s)
        balance = float(self.computing_s.mean()) / longest
        return Efficiency(balance, longest / instant, instant / self.length_s)

    def add(self, stretch: Stretch) -> None:
        """Adds all but the balance of regions. Raises ValueError for arrays of other dtypes."""
        events, states = stretch.events, stretch.states
        found = replay(events, states, np.ones(self.n_ranks), is_instant=True)
        self.n_steps += len(stretch.steps)
        self.length_s += float(found.measured_ns.max(initial=0.0)) * 1e-9
        self.instant_s += float(found.end_ns.max(initial=0.0)) * 1e-9
        self.gain_s += balanced(events, states, found.computing_ns).gain_ns * 1e-9
        self.computing_s += found.computing_ns * 1e-9
        path = critical_path(events, states)
        self.on_path_s += path.by_rank(self.n_ranks) * 1e-9
        self.region_on_path_s += _of_regions(stretch, path)

    def balance(self, stretch: Stretch, regions: Sequence[int]) -> None:
        """Adds what the stretch would be shorter by if one of these regions alone were balanced."""
        for region in regions:
            region_ns = np.nan_to_num(stretch.of_regions_s[:, region]).sum(axis=0) * 1e9
            found = balanced(stretch.events, stretch.states, stretch.computed_s.sum(axis=0) * 1e9, region_ns)
            self.region_gain_s[region] = self.region_gain_s.get(region, 0.0) + found.gain_ns * 1e-9


def _of_regions(stretch: Stretch, path: CriticalPath) -> NDArray[np.float64]:
    """(n_regions,) s of computation on the path."""
    step = np.searchsorted(stretch.steps, path.parts["step"])
    inside = np.flatnonzero(np.isin(path.parts["step"], stretch.steps))
    step, rank = step[inside], path.parts["rank"][inside]
    regions = np.nan_to_num(stretch.of_regions_s[step, :, rank])
    whole = np.maximum(regions.sum(axis=1), np.nan_to_num(stretch.computed_s[step, rank]))[:, np.newaxis]
    share = np.divide(regions, whole, out=np.zeros_like(regions), where=whole > 0)
    return (share * path.parts["computing_ns"][inside, np.newaxis]).sum(axis=0) * 1e-9
