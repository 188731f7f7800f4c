# SPDX-License-Identifier: BSD-3-Clause
"""All frames of a run as one xarray Dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from perfield.run.columns import read_columns

if TYPE_CHECKING:
    from perfield.run.run import Run

_TABLES = {
    "message": ("messages", ("source", "target", "call", "count", "bytes", "empty", "largest")),
    "arrival": ("received", ("source", "target", "call", "count", "bytes", "empty", "largest")),
    "waited": ("waits", ("rank", "peer", "count", "time_s")),
}
_UNITS = {"bytes": "B", "largest": "B", "time_s": "s", "count": "1", "empty": "1"}


def dataset(run: Run) -> xr.Dataset:
    """The run as a Dataset with dimensions step, rank and region; NaN where absent.

    Fields are (step, rank); `region_time_s`, `region_count`, `region_self_time_s` and, where there were calls
    inside regions, `region_mpi_time_s`, ..., `region_compute_time_s` are (step, rank, region), as are
    those of counters (`region_instructions`), region being the name that the region's fields begin with
    (`region_name`: its own). Messages are sparse tables with
    dimensions message, arrival (as the receivers counted) and waited: `message_step`, `message_source`, ...;
    steps are positions in `step`.
    """
    frames = list(run.frames())
    columns = run.columns
    stems = columns.stems
    variables: dict[str, tuple] = {}
    for kind, field in columns.kinds.items():
        if kind == "rank":
            continue
        attributes = {"units": field.unit, "long_name": field.meaning, "source": field.source}
        if field.direction:
            attributes["better"] = field.direction
        if "<region>" in kind:
            values = read_columns(run, columns.of_regions(kind))
            name = kind.replace("<region>", "region")
            variables[name] = (("step", "rank", "region"), values.transpose(0, 2, 1), attributes)
        else:
            variables[kind] = (("step", "rank"), read_columns(run, [kind])[:, 0], attributes)
    for prefix, (attribute, names) in _TABLES.items():
        tables = [getattr(frame, attribute) for frame in frames]
        steps = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        variables[f"{prefix}_step"] = ((prefix,), steps)
        for column in names:
            values = np.concatenate([table[column] for table in tables]) if tables else np.zeros(0)
            attributes = {"units": _UNITS[column]} if column in _UNITS else {}
            variables[f"{prefix}_{column}"] = ((prefix,), values, attributes)

    own_name = {region.field: region.name for region in run.regions}
    coordinates = {
        "step": ("step", np.array([frame.index for frame in frames], dtype=np.int64)),
        "label": ("step", np.array([frame.label for frame in frames], dtype=np.int64)),
        "time": ("step", np.array([frame.time for frame in frames], dtype=np.float64)),
        "partial": ("step", np.array([frame.partial for frame in frames], dtype=bool)),
        "rank": ("rank", np.arange(run.n_ranks)),
        "region": ("region", np.array(stems, dtype=object)),
        "region_name": ("region", np.array([own_name[stem] for stem in stems], dtype=object)),
    }
    return xr.Dataset(variables, coordinates, {"run": str(run.path), "state": run.state})
