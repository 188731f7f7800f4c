# SPDX-License-Identifier: BSD-3-Clause
"""How much of the time for which ranks were blocked in MPI their wait states explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfield import _bridge
from perfield.text import in_whole_percent

# Why time is not explained, in the order of gap_ns.
GAPS = {
    "no_partner": "in messages whose other end is not known",
    "clash": "in events that contradict each other",
    "incomplete": "in collective operations whose members are not all known",
    "unpaired": "in steps where ranks kept sums of different messages",
    "either_way": "where a late receiver may or may not have blocked the sender",
    "no_holder": "in locks that no other rank is seen to hold",
    "other_call": "in calls that do not say for whom they wait",
    "only_sums": "in sums of several messages, where late and early ones cancel",
}

# Why time in MPI is in no event, hence in no gap.
NO_EVENT = "in calls, or parts of calls, that waited for no message or operation that is known"

# Share of the time in MPI that must be explained before anybody is named as the cause of waiting.
ENOUGH = _bridge.ENOUGH_EXPLAINED


@dataclass(frozen=True)
class Coverage:
    """What is explained of each rank's blocked time in each step.

    covered : (step, rank, blocked_ns, exact_ns, bounded_ns, uncertain_ns, gap_ns), by step and rank.
        `bridge/waits/wait_states.hpp` says what each column means.
    """

    covered: NDArray

    def total(self, name: str) -> float:
        """The sum of a column over ranks and steps, ns."""
        return float(self.covered[name].sum())

    def gaps(self) -> dict[str, float]:
        """Unexplained time by its reason (a key of GAPS), ns."""
        return dict(zip(GAPS, (float(one) for one in self.covered["gap_ns"].sum(axis=0))))

    def shares(self, mpi_time_ns: float | None = None) -> dict[str, float]:
        """exact, bounded, uncertain, unexplained: shares of the blocked time, which add up to 1.

        mpi_time_ns : of these ranks and steps, where it is known from elsewhere. What events do not hold of
            it is unexplained, too.
        Returns NaN if no rank was blocked.
        """
        parts = [self.total(name) for name in ("exact_ns", "bounded_ns", "uncertain_ns")]
        whole = max(self.total("blocked_ns"), mpi_time_ns or 0.0)
        if whole <= 0:
            return dict.fromkeys(("exact", "bounded", "uncertain", "unexplained"), np.nan)
        exact, bounded, uncertain = (part / whole for part in parts)
        unexplained = max(0.0, 1 - exact - bounded - uncertain)
        return {"exact": exact, "bounded": bounded, "uncertain": uncertain, "unexplained": unexplained}

    def explained(self, mpi_time_ns: float | None = None) -> float:
        """Share that is explained, exactly or by a bound; NaN if no rank was blocked. See `shares`."""
        shares = self.shares(mpi_time_ns)
        return shares["exact"] + shares["bounded"]

    def words(self, mpi_time_ns: float | None = None) -> str:
        """One sentence: how much is explained exactly, as a bound, and not, and mainly why not."""
        shares = self.shares(mpi_time_ns)
        if np.isnan(shares["exact"]):
            return "No rank was blocked in MPI."
        texts = [f"{in_whole_percent(shares['exact'])} is explained exactly"]
        if shares["bounded"] > 0:
            texts.append(f"{in_whole_percent(shares['bounded'])} is waiting by lower bounds")
        if shares["uncertain"] > 0:
            texts.append(f"{in_whole_percent(shares['uncertain'])} is shorter than the clocks are uncertain")
        rest = shares["unexplained"]
        if rest > 1e-9:
            texts.append(f"{in_whole_percent(rest)} is unexplained")
        *most, last = texts
        sentence = f"{', '.join(most)} and {last}" if most else last
        gaps = {GAPS[name]: gap for name, gap in self.gaps().items()}
        gaps[NO_EVENT] = (mpi_time_ns or 0.0) - self.total("blocked_ns")
        reason, longest = max(gaps.items(), key=lambda gap: gap[1])
        if rest > 1e-9 and longest > 0:
            sentence += f", mostly {reason}"
        return f"Of the time in blocking MPI calls, {sentence}."
