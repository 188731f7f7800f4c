# SPDX-License-Identifier: BSD-3-Clause
"""Reads of a run what `perfield.analysis.scaling` compares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfield.analysis.scaling import Measured, Scaling, scaling
from perfield.analysis.scaling_laws import ScalingError
from perfield.analysis.steps import LOG_BYTES, output_steps
from perfield.call_sites.closing import closing_call
from perfield.run.run_directory import RunDirectory
from perfield.run.snapshot import Snapshot
from perfield.topology import placement_of, sharing

TIME, COUNT, INSTRUCTIONS = "<region>_time_s", "<region>_count", "<region>_instructions"
OF_RANKS = ("step_time_s", "compute_time_s", "io_write_bytes", "resident_bytes", "cells", "points")


def scaling_of(runs: Sequence[RunDirectory], kind: str | None = None) -> Scaling:
    """Compares runs of different numbers of ranks; see `perfield.analysis.scaling.scaling`.

    Raises ScalingError also for a run that is named twice, as its copy would look like a repeated run.
    """
    known: dict[object, RunDirectory] = {}
    for run in runs:
        first = known.setdefault(run.info.get("run_id"), run)
        if first is not run:
            raise ScalingError(
                f"{first.path} and {run.path} are the same run; name each run once, as a copy shows no "
                "scatter."
            )
    return scaling([measured(run) for run in runs], kind)


def measured(run: RunDirectory) -> Measured:
    """Reads a run's frames once, chunk by chunk.

    Frames that lack a rank, or in which ranks may have done different steps, are left out; a frame that adds
    up several steps counts as one step of their mean. Raises ScalingError for a run whose steps are windows
    of the clock.
    """
    name = str(run.path)
    if run.steps_by_clock:
        raise ScalingError(
            f"{name} ends its steps by the clock, so they take the same time on any number of "
            "ranks; measure steps that the program makes."
        )
    found = _Steps(run)
    span = found.span.astype(float)
    configuration = run.info.get("configuration") or {}
    ends = [closing_call(run), configuration.get("step_region")]
    return Measured(
        name=name,
        program=", ".join(sorted({entry.get("program", "") for entry in run.rank_entries if entry})),
        n_ranks=run.n_ranks,
        step_s=found.largest["step_time_s"] / span,
        is_output=output_steps((found.totals["io_write_bytes"] / span)[:, None], LOG_BYTES),
        compute_mean_s=found.totals["compute_time_s"] / np.maximum(found.n_with["compute_time_s"], 1) / span,
        compute_largest_s=found.largest["compute_time_s"] / span,
        regions={
            region.name: found.largest[TIME.replace("<region>", region.field)] / span
            for region in run.known_regions
        },
        memory_bytes=found.memory_bytes,
        whole_s=_whole_s(run),
        sizes={what: size for what in ("cells", "points") if (size := _typical(found.totals.get(what))) > 0}
        | found.instructions(run),
        calls=found.calls(run, span),
        sharing=sharing(placement_of(run)).words,
        steps_end=", ".join(str(end) for end in ends if end),
    )


class _Steps:
    """Sums and largest values over ranks of each complete frame, and how many ranks have one: by field,
    (n_steps,); NaN where none has."""

    def __init__(self, run: RunDirectory):
        snapshot, columns = Snapshot(run), run.columns
        known = set(columns.names)
        of_regions = [
            name
            for kind in (TIME, COUNT, INSTRUCTIONS)
            if kind in columns.kinds
            for name in columns.of_regions(kind)
        ]
        names = [name for name in (*OF_RANKS, *of_regions) if name in known]
        memory = names.index("resident_bytes")
        parts, present, kept = [], [], []
        self.memory_bytes = np.full(run.n_ranks, np.nan)
        for here, values in snapshot.in_chunks(np.arange(len(run)), names):
            seen = np.isfinite(values)
            n_with = seen.sum(axis=2)
            total = np.where(n_with, np.where(seen, values, 0.0).sum(axis=2), np.nan)
            largest = np.where(n_with, np.where(seen, values, -np.inf).max(axis=2), np.nan)
            parts.append(np.stack([total, largest, n_with]))
            present.append(n_with[:, 0])
            kept.append(~snapshot.frame_headers(here, "uneven"))
            self.memory_bytes = np.fmax(self.memory_bytes, np.fmax.reduce(values[:, memory], axis=0))
        n_present = np.concatenate([np.zeros(0, np.int64), *present])
        whole = np.concatenate([np.zeros(0, bool), *kept])
        whole &= n_present == n_present[whole].max(initial=0)
        if len(run) and run.frame(0).kind != "step":
            whole &= False
        self.positions = np.flatnonzero(whole)
        self.span = run.steps_held(self.positions)
        every = np.concatenate([np.zeros((3, 0, len(names))), *parts], axis=1)[:, whole]
        self.totals, self.largest, self.n_with = (dict(zip(names, rows.T)) for rows in every)

    def instructions(self, run: RunDirectory) -> dict[str, float]:
        """Instructions of all ranks in the region that has most, as a size; {} if none were counted."""
        kinds = run.columns.kinds
        names = run.columns.of_regions(INSTRUCTIONS) if INSTRUCTIONS in kinds else []
        most = max((_typical(self.totals[name]) for name in names), default=0.0)
        return {"instructions": most} if most > 0 else {}

    def calls(self, run: RunDirectory, span: np.ndarray) -> dict[str, float]:
        """Entries of each region that all ranks enter in each step, by name."""
        names = {region.name: COUNT.replace("<region>", region.field) for region in run.known_regions}
        return {
            region: _typical(self.totals[name] / span)
            for region, name in names.items()
            if (self.n_with[name] == run.n_ranks).all()
        }


def _typical(values: np.ndarray | None) -> float:
    """The median of the values that are known; 0 without any."""
    known = values[np.isfinite(values)] if values is not None else np.zeros(0)
    return float(np.median(known)) if len(known) else 0.0


def _whole_s(run: RunDirectory) -> float:
    """Seconds from the first rank's start to the last rank's end; NaN unless the run ended."""
    if run.state != "finished" or not len(run):
        return np.nan
    begin, end = run.setup.begin_s, run.teardown.end_s
    known = np.isfinite(begin).any() and np.isfinite(end).any()
    return float(np.nanmax(end) - np.nanmin(begin)) if known else np.nan
