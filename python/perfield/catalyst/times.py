# SPDX-License-Identifier: BSD-3-Clause
"""The times at which ParaView shows steps that become known one by one."""

from __future__ import annotations

import math


class ShownTimes:
    """Gives each step a time later than that of the step before, as ParaView needs."""

    def __init__(self) -> None:
        self._last = -math.inf

    def of(self, index: int, time: float) -> float:
        """The program's own time where it is later than the last one; else the step's index, or 1 more."""
        is_later = math.isfinite(time) and time > self._last
        self._last = time if is_later else max(float(index), self._last + 1)
        return self._last
