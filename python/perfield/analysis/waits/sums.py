# SPDX-License-Identifier: BSD-3-Clause
"""Wait states of many steps, added up: who waited for whom and why, how surely, and whom it cost.

Sums of chunks of steps add up, so a run is never in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfield import rows
from perfield.analysis.waits.coverage import ENOUGH, Coverage
from perfield.analysis.waits.states import EXACT, KINDS, UNCERTAIN
from perfield.analysis.waits.transfers import TransferSums

GROUPS = 64  # of consecutive steps
EXACTNESS = ("uncertain", "at least", "exact")  # in words
LATE = np.dtype(
    [
        *(("rank", "i4"), ("cause", "i4"), ("kind", "u1"), ("exactness", "u1")),
        *(("count", "u8"), ("steps", "u8"), ("time_s", "f8")),
    ]
)


def covered_in_all(parts: Sequence[np.ndarray]) -> np.ndarray:
    """What is covered of several steps and ranks (`wait_states.hpp`) as one row, of step and rank -1."""
    total = np.zeros(1, parts[0].dtype)
    total["step"] = total["rank"] = -1
    for part in parts:
        for name in part.dtype.names:
            if name.endswith("_ns"):
                total[name][0] += part[name].sum(axis=0)
    return total


@dataclass(frozen=True)
class WaitSums:
    """What waiting came to in some steps.

    n_steps : frames. is_whole : they are one frame of a run that closed no step. n_logged : those in which
    some rank kept a log. late : structured (LATE), a row for each waiting rank, causing rank (-1: not
    known), kind (index in KINDS) and exactness; count : waits, steps : in how many steps. parts : the
    regions of the run, or sampled functions where it has none (`part` says which), NO_REGION (of functions:
    FILES, WITHOUT_PU, and BLOCKED or NOT_IN_USER_MODE) and OTHER_REASONS. caused_in_s : (n_parts, n_ranks) s
    of others' waiting that began on the rank, by what it did then; NaN where a rank has no record of its
    messages. caused_of : (n_groups, n_ranks), of groups of consecutive steps, at most GROUPS, for tests
    against chance. step_s : (n_ranks,) s, how long its steps were. mpi_s : in calls that may wait, of all
    ranks. coverage : how much of that is explained, one row. transfers : what messages and collective
    operations themselves took. uncertainty_s : (n_ranks,) of the clocks, inf where unknown.
    """

    n_ranks: int
    n_steps: int
    is_whole: bool
    n_logged: int
    late: np.ndarray
    parts: tuple[str, ...]
    part: str
    caused_in_s: np.ndarray
    caused_of: np.ndarray
    step_s: np.ndarray
    mpi_s: float
    coverage: Coverage
    transfers: TransferSums
    uncertainty_s: np.ndarray

    @property
    def caused_s(self) -> np.ndarray:
        """(n_ranks,) s of others' waiting that began on the rank."""
        return self.caused_in_s.sum(axis=0)

    @property
    def is_known(self) -> bool:
        """Whether anything is known at all."""
        return bool(np.isfinite(self.caused_s).any())

    @property
    def shares(self) -> dict[str, float]:
        """exact, bounded, uncertain, unexplained: shares of the time in calls that may wait; NaN without."""
        return self.coverage.shares(self.mpi_s * 1e9)

    @property
    def explained(self) -> float:
        """Share of that time that is explained, exactly or by a bound; NaN without any."""
        return self.coverage.explained(self.mpi_s * 1e9)

    @property
    def names_causes(self) -> bool:
        """Whether enough is explained to say on whom waiting begins."""
        return self.explained >= ENOUGH

    @property
    def transfer_s(self) -> float:
        """s in calls that are explained exactly, without the waiting: transfer, copies and progress."""
        waited_s = self.late["time_s"][self.late["exactness"] == EXACT].sum()
        return max(0.0, self.coverage.total("exact_ns") * 1e-9 - float(waited_s))

    def sure(self) -> np.ndarray:
        """The rows of `late` that hold beyond the clocks' uncertainty."""
        return self.late[self.late["exactness"] != UNCERTAIN]


_KEYS = ("rank", "cause", "kind", "exactness")  # of a LATE array


def late_rows(states: np.ndarray) -> np.ndarray:
    """Wait states (STATE) added up by waiting rank, causing rank, kind and exactness: a LATE array."""
    order = np.lexsort([states["step"], *(states[name] for name in reversed(_KEYS))])
    sorted_ = {name: states[name][order] for name in (*_KEYS, "step")}
    first = np.zeros(len(order), dtype=bool)
    first[:1] = True
    for name in _KEYS:
        first[1:] |= sorted_[name][1:] != sorted_[name][:-1]
    new_step = first.copy()
    new_step[1:] |= sorted_["step"][1:] != sorted_["step"][:-1]
    begin = np.flatnonzero(first)
    late = np.zeros(len(begin), LATE)
    for name in _KEYS:
        late[name] = sorted_[name][begin]
    if len(begin):
        late["count"] = np.diff(np.append(begin, len(order)))
        late["steps"] = np.add.reduceat(new_step, begin, dtype=np.int64)
        late["time_s"] = np.add.reduceat(states["time_ns"][order], begin) * 1e-9
    return late


def added_up(parts: Sequence[np.ndarray]) -> np.ndarray:
    """LATE arrays of different steps as one."""
    return rows.added_up(np.concatenate([np.zeros(0, LATE), *parts]), _KEYS, ("count", "steps", "time_s"))


def by_kind(late: np.ndarray) -> dict[str, float]:
    """Seconds of waiting by kind, the largest first; kinds without any are left out. late : LATE."""
    time_s = np.bincount(late["kind"], late["time_s"], minlength=len(KINDS))
    order = np.argsort(-time_s, kind="stable")
    return {KINDS[kind]: float(time_s[kind]) for kind in order.tolist() if time_s[kind] > 0}
