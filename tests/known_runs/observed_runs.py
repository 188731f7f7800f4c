# SPDX-License-Identifier: BSD-3-Clause
"""Runs as findings see them, made by hand: an `Observed` from a few arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perfield.analysis.observed import PAIRS, WAITS, Observed
from perfield.topology import Network, Placement, place, read_machine

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
TWO_PACKAGES = read_machine(MACHINES / "two-packages-2-l3-2-cores-2-pus.xml")
CORES = 8  # of TWO_PACKAGES, four in each package, with two PUs each
OTHER_MPI_S = 0.001  # of each step in calls that nobody waits in


def observed_run(
    n_ranks: int = 8,
    n_steps: int = 60,
    *,
    seed: int = 0,
    noise: float = 0.02,
    regions: Sequence[str] | dict[str, str] = (),
    messages: Sequence[tuple] = (),
    waits: Sequence[tuple] = (),
    empty: Any = 0.0,
    placement: Placement | None = None,
    neighbours: Sequence[tuple] | None = None,
    boxes: np.ndarray | None = None,
    attributes: dict[str, np.ndarray] | None = None,
    **fields: Any,
) -> Observed:
    """A run whose ranks compute 0.1 s in each step, with normal noise, and then wait for the slowest.

    noise : relative deviation of compute time. fields : values by name, in any shape that broadcasts to
    (n_steps, n_ranks): `compute_time_s=np.linspace(...)`, `solve_time_s=...` for a region "solve". Where they
    leave them out, `compute_time_s`, `waiting_time_s`, `mpi_collective_time_s` (all of the waiting),
    `mpi_time_s` and `step_time_s` follow from each other.
    regions : stems, or names by stem. messages : rows (source, target, count, bytes, empty), and waits : rows
    (rank, peer, count, time_s), sums of all steps. empty : messages without bytes, by step.
    placement : `plain_placement(n_ranks)`, or None. neighbours : pairs; both directions are meant. boxes : as
    `Observed.boxes`; `boxes_of_grid(6, 8)`. attributes : as `Observed.attributes`.
    """
    shape = (n_steps, n_ranks)
    random = np.random.default_rng(seed)
    tables = {name: np.broadcast_to(np.asarray(values, float), shape) for name, values in fields.items()}
    compute = tables.setdefault("compute_time_s", 0.1 * (1 + noise * random.standard_normal(shape)))
    step = np.broadcast_to(np.nanmax(compute, axis=1, keepdims=True) + OTHER_MPI_S, shape)
    step = tables.setdefault("step_time_s", np.where(np.isfinite(compute), step, np.nan))
    tables.setdefault("waiting_time_s", np.clip(step - compute - OTHER_MPI_S, 0, None))
    tables.setdefault("mpi_collective_time_s", tables["waiting_time_s"])
    tables.setdefault("mpi_time_s", tables["waiting_time_s"] + OTHER_MPI_S)
    named = dict(regions) if isinstance(regions, dict) else {stem: stem for stem in regions}
    single = {n: t for n, t in tables.items() if not any(n.startswith(f"{stem}_") for stem in named)}
    both = [pair for a, b in neighbours or () for pair in ((a, b), (b, a))]
    return Observed(
        n_ranks=n_ranks,
        ranks=np.arange(n_ranks),
        index=np.arange(n_steps),
        label=np.arange(n_steps),
        row=np.arange(n_steps),
        tables={name: table.astype(np.float32) for name, table in tables.items()},
        totals={name: np.nansum(table, axis=1) for name, table in single.items()},
        largest={name: np.nan_to_num(table).max(axis=1, initial=0.0) for name, table in single.items()},
        regions=named,
        messages=np.array([(*row, 0)[: len(PAIRS)] for row in messages], PAIRS),
        waits=np.array([tuple(row) for row in waits], WAITS),
        empty=np.broadcast_to(np.asarray(empty, float), (n_steps,)),
        placement=placement,
        boxes=boxes,
        attributes=attributes or {},
        neighbours=None if neighbours is None else np.array(sorted(set(both)), np.int64).reshape(-1, 2),
    )


def boxes_of_grid(*n_pieces: int) -> np.ndarray:
    """Corners of the pieces of a grid, of size 1 each, numbered along x first: float64 (n, 2, 3)."""
    n = (*n_pieces, 1, 1)[:3]
    low = np.stack(np.meshgrid(*map(np.arange, n), indexing="ij"), axis=-1).astype(float)
    low = low.transpose(2, 1, 0, 3).reshape(-1, 3)
    return np.stack([low, low + 1], axis=1)


def plain_placement(n_ranks: int = 8, per_node: int = 4, network: Network | None = None) -> Placement:
    """Ranks in order over nodes n1, n2, ..., each bound to a core of its own, in both packages by turns."""
    cpusets = []
    for rank in range(n_ranks):
        place_in_node = rank % per_node
        core = place_in_node // 2 + CORES // 2 * (place_in_node % 2)
        cpusets.append((f"n{rank // per_node + 1}", f"{2 * core}-{2 * core + 1}"))
    return placement_at(*cpusets, network=network)


def placement_at(*places: tuple[str, str], network: Network | None = None) -> Placement:
    """Ranks at (host, CPU set); every host has two packages of four cores with two PUs."""
    entries = [{"host": host, "boot_id": "", "cpuset": cpuset} for host, cpuset in places]
    return place(entries, {host: TWO_PACKAGES for host, _ in places}, network)
