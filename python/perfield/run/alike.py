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
    does not matter. adds_up : whether entries add up all their steps, so that none is left unmeasured.
    """

    group: np.ndarray
    closed: np.ndarray
    adds_up: bool = True

    def are_uneven(self, ranks: np.ndarray, entries: np.ndarray) -> bool:
        """Whether ranks of one group may have closed different steps here.

        ranks, entries : of a frame, with the program's own number (label) and time, and the span. Different
        numbers show it, and different spans, as where an entry is lost. Where ranks closed different numbers
        of steps in all, only equal numbers and equal times show the opposite.
        """
        group = self.group[ranks]
        if len(ranks) < 2 or (group == group[0]).all():
            return self._differ(self.closed[ranks], entries)
        members = (group == number for number in np.unique(group))
        return any(self._differ(self.closed[ranks[m]], entries[m]) for m in members)

    def _differ(self, closed: np.ndarray, entries: np.ndarray) -> bool:
        return _differ(closed, entries["label"], entries["time"], entries["span"], self.adds_up)


def _differ(
    closed: np.ndarray, labels: np.ndarray, times: np.ndarray, spans: np.ndarray, adds_up: bool
) -> bool:
    if len(labels) < 2:
        return False
    if (labels != labels[0]).any() or (adds_up and (spans != spans[0]).any()):
        return True
    known = closed >= 0
    with np.errstate(invalid="ignore", over="ignore"):  # a program may give any number
        same_time = np.abs(times - times[0]) <= 1e-9 * np.abs(times[0])  # False for NaN and infinity
    return bool(known.all() and (closed != closed[0]).any() and not same_time.all())
