# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of events: who waited for whom, how long, and how surely.

The terms are those of Scalasca's pattern documentation. `bridge/waits/events.hpp` says what each column of
EVENT and STATE means, and `bridge/waits/wait_states.hpp` finds the states.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfield import _bridge
from perfield.analysis.waits.coverage import Coverage

EVENT: np.dtype = _bridge.WAIT_EVENT
STATE: np.dtype = _bridge.WAIT_STATE

# A stamp that is not known.
UNKNOWN = np.iinfo(np.int64).min

# Names of STATE's kinds.
KINDS = (
    "late_sender",
    "late_receiver",
    "barrier",
    "n_to_n",
    "late_broadcast",
    "early_reduce",
    "late_one_sided",
)

# STATE's exactness. UNCERTAIN states are no longer than the clocks are uncertain, and belong to no sum.
UNCERTAIN, BOUND, EXACT = 0, 1, 2

SUM = np.dtype(
    [("step", "i8"), ("rank", "i4"), ("kind", "u1"), ("is_bound", "?"), ("time_ns", "f8"), ("n_states", "i8")]
)
PAIR = np.dtype(
    [
        ("rank", "i4"),
        ("cause", "i4"),
        ("kind", "u1"),
        ("is_bound", "?"),
        ("time_ns", "f8"),
        ("n_states", "i8"),
    ]
)


def _summed(states: NDArray, by: Sequence[str], dtype: np.dtype) -> NDArray:
    """Time and number of states by some columns; is_bound where any of them is a bound."""
    if not states.size:
        return np.zeros(0, dtype)
    order = np.lexsort([states[name] for name in reversed(by)])
    states = states[order]
    changes = np.zeros(states.size, bool)
    changes[0] = True
    for name in by:
        changes[1:] |= states[name][1:] != states[name][:-1]
    first = np.flatnonzero(changes)
    sums = np.zeros(first.size, dtype)
    for name in by:
        sums[name] = states[name][first]
    sums["time_ns"] = np.add.reduceat(states["time_ns"], first)
    sums["n_states"] = np.diff(np.append(first, states.size))
    if "is_bound" in sums.dtype.names:
        sums["is_bound"] = np.logical_or.reduceat(states["exactness"] == BOUND, first)
    return sums


@dataclass(frozen=True)
class Waits:
    """The wait states of some steps, and how much of the blocked time they explain."""

    states: NDArray  # STATE, by step and rank
    coverage: Coverage
    n_ranks: int

    @property
    def certain(self) -> NDArray:
        """The states that are longer than the clocks are uncertain: exact ones and bounds."""
        return self.states[self.states["exactness"] != UNCERTAIN]

    def sums(self) -> NDArray:
        """Time that ranks waited as (step, rank, kind, is_bound, time_ns, n_states), by step, rank and kind.

        Combinations without waiting have no row. is_bound : the time is at least so long.
        """
        return _summed(self.certain, ("step", "rank", "kind"), SUM)

    def pairs(self) -> NDArray:
        """A table (rank, cause, kind, is_bound, time_ns, n_states) over all steps, the longest waiting first.

        rank : waits. cause : the rank waited for, -1 if it is not known.
        """
        table = _summed(self.certain, ("rank", "cause", "kind"), PAIR)
        return table[np.argsort(-table["time_ns"], kind="stable")]

    def waited(self, steps: ArrayLike, kinds: Iterable[str] = KINDS) -> NDArray[np.float64]:
        """Time that each rank waited in each of some steps as (n_steps, n_ranks), ns.

        steps : unique, ascending. kinds : which of KINDS.
        """
        chosen = [KINDS.index(kind) for kind in kinds]
        states = self.certain
        return self._dense(states[np.isin(states["kind"], chosen)], "rank", steps)

    def waited_for(self, steps: ArrayLike) -> NDArray[np.float64]:
        """Time that others waited for each rank in each of some steps as (n_steps, n_ranks), ns; direct."""
        states = self.certain
        return self._dense(states[states["cause"] >= 0], "cause", steps)

    def _dense(self, states: NDArray, column: str, steps: ArrayLike) -> NDArray[np.float64]:
        steps = np.asarray(steps)
        total = np.zeros((steps.size, self.n_ranks))
        if not steps.size:
            return total
        row = np.searchsorted(steps, states["step"]).clip(max=steps.size - 1)
        is_there = steps[row] == states["step"]
        np.add.at(total, (row[is_there], states[column][is_there]), states["time_ns"][is_there])
        return total


def find_wait_states(
    events: NDArray, uncertainty_ns: ArrayLike | None = None, clock: ArrayLike | None = None, n_ranks: int = 0
) -> Waits:
    """Match the two ends of messages and the members of collectives, and find who waited for whom.

    events : EVENT array, in any order. Stamps are ns on the run's common clock.
    uncertainty_ns : (n_ranks,) how uncertain each rank's clock is against the others; not finite where that
        is not known. None: all ranks share one clock, and `n_ranks` says how many there are.
    clock : (n_ranks,) equal where ranks share a clock, as those of one node do; None: no ranks share one.
    Raises ValueError if events have another dtype or the arrays' lengths disagree.
    """
    if uncertainty_ns is None:
        uncertainty_ns = np.zeros(n_ranks or (int(events["rank"].max()) + 1 if events.size else 0))
    found = _bridge.wait_states(events, uncertainty_ns, clock)
    return Waits(found["states"], Coverage(found["covered"]), len(np.asarray(uncertainty_ns)))
