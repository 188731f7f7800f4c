# SPDX-License-Identifier: BSD-3-Clause
"""Why ranks waited in the steps of a run: wait states, what ranks cost the others, and sums of many steps.

Whatever it reads, it reads in blocks of steps, so memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits.costs import (
    COST,
    FILES,
    OTHER_REASONS,
    WITHOUT_PU,
    bound_costs,
    by_function,
    by_region,
    costs_in_all,
    delay_costs,
)
from perfield.analysis.waits.coverage import Coverage
from perfield.analysis.waits.states import EVENT, KINDS, STATE, find_wait_states
from perfield.analysis.waits.sums import (
    EXACTNESS,
    GROUPS,
    LATE,
    WaitSums,
    added_up,
    covered_in_all,
    late_rows,
)
from perfield.analysis.waits.transfers import TransferSums
from perfield.derived.by_region import (
    computing,
    in_pieces,
    names_of_regions,
    table_by_region,
    without_waiting,
)
from perfield.derived.by_steps import table_of
from perfield.derived.event_blocks import CROSSED, blocks_of, places_in, window_of
from perfield.derived.transfers import Ways, transfers_of
from perfield.run.arrivals import FROM_ROW, MEAN, in_order, read_arrivals
from perfield.run.frame import call_names
from perfield.run.snapshot import Snapshot

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    from perfield.run.run_directory import RunDirectory, Steps

PROTOCOLS = ("unknown", "eager", "rendezvous")


@dataclass(frozen=True)
class Costs:
    """Others' waiting that began in some frames: structured (COST) rows, by step.

    followed : to where it began. bounds : what is known as a bound alone, and is not followed. at_followed,
    at_bounds : index into the positions of the frames, ascending.
    """

    followed: np.ndarray
    at_followed: np.ndarray
    bounds: np.ndarray
    at_bounds: np.ndarray


@dataclass(frozen=True)
class WaitsOfSteps:
    """Why ranks waited in some frames.

    positions : of the frames. at_state, at_covered : index into positions, of each wait state and each row of
    what is covered. states : structured (STATE), indices of events as they lie in `events`. covered : how
    much of the blocked time is explained, by step and rank. is_logged : (n_positions,) whether some rank kept
    a log. costs : others' waiting that began there, and caused_s, (n_positions, n_ranks), what it comes to;
    None where nobody asked.
    """

    positions: np.ndarray
    events: np.ndarray
    states: np.ndarray
    at_state: np.ndarray
    covered: np.ndarray
    at_covered: np.ndarray
    is_logged: np.ndarray
    costs: Costs | None
    caused_s: np.ndarray | None


def waits_of_steps(run: RunDirectory, positions: np.ndarray, followed: int | None = None) -> WaitsOfSteps:
    """Why ranks waited in the frames at some positions, which ascend.

    followed : across how many frames to follow delays to where they began; None: nobody asks for that.
    """
    positions = np.asarray(positions, dtype=np.int64)
    window = window_of(run, positions, CROSSED if followed is None else followed)
    events = read_arrivals(run, window)
    errors = run.clock_errors_ns
    found = find_wait_states(events, errors, run.stamps.nodes)
    coverage = found.coverage.covered
    last = run.step_indexes
    at_state, kept = places_in(found.states["step"], last, positions)
    at_covered, kept_covered = places_in(coverage["step"], last, positions)
    logged_steps = events["step"][events["flags"] & (FROM_ROW | MEAN) == 0]
    is_logged = np.zeros(len(positions), dtype=bool)
    is_logged[places_in(np.unique(logged_steps), last, positions)[0]] = True
    costs = caused_s = None
    if followed is not None:
        costs = _costs(events, found.states, max(1, followed), last, positions)
        caused_s = np.zeros((len(positions), run.n_ranks))
        for rows, at in ((costs.followed, costs.at_followed), (costs.bounds, costs.at_bounds)):
            time_s = (rows["computing_ns"] + rows["communicating_ns"]) * 1e-9
            np.add.at(caused_s, (at, rows["rank"]), time_s)
        caused_s[:, ~run.has_arrivals] = np.nan
    return WaitsOfSteps(
        positions=positions,
        events=events,
        states=found.states[kept],
        at_state=at_state,
        covered=coverage[kept_covered],
        at_covered=at_covered,
        is_logged=is_logged,
        costs=costs,
        caused_s=caused_s,
    )


def _costs(
    events: np.ndarray, states: np.ndarray, followed: int, last: np.ndarray, positions: np.ndarray
) -> Costs:
    found, bounds = delay_costs(events, states, followed).costs, bound_costs(states)
    at_followed, kept = places_in(found["step"], last, positions)
    at_bounds, kept_bounds = places_in(bounds["step"], last, positions)
    return Costs(found[kept], at_followed, bounds[kept_bounds], at_bounds)


def caused_by_region(run: RunDirectory, found: WaitsOfSteps) -> Iterator[tuple[slice, np.ndarray]]:
    """Others' waiting by where it began, piece by piece: a slice of `found.positions`, and (n_positions,
    n_regions + 2, n_ranks) s: in the regions, in none, and by other reasons. A piece is small.

    found : with its costs.
    """
    costs = found.costs
    for here in in_pieces(run, len(found.positions)):
        of_regions_ns = without_waiting(run, found.positions[here]) * 1e9
        caused_s = np.zeros((len(of_regions_ns), of_regions_ns.shape[1] + 1, run.n_ranks))
        for rows, at, is_followed in (
            (costs.followed, costs.at_followed, True),
            (costs.bounds, costs.at_bounds, False),
        ):
            begin, end = np.searchsorted(at, [here.start, here.stop])
            parts, left = by_region(rows[begin:end], at[begin:end] - here.start, of_regions_ns, is_followed)
            caused_s[:, :-1] += parts * 1e-9
            caused_s[:, -1] += left * 1e-9
        yield here, caused_s


def _by_function(
    run: RunDirectory, positions: np.ndarray, costs: np.ndarray, bounds: np.ndarray
) -> tuple[list[str], np.ndarray] | None:
    """Names of functions and what is in none, and (n_functions + 4, n_ranks) s of others' waiting that began
    in each; None where the run was not sampled. costs, bounds : COST of all these frames, a row for each
    pair of ranks."""
    if not run.has_samples:
        return None
    names, sampled = computing(run, positions)
    caused_s = np.zeros((len(names) + 4, run.n_ranks))
    for rows in (costs, bounds):
        parts, left = by_function(rows, sampled)
        caused_s[:-1] += parts * 1e-9
        caused_s[-1] += left * 1e-9
    return [*names, FILES, WITHOUT_PU, sampled.not_in_user_mode, OTHER_REASONS], caused_s


def wait_sums(run: RunDirectory, positions: np.ndarray | None = None) -> WaitSums:
    """What waiting came to in the frames at some positions, which ascend; None: in all of them.

    Reads them in blocks. Of a run without stamps it reads nothing.
    """
    positions = np.arange(len(run)) if positions is None else np.asarray(positions, dtype=np.int64)
    known = run.has_arrivals
    late, n_logged, mpi_s = np.zeros(0, LATE), 0, 0.0
    covered = find_wait_states(np.zeros(0, EVENT), n_ranks=run.n_ranks).coverage.covered
    parts = [*names_of_regions(run), OTHER_REASONS]
    caused_s, step_s = np.zeros((len(parts), run.n_ranks)), np.zeros(run.n_ranks)
    n_groups = min(GROUPS, len(positions))
    group = np.arange(len(positions)) * n_groups // max(1, len(positions))
    caused_of = np.zeros((n_groups, run.n_ranks))
    done = 0
    transfers, ways = TransferSums.nothing(), Ways(run)
    pairs = [np.zeros(0, COST)] * 2
    plan = blocks_of(run)
    for block in plan.of(positions) if known.any() else ():
        values = run.values(["step_time_s", "waiting_time_s"], block)
        step_s += np.nan_to_num(values[:, 0]).sum(axis=0)
        mpi_s += float(np.nansum(values[:, 1]))
        found = waits_of_steps(run, block, plan.followed)
        late = added_up([late, late_rows(found.states)])
        covered = covered_in_all([covered, found.covered])
        of_steps = np.nan_to_num(found.caused_s)
        np.add.at(caused_of, group[done : done + len(block)], of_steps)
        for _, of_parts in caused_by_region(run, found):
            caused_s += of_parts.sum(axis=0)
        pairs = [costs_in_all(*rows) for rows in zip(pairs, (found.costs.followed, found.costs.bounds))]
        transfers += transfers_of(run, ways, found.events, block).sums
        done += len(block)
        n_logged += int(found.is_logged.sum())
    of_functions = None if run.columns.stems else _by_function(run, positions, *pairs)
    if of_functions is not None:
        parts, caused_s = of_functions
    return WaitSums(
        n_ranks=run.n_ranks,
        n_steps=len(positions),
        is_whole=run.is_whole,
        n_logged=n_logged,
        late=late,
        parts=tuple(parts),
        part="region" if of_functions is None else "function",
        caused_in_s=np.where(known, caused_s, np.nan),
        caused_of=caused_of,
        step_s=step_s,
        mpi_s=mpi_s,
        coverage=Coverage(covered),
        transfers=transfers,
        uncertainty_s=run.clock_errors_ns * 1e-9,
    )


def arrivals(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """When messages were begun, posted and awaited, collective operations entered, and windows synchronised,
    on the common clock: a row for each event, with the columns of `perfield.analysis.waits.EVENT`, sorted by
    step and rank.

    steps and result : as for `messages`. Steps whose log was written (`arrivals_every`) give each message and
    operation; others a row for each partner, exact where it counts one message. docs/waiting.md says more.
    Raises KeyError if the run has no such step.
    """
    return _table(run, steps, _arrivals)


def wait_states(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """For whom each rank waited, and why, in Scalasca's terms: a row for each call that waited.

    steps and result : as for `messages`. Columns: step, rank (waits), cause (the rank that it waited for; -1:
    not known), kind (`perfield.analysis.waits.KINDS`), exactness ("exact", "at least", or "uncertain": no
    longer than the clocks are), call, protocol (of late receivers: "eager", "rendezvous" or "unknown"),
    time_s, uncertainty_s.
    Raises KeyError if the run has no such step.
    """
    return _table(run, steps, _states)


def caused_waits(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """What each rank cost the others: step, rank, region, time_s of others' waiting that began there and
    then.

    Waiting is followed back through ranks that waited themselves, from each over up to 64 steps. What is
    known as a lower bound alone counts for the rank waited for. region : the prefix of its fields; "no
    region"; or "other reasons": the rank communicated longer, or it is not known why it was late. By region
    it is an estimate (`perfield.analysis.waits.by_region`). steps and result : as for `messages`.
    """
    return _table(run, steps, _caused_by_region)


def _table(
    run: RunDirectory, steps: Steps, rows: Callable[[np.ndarray, Snapshot], pd.DataFrame]
) -> pd.DataFrame | dd.DataFrame:
    return table_of(run, steps, rows, lambda: blocks_of(run).of(np.arange(len(run))), snapshot=Snapshot(run))


def _arrivals(positions: np.ndarray, snapshot: Snapshot) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(in_order(read_arrivals(snapshot.run, np.unique(positions))))


def _states(positions: np.ndarray, snapshot: Snapshot) -> pd.DataFrame:
    import pandas as pd

    run, positions = snapshot.run, np.unique(positions)
    found = waits_of_steps(run, positions) if len(positions) and run.has_arrivals.any() else None
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


def _caused_by_region(positions: np.ndarray, snapshot: Snapshot) -> pd.DataFrame:
    return table_by_region(snapshot.run, OTHER_REASONS, _caused(snapshot.run, np.unique(positions)))


def _caused(run: RunDirectory, positions: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """What ranks cost the others: steps, ranks, and s by region, piece by piece."""
    if not len(positions) or not run.has_arrivals.any():
        return
    found = waits_of_steps(run, positions, blocks_of(run).followed)
    for here, caused_s in caused_by_region(run, found):
        step, rank = np.nonzero((caused_s.sum(axis=1) > 0) & run.has_arrivals)
        yield run.step_indexes[positions[here]][step], rank, caused_s[step, :, rank]
