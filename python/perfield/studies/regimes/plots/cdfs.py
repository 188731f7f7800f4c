# SPDX-License-Identifier: BSD-3-Clause
"""Functional box plots of the distributions of ranks (Figures 9 and 10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import BEYOND
from perfield.plots.style import PlotError, head, new_axes, new_figure
from perfield.studies.regimes.model import REGIME, TIME
from perfield.studies.regimes.model.cumulative import known_times
from perfield.studies.regimes.model.depth import distributions, functional_box
from perfield.studies.regimes.plots import shown
from perfield.text import counted

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = (4.6, 3.8)  # inches
POINTS = 200  # of a curve
ENDS = (0.1, 99.0)  # per cent of all times that the axis shows
LEAST = 0.01  # of the steps, by which an outlier at least differs from the middle half
LEAST_STEPS = 20  # of a rank in a regime that has a curve there
MOST_OUTLIERS = 30  # curves of outlying ranks that are drawn


def cdfs(named: Mapping[str, xr.Dataset], figure: Figure | None = None, by_regime: bool = False) -> Figure:
    """Draws a functional box plot of the ranks' distributions for each method, side by side (Figure 9).

    by_regime : a row for each regime (Figure 10 transposed), each on its own axis of time. Raises PlotError
    without a known time, and without regimes where one is given.
    """
    if not named:
        raise PlotError("there are no timings to draw; give at least one.")
    n = max(map(shown.n_regimes, named.values())) if by_regime else 1
    size = (max(PANEL[0] * len(named), 7.0), max(PANEL[1] * n, 4.8))
    figure = figure or new_figure(size)
    scale = shown.unit(*(shown.known(times, f"timings of {name}") for name, times in named.items()))
    drawn = figure.subplots(n, len(named), sharey=True, sharex="row", squeeze=False)
    for number, row in enumerate(drawn):
        regime = number if by_regime else None
        for (name, times), axes in zip(named.items(), row):
            regime_name = f", {shown.regime_names(n)[number]}" if by_regime and n > 1 else ""
            own = None if regime is None else shown.number_among(times, regime, n)
            one_box(times, axes, own, f"{name}{regime_name}", _grid(named, regime, n), scale)
            axes.label_outer()
        for axes in row:
            axes.xaxis.set_tick_params(labelbottom=True)
    return figure


def one_box(
    times: xr.Dataset,
    axes: Axes | None = None,
    regime: int | None = None,
    words: str = "",
    grid_s: np.ndarray | None = None,
    scale: tuple[float, str] | None = None,
) -> Axes:
    """Draws the functional box plot of the ranks' cumulative distributions.

    Black is the rank in the middle of all, violet the middle half of the ranks, thin lines the ends of the
    others; dashed ranks are outliers. Of fewer than 8 ranks each has its line. In a regime, ranks with fewer
    than 20 steps have none. regime : only its steps. grid_s : s, where curves are computed.
    scale : a factor for times and its unit.
    """
    shown.known(times, words or "these timings")
    axes = new_axes(axes)
    grid = (
        _grid({words: times}, regime, shown.n_regimes(times) if regime is not None else 1)
        if grid_s is None
        else grid_s
    )
    curves, ranks = distributions(times, grid, regime)
    if regime is not None:  # a curve of a few steps is no distribution
        held = ((times[REGIME].values == regime) & np.isfinite(times[TIME].values)).sum(axis=1)
        some = held[np.isin(times["rank"].values, ranks)] >= LEAST_STEPS
        curves, ranks = curves[some], ranks[some]
    factor, unit = scale or shown.unit(grid)
    at = grid * factor
    notes = []
    if len(curves):
        box = functional_box(curves, LEAST)
        notes = [counted(len(curves), "rank")]
        middle = f"black: rank {int(ranks[box.median])}, in the middle"
        if len(curves) < shown.FEW_RANKS:
            for curve in curves:
                axes.plot(at, curve, color="0.55", linewidth=0.9)
            middle += "\ngrey: the others" if len(curves) > 1 else ""
        else:
            violet = (0.55, 0.40, 0.70)
            axes.fill_between(at, box.lower, box.upper, color=violet, alpha=0.55, linewidth=0)
            for edge in (box.least, box.most):
                axes.plot(at, edge, color="0.55", linewidth=0.9)
            for row in box.outliers[:MOST_OUTLIERS]:
                axes.plot(at, curves[row], color=BEYOND, linestyle="--", linewidth=0.9)
            if len(box.outliers):
                differ = "differs" if len(box.outliers) == 1 else "differ"
                notes.append(f"dashed: {len(box.outliers)} that {differ} from the others")
            middle += "\nviolet: middle half"
        axes.plot(at, curves[box.median], color="black", linewidth=1.8)
        axes.text(0.97, 0.06, middle, transform=axes.transAxes, ha="right", fontsize=10.5, color="0.35")
    else:
        few = f"no rank has {LEAST_STEPS} steps in this regime" if regime is not None else "no step is known"
        axes.text(0.5, 0.5, few, transform=axes.transAxes, ha="center", color="0.35")
    axes.set_xlim(at[0], at[-1])
    if shown.is_wide(float(at[0]), float(at[-1])):
        shown.by_logarithm(axes.xaxis)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel(f"time ({unit})")
    axes.set_ylabel(f"share of {shown.column(times)}s up to that time")
    head(axes, words or "Distributions of ranks", shown.said(shown.origin(times), *notes))
    return axes


def _grid(named: Mapping[str, xr.Dataset], regime: int | None, n: int) -> np.ndarray:
    """The times at which curves of several methods are computed, s; regime : as shown, of n."""
    numbers = [None if regime is None else shown.number_among(times, regime, n) for times in named.values()]
    values = np.concatenate([known_times(times, own) for times, own in zip(named.values(), numbers)])
    if not len(values):
        values = np.concatenate([shown.known(times) for times in named.values()])
    low, high = (float(end) for end in np.percentile(values, ENDS))
    if shown.is_wide(low, high):
        return np.geomspace(low / 1.1, high * 1.1, POINTS)
    room = 0.03 * (high - low) or 0.05 * high or 1.0
    return np.linspace(max(low - room, 0.0) if low >= 0 else low - room, high + room, POINTS)
