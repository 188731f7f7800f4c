# SPDX-License-Identifier: BSD-3-Clause
"""A run whose frames carry more fields than were measured, for pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from perfield.run.frame import Frame
    from perfield.run.run import RunDirectory


class AddedFields:
    """The run, with more fields in each frame; everything else is the run's own.

    meanings : what the values of a field stand for, in words, where it is a category. telling : positions of
    frames that show the added fields best.
    """

    meanings: Mapping[str, Mapping[int, str]] = {}
    telling: Sequence[int] = ()

    def __init__(self, run: RunDirectory, values: Mapping[str, np.ndarray]):
        """values : float64 (n_frames, n_ranks) by name, NaN where absent."""
        self._run = run
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name == "_run":  # not there yet, while a copy of this object is made
            raise AttributeError(name)
        return getattr(self._run, name)

    def __len__(self) -> int:
        return len(self._run)

    def frame(self, number: int) -> Frame:
        """The frame at a position, with the added fields."""
        frame = self._run.frame(number)
        return replace(frame, values=frame.values | {name: v[number] for name, v in self._values.items()})

    def frames(self) -> Iterator[Frame]:
        """All frames in turn; one at a time is in memory."""
        return (self.frame(number) for number in range(len(self)))
