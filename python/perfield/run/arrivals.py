# SPDX-License-Identifier: BSD-3-Clause
"""When messages were begun and awaited, as events on the run's common clock. docs/stream.md has the entries.

In logged steps every event is there; of other steps each row of messages and of collective operations makes
one event, exact where it counts one message, else the mean of several: a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits import EVENT

if TYPE_CHECKING:
    from perfield.run.communicators import Communicators
    from perfield.run.clocks import Clocks
    from perfield.run.run import RunDirectory

SEND, RECEIVE, COLLECTIVE = 0, 1, 2  # kinds of event
ROOT, FROM_ROW, MEAN, WILDCARD, OVERFLOWED = 1, 2, 4, 8, 16  # flags of an event
COLLECTIVELY, UNKNOWN_PEER = -1, -3
UNKNOWN_NS = np.iinfo(np.int64).min
STAMPS = {"begun": "begun_sum", "wait_begin": "wait_begin_sum", "wait_end": "wait_end_sum"}
_RECV = 12  # row `recv` of bridge/format/calls.def: what arrived, of any form


def read_arrivals(run: RunDirectory, positions: Sequence[int]) -> np.ndarray:
    """What all ranks did in MPI in the frames at some positions: an EVENT array, by frame and rank.

    An entry of one step whose log was written gives the log's events, else its rows.
    """
    logged, logs = run.logs(positions)
    of_log = _events_of_logs(logged, logs, run)
    logs_of = _key(logs["step"], logs["rank"], run)
    parts, keys = [np.zeros(0, EVENT)], [np.zeros(0, np.int64)]
    for index, ranks, spans, tables in run.step_tables(positions):
        of_entry = _key(index, ranks, run)
        is_logged = (spans <= 1) & np.isin(of_entry, logs_of)
        keys.append(of_entry[is_logged])
        begin_ns = tables["steps"]["begin_ns"].astype(np.int64)
        for name, start in (("messages", "message_start"), ("collectives", "collective_start")):
            n_rows = np.diff(tables[start].astype(np.int64))
            n_rows[is_logged | ~tables["stamped"]] = 0
            entry = np.repeat(np.arange(len(n_rows)), n_rows)
            rows = tables[name]
            if len(entry) < len(rows):
                rows = rows[_ranges(tables[start][:-1], n_rows)]
            where = index[entry], ranks[entry], begin_ns[entry]
            parts.append(events_of_rows(rows, *where, run.communicators))
    of_log = of_log[np.isin(_key(of_log["step"], of_log["rank"], run), np.concatenate(keys))]
    return on_common_clock(np.concatenate([*parts, of_log]), run.stamps)


def _events_of_logs(logged: np.ndarray, logs: np.ndarray, run: RunDirectory) -> np.ndarray:
    """Events of logs, and which of them are incomplete: they overflowed, or a part of them is lost."""
    events = np.zeros(len(logged), EVENT)
    if not len(logged):
        return events
    for name in set(EVENT.names).intersection(logged.dtype.names):
        events[name] = logged[name]
    events["count"] = 1
    of_messages = events["kind"] != COLLECTIVE
    events["peer"][of_messages & (events["peer"] < 0)] = UNKNOWN_PEER
    _tell(events, np.flatnonzero(~of_messages), run.communicators)
    if len(logs):
        keys, of_key = np.unique(_key(logs["step"], logs["rank"], run), return_inverse=True)
        lost = np.zeros(len(keys), dtype=bool)
        lost[of_key[logs["lost"] > 0]] = True
        lost |= np.bincount(of_key, logs["n"]) < np.bincount(of_key, logs["all"]) / np.bincount(of_key)
        incomplete = np.isin(_key(events["step"], events["rank"], run), keys[lost])
        events["flags"][incomplete] |= OVERFLOWED
    own = of_messages & (events["peer"] == events["rank"])
    return events[~own] if own.any() else events


def _ranges(begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """begins[0], begins[0] + 1, ... for each of several ranges, one after another."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(begins - before, lengths)


