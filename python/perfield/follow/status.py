# SPDX-License-Identifier: BSD-3-Clause
"""Says on stderr how far the pictures are: a line that changes on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time

from perfield.follow.frames import NewFrames
from perfield.text import printable

ON_TERMINAL_S, ELSEWHERE_S = 0.25, 10.0  # between two lines


class Status:
    """The status line of `perfield follow`."""

    def __init__(self, frames: NewFrames):
        self._frames = frames
        self._is_terminal = sys.stderr.isatty()
        self._said_at = -ELSEWHERE_S
        self._said = ""

    def say_when_due(self) -> None:
        """Writes the line if the last one is old."""
        pause = ON_TERMINAL_S if self._is_terminal else ELSEWHERE_S
        if time.monotonic() - self._said_at >= pause:
            self._said_at = time.monotonic()
            line = in_words(self._frames)
            if self._is_terminal:
                sys.stderr.write(f"\r{line}\x1b[K")
            elif line != self._said:
                sys.stderr.write(f"{line}\n")
            self._said = line
            sys.stderr.flush()

    def note(self, sentence: str) -> None:
        """Writes a sentence that stays."""
        clear = "\r\x1b[K" if self._is_terminal else ""
        lines = "\n".join(map(printable, sentence.split("\n")))
        sys.stderr.write(f"{clear}perfield follow: {lines}\n")
        sys.stderr.flush()


def in_words(frames: NewFrames) -> str:
    """How many frames were shown, how many are there, and how far that is behind the program."""
    lag = frames.lag
    words = f"shown {frames.taken} of {frames.n_wanted} frames"
    words += f", passed over {frames.passed_over}" if frames.passed_over else ""
    if not lag.frames:
        return f"{words}; up to date"
    return f"{words}; {lag.frames} frame{'s' * (lag.frames > 1)} ({lag.seconds:.1f} s) behind"
