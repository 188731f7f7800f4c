# SPDX-License-Identifier: BSD-3-Clause
"""A page about rhythm, as in Figures 5, 6, 7 and 9 of the paper; and two of them side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import BEYOND, TEXT
from perfield.plots.style import new_figure, write_head
from perfield.studies.rhythm import model as rhythm
from perfield.studies.rhythm.plots import panels
from perfield.studies.rhythm.plots.shown import MOST_IN_PAIRS, Shown
from perfield.text import counted, in_periods

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SIZE, PAIR_SIZE = (17.0, 14.5), (16.0, 26.0)  # inches
GRID: tuple[tuple[str, str, str, Callable[[Axes, Shown], object]], ...] = (
    ("b", "Order parameter R", "order_parameter", panels.order),
    ("", "Spread of the phases", "spread", panels.spread),
    ("c", "Entropy S", "entropy", panels.entropy),
    ("d", "Phase gradient", "phase_gradient", panels.gradient),
    ("e", "Differences of pairs", "phase_differences", panels.differences),
    ("f", "Potential V", "potential", panels.energy),
    ("g", "Phase circle", "phase_circle", panels.circle),
    ("h", "Histogram of differences", "difference_histogram", panels.histogram),
    ("i", "Heat map of differences", "difference_matrix", panels.matrix),
)
UNLIKE, OWN_SCALE = 10.0, "left and right have scales of their own"
TIMELINE = "Steps: a bright stretch is waiting, drawn at the end of its step"
LAG = "Phases: how many periods each is behind the foremost"


def page(
    phases: xr.Dataset,
    steps: xr.Dataset | None = None,
    *,
    potential: Callable[[np.ndarray], np.ndarray] | None = None,
    at: float | None = None,
    order: np.ndarray | str | None = None,
    words: str = "",
    figure: Figure | None = None,
) -> Figure:
    """Draws a page about phases, of a model or of a run.

    phases : in the form of `perfield.studies.rhythm.model.dataset`. steps : `run.steps` of the same run, for
    its timeline (a), with begin_s, end_s and waiting_time_s. potential : V of a model, for V(t) (f),
    which also needs the communication topology in the phases. at : s, the moment that circle, histogram
    and heat map show; by default the last one. order : of the ranks, as for `Shown.arranged`. words :
    above all. Panels of many ranks say which they show. Raises PlotError if there are no two ranks or
    no two moments with phases.
    """
    by_rank = Shown(phases, potential, at)
    shown = by_rank.arranged(order)
    figure = _laid_out(figure, SIZE)
    top = 1 if steps is None else 2
    edges = {"left": 0.05, "right": 0.95, "top": 0.935, "bottom": 0.045, "hspace": 0.75, "wspace": 1.2}
    grid = figure.add_gridspec(4, 6, height_ratios=(0.9, 1, 1, 1.35), **edges)
    if steps is not None:
        axes = figure.add_subplot(grid[0, :3])
        _head(axes, "a", TIMELINE)
        panels.timeline(axes, steps, shown)
    axes = figure.add_subplot(grid[0, 3 * (top - 1) :])
    _head(axes, "", LAG)
    panels.lag(axes, shown)
    for number, (letter, title, name, draw) in enumerate(GRID):
        row, column = divmod(number, 3)
        axes = figure.add_subplot(grid[row + 1, 2 * column : 2 * column + 2])
        _head(axes, letter, title + _when(name, shown), _limited(name, shown) + help_of(name))
        draw(axes, shown)
    words = _title(by_rank, words) + ("" if order is None else f"; {shown.order_words}")
    figure.suptitle(words, x=0.01, y=0.99, ha="left", va="top", fontsize=15, color=TEXT, parse_math=False)
    return figure


def side_by_side(
    left: xr.Dataset,
    right: xr.Dataset,
    *,
    steps: xr.Dataset | None = None,
    potential: Callable[[np.ndarray], np.ndarray] | None = None,
    at: tuple[float | None, float | None] = (None, None),
    span: tuple[float, float] | None = None,
    words: tuple[str, str] = ("", ""),
    notes: Sequence[str] = (),
    figure: Figure | None = None,
) -> Figure:
    """Draws two sets of phases in two columns, such as a run's and its model's.

    Scales in a row are equal, unless one reaches 10 times as far as the other: then the panels report it.

    steps : of the run on the left, for its timeline. at : s, the moment of snapshots of each. span : s,
    begin and end of the axes of time, where both have the same clock. notes : sentences about what is on
    the right, beside the timeline. The rest is as for `page`.
    """
    both = [Shown(phases, potential, moment, span) for phases, moment in zip((left, right), at)]
    figure = _laid_out(figure, PAIR_SIZE)
    rows = len(GRID) + 1 + (steps is not None)
    heights = [0.9] * (rows - 9) + [1.0] * 6 + [1.7, 1.3, 1.9]
    edges = {"left": 0.055, "right": 0.935, "top": 0.955, "bottom": 0.025, "hspace": 0.5, "wspace": 0.22}
    drawn = figure.subplots(rows, 2, height_ratios=heights, gridspec_kw=edges)
    if steps is not None:
        _head(drawn[0, 0], "a", TIMELINE)
        panels.timeline(drawn[0, 0], steps, both[0])
        drawn[0, 1].axis("off")
        lines = [line for note in notes for line in textwrap.wrap(note, 112)]
        about = {"fontsize": 8, "color": "0.3", "va": "top", "parse_math": False}
        drawn[0, 1].text(0.0, 1.12, "\n".join(lines), transform=drawn[0, 1].transAxes, **about)
    first = rows - len(GRID)
    rates = []
    for column, shown in enumerate(both):
        _head(drawn[first - 1, column], "", LAG)
        panels.lag(drawn[first - 1, column], shown)
        for row, (letter, title, name, draw) in enumerate(GRID, first):
            _head(drawn[row, column], letter, title + _when(name, shown), _limited(name, shown))
            beside = draw(drawn[row, column], shown)
            rates += [beside] if name == "order_parameter" else []
        heading = _title(shown, words[column])
        drawn[0, column].annotate(
            "\n".join(textwrap.wrap(heading, 74)),
            (0, 1),
            xytext=(0, 34),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=13,
            color=TEXT,
            parse_math=False,
        )
    for axes in drawn[:first].flat:  # they are low
        if axes.images:
            axes.yaxis.get_major_locator().set_params(nbins=5)
    for row in drawn[first - 1 :]:
        _same_scale(row)
    _same_scale(rates)
    return figure


def _laid_out(figure: Figure | None, size: tuple[float, float]) -> Figure:
    """The given figure or a new one, whose Axes stay where they are put."""
    figure = figure or new_figure(size)
    figure.set_size_inches(*size)
    figure.set_layout_engine("none")
    return figure


def help_of(name: str) -> str:
    """What a metric's plot is for, and where it misleads."""
    about = rhythm.HELP[name]
    return f"{about.use} {about.limit}"


