# SPDX-License-Identifier: BSD-3-Clause
"""The fields of reading and writing: by MPI-IO, and by the program itself (docs/io.md)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perfield.run.fields import CALL_CLASSES, CALL_NAMES
from perfield.run.sums import by_rank

_MPI_IO = {number: name for number, name in CALL_NAMES.items() if CALL_CLASSES[number] == "io"}


def _calls(word: str = "") -> np.ndarray:
    """Whether a call of MPI-IO has the word in its name, by its number."""
    return np.array(
        [word in _MPI_IO.get(number, "-") if word else number in _MPI_IO for number in range(128)]
    )


_ANY, _READS, _WRITES = (_calls(word) for word in ("", "_read", "_write"))


def add_io(
    values: dict[str, np.ndarray],
    watched: np.ndarray,
    of_files: Mapping[str, np.ndarray],
    ranks: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Adds the fields of reading and writing.

    watched : (n_ranks,) bool, whether MPI or files were. of_files : what was read and written without MPI, by
    the quantities' names. ranks, rows : the rank of each row of the table of calls, and these rows.
    """
    n_ranks = len(watched)
    watched = watched | (of_files["file_read_count"] + of_files["file_write_count"] > 0)
    found = {
        "io_read_bytes": _summed(n_ranks, ranks, rows, "bytes_in", _ANY) + of_files["file_read"],
        "io_write_bytes": _summed(n_ranks, ranks, rows, "bytes_out", _ANY) + of_files["file_write"],
        "io_read_count": _summed(n_ranks, ranks, rows, "count", _READS) + of_files["file_read_count"],
        "io_write_count": _summed(n_ranks, ranks, rows, "count", _WRITES) + of_files["file_write_count"],
        "io_time_s": (_summed(n_ranks, ranks, rows, "ns", _ANY) + of_files["file_time"]) * 1e-9,
    }
    for name, column in found.items():
        values[name] = np.where(watched, column, np.nan)


def _summed(n_ranks, ranks, rows, column, here):
    of_these = here[np.minimum(rows["call"], 127)]
    return by_rank(n_ranks, ranks[of_these], rows[column][of_these])
