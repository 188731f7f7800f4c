# SPDX-License-Identifier: BSD-3-Clause
"""What all plots share: new figures, Axes, titles, units, colours, and how steps are chosen and numbered."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Union

import numpy as np

from perfield.catalyst_scripts.palette import ABSENT, TEXT, colour_map
from perfield.catalyst_scripts.ticks import unit_for
from perfield.derived.injected import is_injected
from perfield.derived.matching import date_in_titles, name_in_titles
from perfield.output.titles import region_titles, title
from perfield.text import counted, printable, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from perfield.derived.run import Run

COMPUTING, WAITING = "compute_time_s", "waiting_time_s"
Steps = Union[int, slice, Sequence[int], None]
STYLE = {"font.size": 12, "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none"}
SIZE = (12.8, 7.2)  # inches, of 100 pixels each


MOST_LINES = 4  # below a title; the names of a run may be of any length


class PlotError(ValueError):
    """A plot cannot be drawn; the text says why and what to do."""


def new_figure(size: tuple[float, float] = SIZE) -> Figure:
    """An empty figure without a window. size : in inches, of 100 pixels each."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams.update(STYLE)
    figure = Figure(figsize=size, dpi=100, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    return figure


def new_axes(axes: Axes | None) -> Axes:
    """The given Axes, or new ones of pyplot."""
    if axes is not None:
        return axes
    from matplotlib import pyplot, rc_context

    with rc_context(STYLE):
        return pyplot.subplots(figsize=(10, 5.5), layout="constrained")[1]


def head(axes: Axes, words: str, more: str = "") -> None:
    """Writes a title that says what is seen, and a smaller line below it, or several where it is long."""
    grid = axes.get_subplotspec()
    top = grid.get_topmost_subplotspec() if grid is not None else None
    share = 1.0 if top is None else len(top.colspan) / top.get_gridspec().ncols
    points = 72 * axes.figure.get_figwidth() * share - 100  # without the labels and the legend
    width = max(20, int(points / 5.6))
    lines = textwrap.wrap(printable(more), width, max_lines=MOST_LINES, placeholder=" ...")
    write_head(axes, printable(words), lines)


def write_head(axes: Axes, words: str, lines: Sequence[str], large: float = 15, small: float = 11) -> None:
    """Writes a title and lines below it, in font sizes `large` and `small`."""
    axes.set_title("\n".join(lines), loc="left", fontsize=small, color="0.35", parse_math=False)
    axes.annotate(
        words,
        (0, 1),
        xytext=(0, large / 2 + 1.45 * small * len(lines)),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=large,
        color=TEXT,
        parse_math=False,
    )


def map_of(field: str) -> Colormap:
    """The colour map of a field; absent values are grey."""
    import matplotlib

    return matplotlib.colormaps[colour_map(field)].with_extremes(bad=ABSENT)


def frames_of(run: Run, steps: Steps) -> np.ndarray:
    """Positions of the frames of some steps.

    Raises PlotError if the run has no finished step, KeyError if it does not have a step that was asked for.
    """
    positions = run.positions_of(steps)
    if not len(positions):
        raise PlotError(f"{run.path} holds no finished step to plot; `perfield info {run.path}`")
    return positions


def known_field(run: Run, field: str) -> str:
    """The field's name; raises PlotError that names the nearest known ones if the run does not have it."""
    if field in run.all_fields:
        return field
    raise PlotError(run.all_fields.unknown(field))


def words_of(run: Run, field: str) -> tuple[str, str]:
    """A field in words, and its unit: "s", "B", "1" or ""."""
    words, unit = title(field, region_titles(run.known_regions), {})
    return words, unit or run.all_fields[field].unit


def scaled(unit: str, largest: float) -> tuple[float, str]:
    """A factor for values and the resulting unit, for axes: ("s", 0.02) -> (1000.0, "ms")."""
    factor, name = unit_for(unit, largest)
    return factor, name or ("" if unit == "1" else unit)


def short(name: str) -> str:
    """A region's name with at most 34 characters."""
    return shortened(name, 34)


def whole_numbers(axis: object) -> None:
    """Lets an axis have ticks at whole numbers only: ranks, steps."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def step_numbers(run: Run, positions: np.ndarray) -> tuple[np.ndarray, str]:
    """A number for each frame, and what it is: the program's own number of the step where it counts them one
    by one, else the number of the step's closing."""
    indexes = run.step_indexes[positions]
    ends = run.frame_headers([positions[0], positions[-1]])["label"].tolist()
    if len(run) and run.frame(int(positions[0])).kind == "whole":
        return indexes, "the whole run"
    if ends[1] - ends[0] == indexes[-1] - indexes[0]:
        return indexes + (ends[0] - indexes[0]), "step"
    return indexes, "step, counted from 0"


def about_run(run: Run, positions: np.ndarray, sums: bool = False) -> str:
    """A run in a few words, for the line below a title. sums : what is shown adds up its steps."""
    some = f"{len(positions):,} of " if len(positions) < len(run) else ""
    ranks, steps = counted(run.n_ranks, "rank"), counted(len(run), "step")
    spans = run.spans[positions] if len(run) else [1]
    if max(spans) > 1:
        steps = counted(len(run), "frame")
        many = f"{min(spans):,} to {max(spans):,}" if min(spans) < max(spans) else f"{max(spans):,}"
        steps += f" of {many} steps" + ", by their mean" * (not sums)
    injected = ", latencies injected" if is_injected(run) else ""
    day = date_in_titles(run)
    return f"{name_in_titles(run)}: {ranks}, {some}{steps}{injected}" + f", {day}" * bool(day)
