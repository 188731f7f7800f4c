# SPDX-License-Identifier: BSD-3-Clause
"""Reads of a run what `perfield.analysis.scaling` compares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfield.analysis.scaling import Measured, Scaling, scaling
from perfield.analysis.scaling_laws import ScalingError
from perfield.analysis.steps import LOG_BYTES, output_steps
from perfield.run.run import RunDirectory
from perfield.run.snapshot import Snapshot
from perfield.topology import placement_of, sharing

TIME, COUNT, INSTRUCTIONS = "<region>_time_s", "<region>_count", "<region>_instructions"
OF_RANKS = ("step_time_s", "compute_time_s", "io_write_bytes", "resident_bytes", "cells", "points")


def scaling_of(runs: Sequence[RunDirectory], kind: str | None = None) -> Scaling:
    """Compares runs of different numbers of ranks; see `perfield.analysis.scaling.scaling`."""
    return scaling([measured(run) for run in runs], kind)


def measured(run: RunDirectory) -> Measured:
    """Reads a run's frames once, chunk by chunk.

    Frames that lack a rank, or in which ranks may have done different steps, are left out; a frame that adds
    up several steps counts as one step of their mean. Raises ScalingError for a run whose steps are windows
    of the clock.
    """
    name = str(run.path)
    configuration = run.info.get("configuration") or {}
    if configuration.get("step_seconds"):
        raise ScalingError(
            f"{name} ends its steps by the clock (step_seconds), so they take the same time on any number of "
            "ranks; measure steps that the program makes."
        )
    found = _Steps(run)
    told = Snapshot(run).told(found.positions, "span") if len(found.positions) else np.ones(0)
    span = np.maximum(told, 1).astype(float)
    ends = [configuration.get(key) for key in ("step_call", "step_region")]
    return Measured(
        name=name,
        program=", ".join(sorted({str(entry.get("program") or "") for entry in run.rank_entries if entry})),
        n_ranks=run.n_ranks,
        step_s=found.largest["step_time_s"] / span,
        is_output=output_steps(found.totals["io_write_bytes"][:, None], LOG_BYTES),
        compute_mean_s=found.totals["compute_time_s"] / run.n_ranks / span,
        compute_largest_s=found.largest["compute_time_s"] / span,
        regions={
            region.name: found.largest[TIME.replace("<region>", region.field)] / span
            for region in run.known_regions
        },
        memory_bytes=found.memory_bytes,
        whole_s=_whole_s(run),
        sizes={what: size for what in ("cells", "points") if (size := _typical(found.totals.get(what))) > 0}
        | found.instructions(),
        calls=found.calls(run, span),
        sharing=sharing(placement_of(run)).words,
        steps_end=", ".join(str(end) for end in ends if end),
    )


class _Steps:
    """Sums and largest values over ranks of each complete frame, (n_steps,); NaN where unknown."""

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
        place = {name: number for number, name in enumerate(names)}
        parts, entered, present, kept = [], [], [], []
        self.memory_bytes = np.full(run.n_ranks, np.nan)
        for here, values in snapshot.in_chunks(np.arange(len(run)), names):
            seen = np.isfinite(values)
            some = seen.any(axis=2)
            total = np.where(some, np.where(seen, values, 0.0).sum(axis=2), np.nan)
            largest = np.where(some, np.where(seen, values, -np.inf).max(axis=2), np.nan)
            parts.append(np.stack([total, largest]))
            entered.append(seen.sum(axis=2))
            present.append(seen[:, 0].sum(axis=1))
            kept.append(~snapshot.told(here, "uneven"))
            if "resident_bytes" in place:
                of_chunk = np.fmax.reduce(values[:, place["resident_bytes"]], axis=0)
                self.memory_bytes = np.fmax(self.memory_bytes, of_chunk)
        n_present = np.concatenate(present) if present else np.zeros(0, np.int64)
        whole = np.concatenate(kept) if kept else np.zeros(0, bool)
        whole &= n_present == n_present[whole].max(initial=0)
        if len(run) and run.frame(0).kind != "step":
            whole &= False
        self.positions = np.flatnonzero(whole)
        every = np.concatenate(parts, axis=1)[:, whole] if parts else np.zeros((2, 0, len(names)))
        self._by_all = (
            np.concatenate(entered)[whole] == run.n_ranks if parts else np.zeros((0, len(names)), bool)
        )
        nothing = np.full(len(self.positions), np.nan)
        self.totals = dict.fromkeys(OF_RANKS[:3], nothing) | {
            name: every[0, :, at] for name, at in place.items()
        }
        self.largest = dict.fromkeys(OF_RANKS[:3], nothing) | {
            name: every[1, :, at] for name, at in place.items()
        }
        self._place = place

    def instructions(self) -> dict[str, float]:
        """Instructions of all ranks in the region that has most, as a size; {} if none were counted."""
        tail = INSTRUCTIONS.replace("<region>", "")
        most = max(
            (_typical(total) for name, total in self.totals.items() if name.endswith(tail)), default=0.0
        )
        return {"instructions": most} if most > 0 else {}

    def calls(self, run: RunDirectory, span: np.ndarray) -> dict[str, float]:
        """Entries of each region that all ranks enter in each step, by name."""
        found = {}
        for region in run.known_regions:
            name = COUNT.replace("<region>", region.field)
            if name in self._place and self._by_all[:, self._place[name]].all():
                found[region.name] = _typical(self.totals[name] / span)
        return found


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
