# SPDX-License-Identifier: BSD-3-Clause
"""Times step by step, coloured by regime (Figures 6 and 12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import ABSENT, BEYOND, regime_colours
from perfield.plots.style import PlotError, head, new_axes, new_figure, whole_numbers
from perfield.studies.regimes.model import PROBABILITY, REGIME, TIME, UNKNOWN
from perfield.studies.regimes.plots import shown
from perfield.text import in_seconds, start

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 12.8, 3.1  # inches, of a figure and of one of its rows
MOST_STEPS = 20_000  # points; more are thinned


def series(named: Mapping[str, xr.Dataset], figure: Figure | None = None, rank: int | None = None) -> Figure:
    """Draws one series of each method, step by step, below one another on the same scale (Figures 6 and 12).

    named : words to classified timings. rank : which one; None: of a single row, that one (Figure 12), else
    the rank with the median of all median times (Figure 6). Raises PlotError without timings or such a rank.
    """
    if not named:
        raise PlotError("there are no timings to draw; give at least one.")
    figure = figure or new_figure((WIDTH, max(HEIGHT * len(named), 4.4)))
    drawn = figure.subplots(len(named), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    windows = np.array([_window(times.isel(rank=[_row(times, rank)])) for times in named.values()])
    window = float(windows[:, 0].min()), float(windows[:, 1].max())
    for (name, times), axes in zip(named.items(), drawn):
        one_series(times, axes, rank, name, window)
        axes.label_outer()
    return figure


def one_series(
    times: xr.Dataset,
    axes: Axes | None = None,
    rank: int | None = None,
    words: str = "",
    window: tuple[float, float] | None = None,
) -> Axes:
    """Draws one series step by step, coloured by regime, the less certain the paler.

    rank : as for `series`. window : s, ends of the axis of times; None: what suits them. Longer times are
    triangles at its end.
    """
    n = shown.n_regimes(times)
    one = times.isel(rank=[_row(times, rank)])
    values = shown.known(one)
    low, top = window or _window(one)
    middle = np.sqrt(low * top) if low > 0 else (low + top) / 2  # the same for all that share the axis
    factor, unit = shown.unit(np.array([middle]))
    axes = new_axes(axes)
    numbers, counted = shown.steps_of(one)
    time_s, regime = one[TIME].values[0], one[REGIME].values[0]
    sure = np.nan_to_num(one[PROBABILITY].values[0]) if PROBABILITY in one else np.ones(len(regime))
    certain = np.clip((sure - 1 / n) / (1 - 1 / n), 0.15, 1) if n > 1 else np.ones(len(regime))
    colours = np.array([*regime_colours(n), ABSENT])[regime]  # UNKNOWN is the last
    colours = np.where((regime > UNKNOWN)[:, np.newaxis], 1 - certain[:, np.newaxis] * (1 - colours), colours)
    some = np.flatnonzero(np.isfinite(time_s))
    some = some[shown.thinned(len(some), MOST_STEPS)]
    inside = some[time_s[some] <= top]
    beyond = some[time_s[some] > top]
    dots = {"linewidths": 0, "rasterized": True}
    size = float(np.clip(12_000 / max(len(some), 1), 3, 22))
    axes.scatter(numbers[inside], time_s[inside] * factor, s=size, c=colours[inside], **dots)
    axes.set_ylim(low * factor, top * factor)
    if shown.is_wide(low, top):
        shown.by_logarithm(axes.yaxis)
    axes.set_xlim(*shown.axis_of(numbers))
    if len(beyond):
        axes.plot(
            numbers[beyond],
            np.full(len(beyond), top * factor),
            "^",
            color=BEYOND,
            markersize=4,
            clip_on=False,
        )
    axes.set_xlabel(counted)
    axes.set_ylabel(f"time ({unit})")
    whole_numbers(axes.xaxis)
    shown.legend_of_regimes(axes, one)
    which = "longest of all ranks" if int(one["rank"][0]) < 0 else f"rank {int(one['rank'][0])}"
    beyond_words = f"triangles: longer, up to {in_seconds(float(values.max()))}" if len(beyond) else ""
    what = words or start(shown.what(times))
    alone = not words and int(one["rank"][0]) < 0  # then its name says that it is the longest
    said = shown.said(shown.origin(times), "of all ranks" if alone else "", beyond_words)
    head(axes, f"{what}{'' if alone else f': {which}'}, step by step", said)
    return axes


def _window(one: xr.Dataset) -> tuple[float, float]:
    """Ends of an axis that shows all but the longest times of a series, in s."""
    values = shown.known(one)
    low, high = float(values.min()), min(float(values.max()), shown.robust_end(values, 99.5))
    if shown.is_wide(low, high):
        return low / 1.15, high * 1.15
    room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room


def _row(times: xr.Dataset, rank: int | None) -> int:
    """The row of a rank; None: of the rank with the median of all median times."""
    ranks = times["rank"].values.tolist()
    if rank is not None:
        if rank not in ranks:
            raise PlotError(
                f"there is no rank {rank} in these timings; choose one of {min(ranks)} to {max(ranks)}."
            )
        return ranks.index(rank)
    shown.known(times)
    some = np.flatnonzero(np.isfinite(times[TIME].values).any(axis=1))
    medians = np.nanmedian(times[TIME].values[some], axis=1)
    return int(some[np.argsort(medians, kind="stable")[(len(some) - 1) // 2]])
