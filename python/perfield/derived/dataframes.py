# SPDX-License-Identifier: BSD-3-Clause
"""A run's ranks, regions, messages and waits as DataFrames: pandas for some steps, dask for all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from perfield.derived import tables
from perfield.run.collectives import COLLECTIVES, SIZES
from perfield.run.frame import CALLS, MESSAGES, WAITS, call_names
from perfield.run.snapshot import Snapshot
from perfield.topology import placement_of

if TYPE_CHECKING:
    import dask.dataframe as dd

    from perfield.run.run import RunDirectory, Steps


def placement(run: RunDirectory) -> pd.DataFrame:
    """Where each rank ran: host, number and name of its node, the switch of the node, package, NUMA node and
    core. Names are "" and numbers -1 or NaN where a rank never checked in, was bound to several parts, or the
    machine is not known. Two nodes with one host name have different names."""
    placed = placement_of(run)
    node, switches = placed.node_id.astype(np.int64), placed.switches

    def named(names: Iterable[str]) -> np.ndarray:  # -1, of ranks without a place, finds the last one
        return np.array([*names, ""], dtype=object)

    columns = {
        "host": named(n.host for n in placed.nodes)[node],
        "node": node,
        "node_name": named(n.label for n in placed.nodes)[node],
        "switch": named(switches.name)[placed.switch_id],
        "package": placed.package_id,
        "numa": placed.numa_id,
        "core": placed.core_id,
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(run.n_ranks, name="rank"))


def ranks(run: RunDirectory) -> pd.DataFrame:
    """See `RunDirectory.ranks`."""
    told = pd.DataFrame(tables.ranks(run), columns=["rank", "cpuset", "pid", "steps", "state"])
    return placement(run).join(told.set_index("rank"))


def regions(run: RunDirectory) -> pd.DataFrame:
    """See `RunDirectory.regions`."""
    rows = [(r.field, r.name, r.block, r.file, r.line) for r in run.known_regions]
    return pd.DataFrame(rows, columns=["region", "name", "block", "file", "line"]).set_index("region")


def rows_of_steps(run: RunDirectory, table: str, steps: Steps) -> pd.DataFrame | dd.DataFrame:
    """Rows of steps, see `RunDirectory.messages`. table : "messages", "received", "waits", "calls",
    "collectives" or "message_sizes"."""
    snapshot = Snapshot(run)
    if steps is not None:
        return _rows(positions_of(run, steps), snapshot, table)
    import dask.dataframe as dd

    size, n_steps = snapshot.steps_per_chunk, len(run)
    chunks = [np.arange(at, min(at + size, n_steps)) for at in range(0, n_steps, size)] or [np.arange(0)]
    return dd.from_map(
        _rows, chunks, snapshot=snapshot, table=table, meta=_rows(chunks[0][:0], snapshot, table)
    )


def _rows(positions: np.ndarray, snapshot: Snapshot, table: str) -> pd.DataFrame:
    if table == "message_sizes":
        return _sizes(positions, snapshot)
    rows = snapshot.rows(positions, table)
    columns = {"step": snapshot.run.step_indexes[positions][rows["step"]]}
    for name in {"waits": WAITS, "calls": CALLS, "collectives": COLLECTIVES}.get(table, MESSAGES).names:
        columns[name] = call_names(rows["call"]).astype(object) if name == "call" else rows[name]
    return pd.DataFrame(columns)


def _sizes(positions: np.ndarray, snapshot: Snapshot) -> pd.DataFrame:
    """Rows of `RunDirectory.message_sizes`; those of older versions have no sizes, and are left out."""
    rows = snapshot.rows(positions, "messages")
    rows = rows[rows["sizes"].any(axis=1)]
    columns = {"step": snapshot.run.step_indexes[positions][rows["step"]]}
    columns |= {name: rows[name] for name in ("source", "target")}
    columns["call"] = call_names(rows["call"]).astype(object)
    return pd.DataFrame(columns | dict(zip(SIZES, rows["sizes"].T)))


def positions_of(run: RunDirectory, steps: int | slice | Sequence[int]) -> np.ndarray:
    """Positions of the frames with these step indexes. Raises KeyError if the run has no such step."""
    known = pd.Index(run.step_indexes)
    if isinstance(steps, slice):
        return np.arange(len(run))[known.slice_indexer(steps.start, steps.stop, steps.step)]
    wanted = np.atleast_1d(np.asarray(steps, dtype=np.int64))
    positions = known.get_indexer(wanted)
    if (positions < 0).any():
        has = f"steps {known[0]} to {known[-1]}" if len(known) else "no steps"
        missing = wanted[positions < 0][0]
        raise KeyError(f"step {missing} is not in {run.path}, which has {has} ({len(known)} measured).")
    return positions
