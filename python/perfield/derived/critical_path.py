# SPDX-License-Identifier: BSD-3-Clause
"""The critical path of a run's logged steps, as a field, as a table and in sums. Reads one stretch of logged
steps after the other, so memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits import path as path_of_events
from perfield.analysis.waits.costs import IN_MPI
from perfield.analysis.waits.coverage import ENOUGH
from perfield.analysis.waits.path_sums import PathSums, StepMeans, Stretch, path_by_region
from perfield.analysis.waits.states import Waits, find_wait_states
from perfield.derived.by_region import table_by_region, without_waiting
from perfield.derived.by_steps import table_of
from perfield.run.arrivals import read_arrivals
from perfield.run.snapshot import Snapshot

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    from perfield.run.run_directory import RunDirectory, Steps

EVENTS_OF_SUMS = 1 << 18  # each of which is replayed five times
BALANCED = 3  # regions for which sums say what balancing them alone would gain
STEPS_TOGETHER = 64  # of a stretch, at most


def path_of_steps(run: RunDirectory, positions: np.ndarray) -> np.ndarray:
    """(n_positions, n_ranks) s that each rank was on the critical path of its step; a step's times add up to
    its length. NaN in frames that are no single logged step, in steps where too little is explained, and
    where a rank has no stamps.

    positions : of frames, ascending.
    """
    values = np.full((len(positions), run.n_ranks), np.nan)
    for here, parts in _paths(run, positions):
        values[np.searchsorted(positions, here)] = 0.0
        at = np.searchsorted(positions, here)[np.searchsorted(run.step_indexes[here], parts["step"])]
        np.add.at(values, (at, parts["rank"]), (parts["computing_ns"] + parts["communicating_ns"]) * 1e-9)
    values[:, ~run.has_arrivals] = np.nan
    return values


def critical_path(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """Which ranks' work decided how long logged steps took: step, rank, region, time_s on the path.

    The times of a step add up to its length. The path of consecutive logged steps continues from one to the
    next. region : the prefix of its fields, "no region" or "in MPI"; the time in a region is its share of the
    rank's step, since nobody knows when in a step it ran. steps and result : as for `messages`; those that
    are not logged have no rows. Raises KeyError if the run has no such step.
    """
    chunks = partial(_stretches, run, np.arange(len(run)))
    return table_of(run, steps, _rows, chunks, snapshot=Snapshot(run))


def _rows(positions: np.ndarray, snapshot: Snapshot) -> pd.DataFrame:
    run = snapshot.run
    return table_by_region(
        run,
        IN_MPI,
        (
            (
                parts["step"],
                parts["rank"],
                path_by_region(parts, run.step_indexes[here], without_waiting(run, here)),
            )
            for here, parts in _paths(run, np.unique(positions))
        ),
    )


def path_sums(run: RunDirectory, positions: np.ndarray) -> PathSums:
    """What decided how long the logged ones of some frames took.

    Of many steps it takes some, evenly spread, with about EVENTS_OF_SUMS events.
    """
    stretches = list(_stretches(run, positions))
    if not stretches:
        return PathSums(run.n_ranks, len(run.columns.stems))
    sample = read_arrivals(run, stretches[len(stretches) // 2])
    most = max(1, EVENTS_OF_SUMS // max(1, len(sample)))
    chosen = np.unique(np.linspace(0, len(stretches) - 1, min(most, len(stretches))).astype(int))
    run_s, means_of_run = _means(run, positions)
    _, means = _means(run, np.concatenate([stretches[number] for number in chosen.tolist()]))
    sums = PathSums(
        run.n_ranks,
        len(run.columns.stems),
        n_of_run=int(run.spans[positions].sum()),
        run_s=run_s,
        means=means,
        means_of_run=means_of_run,
    )
    for number in chosen.tolist():
        sums.add(_stretch(run, stretches[number]))
    longest = np.argsort(-sums.region_on_path_s, kind="stable")[:BALANCED]
    regions = [region for region in longest.tolist() if sums.region_on_path_s[region] > 0]
    for number in chosen.tolist() if regions else ():
        sums.balance(_stretch(run, stretches[number]), regions)
    return sums


def _means(run: RunDirectory, positions: np.ndarray) -> tuple[float, StepMeans]:
    """How long the frames at some positions took, in s, and the means of their steps."""
    of_ranks_s, slowest_s, mpi_s = np.zeros(run.n_ranks), 0.0, 0.0
    for _, values in Snapshot(run).in_chunks(positions, ["step_time_s", "mpi_time_s"]):
        step_s = np.nan_to_num(values[:, 0])
        of_ranks_s += step_s.sum(axis=0)
        slowest_s += float(step_s.max(axis=1, initial=0.0).sum())
        mpi_s += float(np.nansum(values[:, 1]))
    n_steps, all_s = int(run.spans[positions].sum()), float(of_ranks_s.sum())
    if not n_steps or not all_s > 0:
        return 0.0, StepMeans(np.nan, np.nan)
    return float(of_ranks_s.max()), StepMeans(slowest_s / n_steps, max(0.0, 1 - mpi_s / all_s))


def _paths(run: RunDirectory, positions: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The positions of each stretch of logged steps, and its path (PATH). Those where too little is
    explained have none."""
    for here in _stretches(run, positions):
        events, found = _events(run, here)
        if found.coverage.explained() < ENOUGH:
            continue
        parts = path_of_events.critical_path(events, found.states).parts
        yield here, parts[np.isin(parts["step"], run.step_indexes[here])]


def _stretches(run: RunDirectory, positions: np.ndarray) -> Iterator[np.ndarray]:
    """The frames at some positions that are single logged steps, as stretches that follow one another.

    None where ranks belong to several groups: these may step at different rates, and have no step in common.
    """
    positions = np.asarray(positions, dtype=np.int64)
    if len(run.groups) > 1 or not len(positions) or not run.has_arrivals.any():
        return
    single = positions[run.spans[positions] == 1]
    logged = single[np.isin(run.step_indexes[single], run.logged_steps)]
    follows = (np.diff(logged) == 1) & (np.diff(run.step_indexes[logged]) == 1)
    for stretch in np.split(logged, np.flatnonzero(~follows) + 1):
        for begin in range(0, len(stretch), STEPS_TOGETHER):
            yield stretch[begin : begin + STEPS_TOGETHER]


def _events(run: RunDirectory, positions: np.ndarray) -> tuple[np.ndarray, Waits]:
    """Events and wait states of a stretch. Marks say when each rank began it, and when it ended each step."""
    events = read_arrivals(run, positions)
    found = find_wait_states(events, run.clock_errors_ns, run.stamps.nodes)
    read = run.read(positions)
    step, ranks, entries = read["step"], read["rank"], read["fixed"]
    first = step == 0
    ranks_of, steps_of = np.concatenate([ranks[first], ranks]), np.concatenate([step[first], step])
    stamps = np.concatenate([entries["begin_ns"][first], entries["end_ns"]]).astype(np.int64)
    times = run.stamps.common_ns(ranks_of, stamps)
    return path_of_events.with_marks(events, run.step_indexes[positions][steps_of], ranks_of, times), found


def _stretch(run: RunDirectory, positions: np.ndarray) -> Stretch:
    """A stretch, with the regions in which its ranks computed."""
    events, found = _events(run, positions)
    of_regions_s = without_waiting(run, positions)
    return Stretch(run.step_indexes[positions], events, found.states, found.coverage, of_regions_s)
