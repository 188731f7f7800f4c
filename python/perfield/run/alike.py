# SPDX-License-Identifier: BSD-3-Clause
"""Whether the ranks of a frame closed the same step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Alike:
    """Which ranks step together.

    group : (n_ranks,) int, -1 for ranks that never checked in. closed : (n_ranks,) int, how many steps each
    rank closed in the whole run; -1 where that is not known, since a rank of its group has not ended, or
    does not matter.
    """

    group: np.ndarray
    closed: np.ndarray

    def are_uneven(self, ranks: np.ndarray, labels: np.ndarray, times: np.ndarray) -> bool:
        """Whether ranks of one group may have closed different steps here.

        ranks, labels, times : of the entries of a frame, with the program's own numbers and times. Different
        numbers show it. Where ranks closed different numbers of steps in all, only equal numbers and equal
        times show the opposite.
        """
        group = self.group[ranks]
        if len(ranks) < 2 or (group == group[0]).all():
            return _differ(self.closed[ranks], labels, times)
        members = (group == number for number in np.unique(group))
        return any(_differ(self.closed[ranks[m]], labels[m], times[m]) for m in members)


def _differ(closed: np.ndarray, labels: np.ndarray, times: np.ndarray) -> bool:
    if len(labels) < 2:
        return False
    if (labels != labels[0]).any():
        return True
    known = closed >= 0
    same_time = np.abs(times - times[0]) <= 1e-9 * np.abs(times[0])  # False for NaN
    return bool(known.all() and (closed != closed[0]).any() and not same_time.all())
