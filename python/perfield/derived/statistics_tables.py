# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of a field by node, package, NUMA node, core, switch or step, as rows to print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.statistics import STATISTICS
from perfield.derived.dataset import open_steps
from perfield.derived.providers import REGION, fields_of
from perfield.derived.tables import MOST_FRAMES
from perfield.run.errors import RunError

if TYPE_CHECKING:
    import xarray as xr

    from perfield.run.run_directory import RunDirectory


def by(run: RunDirectory, field: str, level: str) -> tuple[list[dict], int]:
    """A row per group, over the newest 1000 frames, and how many of these are left out as uneven.

    field : as in `fields_of`. level : "node", "switch", "package", "numa", "core", "step".
    Columns: the group under the name of its level (a step: its frame and the program's number), ranks, and
    the statistics over ranks, as the mean over frames; the imbalance is max over mean of these, as in the
    summary. The group with the largest mean comes first; steps come in their order.
    Raises RunError if the run has no such field.
    """
    steps = open_steps(run).isel(step=slice(-MOST_FRAMES, None))
    even = ~steps["uneven"].values
    chosen = _of_field(run, field).isel(step=slice(-MOST_FRAMES, None)).to_dataset(name="field")
    frames = np.arange(len(run))[-MOST_FRAMES:][even]
    found = chosen.isel(step=np.flatnonzero(even)).perfield.by(level)
    values = found["field"].transpose("step", ..., "statistic").values
    if level == "step":
        labels = found["label"].values.tolist()
        parts = zip(frames.tolist(), labels, values.tolist())
        ranks = int(found["n_ranks"])
        rows = [{"frame": f, "step": n, "ranks": ranks, **_row(row)} for f, n, row in parts]
        return rows, int((~even).sum())
    seen = np.isfinite(values)
    mean = np.divide(
        np.where(seen, values, 0.0).sum(axis=0),
        seen.sum(axis=0),
        out=np.full(values.shape[1:], np.nan),
        where=seen.any(axis=0),
    )
    average, most = (mean[:, STATISTICS.index(name)] for name in ("mean", "max"))
    ratio = np.divide(most, average, out=np.full(len(mean), np.nan), where=average > 0)
    mean[:, STATISTICS.index("imbalance")] = ratio
    names, n_ranks = found[level].values.tolist(), found["n_ranks"].values.tolist()
    order = np.argsort(-np.nan_to_num(average, nan=-np.inf), kind="stable").tolist()
    rows = [{level: names[i], "ranks": n_ranks[i], **_row(mean[i].tolist())} for i in order]
    return rows, int((~even).sum())


def _of_field(run: RunDirectory, field: str) -> xr.DataArray:
    """The variable of a field, with the name as in frames."""
    known = fields_of(run)
    if field not in known:
        raise RunError(known.unknown(field))
    if (stem := known.region_of.get(field)) is None:
        return open_steps(run, [field])[field]
    kind = next(kind for kind in known.kinds if kind.replace(REGION, stem) == field)
    return open_steps(run)[kind.replace(REGION, "region")].sel(region=stem)


def _row(values: list[float]) -> dict[str, float | None]:
    return {name: value if np.isfinite(value) else None for name, value in zip(STATISTICS, values)}
