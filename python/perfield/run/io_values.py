# SPDX-License-Identifier: BSD-3-Clause
"""The fields of reading and writing: by MPI-IO, and by the program itself (docs/io.md)."""

from __future__ import annotations

import numpy as np

from perfield.run.fields import CALL_CLASSES, CALL_NAMES
from perfield.run.sums import by_rank

_OF_IO = ("io", "file")  # classes of time


def _calls(of_class: tuple[str, ...], word: str = "") -> np.ndarray:
    """Whether a call is of one of these classes and has the word in its name, by its number."""
    known = {n for n, name in CALL_NAMES.items() if CALL_CLASSES[n] in of_class and word in name}
    return np.array([number in known for number in range(128)])


_ANY, _READS, _WRITES = (_calls(_OF_IO, word) for word in ("", "_read", "_write"))
_OWN = _calls(("file",))


def file_times(n_ranks: int, ranks: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Seconds that each rank spent in calls on files other than those of MPI.

    ranks, rows : the rank of each row of the table of calls, and these rows.
    """
    return _summed(n_ranks, ranks, rows, "ns", _OWN) * 1e-9


def add_io(values: dict[str, np.ndarray], watched: np.ndarray, ranks: np.ndarray, rows: np.ndarray) -> None:
    """Adds the fields of reading and writing that follow from the table of calls, and leaves those that are
    there already to the ranks that were watched.

    watched : (n_ranks,) bool, whether MPI or files were. ranks, rows : as for `file_times`.
    """
    n_ranks = len(watched)
    watched = watched | (_summed(n_ranks, ranks, rows, "count", _OWN) > 0)
    for name, here in (("io_read_count", _READS), ("io_write_count", _WRITES)):
        values[name] = _summed(n_ranks, ranks, rows, "count", here)
    values["io_time_s"] = _summed(n_ranks, ranks, rows, "ns", _ANY) * 1e-9
    for name in ("io_read_bytes", "io_write_bytes", "io_read_count", "io_write_count", "io_time_s"):
        values[name] = np.where(watched, values[name], np.nan)


def _summed(n_ranks, ranks, rows, column, here):
    of_these = here[np.minimum(rows["call"], 127)]
    return by_rank(n_ranks, ranks[of_these], rows[column][of_these])
