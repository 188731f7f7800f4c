# SPDX-License-Identifier: BSD-3-Clause
"""How times spread: densities of the median times of ranks (Figure 2), and box plots (Figure 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import regime_colours
from perfield.plots.style import PlotError, head, new_axes, whole_numbers
from perfield.studies.regimes.model import REGIME, TIME
from perfield.studies.regimes.model.cumulative import known_times
from perfield.studies.regimes.plots import shown
from perfield.text import counted

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

POINTS = 400  # of a density


def densities(named: Mapping[str, xr.Dataset], axes: Axes | None = None) -> Axes:
    """Draws how the median times of ranks are spread, as square roots of probability densities (Figure 2).

    named : words to timings of several ranks. A dash below the curves is a rank. Where all ranks have the
    same median there is a line instead of a curve. Where no method has 8 ranks, each rank is a dot.
    Raises PlotError if one has no known time.
    """
    if not named:
        raise PlotError("there are no timings to draw; give at least one.")
    axes = new_axes(axes)
    medians = {}
    for name, times in named.items():
        shown.known(times, f"timings of {name}")
        values = times[TIME].values
        medians[name] = np.nanmedian(values[np.isfinite(values).any(axis=1)], axis=1)
    everything = np.concatenate([*medians.values()])
    factor, unit = shown.unit(everything)
    if max(map(len, medians.values())) < shown.FEW_RANKS:
        return _dots(named, axes, factor, unit)
    low, high = float(everything.min()), float(everything.max())
    room = 0.35 * (high - low) or 0.05 * high or 1.0
    at = np.linspace(low - room, high + room, POINTS)
    curves = {}
    for name, values in medians.items():
        own = 0.5 * float(np.ptp(values))
        here = np.union1d(at, np.linspace(float(values.min()) - own, float(values.max()) + own, POINTS))
        curves[name] = here * factor, np.sqrt(shown.density(values, here) / factor)
    known = [curve[np.isfinite(curve)] for _, curve in curves.values()]
    top = max((float(curve.max()) for curve in known if len(curve)), default=1.0)
    for number, (name, rgb) in enumerate(shown.method_colours(named).items()):
        if np.isfinite(curves[name][1]).any():
            axes.plot(*curves[name], color=rgb, linewidth=1.8, label=name)
        else:
            axes.axvline(float(medians[name][0]) * factor, color=rgb, linewidth=1.8, label=name)
        dashes = medians[name][shown.thinned(len(medians[name]), 500)] * factor
        axes.plot(dashes, np.full(len(dashes), -0.035 * (number + 1) * top), "|", color=rgb, markersize=7)
    axes.set_xlim(at[0] * factor, at[-1] * factor)
    axes.set_ylim(-0.035 * (len(named) + 1) * top, 1.08 * top)
    axes.set_xlabel(f"median time of a rank ({unit})")
    axes.set_ylabel(f"square root of density (1/{unit})$^{{1/2}}$")
    if len(named) > 1:
        axes.legend(frameon=False, fontsize=11)
    n_ranks = max(times.sizes["rank"] for times in named.values())
    more = shown.said(shown.origins(named), counted(n_ranks, "rank"), "each dash below is a rank")
    head(axes, "Median times of ranks", more)
    return axes


def _dots(named: Mapping[str, xr.Dataset], axes: Axes, factor: float, unit: str) -> Axes:
    """Draws the median time of each rank as a dot in the row of the rank."""
    for name, rgb in shown.method_colours(named).items():
        values = named[name][TIME].values
        some = np.flatnonzero(np.isfinite(values).any(axis=1))
        median = np.nanmedian(values[some], axis=1) * factor
        axes.plot(median, named[name]["rank"].values[some], "o", color=rgb, markersize=8, label=name)
    axes.margins(0.12)
    axes.ticklabel_format(axis="x", useOffset=False)
    axes.invert_yaxis()
    whole_numbers(axes.yaxis)
    axes.grid(axis="y", color="0.93")
    axes.set_xlabel(f"median time of a rank ({unit})")
    axes.set_ylabel("rank")
    if len(named) > 1:
        axes.legend(frameon=False, fontsize=11)
    head(axes, "Median time of each rank", shown.said(shown.origins(named), "half of its steps take longer"))
    return axes


def boxes(named: Mapping[str, xr.Dataset], axes: Axes | None = None, by_regime: bool = True) -> Axes:
    """Draws a box for the times of each method, or for each of its regimes (Figure 11, right).

    A box holds the middle half, its line is the median; whiskers reach 1.5 times its height; dots lie beyond,
    at most 400 of them. The number of its steps is below each. Regimes without a step have no box.
    Raises PlotError if a method has no known time.
    """
    from matplotlib.cbook import boxplot_stats

    if not named:
        raise PlotError("there are no timings to draw; give at least one.")
    axes = new_axes(axes)
    regimes = by_regime and all(REGIME in times for times in named.values())
    n = max(map(shown.n_regimes, named.values())) if regimes else 1
    rows, colours, ticks = [], [], []
    for number in range(n):
        for name, times in named.items():
            shown.known(times, f"timings of {name}")
            values = known_times(times, shown.number_among(times, number, n) if regimes else None)
            if not len(values):
                continue
            box = boxplot_stats(values)[0]
            box["fliers"] = np.asarray(box["fliers"])[shown.thinned(len(box["fliers"]), 400)]
            rows.append(box)
            regime_name = shown.regime_names(n)[number] if regimes and n > 1 else ""
            alone = len(named) == 1 and regime_name
            ticks.append("\n".join(filter(None, ("" if alone else name, regime_name, f"{len(values):,}"))))
            colours.append(
                regime_colours(n)[number] if regimes and n > 1 else shown.method_colours(named)[name]
            )
    factor, unit = shown.unit(*(shown.known(times) for times in named.values()))
    for box in rows:
        for key in ("med", "q1", "q3", "whislo", "whishi", "fliers", "mean", "cilo", "cihi"):
            box[key] = np.asarray(box[key]) * factor
    drawn = axes.bxp(rows, patch_artist=True, widths=0.6, flierprops={"marker": ".", "markersize": 3})
    for number, rgb in enumerate(colours):
        drawn["boxes"][number].set(facecolor=(*rgb, 0.55), edgecolor=rgb)
        drawn["medians"][number].set(color="black", linewidth=1.6)
        drawn["fliers"][number].set(markeredgecolor=rgb)
    most = max(float(np.max(box["fliers"], initial=box["whishi"])) for box in rows)
    least = min(float(np.min(box["fliers"], initial=box["whislo"])) for box in rows)
    if least > 0 and shown.is_wide(min(float(box["med"]) for box in rows), most):
        shown.by_logarithm(axes.yaxis)
    axes.set_xticks(np.arange(1, len(rows) + 1), ticks, fontsize=10.5)
    axes.set_ylabel(f"time ({unit})")
    axes.grid(axis="y", color="0.93")
    longest = all(int(times["rank"][0]) < 0 for times in named.values())
    what = "Longest times of steps" if longest else "Times"
    what += " in each regime" if regimes and n > 1 else ""
    more = shown.said(shown.origins(named), "box: middle half; line: median; below: how many")
    head(axes, what, more)
    return axes
