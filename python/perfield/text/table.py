# SPDX-License-Identifier: BSD-3-Clause
"""Tables: plain text with aligned columns, and by rich on a terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfield.text.names import printable
from perfield.text.numbers import in_bytes, in_percent
from perfield.text.terminal import is_styled, print_styled

SHARES = ("share", "error", "of_all")  # columns that are shown in percent, as are those that end in _share
# Words for the numbers in place of a rank that messages or waits lead to.
NO_RANKS = {-1: "others", -2: "outside", -3: "unknown"}


@dataclass(frozen=True)
class Table:
    """A table. headings : of the columns; those that begin with ">" hold numbers, flush right. rows : cells
    as text. note : a line below. folded : a reader opens it if wanted; it then needs a title."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    folded: str = ""

    @property
    def columns(self) -> tuple[tuple[str, bool], ...]:
        """Name of each column, and whether it holds numbers."""
        return tuple((heading.lstrip(">"), heading.startswith(">")) for heading in self.headings)

    @property
    def lines(self) -> Iterator[str]:
        """The names of the columns and the rows as aligned text."""
        columns = self.columns
        cells = (tuple(name for name, _ in columns), *self.rows)
        widths = [max(map(len, column)) for column in zip(*cells)]
        for row in cells:
            placed = zip(row, widths, columns)
            yield "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, (_, right) in placed).rstrip()


def table_of(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table of values under their names. rows : at least one, all with the same names."""
    names = list(rows[0])
    right = [all(isinstance(row[name], (int, float, type(None))) for row in rows) for name in names]
    headings = tuple(">" * is_right + name for name, is_right in zip(names, right))
    return Table(headings, tuple(tuple(_text(row[name], name) for name in names) for row in rows))


def format_table(rows: Table | Sequence[Mapping[str, Any]]) -> str:
    """A table, or rows with the same names, as aligned text; "(none)" without rows."""
    if not rows:
        return "(none)"
    return "\n".join((rows if isinstance(rows, Table) else table_of(rows)).lines)


def print_table(rows: Table | Sequence[Mapping[str, Any]]) -> None:
    """Prints what `format_table` makes of a table or rows; on a terminal with bold names."""
    if not rows or not is_styled(sys.stdout):
        print(format_table(rows))
        return
    from rich import table as rich_table
    from rich.text import Text

    table = rows if isinstance(rows, Table) else table_of(rows)
    shown = rich_table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, is_right in table.columns:
        shown.add_column(Text(name), justify="right" if is_right else "left", no_wrap=True)
    for row in table.rows:
        shown.add_row(*(Text(text, "dim" if text == "-" else "") for text in row))
    print_styled(shown)


def _text(value: Any, column: str) -> str:
    if value is None:
        return "-"
    if column == "bytes":
        return in_bytes(value)
    if column in ("source", "target", "waits_for") and value in NO_RANKS:
        return NO_RANKS[value]
    if isinstance(value, float):
        is_share = column in SHARES or column.endswith("_share")
        return in_percent(value, 3) if is_share and math.isfinite(value) else f"{value:.4g}"
    return printable(str(value))
