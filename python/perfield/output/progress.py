# SPDX-License-Identifier: BSD-3-Clause
"""Shows on a terminal how far a long task has come; elsewhere it shows nothing."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class _Terminal:
    """A stream that takes the control characters of the bar, which commands keep from it for names' sake."""

    def __init__(self, stream: Any):
        self._stream = stream
        self.write = getattr(stream, "perfield_write", stream.write)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Progress:
    """A bar on stderr while its `with` block runs.

    what : the task in a few words. total : its number of steps. Without a terminal, or for a single step,
    there is no bar.
    """

    def __init__(self, what: str, total: int):
        self._what, self._total = what, total
        self._bar = None

    def __enter__(self) -> Progress:
        if self._total > 1 and sys.stderr.isatty():
            from rich.console import Console  # importing it takes a tenth of a second
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            console = Console(file=_Terminal(sys.stderr))
            self._bar = Bar(*columns, TimeRemainingColumn(), console=console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, number: int = 0) -> None:
        """One more step is done. number : of that step; not shown."""
        if self._bar is not None:
            self._bar.advance(self._task)
