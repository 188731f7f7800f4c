# SPDX-License-Identifier: BSD-3-Clause
"""Why ranks waited in the steps of a run: wait states, what ranks cost the others, and sums of many steps.

Whatever it reads, it reads in blocks of steps, so memory stays bounded. A message may cross the end of a
step, and a delay many ends; so each block is looked at together with steps before and behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits.costs import FOLLOWED, delay_costs
from perfield.analysis.waits.coverage import Coverage
from perfield.analysis.waits.states import BOUND, EVENT, KINDS, STATE, find_wait_states
from perfield.analysis.waits.sums import (
    EXACTNESS,
    GROUPS,
    LATE,
    WaitSums,
    added_up,
    covered_in_all,
    late_rows,
)
from perfield.run.arrivals import FROM_ROW, MEAN, read_arrivals
from perfield.run.frame import call_names

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    from perfield.run.run import RunDirectory, Steps

EVENTS_AT_ONCE = 1 << 20  # 72 MB, and mostly twice as much for their wait states
CROSSED = 1  # steps that a message crosses between its ends, at most, to be matched
PROTOCOLS = ("unknown", "eager", "rendezvous")
CAUSED = np.dtype([("step", "i8"), ("rank", "i4"), ("time_s", "f8")])


@dataclass(frozen=True)
class WaitsOfSteps:
    """Why ranks waited in some frames.

    positions : of the frames. at_state, at_covered : index into positions, of each wait state and each row of
    what is covered. states : structured (STATE), indices of events as they lie in `events`. covered : how
    much of the blocked time is explained, by step and rank. is_logged : (n_positions,) whether some rank kept
    a log. caused_s : (n_positions, n_ranks) s of others' waiting that began there; None where nobody asked.
    """

    positions: np.ndarray
    events: np.ndarray
    states: np.ndarray
    at_state: np.ndarray
    covered: np.ndarray
    at_covered: np.ndarray
    is_logged: np.ndarray
    caused_s: np.ndarray | None


def waits_of_steps(run: RunDirectory, positions: np.ndarray, followed: int | None = None) -> WaitsOfSteps:
    """Why ranks waited in the frames at some positions, which ascend.

    followed : across how many frames to follow delays to where they began; None: nobody asks for that.
    """
    positions = np.asarray(positions, dtype=np.int64)
    window = _window(run, positions, CROSSED if followed is None else followed)
    events = read_arrivals(run, window)
    errors = run.clock_errors_ns
    found = find_wait_states(events, errors, run.stamps.nodes)
    coverage = found.coverage.covered
    last = run.step_indexes
    at_state, kept = _places(found.states["step"], last, positions)
    at_covered, kept_covered = _places(coverage["step"], last, positions)
    logged_steps = events["step"][events["flags"] & (FROM_ROW | MEAN) == 0]
    is_logged = np.zeros(len(positions), dtype=bool)
    is_logged[_places(np.unique(logged_steps), last, positions)[0]] = True
    caused_s = None
    if followed is not None:
        caused_s = np.zeros((len(positions), run.n_ranks))
        steps, ranks, time_ns = _costs(events, found.states, max(1, followed))
        at_cost, kept_costs = _places(steps, last, positions)
        np.add.at(caused_s, (at_cost, ranks[kept_costs]), time_ns[kept_costs] * 1e-9)
        caused_s[:, ~run.tells_arrivals] = np.nan
    return WaitsOfSteps(
        positions=positions,
        events=events,
        states=found.states[kept],
        at_state=at_state,
        covered=coverage[kept_covered],
        at_covered=at_covered,
        is_logged=is_logged,
        caused_s=caused_s,
    )


def _costs(events: np.ndarray, states: np.ndarray, followed: int) -> tuple[np.ndarray, ...]:
    """Others' waiting by where it began: steps, ranks, ns. What is known as a bound alone is not followed: it
    counts for the rank waited for, in the step in which the others waited."""
    found = delay_costs(events, states, followed)
    bounds = states[(states["cause"] >= 0) & (states["exactness"] == BOUND)]
    return (
        np.concatenate([found.costs["step"], bounds["step"]]),
        np.concatenate([found.costs["rank"], bounds["cause"]]),
        np.concatenate([found.time_ns, bounds["time_ns"]]),
    )


@dataclass(frozen=True)
class Blocks:
    """How a run is read in bounded memory.

    size : frames of a block, which holds about EVENTS_AT_ONCE events. followed : frames on either side of a
    block across which delays are followed: FOLLOWED, or fewer where that would take more than another block.
    """

    size: int
    followed: int

    def of(self, positions: np.ndarray) -> Iterator[np.ndarray]:
        """The positions of frames in blocks."""
        for begin in range(0, len(positions), self.size):
            yield positions[begin : begin + self.size]


def blocks_of(run: RunDirectory) -> Blocks:
    """How to read a run. Looks at a few frames."""
    events = events_per_frame(run)
    size = max(1, EVENTS_AT_ONCE // events)
    return Blocks(size, int(np.clip((2 * EVENTS_AT_ONCE // events - size) // 2, CROSSED, FOLLOWED)))


def events_per_frame(run: RunDirectory) -> int:
    """About how many events a frame has; at least 1. Looks at a few frames, of which one has a log."""
    if not len(run):
        return 1
    sample = np.unique(np.linspace(0, len(run) - 1, 4).astype(np.int64))
    return max(1, max(len(read_arrivals(run, sample[n : n + 1])) for n in range(len(sample))))


def wait_sums(run: RunDirectory, positions: np.ndarray | None = None) -> WaitSums:
    """What waiting came to in the frames at some positions, which ascend; None: in all of them.

    Reads them in blocks. Of a run without stamps it reads nothing.
    """
    positions = np.arange(len(run)) if positions is None else np.asarray(positions, dtype=np.int64)
    known = run.tells_arrivals
    late, n_logged, mpi_s = np.zeros(0, LATE), 0, 0.0
    covered = find_wait_states(np.zeros(0, EVENT), n_ranks=run.n_ranks).coverage.covered
    caused_s, step_s = np.where(known, 0.0, np.nan), np.zeros(run.n_ranks)
    n_groups = min(GROUPS, len(positions))
    group = np.arange(len(positions)) * n_groups // max(1, len(positions))
    caused_of = np.zeros((n_groups, run.n_ranks))
    done = 0
    plan = blocks_of(run)
    for block in plan.of(positions) if known.any() else ():
        values = run.columns.read(run.places(block), ["step_time_s", "waiting_time_s"])
        step_s += np.nan_to_num(values[:, 0]).sum(axis=0)
        mpi_s += float(np.nansum(values[:, 1]))
        found = waits_of_steps(run, block, plan.followed)
        late = added_up([late, late_rows(found.states)])
        covered = covered_in_all([covered, found.covered])
        of_steps = np.nan_to_num(found.caused_s)
        np.add.at(caused_of, group[done : done + len(block)], of_steps)
        caused_s += of_steps.sum(axis=0)
        done += len(block)
        n_logged += int(found.is_logged.sum())
    return WaitSums(
        n_ranks=run.n_ranks,
        n_steps=len(positions),
        n_logged=n_logged,
        late=late,
        caused_s=caused_s,
        caused_of=caused_of,
        step_s=step_s,
        mpi_s=mpi_s,
        coverage=Coverage(covered),
        uncertainty_s=run.clock_errors_ns * 1e-9,
    )


def positions_of_steps(run: RunDirectory, steps: Steps) -> np.ndarray:
    """Positions of the frames with these step indexes, ascending; None: of all.

    Raises KeyError if the run has no such step.
    """
    from perfield.run.dataframes import positions_of

    return np.arange(len(run)) if steps is None else np.unique(positions_of(run, steps))


def table_of_steps(run: RunDirectory, table: str, steps: Steps) -> pd.DataFrame | dd.DataFrame:
    """See `RunDirectory.wait_states` and `caused_waits`, the names of the tables."""
    from perfield.run.snapshot import Snapshot

    snapshot = Snapshot(run)
    if steps is not None:
        return _table(positions_of_steps(run, steps), snapshot, table)
    import dask.dataframe as dd

    everything = np.arange(len(run))
    chunks = list(blocks_of(run).of(everything)) if run.tells_arrivals.any() else []
    chunks = chunks or [everything[:0]]
    return dd.from_map(
        _table, chunks, snapshot=snapshot, table=table, meta=_table(everything[:0], snapshot, table)
    )


def _table(positions: np.ndarray, snapshot, table: str) -> pd.DataFrame:
    import pandas as pd

    run = snapshot.run
    if table == "caused_waits":
        return pd.DataFrame({name: column for name, column in _caused(run, positions).items()})
    found = waits_of_steps(run, positions) if len(positions) and run.tells_arrivals.any() else None
    states = np.zeros(0, STATE) if found is None else found.states
    steps = run.step_indexes[positions[found.at_state]] if found is not None else np.zeros(0, np.int64)
    return pd.DataFrame(
        {
            "step": steps,
            "rank": states["rank"],
            "cause": states["cause"],
            "kind": np.array(KINDS, dtype=object)[states["kind"]],
            "exactness": np.array(EXACTNESS, dtype=object)[states["exactness"]],
            "call": call_names(states["call"]).astype(object),
            "protocol": np.array(PROTOCOLS, dtype=object)[states["protocol"]],
            "time_s": states["time_ns"] * 1e-9,
            "uncertainty_s": states["uncertainty_ns"] * 1e-9,
        }
    )


def _caused(run: RunDirectory, positions: np.ndarray) -> dict[str, np.ndarray]:
    rows = np.zeros(0, CAUSED)
    if len(positions) and run.tells_arrivals.any():
        caused_s = waits_of_steps(run, positions, blocks_of(run).followed).caused_s
        step, rank = np.nonzero(np.nan_to_num(caused_s) > 0)
        rows = np.zeros(len(step), CAUSED)
        rows["step"], rows["rank"] = run.step_indexes[positions[step]], rank
        rows["time_s"] = caused_s[step, rank]
    return {name: rows[name] for name in CAUSED.names}


def _window(run: RunDirectory, positions: np.ndarray, margin: int) -> np.ndarray:
    """Positions with those at most `margin` before and behind each of them."""
    around = (positions[:, np.newaxis] + np.arange(-margin, margin + 1)).ravel()
    return np.unique(around[(around >= 0) & (around < len(run))])


def _places(steps: np.ndarray, last: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of steps that lie in the frames at some positions: index into positions, and which steps these are."""
    frame = np.searchsorted(last, steps)
    at = np.searchsorted(positions, frame)
    kept = at < len(positions)
    kept[kept] = positions[at[kept]] == frame[kept]
    return at[kept], np.flatnonzero(kept)
