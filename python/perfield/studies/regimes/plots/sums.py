# SPDX-License-Identifier: BSD-3-Clause
"""Sums of the fastest steps: what slow steps cost, and what another method saves (Figures 11 and 13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import regime_colours
from perfield.plots.style import PlotError, head, new_axes, new_figure, scaled, whole_numbers
from perfield.studies.regimes.model import REGIME, TIME
from perfield.studies.regimes.model.cumulative import cumulative_sums, improvement, known_times
from perfield.studies.regimes.model.timings import known_points
from perfield.studies.regimes.plots import shown
from perfield.text import counted, in_change, in_percent, in_seconds

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (12.8, 8.4)  # inches
SAVES = "Time saved against"
UNLIKE = 1.5  # times the smallest mean of the fast regimes: the machine, not the methods, differed
LEFT_OUT = 0.01  # of the fewest steps, at the begin, where the improvement is that of a few steps


def cumulative(named: Mapping[str, xr.Dataset], figure: Figure | None = None) -> Figure:
    """Draws S_K of several methods, and how much less time the others need than the first (Figures 11, 13).

    named : words to timings of one row each, the longest of all ranks per step; the first is the base. Left
    are all steps; right are the steps in the fast regime, where all are classified. Raises PlotError without
    timings, and if one has no known time.
    """
    if not named:
        raise PlotError("there are no timings to compare; give at least one.")
    figure = figure or new_figure(SIZE)
    columns: list[tuple[str, int | None]] = [("All steps", None)]
    if all(REGIME in times for times in named.values()):
        columns.append(("Steps in the fast regime only", 0))
    drawn = figure.subplots(2 if len(named) > 1 else 1, len(columns), sharex="col", squeeze=False)
    for (words, regime), part in zip(columns, drawn.T):
        sums(named, part[0], regime, words)
        if len(part) > 1:
            part[0].set_xlabel("")
            improvements(named, part[1], regime)
    return figure


def sums(
    named: Mapping[str, xr.Dataset], axes: Axes | None = None, regime: int | None = None, words: str = ""
) -> Axes:
    """Draws S_K, the sum of the K fastest steps, over K. named, regime : as for `cumulative`."""
    axes = new_axes(axes)
    found = _series(named, regime)
    ends = {name: cumulative_sums(values) for name, values in found.items()}
    factor, unit = scaled("s", max((float(each[-1]) for each in ends.values() if len(each)), default=1.0))
    for (name, each), rgb in zip(ends.items(), shown.method_colours(named).values()):
        if len(each):
            label = f"{name}: {counted(len(each), 'step')}, {in_seconds(float(each[-1]))}"
            axes.plot(np.arange(1, len(each) + 1), each * factor, color=rgb, linewidth=1.8, label=label)
    _finish(axes, f"sum of K steps ({unit})")
    if axes.lines:
        axes.legend(frameon=False, fontsize=10, loc="upper left")
    else:
        axes.text(0.5, 0.5, "no step is in this regime", transform=axes.transAxes, ha="center", color="0.35")
    head(
        axes,
        words or "The K fastest steps together",
        shown.origins(named) if axes.lines else "nothing to add up",
    )
    return axes


def improvements(
    named: Mapping[str, xr.Dataset], axes: Axes | None = None, regime: int | None = None
) -> Axes:
    """Draws by how many per cent S_K of each other is below S_K of the first, over K."""
    axes = new_axes(axes)
    found = _series(named, regime)
    base, *others = found
    rgb = shown.method_colours(named)
    axes.axhline(0, color="0.6", linewidth=1)
    seen = [0.0]
    for name in others:
        saved = improvement(found[base], found[name])
        if not np.isfinite(saved).any():
            continue
        first = int(LEFT_OUT * len(saved))
        count = np.arange(1, len(saved) + 1)
        axes.plot(
            count[first:],
            saved[first:],
            color=rgb[name],
            linestyle=(0, (4, 1.5)),
            linewidth=1.8,
            label=f"{name}: {in_change(saved[-1])} % at K = {len(saved):,}",
        )
        seen += [float(np.nanmin(saved[first:])), float(np.nanmax(saved[first:]))]
    low, high = min(seen), max(seen)
    room = 0.12 * (high - low or 1.0)
    axes.set_ylim(low - room, high + 2.5 * room)
    _finish(axes, "time saved (%)")
    if len(axes.lines) > 1:
        axes.legend(frameon=False, fontsize=10, loc="upper left")
    more = "above 0: needs less time for as many of its fastest steps"
    means = [float(values.mean()) for values in found.values() if len(values)]
    if regime is not None and means and max(means) > UNLIKE * min(means):
        times = " and ".join(in_seconds(mean) for mean in (min(means), max(means)))
        more = f"do not compare: mean steps take {times}"
    head(axes, f"{SAVES} {base}", more)
    return axes


def cost_of_slow_steps(times: xr.Dataset, axes: Axes | None = None) -> Axes:
    """Draws S_K of one series, and what it would be if every step took the mean time of the fast regime. A
    frame of several steps counts as so many steps of its mean time.

    times : classified, of one row. Raises PlotError if no step is in the fast regime.
    """
    values, is_fast = shown.known(times), known_points(times, 0)
    fast = times[TIME].values[is_fast]
    shown.n_regimes(times)
    if not len(fast):
        raise PlotError("no step is in the fast regime, so what slow steps cost is unknown.")
    axes = new_axes(axes)
    spans = np.broadcast_to(shown.spans(times), is_fast.shape)
    order = np.argsort(values, kind="stable")
    held = spans[known_points(times)][order]
    count, total = np.cumsum(held), np.cumsum(held * values[order])
    factor, unit = scaled("s", float(total[-1]))
    mean = float(np.average(fast, weights=spans[is_fast]))
    cost = float(total[-1]) - mean * float(count[-1])
    slow = regime_colours(2)[1]
    above = total > mean * count
    axes.fill_between(
        count, mean * count * factor, total * factor, where=above, color=slow, alpha=0.25, linewidth=0
    )
    axes.plot(count, total * factor, color=shown.METHODS[0], linewidth=1.8, label="as measured")
    label = f"if every step took {in_seconds(mean)}, the mean of the fast regime"
    axes.plot(
        count,
        mean * count * factor,
        color=regime_colours(2)[0],
        linestyle="--",
        linewidth=1.8,
        label=label,
    )
    _finish(axes, f"sum of K steps ({unit})")
    axes.legend(frameon=False, fontsize=10, loc="upper left")
    part = in_percent(max(cost, 0.0) / float(total[-1]))
    n_steps = counted(int(count[-1]), "step")
    more = shown.said(shown.origin(times), f"{n_steps}, each as long as its longest rank")
    head(axes, f"Slow steps cost {in_seconds(max(cost, 0.0))}, {part} of the time", more)
    return axes


def _series(named: Mapping[str, xr.Dataset], regime: int | None) -> dict[str, np.ndarray]:
    """The known times of each, in s; of a regime, if one is given."""
    for name, times in named.items():
        shown.known(times, f"timings of {name}")
    return {name: known_times(times, regime) for name, times in named.items()}


def _finish(axes: Axes, label: str) -> None:
    axes.set_xlabel("K, number of steps, the fastest first")
    axes.set_ylabel(label)
    axes.set_xlim(left=0)
    axes.grid(color="0.93")
    whole_numbers(axes.xaxis)
