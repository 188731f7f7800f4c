# SPDX-License-Identifier: BSD-3-Clause
"""Early warning: when the ranks lose their common rhythm (dR/dt, section 4.2.2)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.blocks import checked, ranks_of
from perfield.studies.rhythm.model.dataset import TURN
from perfield.studies.rhythm.model.order import order_parameter, rate
from perfield.studies.rhythm.model.spread import spread

FALL = 0.005
"""By how much R falls in a step, at least, for a warning."""
NOISE = 7.5
"""How many times the typical change of R in a step (its median size) the fall is, at least."""
LOSS, LOSS_FROM = 0.2, 0.9
"""By how much R falls at least in a loss of rhythm, and from where: below, R wanders."""
LOSS_WITHIN = 0.5
"""Steps: spread before a loss of rhythm; beyond it R near 1 is no synchrony."""


def early_warnings(phase: xr.DataArray, fall: float = FALL) -> xr.Dataset:
    """Stretches of time in which the order parameter falls fast.

    fall : by how much R falls in a step, at least; noise of R raises this level.
    Returns, of dimension warning: `begin` and `end` in s; `before` and `after`, R at both; `steepest`, the
    fastest fall in 1/step; `rank`, the rank whose phase moved most against the median rank in that time, and
    `moved`, by how much, in periods (negative: it fell behind). R does not see whole steps, and rises again
    where a rank falls behind by more than half a step.
    """
    whole = checked(phase)
    r = order_parameter(whole)
    times = np.asarray(whole["time"].values, float)
    per_step = rate(r).values * period(whole)
    known = whole.notnull().sum("oscillator").values
    changes = np.diff(known) != 0  # R changes, too, where ranks begin, end or are unknown
    per_step[np.append(False, changes) | np.append(changes, False)] = np.nan
    typical = np.nanmedian(np.abs(per_step)) if np.isfinite(per_step).any() else 0.0
    falls = np.nan_to_num(per_step) < -max(fall, NOISE * typical)
    edge = np.diff(np.concatenate([[0], falls.astype(np.int8), [0]]))
    begin, end = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1) - 1
    # Central differences reach one instant further on both sides; these count if R falls there, too.
    before, after = np.maximum(begin - 1, 0), np.minimum(end + 1, len(times) - 1)
    begin = np.where(r.values[before] - r.values[begin] > fall, before, begin)
    end = np.where(r.values[end] - r.values[after] > fall, after, end)
    ranks = ranks_of(whole)
    rank, moved = np.zeros(len(begin), np.int64), np.full(len(begin), np.nan)
    for k, (first, last) in enumerate(zip(begin, end)):
        way = (whole[:, last].values - whole[:, first].values) / TURN
        apart = way - np.nanmedian(way)
        most = int(np.nanargmax(np.abs(apart)))
        rank[k], moved[k] = ranks[most], apart[most]
    steepest = [float(-np.nanmin(per_step[first : last + 1])) for first, last in zip(begin, end)]
    columns = {
        "begin": (times[begin], "s", "begin of the fall of R"),
        "end": (times[end], "s", "end of the fall of R"),
        "before": (r.values[begin], "1", "R at the begin"),
        "after": (r.values[end], "1", "R at the end"),
        "steepest": (np.array(steepest), "1/step", "fastest fall of R"),
        "rank": (rank, "1", "rank that moved most"),
        "moved": (moved, "periods", "phase of that rank against the median rank"),
    }
    return xr.Dataset(
        {
            name: ("warning", values, {"units": units, "long_name": text})
            for name, (values, units, text) in columns.items()
        }
    )


def losses_of_rhythm(phase: xr.DataArray) -> xr.Dataset:
    """Those of `early_warnings` in which ranks that marched in step lost their common rhythm.

    Before, R is LOSS_FROM at least and the spread below LOSS_WITHIN steps; R falls by LOSS at least.
    """
    found = early_warnings(phase)
    if not found.sizes["warning"]:
        return found
    near = spread(checked(phase).sel(time=found["begin"].values)).values < LOSS_WITHIN
    much = ((found["before"] - found["after"]) >= LOSS) & (found["before"] >= LOSS_FROM)
    return found.isel(warning=np.flatnonzero(near & much.values))


def period(phase: xr.DataArray) -> float:
    """The typical time of a step, s: the median over ranks of 2 pi over their mean rate; NaN if unknown."""
    whole = checked(phase)
    values, times = whole.values, np.asarray(whole["time"].values, float)
    known = np.isfinite(values)
    some = known.sum(axis=1) > 1
    if not some.any():
        return float("nan")
    first, last = known.argmax(axis=1), values.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    row = np.flatnonzero(some)
    way = values[row, last[some]] - values[row, first[some]]
    took = times[last[some]] - times[first[some]]
    speed = float(np.median(way / took))
    return TURN / speed if speed > 0 else float("nan")
