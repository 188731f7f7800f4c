# SPDX-License-Identifier: BSD-3-Clause
"""A field of all ranks over all steps, as colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
from perfield.text import start

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.image import AxesImage

    from perfield.derived.run import Run

MOST_RANKS, MOST_STEPS = 512, 1024  # rows and columns; more are joined
OUTLIER = 5.0  # a step is unusual if its largest value is that many times the median of all steps


def heat_map(
    run: Run,
    field: str = "compute_time_s",
    steps: Steps = None,
    axes: Axes | None = None,
    source: Source | None = None,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draws a field: a row for each rank, a column for each step. Absent values are grey.

    run : an open run. field : as in `Frame.values`. steps, axes, source : as `perfield.plots` says. More
    than 512 ranks or 1024 steps are joined: a cell shows the largest value that it stands for. The colours
    begin at zero; values of single steps far beyond the others are orange, as the legend shows. A frame
    of several steps is as wide as these. limits : both ends of the colours; None chooses them.
    Raises PlotError if the run has no such field.
    """
    positions = frames_of(run, steps)
    cells, (ranks, columns) = largest_values(source or Source(run), known_field(run, field), positions)
    axes = new_axes(axes)
    words, unit = words_of(run, field)
    low, end, most = _scale(cells) if limits is None else (*limits, np.nanmax(cells, initial=limits[1]))
    factor, name = scaled(unit, end)
    numbers, counted = step_numbers(run, positions)
    colours = map_of(field).with_extremes(over=BEYOND, bad=map_of(field).get_bad())
    ends = (low * factor, end * factor)
    spans = run.spans[positions]
    image = draw_cells(axes, cells * factor, colours, ends, numbers, spans, (ranks, columns))
    axes.set_ylim(run.n_ranks - 0.5, -0.5)
    bar = axes.figure.colorbar(image, ax=axes, extend="max" if end < most else "neither", pad=0.02)
    bar.ax.set_title(name, fontsize=12)
    axes.set_xlabel(counted)
    axes.set_ylabel("rank")
    axes.label_outer()
    for axis in (axes.xaxis, axes.yaxis):
        whole_numbers(axis)
    frames = "steps" if (spans == 1).all() else "frames"
    joined = [f"{size} {what}" for size, what in ((ranks, "ranks"), (columns, frames)) if size > 1]
    more = f"; each cell: the largest of {' x '.join(joined)}" if joined else ""
    more += f"; orange: up to {most * factor:.3g} {name}" if end < most else ""
    more += "; grey: absent" if np.isnan(cells).any() else ""
    head(axes, f"{start(words)} of each rank and step", about_run(run, positions) + more)
    return axes


def draw_cells(
    axes: Axes,
    cells: np.ndarray,
    colours: Colormap,
    limits: tuple[float, float],
    numbers: np.ndarray,
    spans: np.ndarray,
    joined: tuple[int, int],
) -> AxesImage:
    """Draws values (row, column) over an axis of steps.

    limits : of the colours. numbers, spans : of each frame, its last step and how many it adds up. joined :
    how many ranks and frames a cell stands for.
    """
    ranks, columns = joined
    each = (numbers[-1] - numbers[0]) / max(len(numbers) - 1, 1) or 1.0
    left, end = numbers[0] - each / 2, numbers[-1] + each / 2
    right = left + each * columns * cells.shape[1]
    if (spans != spans[0]).any():
        edges = np.append((numbers - spans)[::columns] + 0.5, numbers[-1] + 0.5)
        left, right = edges[[0, -1]]
        cells, end = _over_steps(cells, edges), right
    image = axes.imshow(
        cells, colours, aspect="auto", interpolation="nearest", vmin=limits[0], vmax=limits[1],
        extent=(left, right, ranks * len(cells) - 0.5, -0.5),
    )  # fmt: skip
    axes.set_xlim(left, end)
    return image


def _over_steps(cells: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Columns between ascending edges as at most MOST_STEPS equally wide ones, the largest value in each."""
    bounds = np.linspace(edges[0], edges[-1], min(int(edges[-1] - edges[0]), MOST_STEPS) + 1)
    first = np.searchsorted(edges, bounds[:-1], "right") - 1
    behind = np.maximum(np.searchsorted(edges, bounds[1:], "left"), first + 1)
    return np.stack([np.fmax.reduce(cells[:, a:b], axis=1) for a, b in zip(first, behind)], axis=1)


def largest_values(source: Source, field: str, positions: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
    """The largest value of each few ranks and steps, (at most 512, at most 1024), NaN where all are absent;
    and how many ranks and steps one stands for."""
    n_ranks = source.run.n_ranks
    ranks, columns = -(-n_ranks // MOST_RANKS), -(-len(positions) // MOST_STEPS)
    cells = np.full((-(-n_ranks // ranks), -(-len(positions) // columns)), np.nan)
    begin = 0
    first, each = np.arange(0, n_ranks, ranks), source.run.all_fields.per_step([field], positions)[:, 0]
    for values in source.values(positions, [field]):
        rows = np.fmax.reduceat(values[:, 0], first, axis=1) / each[begin : begin + len(values)]
        at = np.arange(begin, begin := begin + len(values)) // columns
        opens = np.flatnonzero(np.diff(at, prepend=-1))
        rows = np.fmax.reduceat(rows, opens, axis=0)
        cells[:, at[opens]] = np.fmax(cells[:, at[opens]], rows.T)  # a chunk may end within a column
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
    typical = float(peaks[peaks <= limit].max()) if len(peaks) > 2 and 0 < limit < most else most
    low = min(0.0, float(finite.min()))
    return low, round_end(typical) if typical > low else low + 1.0, most
