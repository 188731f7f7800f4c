# SPDX-License-Identifier: BSD-3-Clause
"""A run whose frames carry more fields than were measured, for pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfield.run.changed_frames import ChangedFrames

if TYPE_CHECKING:
    from perfield.run.frame import Frame
    from perfield.run.run_directory import RunDirectory


class AddedFields(ChangedFrames):
    """The run, with more fields in each frame; everything else is the run's own.

    meanings : what the values of a field stand for, in words, where it is a category. telling : positions of
    frames that show the added fields best.
    """

    meanings: Mapping[str, Mapping[int, str]] = {}
    telling: Sequence[int] = ()

    def __init__(self, run: RunDirectory, values: Mapping[str, np.ndarray]):
        """values : float64 (n_frames, n_ranks) by name, NaN where absent."""
        super().__init__(run)
        self._values = values

    def changed(self, number: int, frame: Frame) -> Frame:
        """The frame with the added fields."""
        return replace(frame, values=frame.values | {name: v[number] for name, v in self._values.items()})
