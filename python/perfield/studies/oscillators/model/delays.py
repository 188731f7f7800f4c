# SPDX-License-Identifier: BSD-3-Clause
"""Delays tau_ij of what a receiver sees of its sender (eq. 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Union

import numpy as np

from perfield.studies.rhythm.model.errors import ModelError


@dataclass(frozen=True)
class RandomDelay:
    """A delay drawn anew for each edge every `hold` seconds, uniform between `least` and `most` (s)."""

    least: float
    most: float
    hold: float = 0.1

    def __post_init__(self) -> None:
        if not (0 <= self.least <= self.most < np.inf):
            raise ModelError(
                f"delays from {self.least:g} to {self.most:g} s make no sense; give 0 <= least <= most."
            )
        if not (self.hold > 0 and np.isfinite(self.hold)):
            raise ModelError(f"hold = {self.hold:g} s of a random delay makes no sense; give a time above 0.")


@dataclass(frozen=True)
class DelayFunction:
    """A delay that is a function of time: function(t) gives s, a number or (n_edges,), never above `most`."""

    function: Callable[[float], float | np.ndarray]
    most: float

    def __post_init__(self) -> None:
        if not (0 < self.most < np.inf):
            raise ModelError(f"the longest delay, most = {self.most:g} s, must be finite and above 0.")


Delay = Union[float, np.ndarray, RandomDelay, DelayFunction]
