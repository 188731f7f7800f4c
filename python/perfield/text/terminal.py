# SPDX-License-Identifier: BSD-3-Clause
"""What perfield shows on a terminal alone: styles, and bars that show how far a long task has come."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from types import TracebackType
from typing import Any, TextIO

from perfield.text.streams import Unfiltered, shown

STYLES = {"damage": "bold red", "warning": "bold yellow"}  # of labels; the others are bold

WIDE = 100_000  # columns; the terminal folds lines as it does others


def is_styled(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows styles: $NO_COLOR and $TERM=dumb say no, as does the lack of
    rich."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return stream.isatty() and not plain and _has_rich()


def _has_rich() -> bool:
    return find_spec("rich") is not None


def print_styled(renderable: Any) -> None:
    """Prints what rich can render on stdout; what is wider than the terminal is not cut."""
    from rich.console import Console  # importing it takes a tenth of a second

    text = io.StringIO()
    console = Console(file=text, force_terminal=True, color_system="standard", width=WIDE, highlight=False)
    console.print(renderable)
    Unfiltered(sys.stdout).write(text.getvalue())


def print_labelled(lines: Iterable[str]) -> None:
    """Prints lines such as "imbalance  1.2"; on a terminal their labels stand out."""
    lines = list(lines)
    if not is_styled(sys.stdout):
        print("\n".join(lines))
        return
    from rich.text import Text

    for line in lines:
        text, label = Text(shown(line)), line.partition("  ")[0]
        if 0 < len(label) < len(line):
            text.stylize(STYLES.get(label, "bold"), 0, len(label))
        print_styled(text)


class Progress:
    """A bar on stderr while its `with` block runs.

    what : the task in a few words. total : its number of steps; None if only `advance_to` knows. Without a
    terminal, or for a single step, there is no bar, nor without rich.
    """

    def __init__(self, what: str, total: int | None):
        self._what, self._total = what, total
        self._bar = None

    def __enter__(self) -> Progress:
        if self._total != 1 and self._total != 0 and sys.stderr.isatty() and _has_rich():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            console = Console(file=Unfiltered(sys.stderr))
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

    def advance_to(self, done: int, total: int) -> None:
        """So many steps of so many are done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)
