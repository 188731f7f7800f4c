# SPDX-License-Identifier: BSD-3-Clause
"""A run whose frames are changed as they are read, for pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfield.run.frame import Frame
    from perfield.run.protocol import AnyRun


class ChangedFrames:
    """The run with other frames; everything else is the run's own. Subclasses say how a frame changes."""

    def __init__(self, run: AnyRun):
        self._run = run

    def __getattr__(self, name: str) -> Any:
        if name == "_run":  # not there yet, while a copy of this object is made
            raise AttributeError(name)
        return getattr(self._run, name)

    def __len__(self) -> int:
        return len(self._run)

    def changed(self, number: int, frame: Frame) -> Frame:
        """What this run shows in place of the run's frame at a position."""
        raise NotImplementedError

    def frame(self, number: int) -> Frame:
        """The frame at a position."""
        return self.changed(number, self._run.frame(number))

    def frames(self) -> Iterator[Frame]:
        """All frames in turn; one at a time is in memory."""
        return (self.changed(number, frame) for number, frame in enumerate(self._run.frames()))
