# SPDX-License-Identifier: BSD-3-Clause
"""Reads what findings ask of a run into memory: `perfield.analysis.observed.Observed`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfield.analysis.observed import Observed
from perfield.run import pairs
from perfield.run.run import RunDirectory
from perfield.run.snapshot import Snapshot
from perfield.topology import placement_of


def observe(run: RunDirectory, names: Sequence[str], neighbours: np.ndarray | None = None) -> Observed:
    """Reads fields of all frames.

    names : of fields; `<region>_...` stands for all regions. Those that the run lacks are left out.
    neighbours : as in `Observed`.
    """
    known = set(run.columns.names)
    wanted = [name for name in dict.fromkeys(("step_time_s", *names)) if name in known]
    of_regions = [
        name
        for kind in names
        if "<region>" in kind and kind in run.columns.kinds
        for name in run.columns.of_regions(kind)
    ]
    positions = np.flatnonzero(~run.uneven(np.arange(len(run)))) if len(run) else np.zeros(0, np.int64)
    values = [read for _, read in Snapshot(run).in_chunks(positions, wanted + of_regions)]
    read = np.concatenate(values) if values else np.zeros((0, len(wanted) + len(of_regions), run.n_ranks))
    present = np.isfinite(read[:, 0])
    n_present = present.sum(axis=1)
    complete = n_present == n_present.max(initial=0)
    columns = np.flatnonzero(present[complete].any(axis=0))
    read = read[complete][:, :, columns].astype(np.float32)
    positions = positions[complete]
    tables = {name: read[:, number] for number, name in enumerate(wanted + of_regions)}
    of_ranks = {name: np.nan_to_num(tables[name]).astype(float) for name in wanted}
    rows = Snapshot(run).rows(positions, "messages")
    return Observed(
        n_ranks=run.n_ranks,
        ranks=columns.astype(np.int64),
        index=run.step_indexes[positions],
        label=np.array([run.told(position)["label"] for position in positions.tolist()], np.int64),
        row=np.arange(len(positions)),
        tables=tables,
        totals={name: table.sum(axis=1) for name, table in of_ranks.items()},
        largest={name: table.max(axis=1, initial=0.0) for name, table in of_ranks.items()},
        regions={region.field: region.name for region in run.known_regions},
        messages=pairs.messages(run, positions),
        waits=pairs.waits(run, positions),
        empty=np.bincount(rows["step"], rows["empty"], minlength=len(positions)),
        placement=placement_of(run),
        neighbours=neighbours,
    )
