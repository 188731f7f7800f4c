# SPDX-License-Identifier: BSD-3-Clause
"""A run's ranks, clocks, regions, messages and waits as DataFrames. pandas is slow to import."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from perfield.derived import tables
from perfield.derived.by_steps import table_of
from perfield.run.collectives import COLLECTIVES, SIZES
from perfield.run.frame import CALLS, MESSAGES, WAITS, call_names
from perfield.run.snapshot import Snapshot
from perfield.topology import placement_of

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    from perfield.run.run_directory import RunDirectory, Steps


def placement(run: RunDirectory) -> pd.DataFrame:
    """Where each rank ran: host, number and name of its node, the switch of the node, package, NUMA node and
    core. Names are "" and numbers -1 or NaN where a rank never checked in, was bound to several parts, or the
    machine is not known. Two nodes with one host name have different names."""
    import pandas as pd

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
    """A row for each rank: where it ran, how many steps it closed and whether it ended."""
    import pandas as pd

    counted = pd.DataFrame(tables.ranks(run), columns=["rank", "cpuset", "pid", "steps", "state"])
    return placement(run).join(counted.set_index("rank"))


def clocks(run: RunDirectory) -> pd.DataFrame:
    """A row for each rank: how its stamps are put on the common clock, on which `Frame.begin_s` counts.

    That is CLOCK_MONOTONIC of one node, from the first rank's stamp 0. Columns: host; method ("same node",
    "exchange": nodes compared clocks by messages, "realtime": by CLOCK_REALTIME, "trace": imported,
    "unknown"); start_s, the rank's stamp 0; offset_s and drift_ppb, what is added to the node's
    CLOCK_MONOTONIC at stamp 0, and how that grows; uncertainty_s, the largest error during the run (NaN:
    unknown).
    """
    import pandas as pd

    return pd.DataFrame(run.stamps.rows(run.last_stamps()), index=pd.RangeIndex(run.n_ranks, name="rank"))


def regions(run: RunDirectory) -> pd.DataFrame:
    """A row for each region, by the prefix of its fields."""
    import pandas as pd

    rows = [(r.field, r.name, r.block, r.file, r.line) for r in run.known_regions]
    return pd.DataFrame(rows, columns=["region", "name", "block", "file", "line"]).set_index("region")


def messages(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """Messages as counted by the sending (for get: the fetching) ranks.

    steps : one step index, a list of them, or a slice that includes both ends, as in
    `run.steps.sel(step=...)`; then a pandas DataFrame. None: all, as a dask DataFrame, which reads when it is
    computed, chunk by chunk over steps. Columns: step, source, target (ranks of the world; -1 other peers,
    -2 outside this world, -3 unknown), call, count, bytes, empty, largest.
    Raises KeyError if the run has no such step.
    """
    return _table(run, steps, "messages")


def received(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """Messages as counted by the receiving ranks; otherwise like `messages`."""
    return _table(run, steps, "received")


def waits(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """Who waited for whom, for waits whose peer is known: step, rank, peer, count, time_s.

    steps and result : as for `messages`.
    """
    return _table(run, steps, "waits")


def calls(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """How often and how long each rank was in each MPI call: step, rank, call, count, time_s.

    steps and result : as for `messages`. Calls that a rank did not make in a step have no row.
    """
    return _table(run, steps, "calls")


def collectives(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """Collective operations of each rank: step, rank, communicator, call, count, bytes_out, bytes_in.

    communicator : its name, see `communicators`. bytes_out, bytes_in : what the rank gives and gets. steps
    and result : as for `messages`.
    """
    return _table(run, steps, "collectives")


def message_sizes(run: RunDirectory, steps: Steps = None) -> pd.DataFrame | dd.DataFrame:
    """How many messages of each size a rank sent to each other: step, source, target, call, and a column for
    each of eight bins: to_63_B, to_511_B, ... (larger than the bin before), larger.

    steps and result : as for `messages`.
    """
    return _table(run, steps, "message_sizes")


def _table(run: RunDirectory, steps: Steps, table: str) -> pd.DataFrame | dd.DataFrame:
    snapshot = Snapshot(run)
    return table_of(run, steps, _rows, snapshot.chunks, snapshot=snapshot, table=table)


def _rows(positions: np.ndarray, snapshot: Snapshot, table: str) -> pd.DataFrame:
    import pandas as pd

    if table == "message_sizes":
        return _sizes(positions, snapshot)
    rows = snapshot.run.rows(positions, table)
    columns = {"step": snapshot.run.step_indexes[positions][rows["step"]]}
    for name in {"waits": WAITS, "calls": CALLS, "collectives": COLLECTIVES}.get(table, MESSAGES).names:
        columns[name] = call_names(rows["call"]).astype(object) if name == "call" else rows[name]
    return pd.DataFrame(columns)


def _sizes(positions: np.ndarray, snapshot: Snapshot) -> pd.DataFrame:
    import pandas as pd

    rows = snapshot.run.rows(positions, "messages")
    columns = {"step": snapshot.run.step_indexes[positions][rows["step"]]}
    columns |= {name: rows[name] for name in ("source", "target")}
    columns["call"] = call_names(rows["call"]).astype(object)
    return pd.DataFrame(columns | dict(zip(SIZES, rows["sizes"].T)))
