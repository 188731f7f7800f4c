# SPDX-License-Identifier: BSD-3-Clause
"""The critical path: the chain of work through ranks that decided how long some steps took, and what balance
would gain. `bridge/waits/critical_path.cpp` computes both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfield import _bridge
from perfield.analysis.waits.states import EVENT, UNKNOWN

PATH: np.dtype = _bridge.WAIT_PATH
_COLLECTIVE = 2  # kind of an event; without a communicator it is a mark: the rank is there, and meets nobody


@dataclass(frozen=True)
class CriticalPath:
    """Time on the critical path, by step and rank.

    parts : structured (PATH: step, rank, computing_ns, communicating_ns). They add up to the time from the
    first to the last moment of the path.
    """

    parts: NDArray

    @property
    def time_ns(self) -> NDArray[np.float64]:
        """(n_parts,) ns of each part."""
        return self.parts["computing_ns"] + self.parts["communicating_ns"]

    def by_rank(self, n_ranks: int) -> NDArray[np.float64]:
        """(n_ranks,) ns on the path, in all steps."""
        return np.bincount(self.parts["rank"], self.time_ns, minlength=n_ranks)[:n_ranks]


def critical_path(events: NDArray, states: NDArray) -> CriticalPath:
    """Goes from the last event backwards, and to the causing rank wherever the rank on the path waited.

    events : EVENT, of logged steps that follow one another. states : STATE, found in these events. Where a
    wait is not exact, the path stays on its rank. Raises ValueError for arrays of other dtypes.
    """
    return CriticalPath(_bridge.critical_path(events, states))


def with_marks(events: NDArray, steps: ArrayLike, ranks: ArrayLike, times_ns: ArrayLike) -> NDArray[np.void]:
    """Events, and behind them a mark for each moment at which a rank was in a step, such as its end.

    Events alone do not show what a rank did before its first and after its last; marks say how long it
    computed there. steps, ranks, times_ns : of the marks, on the clock of the events. Find wait states
    without marks; what was found in `events` stays true of the result. Returns EVENT.
    """
    steps = np.asarray(steps)
    marks = np.zeros(len(steps), EVENT)
    marks["step"], marks["rank"], marks["begun"] = steps, ranks, times_ns
    marks["peer"], marks["kind"], marks["count"] = -1, _COLLECTIVE, 1
    marks["wait_begin"] = marks["wait_end"] = UNKNOWN
    return np.concatenate([events, marks])


@dataclass(frozen=True)
class Replayed:
    """When ranks would end.

    end_ns, measured_ns : (n_ranks,) ns after the begin of the first rank; as replayed, and as measured.
    computing_ns : (n_ranks,) ns of computation, as measured. All are 0 for ranks without events.
    """

    end_ns: NDArray[np.float64]
    measured_ns: NDArray[np.float64]
    computing_ns: NDArray[np.float64]

    @property
    def gain_ns(self) -> float:
        """What the steps would be shorter by, in ns; at least 0."""
        return max(0.0, float(self.measured_ns.max() - self.end_ns.max())) if self.end_ns.size else 0.0


def replay(events: NDArray, states: NDArray, factor: ArrayLike, is_instant: bool = False) -> Replayed:
    """Replays the same messages and collective operations (max-plus model) with other computation.

    factor : (n_ranks,) by which each rank's computation takes longer. is_instant : communication takes no
    time beyond waiting. Raises ValueError for arrays of other dtypes, and for fewer factors than ranks.
    """
    found = _bridge.replay(events, states, np.asarray(factor, dtype=float), is_instant)
    return Replayed(found["end_ns"], found["measured_ns"], found["computing_ns"])


def gain_of_balance(events: NDArray, states: NDArray, region_ns: ArrayLike | None = None) -> float:
    """What the steps would be shorter by if ranks computed equally long, in ns; at least 0.

    region_ns : (n_ranks,) ns of computation in one region: only that is balanced; None: all is.
    """
    n_ranks = int(events["rank"].max()) + 1 if len(events) else 0
    measured = replay(events, states, np.ones(n_ranks))
    return balanced(events, states, measured.computing_ns, region_ns).gain_ns


def balanced(
    events: NDArray, states: NDArray, computing_ns: ArrayLike, region_ns: ArrayLike | None = None
) -> Replayed:
    """The replay behind `gain_of_balance`, in which each rank computes as long as the mean of all that have
    events.

    computing_ns : (n_ranks,) ns, `Replayed.computing_ns` of another replay of these events.
    """
    computing = np.asarray(computing_ns, dtype=float)
    region = computing if region_ns is None else np.asarray(region_ns, dtype=float)[: len(computing)]
    if len(region) != len(computing):
        raise ValueError(
            f"region_ns has {len(region)} values; expected one for each of {len(computing)} ranks."
        )
    known = np.isin(np.arange(len(region)), events["rank"])
    change = np.where(known, region[known].mean() if known.any() else 0.0, region) - region
    factor = np.divide(computing + change, computing, out=np.ones(len(computing)), where=computing > 0)
    return replay(events, states, np.maximum(factor, 0))
