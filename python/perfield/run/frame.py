# SPDX-License-Identifier: BSD-3-Clause
"""One frame: what all ranks measured in the same steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from perfield.fields.columns import Columns
from perfield.fields.table import CALL_NAMES
from perfield.run.alike import Alike
from perfield.run.clocks import Clocks

OUTSIDE, UNKNOWN = -2, -3  # peers without a world rank: in another MPI_COMM_WORLD, unknown
MESSAGES = np.dtype(
    [("source", "i4"), ("target", "i4"), ("call", "U22")]
    + [(name, "u8") for name in ("count", "bytes", "empty", "largest")]
)
WAITS = np.dtype([("rank", "i4"), ("peer", "i4"), ("count", "u8"), ("time_s", "f8")])
CALLS = np.dtype([("rank", "i4"), ("call", "U22"), ("count", "u8"), ("time_s", "f8")])
_CALLS = np.array([CALL_NAMES.get(number, f"call_{number}") for number in range(128)], dtype="U22")


@dataclass(frozen=True)
class Frame:
    """All ranks' step entries of the same steps, each rank's added up.

    kind : "step"; "setup" or "teardown" (before the first step, after the last); "whole": everything in a
    run that ended without closing a step. index : how many steps were closed before the frame's last one.
    label, time : the program's own number (of the lowest rank) and time (median; NaN if none) of its last
    step. span : number of steps added up. partial : some rank may still deliver an entry, and a longer one
    may join this frame with others. uneven : ranks of one group may have done different steps here, since
    they closed different numbers of steps, or gave this one different numbers. present : (n_ranks,) bool.
    begin_s, end_s : (n_ranks,) seconds on the common clock of all ranks (`perfield.Run.clocks`), NaN where
    absent or unknown.
    mesh_version : (n_ranks,) int, 0 for none. values : field name -> (n_ranks,) float64, NaN where absent;
    `perfield.fields.table` says what each means. block_values : field name -> {(rank, block): value}, for
    regions of one block.
    messages, received : structured arrays `source target call count bytes empty largest`, as counted by
    the sending (for get: the fetching) and by the receiving ranks. Ranks are world ranks, or -1 other
    peers, -2 outside this world, -3 unknown. waits : `rank peer count time_s`. is_mean : amounts are those of
    one step, the mean of the frame's (`perfield.derived.view`). read_collectives : reads what
    `collectives` gives; None where nothing can be read.
    """

    kind: str
    index: int
    label: int
    time: float
    span: int
    partial: bool
    uneven: bool
    present: np.ndarray
    begin_s: np.ndarray
    end_s: np.ndarray
    mesh_version: np.ndarray
    values: dict[str, np.ndarray]
    block_values: dict[str, dict[tuple[int, int], float]]
    messages: np.ndarray
    received: np.ndarray
    waits: np.ndarray
    is_mean: bool = False
    read_collectives: Callable[[], np.ndarray | None] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def collectives(self) -> np.ndarray | None:
        """Collective operations, structured: `rank communicator call count bytes_out bytes_in`.

        communicator : its name, as in `run.communicators`; 0 where the rank does not know it. Bytes are those
        that the rank gives and gets. None if the run does not say. Read when it
        is first asked for.
        """
        table = self.read_collectives() if self.read_collectives is not None else None
        if table is not None and self.is_mean:
            for name in ("count", "bytes_out", "bytes_in"):
                table[name] = np.rint(table[name] / self.span)
        return table


def build_frame(
    kind: str,
    index: int,
    partial: bool,
    columns: Columns,
    read: dict[str, Any],
    alike: Alike,
    clocks: Clocks,
    read_collectives: Callable[[], np.ndarray | None] | None = None,
) -> Frame:
    """Builds a frame from step entries.

    read : all fields and tables of one step, as `columns` gives them. alike : which ranks should close the
    same steps. clocks : of all ranks. read_collectives : as in `Frame`.
    """
    ranks, entries = read["entries"]["rank"].astype(np.int64), read["entries"]["fixed"]
    present = np.zeros(columns.n_ranks, dtype=bool)
    present[ranks] = True
    mesh_version = np.zeros(columns.n_ranks, dtype=np.int64)
    mesh_version[ranks] = entries["mesh_version"]
    begin_s, end_s = np.full((2, columns.n_ranks), np.nan)
    begin_s[ranks] = clocks.common_s(ranks, entries["begin_ns"])
    end_s[ranks] = clocks.common_s(ranks, entries["end_ns"])
    times = entries["time"][np.isfinite(entries["time"])]
    block_values: dict[str, dict[tuple[int, int], float]] = {}
    for _, column, rank, block, _, value in read["blocks"].tolist():
        block_values.setdefault(columns.names[column], {})[rank, block] = value
    return Frame(
        kind=kind,
        index=index,
        label=int(entries["label"][0]) if len(ranks) else 0,
        time=2 * float(np.median(times / 2)) if len(times) else float("nan"),  # halves do not overflow
        span=max(1, min(int(entries["span"].max(initial=1)), index + 1)) if kind == "step" else 1,
        partial=partial,
        uneven=kind == "step" and alike.are_uneven(ranks, entries),
        present=present,
        begin_s=begin_s,
        end_s=end_s,
        mesh_version=mesh_version,
        values=dict(zip(columns.names, read["values"][0])),
        block_values=block_values,
        messages=_messages(read["messages"]),
        received=_messages(read["received"]),
        waits=_columns(read["waits"], WAITS),
        read_collectives=read_collectives,
    )


def call_names(numbers: np.ndarray) -> np.ndarray:
    """Names of calls by their numbers."""
    return _CALLS[np.minimum(numbers, 127)]


def _messages(rows: np.ndarray) -> np.ndarray:
    table = np.zeros(len(rows), dtype=MESSAGES)
    for name in MESSAGES.names:
        table[name] = call_names(rows["call"]) if name == "call" else rows[name]
    return table


def _columns(rows: np.ndarray, dtype: np.dtype) -> np.ndarray:
    table = np.zeros(len(rows), dtype=dtype)
    for name in dtype.names:
        table[name] = rows[name]
    return table
