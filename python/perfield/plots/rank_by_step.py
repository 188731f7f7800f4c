# SPDX-License-Identifier: BSD-3-Clause
"""A field of all ranks over all steps, as colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.words import start
from perfield.catalyst_scripts.palette import BEYOND
from perfield.output.scales import round_end
from perfield.plots.source import Source
from perfield.plots.style import (
    Steps,
    about_run,
    frames_of,
    head,
    known_field,
    map_of,
    new_axes,
    scaled,
    step_numbers,
    whole_numbers,
    words_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perfield.run import RunDirectory

MOST_RANKS, MOST_STEPS = 512, 1024  # rows and columns; more are joined
OUTLIER = 5.0  # a step is unusual if its largest value is that many times the median of all steps


def heat_map(
    run: RunDirectory,
    field: str = "compute_time_s",
    steps: Steps = None,
    axes: Axes | None = None,
    source: Source | None = None,
) -> Axes:
    """Draws a field: a row for each rank, a column for each step. Absent values are grey.

    run : an open run. field : as in `Frame.values`. steps, axes, source : as `perfield.plots` says. More
    than 512 ranks or 1024 steps are joined: a cell shows the largest value that it stands for. The colours
    begin at zero; values of single steps far beyond the others are orange, and the legend says so.
    Raises PlotError if the run has no such field.
    """
    positions = frames_of(run, steps)
    cells, (ranks, columns) = largest_values(source or Source(run), known_field(run, field), positions)
    axes = new_axes(axes)
    words, unit = words_of(run, field)
    low, end, most = _scale(cells)
    factor, name = scaled(unit, end)
    numbers, counted = step_numbers(run, positions)
    each = (numbers[-1] - numbers[0]) / max(len(positions) - 1, 1)
    extent = (
        numbers[0] - each / 2,
        numbers[0] + each * (columns * cells.shape[1] - 0.5),
        ranks * cells.shape[0] - 0.5,
        -0.5,
    )
    image = axes.imshow(
        cells * factor,
        map_of(field).with_extremes(over=BEYOND, bad=map_of(field).get_bad()),
        aspect="auto",
        interpolation="nearest",
        vmin=low * factor,
        vmax=end * factor,
        extent=extent if each else (numbers[0] - 0.5, numbers[0] + 0.5, *extent[2:]),
    )
    axes.set_ylim(min(run.n_ranks, extent[2] + 0.5) - 0.5, -0.5)
    axes.set_xlim(image.get_extent()[0], numbers[-1] + (each or 1) / 2)
    bar = axes.figure.colorbar(image, ax=axes, extend="max" if end < most else "neither", pad=0.02)
    bar.ax.set_title(name, fontsize=12)
    axes.set_xlabel(counted)
    axes.set_ylabel("rank")
    axes.label_outer()
    for axis in (axes.xaxis, axes.yaxis):
        whole_numbers(axis)
    joined = [f"{size} {what}" for size, what in ((ranks, "ranks"), (columns, "steps")) if size > 1]
    more = f"; each cell: the largest of {' x '.join(joined)}" if joined else ""
    more += f"; orange: up to {most * factor:.3g} {name}" if end < most else ""
    more += "; grey: absent" if np.isnan(cells).any() else ""
    head(axes, f"{start(words)} of each rank and step", about_run(run, positions) + more)
    return axes


def largest_values(source: Source, field: str, positions: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
    """The largest value of each few ranks and steps, (at most 512, at most 1024), NaN where all are absent;
    and how many ranks and steps one stands for."""
    n_ranks = source.run.n_ranks
    ranks, columns = -(-n_ranks // MOST_RANKS), -(-len(positions) // MOST_STEPS)
    cells = np.full((-(-n_ranks // ranks), -(-len(positions) // columns)), np.nan)
    begin = 0
    first = np.arange(0, n_ranks, ranks)
    for values in source.values(positions, [field]):
        rows = np.fmax.reduceat(values[:, 0], first, axis=1)
        at = np.arange(begin, begin := begin + len(values)) // columns
        opens = np.flatnonzero(np.diff(at, prepend=-1))
        rows = np.fmax.reduceat(rows, opens, axis=0)
        cells[:, at[opens]] = np.fmax(cells[:, at[opens]], rows.T)  # a chunk may end amid a column
    return cells, (ranks, columns)


def _scale(cells: np.ndarray) -> tuple[float, float, float]:
    """Both ends of the colours, and the largest value."""
    finite = cells[np.isfinite(cells)]
    if not len(finite):
        return 0.0, 1.0, 1.0
    peaks = np.fmax.reduce(cells, axis=0, initial=-np.inf)
    peaks = peaks[np.isfinite(peaks)]
    limit = OUTLIER * float(np.median(peaks))
    most = float(peaks.max())
    usual = float(peaks[peaks <= limit].max()) if len(peaks) > 2 and 0 < limit < most else most
    low = min(0.0, float(finite.min()))
    return low, round_end(usual) if usual > low else low + 1.0, most
