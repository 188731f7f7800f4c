# SPDX-License-Identifier: BSD-3-Clause
"""Times of each rank in each step, and their regimes (Figure 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import ABSENT, BEYOND, regime_colours
from perfield.plots.style import head, map_of, new_axes, new_figure, whole_numbers
from perfield.studies.regimes.model import PROBABILITY, REGIME, TIME, UNKNOWN
from perfield.studies.regimes.plots import shown
from perfield.text import in_seconds, start

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (12.8, 9.0)  # inches
MOST_RANKS, MOST_STEPS = 512, 1024  # rows and columns; more are joined
ENDS = (1.0, 99.0)  # per cent of the times that colours distinguish
WIDE = 4.0  # times that differ more than that many times have colours by their logarithm
FAINT = 0.25  # of its colour that a regime keeps where it is a mere guess


def heat_maps(times: xr.Dataset, figure: Figure | None = None, words: str = "") -> Figure:
    """Draws classified timings twice: the times above, the regimes below (Figure 1).

    times : `time_s` and `regime` (rank, step), and `probability` if it is known. words : of whom, for the
    line below the title. Raises PlotError without a known time or without regimes.
    """
    figure = figure or new_figure(SIZE)
    above, below = figure.subplots(2, 1, sharex=True)
    times_map(times, above, words)
    above.set_xlabel("")
    regimes_map(times, below)
    return figure


def times_map(times: xr.Dataset, axes: Axes | None = None, words: str = "") -> Axes:
    """Draws times as colours: a row for each rank, a column for each step.

    Colours reach from the 1st to the 99th percentile; longer times are orange. More than 512 ranks or 1024
    steps are joined: a cell shows the mean of those steps.
    """
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.ticker import FuncFormatter, LogLocator

    values = shown.known(times)
    axes = new_axes(axes)
    cells, joined = _joined(times[TIME].values)
    seen = cells[np.isfinite(cells)]
    factor, unit = shown.unit(values)
    low, high = (float(end) for end in np.percentile(seen, ENDS))
    low, high = (low, high) if high > low else (0.0, high or 1.0)
    most = float(seen.max())
    by_log = low > 0 and high > WIDE * low
    norm = (LogNorm if by_log else Normalize)(low * factor, high * factor)
    colours = map_of("compute_time_s").with_extremes(over=BEYOND, bad=ABSENT)
    image = axes.imshow(cells * factor, colours, norm=norm, **_place(axes, times, joined))
    bar = axes.figure.colorbar(image, ax=axes, extend="max" if most > high else "neither", pad=0.01)
    bar.ax.set_title(unit, fontsize=12)
    if by_log:
        bar.ax.yaxis.set_major_locator(LogLocator(10, subs=(1,) if high > 100 * low else (1, 2, 5)))
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        bar.ax.yaxis.set_minor_locator(LogLocator(10, subs=()))
    more = f"; orange: longer, up to {in_seconds(float(values.max()))}" if most > high else ""
    more += "; grey: unknown" if np.isnan(cells).any() else ""
    size = shown.size(times) + _in_words(joined, times, "; each cell: the mean of")
    said = shown.said(words, shown.origin(times), size) + more
    head(axes, f"{start(shown.what(times))}: rank by rank, step by step", said)
    return axes


def regimes_map(times: xr.Dataset, axes: Axes | None = None) -> Axes:
    """Draws regimes as colours: a row for each rank, a column for each step; the less certain, the paler.

    Where cells are joined, one has the mean colour of the steps that it joins.
    """
    n = shown.n_regimes(times)
    axes = new_axes(axes)
    regime = times[REGIME].values
    sure = np.nan_to_num(times[PROBABILITY].values) if PROBABILITY in times else np.ones(regime.shape)
    count, joined = _joined((regime > UNKNOWN).astype(np.float64))
    held = np.stack([_joined(np.where(regime == number, sure, 0.0))[0] for number in range(n)])
    total = held.sum(axis=0)
    parts = np.divide(held, total, np.zeros(held.shape), where=total > 0)
    colour = np.moveaxis(parts, 0, -1) @ np.array(regime_colours(n))
    share = np.divide(total, count, np.zeros(count.shape), where=count > 0)
    certain = np.clip((share - 1 / n) / (1 - 1 / n), 0, 1) if n > 1 else np.ones(share.shape)
    keep = (FAINT + (1 - FAINT) * certain)[..., np.newaxis]
    cells = 1 - keep * (1 - colour)
    cells[count == 0] = ABSENT
    axes.imshow(cells, **_place(axes, times, joined))
    shown.legend_of_regimes(axes, times)
    grey = ["grey: unknown"] if (count == 0).any() else []
    if n == 1:
        head(axes, "One regime: no slow phases stand out", "; ".join(grey))
    else:
        mixed = _in_words(joined, times, "mixed colours: a cell covers")
        shares = ["%: share of steps"] if n > shown.FEW else []
        head(axes, f"The same times in {n} regimes", shown.said("pale: uncertain", mixed, *grey, *shares))
    return axes


def _joined(values: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
    """The means of blocks of ranks and steps, NaN where nothing is known; and how many are joined."""
    ranks, steps = (-(-size // most) for size, most in zip(values.shape, (MOST_RANKS, MOST_STEPS)))
    if ranks == steps == 1:
        return np.where(np.isfinite(values), values, np.nan), (1, 1)
    finite = np.isfinite(values)
    sums, counts = np.where(finite, values, 0.0), finite.astype(np.float64)
    for axis, width in ((0, ranks), (1, steps)):
        first = np.arange(0, values.shape[axis], width)
        sums, counts = (np.add.reduceat(each, first, axis=axis) for each in (sums, counts))
    return np.divide(sums, counts, np.full(sums.shape, np.nan), where=counts > 0), (ranks, steps)


def _in_words(joined: tuple[int, int], times: xr.Dataset, words: str) -> str:
    """What a cell joins: `words` and "4 ranks x 8 steps"; "" where it is one point."""
    parts = [f"{size} {name}" for size, name in zip(joined, ("ranks", f"{shown.column(times)}s")) if size > 1]
    return f"{words} {' x '.join(parts)}" if parts else ""


def _place(axes: Axes, times: xr.Dataset, joined: tuple[int, int]) -> dict[str, object]:
    """Prepares the axes, and returns where `imshow` puts the cells."""
    numbers, words = shown.steps_of(times)
    ranks = times["rank"].values
    ranks = ranks if len(ranks) < 2 or (np.diff(ranks) == 1).all() else np.arange(len(ranks))
    rows, columns = (-(-size // width) * width for size, width in zip((len(ranks), len(numbers)), joined))
    left, top = numbers[0] - 0.5, ranks[0] - 0.5
    axes.set_xlabel(words)
    axes.set_ylabel("rank" if len(ranks) > 1 or ranks[0] >= 0 else "longest of all ranks")
    for axis in (axes.xaxis, axes.yaxis):
        whole_numbers(axis)
    if len(ranks) == 1:
        axes.set_yticks([])
    extent = (left, left + columns, top + rows, top)
    return {"extent": extent, "aspect": "auto", "interpolation": "nearest"}