def _same_scale(row: Sequence[Axes]) -> None:
    """Gives both Axes of a row the same scale of values or of colours.

    Where one reaches 10 times as far as the other, each keeps its own scale and a note reports it: the
    smaller one would look like zero otherwise.
    """
    images = [axes.images[0] for axes in row if axes.images]
    reach = [axes.images[0].get_clim()[1] if axes.images else _reach(axes) for axes in row]
    if min(reach) > 0 and max(reach) > UNLIKE * min(reach):
        for axes in row:
            place = {"xycoords": "axes fraction", "ha": "right", "va": "top", "annotation_clip": False}
            beside_time = {"xytext": (0, -21), "textcoords": "offset points"}
            axes.annotate(OWN_SCALE, (1.0, 0.0), fontsize=9, color=BEYOND, **place, **beside_time)
    elif len(images) == 2:
        most = max(image.get_clim()[1] for image in images)
        for image in images:
            image.set_clim(-most if image.get_clim()[0] < 0 else 0.0, most)
    elif not images:
        low, high = zip(*(axes.get_ylim() for axes in row))
        for axes in row:
            axes.set_ylim(min(low), max(high))
        if all(axes.containers for axes in row):  # bars over differences
            most = max(axes.get_xlim()[1] for axes in row)
            for axes in row:
                axes.set_xlim(-most, most)


def _reach(axes: Axes) -> float:
    """How far the scale of a panel goes, of bars along x; 0 if it has none."""
    if axes.containers:
        return float(max(map(abs, axes.get_xlim())))
    return float(max(map(abs, axes.get_ylim()))) if axes.lines or axes.collections else 0.0


def _title(shown: Shown, words: str) -> str:
    """Who is shown, in which state, when."""
    named = rhythm.state(shown.snapshot, shown.topology)
    apart = float(named["spread"])
    about = f"{counted(shown.n, shown.word)}, {named['state'].item()} at {shown.clock(shown.moment)}"
    about += f": R\u00a0=\u00a0{float(named['order_parameter']):.3g}, "
    about += f"{in_periods(apart)} from the last to the first".replace(" periods", "\u00a0periods")
    return f"{words}: {about}" if words else about


def _when(name: str, shown: Shown) -> str:
    """The moment of a panel that shows one, and what is beside R."""
    if name == "order_parameter":
        return "; thin: dR/dt" + ("; shaded: early warning" if len(shown.warnings) else "")
    of_moment = ("phase_circle", "difference_histogram", "difference_matrix")
    return f" at {shown.clock(shown.moment)}" if name in of_moment else ""


def _limited(name: str, shown: Shown) -> str:
    """Which oscillators a panel shows, where it does not show all."""
    most = {
        "phase_differences": panels.MOST_LINES,
        "difference_histogram": MOST_IN_PAIRS,
        "difference_matrix": MOST_IN_PAIRS,
    }.get(name, shown.n)
    return f"Of {most} of {shown.n:,} {shown.word}s. " if shown.n > most else ""


def _head(axes: Axes, letter: str, title: str, more: str = "") -> None:
    """A title, and smaller lines below it."""
    lines = textwrap.wrap(more, 78)
    write_head(axes, f"({letter}) {title}" if letter else title, lines, large=12, small=8.5)
