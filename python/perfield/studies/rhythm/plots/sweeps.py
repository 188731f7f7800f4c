# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps: R(t) and the spread of several models in one plot, over noise (Figure 8), sigma or topology."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perfield.catalyst_scripts.palette import PALETTE
from perfield.plots.style import PlotError, head, new_figure
from perfield.studies.rhythm.plots.shown import Shown, largest

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

SIZE = (14.4, 6.4)  # inches


def sweep(
    results: Mapping[str, xr.Dataset], words: str = "", more: str = "", figure: Figure | None = None
) -> Figure:
    """Draws R(t) and, since R does not see whole periods, the spread in periods, a line for each result.

    results : words of the legend to phases. words, more : the title and a smaller line. Raises PlotError if
    there are none. More than 7 lines take their colours from viridis, in order.
    """
    if not results:
        raise PlotError("there is no result to plot; give phases of at least one model or run.")
    figure = figure or new_figure(SIZE)
    order, spread = figure.subplots(1, 2)
    many = len(results) > len(PALETTE)
    for number, (name, phases) in enumerate(results.items()):
        shown = Shown(phases)
        rgb = _colour(number / max(len(results) - 1, 1)) if many else PALETTE[number]
        time = shown.time * shown.factor
        order.plot(time, shown.order_parameter, color=rgb, linewidth=1.8, label=name)
        spread.plot(time, shown.spread, color=rgb, linewidth=1.8)
    order.set_ylim(0.0, 1.03)
    spread.set_ylim(0.0, 1.05 * max(largest(line.get_ydata(), 0.05) for line in spread.lines))
    for axes, label in ((order, "R"), (spread, "spread (periods)")):
        axes.set_xlabel(f"time ({shown.unit})")
        axes.set_ylabel(label)
        axes.grid(color="0.93")
    order.legend(frameon=False, loc="best", fontsize=11)
    head(order, words or "Order parameter", more)
    head(spread, "Spread: what R does not see", "from the last oscillator to the first")
    return figure


def _colour(share: float) -> tuple[float, ...]:
    import matplotlib

    return matplotlib.colormaps["viridis"](0.95 * share)
