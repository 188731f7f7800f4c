# SPDX-License-Identifier: BSD-3-Clause
"""Scans over parameters of a model: where it ends as the coupling, the width of repulsion, ... change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from perfield.studies.oscillators.model.configured import Tables, experiment, merged, with_preset
from perfield.studies.rhythm.model import order_parameter, settling_time, spread, state
from perfield.studies.rhythm.model.errors import ModelError

LATE = 0.25
"""The last part of the time over which R is averaged: what is left once the start is forgotten."""

_ABOUT = {
    "order_parameter": ("1", "R, mean of the last quarter"),
    "least_order_parameter": ("1", "least R"),
    "spread": ("periods", "from the last to the first, mean of the last quarter"),
    "settled_99": ("s", "R is above 0.99 for good from here"),
    "state": ("", "state at the end"),
}


def scan(tables: Tables, axes: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """Runs an experiment for each combination of values.

    tables : see `configured.KEYS`. axes : "table.key" -> its values, such as {"coupling.v_p": [1, 2, 4],
    "potential.sigma": [0.5, 1]}. Returns, with a dimension for each axis (its name with "_" for "."):
    order_parameter and spread (periods), means of the last quarter of the time, as both fluctuate with P;
    least_order_parameter; settled_99 (s, NaN if never); and state at the end.
    """
    if not axes or not all(len(values) for values in axes.values()):
        raise ModelError("a scan needs a key and at least one value; give {'coupling.v_p': [1, 2, 4]}.")
    base = with_preset(tables)
    shape = tuple(len(values) for values in axes.values())
    made: dict[str, np.ndarray] = {name: np.full(shape, np.nan) for name in _ABOUT}
    made["state"] = np.empty(shape, object)
    for at in np.ndindex(*shape):
        chosen = {key: values[k] for (key, values), k in zip(axes.items(), at)}
        for name, value in _judged(base, chosen).items():
            made[name][at] = value
    made["state"] = made["state"].astype(str)
    names = {key: key.replace(".", "_") for key in axes}
    dims = tuple(names.values())
    return xr.Dataset(
        {
            name: (
                dims,
                made[name],
                {"long_name": text} if not units else {"units": units, "long_name": text},
            )
            for name, (units, text) in _ABOUT.items()
        },
        {names[key]: list(values) for key, values in axes.items()},
        {"parameters": json.dumps(base, default=float), "seed": int(base.get("seed", 0))},
    )


def _judged(base: Tables, chosen: Mapping[str, Any]) -> dict[str, Any]:
    tables: Tables = base
    for key, value in chosen.items():
        table, dot, name = key.rpartition(".")
        tables = merged(tables, {table: {name: value}} if dot else {name: value})
    of = experiment(tables)
    phase = of.run()["phase"]
    late = phase["time"] >= of.times[0] + (1 - LATE) * (of.times[-1] - of.times[0])
    order = order_parameter(phase)
    last = state(phase.isel(time=[-1]), of.model.topology)
    return {
        "order_parameter": float(order[late].mean()),
        "least_order_parameter": float(order.min()),
        "spread": float(spread(phase)[late].mean()),
        "settled_99": settling_time(phase, 0.99),
        "state": str(last["state"].values[0]),
    }
