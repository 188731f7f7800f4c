# SPDX-License-Identifier: BSD-3-Clause
"""When messages were begun and awaited, as events on the run's common clock. docs/stream.md has the entries.

In logged steps every event is there; of other steps each row of messages and of collective operations makes
one event, exact where it counts one message, else the mean of several: a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfield import _bridge
from perfield.analysis.waits import EVENT

if TYPE_CHECKING:
    from perfield.run.collectives import Communicator
    from perfield.run.run import RunDirectory

COLLECTIVE = 2  # kind of event
FROM_ROW, MEAN, OVERFLOWED = 2, 4, 16  # flags of an event
UNKNOWN_PEER = -3
STAMPS = ("begun", "wait_begin", "wait_end")


def read_arrivals(run: RunDirectory, positions: Sequence[int]) -> np.ndarray:
    """What all ranks did in MPI in the frames at some positions: an EVENT array, in no order.

    An entry of one step whose log was written gives the log's events, else its rows.
    """
    logged, logs = run.logs(positions)
    of_log = _events_of_logs(logged, logs, run)
    logs_of = _key(logs["step"], logs["rank"], run)
    parts, keys = [], [np.zeros(0, np.int64)]
    for path, steps, places in run.entries_by_file(positions):
        ranks = places["rank"].astype(np.int64)
        of_entry = _key(steps, ranks, run)
        is_logged = (places["span"] <= 1) & np.isin(of_entry, logs_of)
        keys.append(of_entry[is_logged])
        kept = np.flatnonzero(~is_logged)
        where = places["offset"][kept], places["reference_offset"][kept], steps[kept], ranks[kept]
        parts.append(_bridge.read_arrivals(path, *where, *run.stamps.shift_and_drift(ranks[kept])))
    of_rows = np.concatenate([np.zeros(0, EVENT), *parts])
    _tell(of_rows, np.flatnonzero(of_rows["kind"] == COLLECTIVE), run.communicators)
    of_log = of_log[np.isin(_key(of_log["step"], of_log["rank"], run), np.concatenate(keys))]
    for name in STAMPS if len(of_log) else ():
        of_log[name] = run.stamps.common_ns(of_log["rank"], of_log[name])
    return np.concatenate([of_rows, of_log]) if len(of_log) else of_rows


def in_order(events: np.ndarray) -> np.ndarray:
    """The events sorted by step, rank, and when they began."""
    return events[np.lexsort((events["begun"], events["rank"], events["step"]))]


def _key(steps: np.ndarray, ranks: np.ndarray, run: RunDirectory) -> np.ndarray:
    return steps.astype(np.int64) * run.n_ranks + ranks


def _events_of_logs(logged: np.ndarray, logs: np.ndarray, run: RunDirectory) -> np.ndarray:
    """Events of logs, and which of them are incomplete: they overflowed, or a part of them is lost."""
    events = np.zeros(len(logged), EVENT)
    if not len(logged):
        return events
    for name in set(EVENT.names).intersection(logged.dtype.names):
        events[name] = logged[name]
    events["count"] = 1
    of_messages = events["kind"] < COLLECTIVE
    events["peer"][of_messages & (events["peer"] < 0)] = UNKNOWN_PEER
    _tell(events, np.flatnonzero(events["kind"] == COLLECTIVE), run.communicators)
    if len(logs):
        keys, of_key = np.unique(_key(logs["step"], logs["rank"], run), return_inverse=True)
        lost = np.zeros(len(keys), dtype=bool)
        lost[of_key[logs["lost"] > 0]] = True
        lost |= np.bincount(of_key, logs["n"]) < np.bincount(of_key, logs["all"]) / np.bincount(of_key)
        incomplete = np.isin(_key(events["step"], events["rank"], run), keys[lost])
        events["flags"][incomplete] |= OVERFLOWED
    own = of_messages & (events["peer"] == events["rank"])
    return events[~own] if own.any() else events


def _tell(events: np.ndarray, which: np.ndarray, told: list[Communicator]) -> None:
    """Gives collective events the sizes of their communicators, and takes away names that are no names."""
    names, of_name = np.unique(events["channel"][which], return_inverse=True)
    if not len(names):
        return
    size_of = {one.name: one.size for one in told if one.size > 1}  # nobody waits in one of a single rank
    clash = {one.name for one in told if one.clash}
    clashing = np.array([name in clash for name in names.tolist()], dtype=bool)
    sizes = np.array([size_of.get(name, 0) for name in names.tolist()], dtype=np.uint32)
    events["size"][which] = np.where(clashing, 0, sizes)[of_name]
    for name in ("channel", "number"):
        events[name][which] = np.where(clashing[of_name], 0, events[name][which])
