# SPDX-License-Identifier: BSD-3-Clause
"""Phases of a run: all that its files say about when each rank closed each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from perfield.derived.dataframes import placement
from perfield.studies.rhythm.communication import topology_of
from perfield.studies.rhythm.model import RhythmError, phases
from perfield.studies.rhythm.model.dataset import with_edges
from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.topology import Topology

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory

MOST_FOR_EDGES = 64  # steps whose messages are read, evenly spaced


def phases_of_run(
    run: RunDirectory,
    ranks: Sequence[int] | None = None,
    steps: slice | None = None,
    samples: int | None = None,
    times: np.ndarray | None = None,
) -> xr.Dataset:
    """Phases of a run's ranks, finished or still running; `perfield.studies.rhythm.model.phases` says how.

    ranks : world ranks, None for all. steps : a slice of step indexes that includes both ends, None for all;
    with damaged or missing steps, the others count. samples, times : when, as for `phases`; pass times of
    your own where results of a growing run should fit together.
    Coordinates along oscillator are `group`, the ranks that step together, and `node_name`. The
    communication topology (receiver, sender, weight) comes from the messages of at most MOST_FOR_EDGES of
    these steps, and is left out where none are known. Attributes: run, state.
    Raises RhythmError if the run closed no step, or one only, or has no such rank or step.
    """
    found = phases(closed_steps(run, ranks, steps), times, samples=samples)
    chosen = found["oscillator"].values
    group_of = {rank: name for name, members in run.groups.items() for rank in members}
    groups = np.array([group_of.get(int(rank), "") for rank in chosen], dtype=str)
    nodes = placement(run)["node_name"].to_numpy(dtype=str)[chosen]
    found = found.assign_coords(
        group=("oscillator", groups, {"long_name": "ranks that step together"}),
        node_name=("oscillator", nodes, {"long_name": "name of the node on which the rank ran"}),
    )
    edges = communication(run, chosen, steps)
    if edges is not None:
        found = with_edges(found, edges)
    return found.assign_attrs(run=str(run.path), state=run.state)


def communication(run: RunDirectory, ranks: np.ndarray, steps: slice | None = None) -> Topology | None:
    """The communication topology among some ranks, from at most MOST_FOR_EDGES of the steps; None if no
    messages between them are known.

    ranks : int (n,), ascending; the topology counts them from 0. steps : as for `phases_of_run`.
    """
    within = run.step_indexes[_are_within(run.step_indexes, steps)]
    some = np.unique(np.linspace(0, len(within) - 1, MOST_FOR_EDGES).round().astype(int))
    try:
        found = topology_of(run, within[some].tolist()) if len(within) else None
    except ModelError:  # no messages between ranks, or one rank alone
        return None
    if found is None:
        return None
    there = np.isin(found.receiver, ranks) & np.isin(found.sender, ranks)
    if not there.any():
        return None
    receiver, sender = (np.searchsorted(ranks, ends[there]) for ends in (found.receiver, found.sender))
    return Topology(len(ranks), receiver, sender, found.weight[there])


def closed_steps(
    run: RunDirectory, ranks: Sequence[int] | None = None, steps: slice | None = None
) -> xr.Dataset:
    """When each rank began and ended each step that it closed, measured or not.

    begin_s, end_s (step, rank) : s on the run's common clock, NaN where there is no entry. `step` : number of
    the entry's last step. span (step, rank) : how many steps it adds up, 1 where there is no entry.
    clock_uncertainty_s (rank) : the largest error of the rank's clock. Reads each entry once. `run.steps` has
    only the steps that were measured.
    Raises RhythmError as `phases_of_run`.
    """
    chosen = _ranks(run, ranks)
    indexes, owners, entries = _entries(run, chosen, steps)
    step, row = np.unique(indexes, return_inverse=True)
    column = np.searchsorted(chosen, owners)
    begin, end = np.full((2, len(step), len(chosen)), np.nan)
    for values, name in ((begin, "begin_ns"), (end, "end_ns")):
        values[row, column] = run.stamps.common_s(owners, entries[name])
    span = np.ones(begin.shape, dtype=np.int64)
    span[row, column] = np.maximum(entries["span"], 1)
    uncertainty = run.stamps.largest_uncertainty_s(run.last_stamps())[chosen]
    about = {"units": "s", "source": "measured"}
    return xr.Dataset(
        {
            "begin_s": (("step", "rank"), begin, about),
            "end_s": (("step", "rank"), end, about),
            "clock_uncertainty_s": ("rank", uncertainty, {"units": "s"}),
        },
        {"step": step, "rank": chosen, "span": (("step", "rank"), span)},
    )


def _are_within(indexes: np.ndarray, steps: slice | None) -> np.ndarray:
    """Whether each index lies in a slice of steps that includes both ends; None: all do."""
    low, high = (None, None) if steps is None else (steps.start, steps.stop)
    return (indexes >= (0 if low is None else low)) & (indexes <= (np.inf if high is None else high))


def _ranks(run: RunDirectory, ranks: Sequence[int] | None) -> np.ndarray:
    chosen = np.arange(run.n_ranks) if ranks is None else np.unique(np.asarray(ranks, dtype=np.int64))
    outside = chosen[(chosen < 0) | (chosen >= run.n_ranks)]
    if len(outside) or not len(chosen):
        found = f"no rank {outside[0]}" if len(outside) else "ranks, but none was chosen"
        raise RhythmError(f"{run.path} has {found}; choose some of the ranks 0 to {run.n_ranks - 1}.")
    return chosen


def _entries(
    run: RunDirectory, ranks: np.ndarray, steps: slice | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(index, rank, begin_ns, end_ns and span) of the entries of closed steps."""
    names = ["begin_ns", "end_ns", "span"]
    parts = []
    for index, rank, fixed in run.closings(None if len(ranks) == run.n_ranks else ranks):
        within = _are_within(index, steps)
        stamps = np.empty(int(within.sum()), dtype=[(name, "i8") for name in names])
        for name in names:
            stamps[name] = fixed[name][within]
        parts.append((index[within], rank[within].astype(np.int64), stamps))
    if not sum(len(part[0]) for part in parts):
        if steps is not None and (run.steps_closed > 0).any():
            raise RhythmError(
                f"{run.path} has none of the steps {steps.start} to {steps.stop}; it closed the steps 0 to "
                f"{int(run.steps_closed.max()) - 1}."
            )
        raise RhythmError(
            f"{run.path} closed no step, so its ranks have no phase; `perfield steps {run.path}` lists MPI "
            "calls that could close steps."
        )
    return tuple(np.concatenate(part) for part in zip(*parts))
