# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks compute longer, or shorter, than before: the mean over ranks may hide it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.analysis.comparing.change import Change, beyond_chance
from perfield.analysis.comparing.measured import Measured
from perfield.analysis.comparing.table import compared
from perfield.text import counted, in_seconds

FIELD = "compute_time_s"
CHANCE = 0.001  # of any wrong name, as in the summary
WORTH_REPORTING = 0.05  # of the mean step
NAMED = 3


@dataclass(frozen=True)
class RankChange:
    """How the compute time of a rank in a step changed, in s."""

    rank: int
    change: Change


def changed_ranks(before: Measured, after: Measured) -> list[RankChange]:
    """Ranks whose compute time changed by more than chance, and by more than 5 % of a step, most first.

    Empty where the sides have different ranks, or nobody saw compute times. Such a change may be as large
    for all ranks; those are not left out.
    """
    sides = before, after
    if any(FIELD not in side.tables for side in sides) or not np.array_equal(before.ranks, after.ranks):
        return []
    least = WORTH_REPORTING * max(
        float(side.weighed(side.means["step_time_s"], side.compared).mean()) for side in sides
    )
    found = []
    for column, rank in enumerate(before.ranks.tolist()):
        of_rank = [np.nan_to_num(side.tables[FIELD][:, column]).astype(float) for side in sides]
        apart = [float(side.weighed(values, side.compared).mean()) for values, side in zip(of_rank, sides)]
        if abs(apart[1] - apart[0]) > least:
            found.append(RankChange(rank, compared(sides, of_rank)))
    # The others were not tested for being small, but count as tests all the same.
    chances = [one.change.chance for one in found] + [1.0] * (len(before.ranks) - len(found))
    kept = [one for one, is_beyond in zip(found, beyond_chance(chances, CHANCE)) if is_beyond]
    return sorted(kept, key=lambda one: (-abs(one.change.difference), one.rank))


def in_words(changed: list[RankChange], n_ranks: int) -> str:
    """A sentence on the ranks whose compute time changed; "" where none did, or all by about as much."""
    differences = np.array([one.change.difference for one in changed])
    if not len(changed) or (len(changed) == n_ranks and np.ptp(differences) < abs(differences).max() / 2):
        return ""
    named = [
        f"rank {one.rank}{'' if place else ' computes'} {_amount(one.change.difference)}"
        f"{'' if place else ' per step'}"
        for place, one in enumerate(changed[:NAMED])
    ]
    n_more = len(changed) - NAMED
    more = f", and {counted(n_more, 'other')} differ{'s' * (n_more == 1)}" if n_more > 0 else ""
    return f"Of {n_ranks:,} ranks, {', '.join(named)}{more}."


def _amount(time_s: float) -> str:
    """A change of time: "60 ms less"."""
    return f"{in_seconds(abs(time_s))} {'more' if time_s > 0 else 'less'}"
