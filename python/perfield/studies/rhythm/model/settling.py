# SPDX-License-Identifier: BSD-3-Clause
"""When a run or a model has settled, and into which state."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import xarray as xr

from perfield.studies.rhythm.model.drift import window_of
from perfield.studies.rhythm.model.errors import RhythmError
from perfield.studies.rhythm.model.order import order_parameter
from perfield.studies.rhythm.model.state import PARTLY_KNOWN, in_words
from perfield.text import in_percent, in_seconds

LAST = 0.1
"""Which last share of the known instants counts as the end."""
MOSTLY = 0.95
"""Which share of the instants after settling are as at the end."""
STEADY = 0.1
"""Periods by which the spread may differ from that of the end."""


@dataclass(frozen=True)
class Settled:
    """Since when the ranks have been in their last state.

    time : s; the first known instant if they always were, NaN if they have not settled. state : the name of
    the last state, one of STATES. words : a sentence.
    """

    time: float
    state: str
    words: str


def settled(states: xr.Dataset) -> Settled:
    """When the ranks settled, and into which state; `states` is what `state` returned, of dimension time.

    The end is what holds in most of the last tenth of the instants; words give it at the instant of the
    median spread. They add the largest spread since the ranks settled. If the ranks have not settled, they
    add that of the last tenth, and how often the state held. The ranks have settled at the first instant
    from which 19 of 20 instants have the name of the end and a spread within a tenth of a step of that of
    the end; not if that is in the last tenth. Instants count while most ranks have a phase (`window_of`),
    except those that are only partly known.
    """
    if "time" not in states.dims:
        raise RhythmError("the states are those of one instant; expected what `state` returns of several.")
    known = states.isel(time=window_of(states["known"].values))
    known = known.isel(time=known["state"].values != PARTLY_KNOWN)
    count = known.sizes["time"]
    if not count:
        return Settled(float("nan"), PARTLY_KNOWN, "The state is unknown: too few ranks have a phase.")
    last = max(1, round(LAST * count))
    names, spreads = known["state"].values, known["spread"].values
    name = Counter(names[-last:].tolist()).most_common(1)[0][0]
    like = (names == name) & (np.abs(spreads - np.median(spreads[-last:])) <= STEADY)
    share = np.cumsum(like[::-1])[::-1] / np.arange(count, 0, -1)
    begin = np.flatnonzero(like & (share >= MOSTLY))
    at_end = known.isel(time=_typical(np.flatnonzero(names[-last:] == name) + count - last, spreads))
    if not len(begin) or (begin[0] >= count - last and count > 1):
        words = f"The ranks have not settled. At the end, {in_words(at_end, float(spreads[-last:].max()))}"
        often = float((names == name).mean())
        return Settled(float("nan"), name, f"{words} They were so for {in_percent(often)} of the time.")
    time = float(known["time"][begin[0]])
    when = "From the start" if begin[0] == 0 else f"Since {in_seconds(time)}"
    return Settled(time, name, f"{when}, {in_words(at_end, float(spreads[begin[0] :].max()))}")


def _typical(of: np.ndarray, spreads: np.ndarray) -> int:
    """Which of these instants has the median spread of them, the last one of several."""
    order = of[np.argsort(spreads[of], kind="stable")]
    middle = spreads[order[len(order) // 2]]
    return int(of[spreads[of] == middle][-1])


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
