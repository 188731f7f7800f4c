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

if TYPE_CHECKING:
    from perfield.run.collectives import Communicator
    from perfield.run.run_directory import RunDirectory

COLLECTIVE = 2  # kind of event
FROM_ROW, MEAN = 2, 4  # flags of an event


def read_arrivals(run: RunDirectory, positions: Sequence[int]) -> np.ndarray:
    """What all ranks did in MPI in the frames at some positions: an EVENT array, in no order.

    An entry of one step whose log was written gives the log's events, else its rows.
    """
    entries = [
        (path, places["offset"], places["reference_offset"], steps, places["rank"], places["span"])
        for path, steps, places in run.entries_by_file(positions)
    ]
    clocks = run.stamps.shift_and_drift(np.arange(run.n_ranks))
    events = _bridge.read_arrivals(entries, list(run.logs_by_file(positions)), *clocks)
    _add_sizes(events, np.flatnonzero(events["kind"] == COLLECTIVE), run.communicators)
    return events


def in_order(events: np.ndarray) -> np.ndarray:
    """The events sorted by step, rank, and when they began."""
    return events[np.lexsort((events["begun"], events["rank"], events["step"]))]


def _add_sizes(events: np.ndarray, which: np.ndarray, communicators: list[Communicator]) -> None:
    """Gives collective events the sizes of their communicators, and takes away names that are no names."""
    names, of_name = np.unique(events["channel"][which], return_inverse=True)
    if not len(names):
        return
    size_of = {one.name: one.size for one in communicators if one.size > 1}  # in others nobody waits
    clash = {one.name for one in communicators if one.clash}
    clashing = np.array([name in clash for name in names.tolist()], dtype=bool)
    sizes = np.array([size_of.get(name, 0) for name in names.tolist()], dtype=np.uint32)
    events["size"][which] = np.where(clashing, 0, sizes)[of_name]
    for name in ("channel", "number"):
        events[name][which] = np.where(clashing[of_name], 0, events[name][which])
