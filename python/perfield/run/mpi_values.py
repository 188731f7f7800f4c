# SPDX-License-Identifier: BSD-3-Clause
"""The fields of MPI: time in its calls, and the messages that ranks sent and received."""

from __future__ import annotations

import numpy as np

from perfield.run.fields import CALL_NAMES, FETCHING_CALLS, SENDING_CALLS, TIME_CLASSES
from perfield.run.sums import by_rank

OUTSIDE, UNKNOWN = -2, -3  # no world ranks: of another MPI_COMM_WORLD, and not known
MESSAGES = np.dtype(
    [("source", "i4"), ("target", "i4"), ("call", "U22")]
    + [(name, "u8") for name in ("count", "bytes", "empty", "largest")]
)

_NAME_OF_CALL = np.array([CALL_NAMES.get(number, f"call_{number}") for number in range(128)], dtype="U22")
_SENDS = np.array([number in SENDING_CALLS for number in range(128)])
_FETCHES = np.array([number in FETCHING_CALLS for number in range(128)])


def add_times(
    values: dict[str, np.ndarray],
    has_mpi: np.ndarray,
    file_times: np.ndarray,
    ranks: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Adds MPI time by class, its sum, and what is left of the step without it and without files.

    has_mpi : (n_ranks,) bool, where MPI was measured. file_times : (n_ranks,) seconds. ranks, rows : the rank
    of each row of the step entries' table of calls, and these rows.
    """
    total = np.zeros(len(has_mpi))
    for number, name in enumerate(TIME_CLASSES):
        here = rows["time_class"] == number
        times = by_rank(len(has_mpi), ranks[here], rows["ns"][here]) * 1e-9
        values[f"mpi_{name}_time_s"] = np.where(has_mpi, times, np.nan)
        total += times
    values["mpi_time_s"] = np.where(has_mpi, total, np.nan)
    is_known = has_mpi | (len(has_mpi) == 1)  # a rank alone may well do without MPI
    computed = np.maximum(values["step_time_s"] - total - file_times, 0)
    values["compute_time_s"] = np.where(is_known, computed, np.nan)


def add_messages(
    values: dict[str, np.ndarray],
    has_mpi: np.ndarray,
    calls: list[str],
    ranks: np.ndarray,
    rows: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Adds counts and bytes of messages; returns those sent and those received, as Frame has them.

    has_mpi : as for `add_times`. calls : names of the sending calls that the run has fields of. ranks, rows :
    the rank of each row of the step entries' table of messages, and these rows.
    """
    n_ranks = len(has_mpi)
    call = np.minimum(rows["call"], 127)
    sends = _SENDS[call]

    def add(name, here):
        for what in ("count", "bytes"):
            sums = by_rank(n_ranks, ranks[here], rows[what][here])
            values[f"{name}_{what}"] = np.where(has_mpi, sums, np.nan)

    add("sent", sends)
    add("received", ~sends)
    names = _NAME_OF_CALL[call]
    for name in calls:
        add(name, sends & (names == name))
    known = rows["peer"] >= 0
    pairs = np.unique(ranks[known] << 32 | rows["peer"][known].astype(np.int64))
    peers = np.bincount(pairs >> 32, minlength=n_ranks).astype(np.float64)
    values["peer_count"] = np.where(has_mpi, peers, np.nan)

    table = np.zeros(len(rows), dtype=MESSAGES)
    outward = sends & ~_FETCHES[call]
    table["source"] = np.where(outward, ranks, rows["peer"])
    table["target"] = np.where(outward, rows["peer"], ranks)
    table["call"] = names
    for name in ("count", "bytes", "empty", "largest"):
        table[name] = rows[name]
    return table[sends], table[~sends]
