# SPDX-License-Identifier: BSD-3-Clause
"""What ranks have in common by the user's own words: a table (.csv) with the column rank and any others."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from perfield.analysis.groups import FEWEST
from perfield.catalyst_scripts.safe_open import safe_read
from perfield.text import counted, first_of, printable

TABLE = "a table with the column rank, one line for each rank, and columns of yours, as rank,material"
MOST_BYTES = 1 << 26


class AttributesError(ValueError):
    """The table cannot be read, or is of another run; the text says what was found and what to do."""


def read_attributes(path: Path | str, n_ranks: int) -> dict[str, np.ndarray]:
    """The values of each column by rank, str (n_ranks,); "" for a rank without one.

    Raises AttributesError; also for a column without a value that two ranks share and two others lack, as
    nothing can be asked of it.
    """
    try:
        rows = list(csv.reader(io.StringIO(safe_read(path, most=MOST_BYTES).decode()), skipinitialspace=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AttributesError(f"attributes {path} cannot be read: {error}; expected {TABLE}.") from error
    names = [printable(name.strip()) for name in rows[0]] if rows else []
    if "rank" not in names or len(names) < 2 or len(set(names)) < len(names) or "" in names:
        found = ", ".join(names) or "none"
        raise AttributesError(f"{path} has the columns {found}; expected {TABLE}.")
    columns = {name: np.full(n_ranks, "", dtype=object) for name in names}
    for line, row in enumerate(rows[1:], start=2):
        if row:
            _add(row, columns, n_ranks, f"line {line} of {path}")
    del columns["rank"]
    found = {name: values.astype(str) for name, values in columns.items()}
    for name, values in found.items():
        _check(values, f"column {name} of {path}")
    return found


def _add(row: list[str], columns: dict[str, np.ndarray], n_ranks: int, where: str) -> None:
    """Adds the values of a line to the columns."""
    if len(row) != len(columns):
        raise AttributesError(
            f"{where} has {counted(len(row), 'value')}; expected {len(columns)}: {', '.join(columns)}."
        )
    values = dict(zip(columns, (printable(text.strip()) for text in row)))
    rank = values["rank"]
    if not (rank.isascii() and rank.isdigit() and len(rank) < 10 and int(rank) < n_ranks):
        raise AttributesError(
            f"{where} is of rank '{rank}'; expected one of the ranks 0 to {n_ranks - 1} of this run."
        )
    if columns["rank"][int(rank)]:
        raise AttributesError(f"{where} is of rank {rank} again; expected one line for each rank.")
    for name, value in values.items():
        columns[name][int(rank)] = value


def _check(values: np.ndarray, what: str) -> None:
    """Raises AttributesError unless two ranks or more have a value, and two or more do not."""
    distinct, size = np.unique(values[values != ""], return_counts=True)
    if not ((size >= FEWEST) & (size <= len(values) - FEWEST)).any():
        raise AttributesError(
            f"{what} has the values {first_of(distinct.tolist()) or '(none)'} for "
            f"{counted(len(values), 'rank')}, which make no group; expected a value that two ranks or "
            "more have and two or more lack. Numbers that differ for all ranks need classes, such as small "
            "and large."
        )
