# SPDX-License-Identifier: BSD-3-Clause
"""An idle wave: who waited how long while a delay travelled through the ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.findings import idle_wave as question
from perfield.analysis.findings.idle_wave import went
from perfield.derived.observe import observe
from perfield.plots.rank_by_step import draw_cells, largest_values
from perfield.plots.source import Source
from perfield.plots.style import (
    WAITING,
    PlotError,
    head,
    known_field,
    map_of,
    new_axes,
    scaled,
    step_numbers,
    whole_numbers,
)
from perfield.text import in_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perfield.analysis.idle_waves import Front, IdleWave
    from perfield.derived.run import Run

LEAST_BESIDE = 4  # steps before and behind the wave
BESIDE = 0.4  # of its steps, likewise
MOST_STEPS = 400  # of a wave; the rest of a longer one is not shown


def idle_wave(
    run: Run,
    wave: IdleWave | None = None,
    axes: Axes | None = None,
    source: Source | None = None,
) -> Axes:
    """Draws how long ranks waited in the steps around an idle wave, and lines along its fronts.

    wave : of `perfield.analysis.idle_waves`, with the run's ranks and steps; None: the one with the
    longest delay. axes, source : as `perfield.plots` says.
    Raises PlotError if no delay travelled.
    """
    from matplotlib.patheffects import Normal, Stroke

    wave = _longest(run) if wave is None else wave
    indexes = run.step_indexes
    last = max(int(front.step[-1]) for front in wave.fronts)
    beside = max(LEAST_BESIDE, int(BESIDE * (last - wave.step + 1)))
    near = (indexes >= wave.step - beside) & (indexes <= min(last + beside, wave.step + MOST_STEPS))
    positions = np.flatnonzero(near)
    values, (joined, columns) = largest_values(source or Source(run), known_field(run, WAITING), positions)
    numbers, counted = step_numbers(run, positions)
    axes = new_axes(axes)
    factor, unit = scaled("s", float(np.nanmax(values)))
    spans, limits = run.spans[positions], (0.0, float(np.nanmax(values)) * factor)
    image = draw_cells(axes, values * factor, map_of(WAITING), limits, numbers, spans, (joined, columns))
    axes.set_ylim(joined * len(values) - 0.5, -0.5)
    axes.figure.colorbar(image, ax=axes, pad=0.02).ax.set_title(unit, fontsize=12)
    axes.set_xlabel(counted)
    axes.set_ylabel("rank")
    for axis in (axes.xaxis, axes.yaxis):
        whole_numbers(axis)

    def at(steps: np.ndarray | int) -> np.ndarray:
        return np.interp(steps, indexes[positions], numbers)

    edge = [Stroke(linewidth=3.5, foreground="black"), Normal()]
    look = {"color": "white", "path_effects": edge, "clip_on": False}
    for front in wave.fronts:
        order = np.argsort(front.distance, kind="stable")
        line = "" if front.direction == "outward" else "--"
        for part in np.split(order, _turns(front, order)):
            axes.plot(at(front.step[part]), front.ranks[part], line, marker="o", markersize=4, **look)
    axes.plot(at(wave.step), wave.rank, "*", markersize=15, **look)
    head(axes, f"Waiting behind a delay of rank {wave.rank}", _words(wave, int(at(wave.step))))
    return axes


def _longest(run: Run) -> IdleWave:
    """The wave with the longest delay of a run."""
    found = question.waves(observe(run, [*question.NEEDS, *question.LIKES]))
    if not found:
        raise PlotError(
            f"{run.path} shows no idle wave: no delay of one rank travelled through the others, or the run "
            "lacks times of steps or messages; `perfield lab rhythm` says whether the ranks march in step."
        )
    return found[0]


def _turns(front: Front, order: np.ndarray) -> np.ndarray:
    """Where a front in a ring goes from the last rank to the first."""
    return np.flatnonzero(np.abs(np.diff(front.ranks[order])) > len(front.ranks) // 2 + 1) + 1


def _words(wave: IdleWave, step: int) -> str:
    """What the marks mean."""
    ways = " and ".join(went(front) for front in wave.fronts)
    return (
        f"star: computed {in_number(wave.delay_periods)} periods longer in step {step:,}; dots: ranks that "
        f"waited for it, {ways}"
    )
