# SPDX-License-Identifier: BSD-3-Clause
"""When the slow regime struck, whom, and what it cost: a list of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from perfield.studies.regimes.model.places import places
from perfield.studies.regimes.model.statistics import slow_points
from perfield.studies.regimes.model.timings import REGIME, TIME, UNKNOWN

if TYPE_CHECKING:
    from perfield.topology import Placement

ALIKE = 0.5  # of the steps of two stretches together, in both: one event
COLUMNS = ("start", "end", "n_steps", "ranks", "nodes", "cost_s", "rank_s")


def events(classified: xr.Dataset, placement: Placement | None = None) -> pd.DataFrame:
    """The events in which ranks were in the slowest regime, the costliest first.

    An event joins stretches of slow steps of different ranks that lie together in time: half of the steps of
    both are in both. Columns: start, end, the first and last step, by their labels; n_steps; ranks, a tuple;
    nodes, a tuple of names, empty without a placement; cost_s, by how much the longest rank of these steps
    would take less without the slow regime, s of elapsed time, which adds up over events; rank_s, the same
    added up over the ranks. Without the slow regime a rank takes its median time of the other regimes, or
    that of all ranks where it has none. A step's cost goes to the event of its longest rank.
    A step without a time ends a stretch. Raises RegimeError for timings without regimes.
    """
    is_slow = slow_points(classified)
    ranks, steps = classified["rank"].values, classified["step"].values
    time_s = classified[TIME].transpose("rank", "step").values
    regime = classified[REGIME].transpose("rank", "step").values
    if not is_slow.any():
        return pd.DataFrame(columns=list(COLUMNS))
    row, begin, end = stretches(is_slow)
    event = _events(begin, end)
    n_events = int(event.max()) + 1
    first, last = np.full(n_events, len(steps)), np.zeros(n_events, np.int64)
    np.minimum.at(first, event, begin)
    np.maximum.at(last, event, end)
    excess, elapsed = _excess(time_s, regime, is_slow)
    # Each slow point belongs to the event of its stretch.
    of_point = np.repeat(event, end - begin)
    at = np.repeat(begin - np.cumsum(end - begin) + (end - begin), end - begin) + np.arange(len(of_point))
    who = np.repeat(row, end - begin)
    rank_s = np.bincount(of_point, excess[who, at], n_events)
    longest = np.where(np.isfinite(time_s), time_s, -np.inf).argmax(axis=0)
    is_longest = longest[at] == who
    cost_s = np.bincount(of_point[is_longest], elapsed[at[is_longest]], n_events)
    node, names = places(placement, ranks, "node") if placement is not None else (np.full(len(ranks), -1), [])
    members = np.unique(np.stack([event, row], axis=1), axis=0)
    parts = np.split(members[:, 1], np.searchsorted(members[:, 0], np.arange(1, n_events)))
    found = pd.DataFrame(
        {
            "start": steps[first],
            "end": steps[last - 1],
            "n_steps": last - first,
            "ranks": [tuple(ranks[part].tolist()) for part in parts],
            "nodes": [tuple(names[one] for one in np.unique(node[part]) if one >= 0) for part in parts],
            "cost_s": cost_s,
            "rank_s": rank_s,
        }
    )
    return found.sort_values(["cost_s", "rank_s"], ascending=False, kind="stable", ignore_index=True)


def stretches(is_slow: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each row of bool (n_ranks, n_steps) is true without a gap: row, begin, and end (exclusive)."""
    padded = np.zeros((is_slow.shape[0], is_slow.shape[1] + 1), np.int8)
    padded[:, :-1] = is_slow
    change = np.diff(padded, axis=1, prepend=np.int8(0))
    row, begin = np.nonzero(change == 1)
    return row, begin, np.nonzero(change == -1)[1]


def _excess(time_s: np.ndarray, regime: np.ndarray, is_slow: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the slow regime adds to each point, and to the longest rank of each step; at least 0."""
    quick = np.where((regime != UNKNOWN) & ~is_slow, time_s, np.nan)
    all_known = np.isfinite(quick)
    everyone = float(np.median(quick[all_known])) if all_known.any() else float(np.nanmin(time_s))
    has_any = all_known.any(axis=1)
    typical = np.full(len(time_s), everyone)
    typical[has_any] = np.nanmedian(quick[has_any], axis=1)
    without = np.where(is_slow, np.minimum(time_s, typical[:, np.newaxis]), time_s)
    excess = np.nan_to_num(time_s - without)
    longest, left = (np.fmax.reduce(table, axis=0) for table in (time_s, without))
    return excess, np.nan_to_num(longest - left)


def _events(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The number of the event of each stretch: events grow around the commonest stretches."""
    shapes, which, count = np.unique(
        np.stack([begin, end], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    which = which.reshape(-1)
    event = np.full(len(shapes), -1)
    for number, (core, near) in enumerate(_cores(shapes, count, event)):
        event[near] = number
        event[core] = number
    return event[which]


def _cores(shapes: np.ndarray, count: np.ndarray, event: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Stretches around which events grow, and those near them that are in no event yet.

    shapes : (begin, end), sorted. event : of each, -1 without one yet; the caller changes it meanwhile.
    """
    begin, end = shapes.T
    length = end - begin
    for core in np.lexsort((-length, -count)).tolist():
        if event[core] >= 0:
            continue
        low, high = np.searchsorted(begin, [begin[core] - length[core], end[core]])
        near = slice(low, high)
        both = np.minimum(end[near], end[core]) - np.maximum(begin[near], begin[core])
        either = np.maximum(end[near], end[core]) - np.minimum(begin[near], begin[core])
        yield core, low + np.flatnonzero((event[near] < 0) & (both >= ALIKE * either) & (both > 0))
