# SPDX-License-Identifier: BSD-3-Clause
"""Timings of a run in the form that analyses of regimes take, and the run's regimes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from perfield.analysis.steps import output_steps
from perfield.derived.injected import is_injected
from perfield.derived.providers import fields_of
from perfield.run.snapshot import ENTRIES_PER_CHUNK, Snapshot
from perfield.studies.regimes.model import RegimeError, classify, fit, largest, timings
from perfield.studies.regimes.model.timings import STEP_TIME
from perfield.text import counted, did_you_mean

if TYPE_CHECKING:
    from perfield.run.run_directory import RunDirectory
    from perfield.studies.regimes.model import Fit

FILE_TIME, WRITTEN = "io_time_s", "io_write_bytes"
REDUCTIONS = ("max",)  # over ranks
MOST_NUMBERS = 2**28  # of float64: 2 GB; the fit and its results take a few times as much


def timings_of_run(
    run: RunDirectory,
    field: str | None = None,
    ranks: Sequence[int] | None = None,
    steps: slice | None = None,
    reduce: str | None = None,
) -> xr.Dataset:
    """How long something took in each rank and step: `time_s` (rank, step), as `timings` makes it.

    field : any field of the run in seconds, or the name of a region for its time; None: the time of the step.
    ranks : world ranks; None: those of the largest group of ranks that step together.
    steps : a slice of step indexes that includes both ends; None: all.
    reduce : "max": one row, the longest time of any of these ranks (rank -1); None: one row per rank.
    Times of frames that add up several steps are those of one, and `span` (step) is there. Steps that write
    far more to files than the median step are NaN: their length is the program's, not the machine's.
    Attributes: run, state, field; n_ranks, how many were read; `left_out`, what is not there or means
    something else, one clause per line.
    Raises RegimeError for a field, rank or step that the run lacks, and for fields that are no times.
    """
    if reduce not in (None, *REDUCTIONS):
        raise RegimeError(f"timings cannot be reduced by '{reduce}'; choose {' or '.join(REDUCTIONS)}.")
    name = field_of(run, field)
    chosen, left_out = _ranks(run, ranks)
    positions = _positions(run, steps)
    if len(chosen) * len(positions) > MOST_NUMBERS:
        raise RegimeError(
            f"{len(chosen):,} ranks x {len(positions):,} steps of {run.path} are more than {MOST_NUMBERS:,} "
            "times; choose some with ranks or steps."
        )
    values, written = _read(run, name, chosen, positions)
    if name != FILE_TIME and (writes := output_steps(written)).any():
        values[writes] = np.nan
        n = int(writes.sum())
        left_out.append(
            "1 step that writes output is left out"
            if n == 1
            else f"{n:,} steps that write output are left out"
        )

    spans = run.spans[positions]
    if len(spans) and (spans != spans[0]).any():
        left_out.append(f"frames of {spans.min():,} to {spans.max():,} steps count once each, by their mean")
    left_out += _about(run, values)
    found = timings(values.T, chosen, run.step_indexes[positions], _words(name))
    if (spans > 1).any():
        found = found.assign_coords(span=("step", spans))
    found.attrs.update(
        run=str(run.path), state=run.state, field=name, n_ranks=len(chosen), left_out="\n".join(left_out)
    )
    return largest(found).assign_attrs(found.attrs) if reduce else found


class Arriving:
    """Timings of a running run as its entries arrive: `read` gives those of the steps that all ranks closed
    since it was last called.

    field, ranks, reduce : as for `timings_of_run`. Raises RegimeError likewise.
    """

    def __init__(
        self,
        run: RunDirectory,
        field: str | None = None,
        ranks: Sequence[int] | None = None,
        reduce: str | None = None,
    ):
        self.run = run
        self.field = field_of(run, field)
        self.ranks, self.left_out = _ranks(run, ranks)
        self.reduce = reduce
        self._last = -1  # the last step that was read; entries that come late may join frames before it
        self._written = np.zeros((0, 1))

    def read(self) -> xr.Dataset:
        """Refreshes the run; timings of no step if none is new. Steps that write output are NaN, as far as
        the steps until then show it."""
        run = self.run
        run.refresh()
        indexes = run.step_indexes
        is_new = (indexes > self._last) & (run.steps_closed > 0).any()
        if run.state == "running":
            waited_for = [rank for rank in self.ranks if rank not in run.ends]
            is_new &= indexes < run.steps_closed[waited_for].min(initial=np.iinfo(np.int64).max)
        positions = np.flatnonzero(is_new)
        indexes = indexes[positions]
        values, written = _read(run, self.field, self.ranks, positions)
        n_before, self._written = len(self._written), np.concatenate([self._written, written])
        if self.field != FILE_TIME:
            values[output_steps(self._written)[n_before:]] = np.nan
        self._last = int(indexes.max(initial=self._last))
        found = timings(values.T, self.ranks, indexes, _words(self.field))
        return largest(found) if self.reduce and len(indexes) else found


def regimes_of_run(
    run: RunDirectory,
    field: str | None = None,
    ranks: Sequence[int] | None = None,
    steps: slice | None = None,
    reduce: str | None = None,
    n_regimes: int | None = None,
    **options: Any,
) -> tuple[xr.Dataset, Fit]:
    """The regimes of a run: its classified timings, and the fit that they come from.

    field, ranks, steps, reduce : as for `timings_of_run`, whose attributes the result has, too.
    n_regimes : None chooses by BIC. options : of `perfield.studies.regimes.model.fit`.
    Raises RegimeError if the timings cannot be fitted.
    """
    times = timings_of_run(run, field, ranks, steps, reduce)
    fitted = fit(times, n_regimes, **options)
    return classify(times, fitted.model).assign_attrs(
        {**times.attrs, "model": fitted.model.to_json()}
    ), fitted


def field_of(run: RunDirectory, wanted: str | None) -> str:
    """The field that a user's word names: a field, or a region for its time; None: the time of a step.

    Raises RegimeError if the run has none, or if it is not a time.
    """
    name = STEP_TIME if wanted is None else wanted
    of_region = {region.name: f"{region.field}_time_s" for region in run.known_regions}
    of_region.update({stem: f"{stem}_time_s" for stem in run.columns.stems})
    if name not in fields_of(run):
        name = of_region.get(name, name)
    if name not in fields_of(run):
        known = [*fields_of(run).names, *of_region]
        advice = did_you_mean(name, known) or f"`perfield fields {run.path}` lists the fields."
        raise RegimeError(f"{run.path} has no field or region '{wanted}'; {advice}")
    unit = fields_of(run)[name].unit
    if unit != "s":
        raise RegimeError(
            f"field '{name}' is in {unit if unit != '1' else 'no unit'}; regimes are of times, so name a "
            "field in seconds, such as step_time_s."
        )
    return name


def _words(name: str) -> str:
    return "time of a step" if name == STEP_TIME else name


def _ranks(run: RunDirectory, ranks: Sequence[int] | None) -> tuple[np.ndarray, list[str]]:
    """The ranks to read, ascending, and a sentence if some are left out by default."""
    if ranks is None:
        groups = run.groups
        name, members = max(groups.items(), key=lambda item: len(item[1]))
        if len(groups) == 1:
            return np.asarray(sorted(members)), []
        return np.asarray(sorted(members)), [
            f"only the {counted(len(members), 'rank')} of group '{name}' are read; the run has "
            f"{len(groups)} groups that step apart"
        ]
    chosen = np.unique(np.asarray(ranks, dtype=np.int64))
    outside = chosen[(chosen < 0) | (chosen >= run.n_ranks)]
    if len(outside) or not len(chosen):
        found = f"no rank {outside[0]}" if len(outside) else "ranks, but none was chosen"
        raise RegimeError(f"{run.path} has {found}; choose some of the ranks 0 to {run.n_ranks - 1}.")
    return chosen, []


def _positions(run: RunDirectory, steps: slice | None) -> np.ndarray:
    """The frames of these steps."""
    indexes = run.step_indexes
    if not (run.steps_closed > 0).any() or not len(indexes):
        raise RegimeError(
            f"{run.path} measured no step, so it has no series of times; `perfield steps {run.path}` lists "
            "MPI calls that could close steps."
        )
    low, high = (None, None) if steps is None else (steps.start, steps.stop)
    within = (indexes >= (0 if low is None else low)) & (indexes <= (np.inf if high is None else high))
    if not within.any():
        raise RegimeError(
            f"{run.path} has none of the steps {low} to {high}; it measured the steps {indexes[0]} to "
            f"{indexes[-1]}."
        )
    return np.flatnonzero(within)


def _read(
    run: RunDirectory, name: str, ranks: np.ndarray, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Times of one step, (n_steps, n_ranks), and the bytes that all ranks of the run wrote, (n_steps, 1)."""
    run = Snapshot(run).run
    known = fields_of(run)
    names = [name, WRITTEN] if WRITTEN in run.columns else [name]
    values = np.empty((len(positions), len(ranks)))
    written = np.zeros((len(positions), 1))
    at_once = max(1, ENTRIES_PER_CHUNK // max(run.n_ranks, 1))
    for begin in range(0, len(positions), at_once):
        here = positions[begin : begin + at_once]
        read = run.values(names, here)
        values[begin : begin + at_once] = read[:, 0, ranks] / known.per_step([name], here)[:, 0]
        if len(names) > 1:
            written[begin : begin + at_once, 0] = np.nansum(read[:, 1], axis=1) / run.spans[here]
    return values, written


def _about(run: RunDirectory, values: np.ndarray) -> Iterator[str]:
    """What a reader of these times must know, as clauses."""
    if is_injected(run):
        yield "latencies were injected into this run, so its regimes are not the machine's own"
    every = run.info.get("configuration", {}).get("measure_every", 1)
    if every > 1:
        yield f"one step in {every} was measured; lengths of stay count measured steps"
    known = np.isfinite(values)
    missing = int((~known).all(axis=0).sum())
    if missing:
        yield f"{counted(missing, 'rank')} {'has' if missing == 1 else 'have'} no time at all"
