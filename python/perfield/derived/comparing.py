# SPDX-License-Identifier: BSD-3-Clause
"""Reads what a comparison asks of a run: `perfield.analysis.comparing.measured.Measured`."""

from __future__ import annotations

import numpy as np

from perfield.analysis.comparing.measured import LARGEST, SUMS, TABLES, Measured
from perfield.analysis.comparing.table import TIMES
from perfield.derived.providers import fields_of
from perfield.run.errors import RunError
from perfield.run.run_directory import RunDirectory
from perfield.run.snapshot import Snapshot

ENTRIES_AT_ONCE = 1 << 18
COST = "<region>_compute_time_s"
OF_REGIONS = ("<region>_time_s", "<region>_self_time_s", COST)


def measured(run: RunDirectory, name: str) -> Measured:
    """Reads all frames that all ranks of the largest group closed alike, chunk by chunk; all are chosen.

    name : of the run, for sentences. Raises RunError if no step is left.
    """
    known = set(run.columns.names)
    of_ranks = [field for field in dict.fromkeys((*TABLES, *TIMES, *SUMS, *LARGEST)) if field in known]
    of_regions = [
        field for kind in OF_REGIONS if kind in run.columns.kinds for field in run.columns.of_regions(kind)
    ]
    names = of_ranks + of_regions
    parts = np.array_split(np.arange(len(run)), max(1, len(run) * run.n_ranks // ENTRIES_AT_ONCE))
    positions = np.concatenate(
        [part[~run.read(part)["uneven"]] for part in parts if len(part)] or [np.arange(0)]
    )
    reduced = [_reduced(values, of_ranks) for _, values in Snapshot(run).in_chunks(positions, names)]
    if not reduced:
        raise RunError(f"{run.path} has no step in which all ranks did the same; `perfield info {run.path}`")
    sums, largest, tables = (np.concatenate(parts, axis=0) for parts in zip(*reduced))
    present = np.isfinite(tables[:, 0])
    n_present = present.sum(axis=1)
    complete = n_present == n_present.max()
    columns = present[complete].any(axis=0)
    n_ranks = int(columns.sum())
    span = run.steps_held(positions[complete]).astype(float)
    seen = [field for number, field in enumerate(names) if np.isfinite(largest[:, number]).any()]
    each = {
        field: (sums[complete, number] / span, largest[complete, number] / _span(run, field, span))
        for number, field in enumerate(names)
        if field in seen
    }
    kept = [field for field in TABLES if field in of_ranks]
    of_cost = run.columns.of_regions(COST if COST in run.columns.kinds else OF_REGIONS[0])
    return Measured(
        name=name,
        ranks=np.flatnonzero(columns),
        positions=positions[complete],
        chosen=np.ones(int(complete.sum()), bool),
        tables={
            field: tables[complete][:, number][:, columns] / span[:, None].astype(np.float32)
            for number, field in enumerate(kept)
            if field in seen
        },
        means={field: sum_ / n_ranks for field, (sum_, _) in each.items() if field not in (*SUMS, *LARGEST)},
        sums={field: each[field][0] for field in SUMS if field in each},
        largest={field: np.nan_to_num(each[field][1]) for field in LARGEST if field in each},
        unbalanced={
            stem: np.nan_to_num(each[cost][1]) - each[cost][0] / n_ranks
            for stem, cost in zip(run.columns.stems, of_cost)
            if cost in each
        },
        regions={region.field: region.name for region in run.known_regions},
        spans=span,
        is_whole=run.is_whole,
        left_out=_left_out(
            name,
            "frames" if (span > 1).any() else "steps",
            len(run),
            len(positions),
            int(complete.sum()),
        ),
    )


def mean_by_rank(run: RunDirectory, field: str, positions: np.ndarray) -> np.ndarray:
    """A field's mean over some frames for each rank, (n_ranks,); NaN where it is absent in all. Frames
    that hold several steps count as often.

    Raises RunError, with the nearest names, if the run has no such field.
    """
    if field not in fields_of(run):
        raise RunError(fields_of(run).unknown(field))
    held = run.steps_held(np.arange(len(run))).astype(float)
    sums, counts = np.zeros((2, run.n_ranks))
    for here, values in Snapshot(run).in_chunks(positions, [field]):
        finite = np.isfinite(values[:, 0])
        weights = held[here][:, None]
        each = values[:, 0] * (1.0 if fields_of(run)[field].adds_up else weights)
        sums += np.where(finite, each, 0.0).sum(axis=0)
        counts += (finite * weights).sum(axis=0)
    return np.divide(sums, counts, out=np.full(run.n_ranks, np.nan), where=counts > 0)


def mesh_changes(run: RunDirectory, positions: np.ndarray) -> bool:
    """Whether the mesh of some rank differs between some frames: its version, as the program described it,
    or its number of cells."""
    read = run.read(positions)
    ranks, versions = read["rank"], read["fixed"]["mesh_version"].astype(np.int64)
    known = versions > 0  # 0: described nothing
    low, high = np.full(run.n_ranks, np.iinfo(np.int64).max), np.zeros(run.n_ranks, np.int64)
    np.minimum.at(low, ranks[known], versions[known])
    np.maximum.at(high, ranks[known], versions[known])
    if (high > low).any():
        return True
    if "cells" not in run.columns.names:
        return False
    least, most = np.full(run.n_ranks, np.inf), np.full(run.n_ranks, -np.inf)
    for _, values in Snapshot(run).in_chunks(positions, ["cells"]):
        least = np.fmin(least, np.fmin.reduce(values[:, 0], axis=0))
        most = np.fmax(most, np.fmax.reduce(values[:, 0], axis=0))
    return bool((most > least).any())


def _reduced(values: np.ndarray, of_ranks: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums and largest values over ranks, (n_steps, n_fields), and the tables to keep; NaN: none has one."""
    finite = np.isfinite(values)
    sums = np.where(finite, values, 0.0).sum(axis=2)
    largest = np.where(finite, values, -np.inf).max(axis=2, initial=-np.inf)
    largest = np.where(finite.any(axis=2), largest, np.nan)
    kept = [of_ranks.index(field) for field in TABLES if field in of_ranks]
    return sums, largest, values[:, kept].astype(np.float32)


def _span(run: RunDirectory, field: str, span: np.ndarray) -> np.ndarray:
    """By what the values of a field are divided to get those of one step."""
    return span if run.columns.field(field).adds_up else np.ones_like(span)


def _left_out(name: str, what: str, n_frames: int, n_even: int, n_complete: int) -> tuple[str, ...]:
    said = []
    if n_even < n_frames:
        said.append(
            f"{n_frames - n_even} of {n_frames} {what} of {name} are left out, as ranks may have done "
            "different things in them"
        )
    if n_complete < n_even:
        said.append(
            f"{n_even - n_complete} of {n_frames} {what} of {name} are left out, as not all ranks closed them"
        )
    return tuple(said)