def on_common_clock(events: np.ndarray, clocks: Clocks) -> np.ndarray:
    """The events, sorted by step and rank, with the stamps of each rank put on the common clock."""
    events = events[np.lexsort((events["rank"], events["step"]))]
    for name in STAMPS:
        events[name] = clocks.common_ns(events["rank"], events[name])
    return events


def _key(steps: np.ndarray, ranks: np.ndarray, run: RunDirectory) -> np.ndarray:
    return steps.astype(np.int64) * run.n_ranks + ranks


def events_of_rows(
    rows: np.ndarray,
    steps: np.ndarray,
    ranks: np.ndarray,
    begin_ns: np.ndarray,
    told: Communicators,
) -> np.ndarray:
    """Events (EVENT) of rows of messages, or of collective operations; stamps are still those of the rank.

    rows : structured, as `_bridge.read_steps` gives them. steps, ranks, begin_ns : of each row's entry: its
    index, its rank, and the begin of its step on the rank's clock. Rows without stamps are left out.
    """
    of_messages = "peer" in rows.dtype.names
    stamps = [rows[name] for name in STAMPS.values()]
    known = (rows["count"] > 0) & ((stamps[0] != 0) | (stamps[1] != 0) | (stamps[2] != 0))
    if of_messages:
        known &= rows["peer"] != ranks
    if not known.all():
        rows, steps, ranks, begin_ns = rows[known], steps[known], ranks[known], begin_ns[known]
    events = np.zeros(len(rows), EVENT)
    events["step"], events["rank"], events["call"] = steps, ranks, rows["call"]
    count = rows["count"]
    is_one = count == 1
    events["count"] = np.minimum(count, np.iinfo(np.uint32).max)
    events["flags"] = np.where(is_one, FROM_ROW, MEAN)
    events["number"] = rows["number"]
    if of_messages:
        events["kind"] = rows["call"] == _RECV
        events["peer"] = np.where(rows["peer"] >= 0, rows["peer"], UNKNOWN_PEER)
        events["channel"], events["bytes"] = rows["channel"], rows["bytes"]
    else:
        events["kind"], events["peer"] = COLLECTIVE, COLLECTIVELY
        events["flags"] |= np.where(rows["flags"] & ROOT, ROOT, 0).astype(np.uint8)
        events["channel"], events["bytes"] = rows["communicator"], rows["bytes_out"] + rows["bytes_in"]
        _tell(events, np.arange(len(events)), told)
    for name, sums in STAMPS.items():
        values = rows[sums].view(np.int64) if rows[sums].flags.c_contiguous else rows[sums].astype(np.int64)
        events[name] = _means(values, count, begin_ns, is_one)
    return events


def _means(sums: np.ndarray, count: np.ndarray, begin_ns: np.ndarray, is_one: np.ndarray) -> np.ndarray:
    """Mean stamps of rows whose sums wrap at 2^64: their differences to the begin of the step do not."""
    means = np.where(sums == 0, UNKNOWN_NS, sums)
    several = np.flatnonzero(~is_one & (sums != 0))
    if len(several):
        n, begin = count[several].astype(np.int64), begin_ns[several].astype(np.int64)
        with np.errstate(over="ignore"):
            means[several] = begin + (sums[several] - n * begin) // n
    return means


def _tell(events: np.ndarray, which: np.ndarray, told: Communicators) -> None:
    """Gives collective events the sizes of their communicators, and takes away names that are no names."""
    names, of_name = np.unique(events["channel"][which], return_inverse=True)
    clashing = np.array([name in told.clashing for name in names.tolist()], dtype=bool)
    sizes = np.array([told.sizes.get(name, 0) for name in names.tolist()], dtype=np.uint32)
    if not len(names):
        return
    events["size"][which] = np.where(clashing, 0, sizes)[of_name]
    for name in ("channel", "number"):
        events[name][which] = np.where(clashing[of_name], 0, events[name][which])
