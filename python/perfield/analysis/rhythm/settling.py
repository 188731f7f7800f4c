# SPDX-License-Identifier: BSD-3-Clause
"""When a run or a model has settled: the last time that a series crosses a level."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.analysis.rhythm.order import order_parameter


def settling_time(phase: xr.DataArray, level: float = 0.99) -> float:
    """The last upward crossing of R = level, in s; NaN if R is below `level` at the end.

    The first instant, if R is never below. R does not see whole steps: crossing_time of `spread`, with
    `rising=False`, does.
    """
    return crossing_time(order_parameter(phase), level)


def crossing_time(series: xr.DataArray, level: float, *, rising: bool = True) -> float:
    """When a series (time) has passed `level` for good, in s, upward or (rising=False) downward.

    Linear between known instants. NaN if it is on the wrong side at the end or unknown throughout; the first
    known instant if it is always on the right side.
    """
    values = np.asarray(series.values, float)
    known = np.isfinite(values)
    values, times = values[known], np.asarray(series["time"].values, float)[known]
    above = (values - level) * (1 if rising else -1)
    if not len(above) or above[-1] < 0:
        return float("nan")
    wrong = np.flatnonzero(above < 0)
    if not len(wrong):
        return float(times[0])
    before = wrong[-1]
    share = -above[before] / (above[before + 1] - above[before])
    return float(times[before] + share * (times[before + 1] - times[before]))
