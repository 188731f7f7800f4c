# SPDX-License-Identifier: BSD-3-Clause
"""A logged step as it went: when each rank computed, was in MPI, and waited, and for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.waits import KINDS
from perfield.analysis.waits.words import KIND_WORDS
from perfield.catalyst_scripts.palette import PALETTE, TEXT, pale
from perfield.derived.step_timeline import StepTimeline, ends_wait, logged_positions
from perfield.plots.source import Source
from perfield.plots.style import (
    WAITING,
    PlotError,
    Steps,
    about_run,
    frames_of,
    head,
    new_axes,
    scaled,
    step_numbers,
)
from perfield.text import in_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perfield.derived.run import Run

MOST_STEPS, MOST_LANES, MOST_ARROWS = 64, 24, 60
MOST_EDGES = 400
LEAST = 0.03  # of the time shown: shorter waits have no arrow
COMPUTES, IN_MPI, WAITS, UNSURE = pale(PALETTE[0]), (0.45, 0.45, 0.45), PALETTE[4], pale(PALETTE[4])
HEIGHT = 0.56  # of a bar, of the distance between ranks
SMALL, LETTER, ROOM = 11, 0.58, 7  # size of labels, width of a letter in it; points beside a label


def wait_timeline(
    run: Run, steps: Steps = None, axes: Axes | None = None, source: Source | None = None
) -> Axes:
    """Draws a step as a lane of time for each rank: computing, MPI calls, and in these the waiting.

    An arrow goes from the moment that ended a wait, on the rank that was late, to the rank that waited.
    steps : steps with a log, which follow each other, at most 64; None: the logged step in which ranks wait
    longest, but for the first. Of many ranks it shows those that wait longest, and those that they wait for.
    axes, source : as `perfield.plots` says.
    Raises PlotError if no step, or one that was asked for, was logged whole.
    """
    positions = _longest(run, source or Source(run)) if steps is None else _logged(run, steps)
    shown = StepTimeline.of(run, positions, MOST_LANES)
    axes = new_axes(axes)
    factor, unit = scaled("s", shown.seconds)
    lanes = {rank: lane for lane, rank in enumerate(shown.lanes)}
    is_sure = shown.waits["is_sure"]
    bars = (
        (COMPUTES, "computing: outside MPI", shown.steps()),
        (IN_MPI, "in an MPI call", _bars(shown.calls)),
        (UNSURE, "waiting, too short to say for whom", _bars(shown.waits[~is_sure])),
        (WAITS, "waiting for another rank", _bars(shown.waits[is_sure])),
    )
    for colour, words, (ranks, begin, end) in bars:
        _draw_bars(axes, [lanes[rank] for rank in ranks], begin * factor, end * factor, colour, words)
    ends = [(rank, end) for rank, _, end in zip(*shown.steps()) if np.isfinite(end)]
    for number, (rank, end) in enumerate(ends):
        y = lanes[rank] + np.array((-0.5, 0.5)) * HEIGHT * 1.3
        words = "end of a step" if not number else None
        axes.plot([end * factor] * 2, y, color=TEXT, linewidth=1.2, label=words, zorder=3)
    axes.set_xlim(0, shown.seconds * factor * 1.012)
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.set_yticks(range(len(lanes)), [f"rank {rank}" for rank in lanes])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    numbers, _ = step_numbers(run, positions)
    which = f"step {numbers[0]:,}" if len(numbers) == 1 else f"steps {numbers[0]:,} to {numbers[-1]:,}"
    axes.set_xlabel(f"{unit} since step {numbers[0]:,} began")
    _draw_causes(axes, shown, lanes, factor)
    head(axes, f"{shown.who_costs_most()} in {which}", _more(run, positions, shown))
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -_below(axes)), ncols=5, frameon=False, fontsize=SMALL,
        handlelength=1.2, columnspacing=1.6,
    )  # fmt: skip
    return axes


def _long(shown: StepTimeline) -> np.ndarray:
    """The waits that have arrows, the longest first."""
    waits = shown.waits[shown.waits["is_sure"] & np.isfinite(shown.waits["late_s"])]
    return waits[waits["end_s"] - waits["begin_s"] >= LEAST * shown.seconds][:MOST_ARROWS]


def _labels(wait: np.void) -> list[str]:
    """What a wait is, in ever fewer words."""
    long = in_seconds(float(wait["end_s"] - wait["begin_s"]))
    return [
        f"{KIND_WORDS[KINDS[wait['kind']]]}: {long} for rank {wait['cause']}",
        f"{long} for rank {wait['cause']}",
        long,
    ]


def _computes(shown: StepTimeline, rank: int, begin_s: float, end_s: float) -> bool:
    """Whether a rank is outside MPI for nearly all the time between two times."""
    calls = shown.calls[shown.calls["rank"] == rank]
    in_mpi = np.minimum(calls["end_s"], end_s) - np.maximum(calls["begin_s"], begin_s)
    return float(np.maximum(in_mpi, 0).sum()) < 0.1 * (end_s - begin_s)


def _logged(run: Run, steps: Steps) -> np.ndarray:
    """Positions of frames that were asked for and are logged."""
    positions = frames_of(run, steps)
    indexes = run.step_indexes[positions]
    if len(positions) > MOST_STEPS or (np.diff(positions) != 1).any():
        raise PlotError(
            f"a timeline shows steps that follow each other, at most {MOST_STEPS}; these are "
            f"{len(positions)} between steps {indexes[0]} and {indexes[-1]}."
        )
    logged = run.step_indexes[_with_log(run)]
    missing = np.setdiff1d(indexes, logged)
    if len(missing):
        raise PlotError(
            f"step {missing[0]} of {run.path} was not logged; logged steps are {_some(logged)}. "
            "PERFIELD_ARRIVALS_EVERY=1 logs all."
        )
    return positions


def _longest(run: Run, source: Source) -> np.ndarray:
    """The position of the logged frame in which ranks wait longest, but for the first: it sets things up."""
    positions = _with_log(run)
    positions = positions[positions > 0] if len(positions) > 1 else positions
    waiting = [np.nansum(part[:, 0], axis=1) for part in source.values(positions, [WAITING])]
    return positions[[int(np.argmax(np.concatenate(waiting)))]]


def _with_log(run: Run) -> np.ndarray:
    """Positions of frames with a log of their own; raises PlotError if there is none."""
    positions = logged_positions(run)
    if not len(positions):
        raise PlotError(
            f"{run.path} has no logged step in a frame of its own, so nobody knows when calls were made; "
            "arrivals_every may have been 0."
        )
    return positions


def _some(steps: np.ndarray, most: int = 8) -> str:
    more = ", ..." if len(steps) > most else ""
    return ", ".join(f"{step:,}" for step in steps[:most].tolist()) + more


def _bars(of: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rank, begin and end of calls or waits."""
    return of["rank"], of["begin_s"], of["end_s"]


def _draw_bars(
    axes: Axes, lanes: list[int], begin: np.ndarray, end: np.ndarray, colour: tuple[float, ...], words: str
) -> None:
    from matplotlib.collections import PolyCollection

    known = np.isfinite(begin) & np.isfinite(end)
    if not known.any():
        return
    left, right, middle = begin[known], end[known], np.asarray(lanes, float)[known]
    low, high = middle - HEIGHT / 2, middle + HEIGHT / 2
    corners = np.stack([left, low, left, high, right, high, right, low], axis=1).reshape(-1, 4, 2)
    edge = 0.8 if len(corners) < MOST_EDGES else 0.0  # between calls; of many nothing else would be seen
    bars = PolyCollection(corners, facecolors=[colour], edgecolors="white", linewidths=edge, label=words)
    bars.set_zorder(2)
    axes.add_collection(bars)


def _draw_causes(axes: Axes, shown: StepTimeline, lanes: dict[int, int], factor: float) -> None:
    """Arrows from late ranks to those that waited, and labels."""
    waits = _long(shown)
    points = 72 * axes.figure.get_figwidth() - 100  # of the whole width, about
    each = points / (axes.get_xlim()[1] - axes.get_xlim()[0])
    starts: dict[tuple[int, str], float] = {}
    for wait in waits:
        cause, late_s = int(wait["cause"]), float(wait["late_s"])
        here, there = lanes[int(wait["rank"])], lanes.get(cause)
        if there is None:
            continue
        side = np.sign(there - here) * HEIGHT / 2
        axes.annotate(
            "", (wait["end_s"] * factor, here + side), (late_s * factor, there), zorder=5,
            arrowprops={"arrowstyle": "-|>", "color": TEXT, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0,
                        "mutation_scale": 12},
        )  # fmt: skip
        starts[cause, ends_wait(wait["kind"], wait["late_call"])] = late_s
        axes.plot(late_s * factor, there, "o", color=TEXT, markersize=5, zorder=6)
    for wait in waits:
        width = (wait["end_s"] - wait["begin_s"]) * factor * each - ROOM
        fitting = [text for text in _labels(wait) if len(text) * SMALL * LETTER <= width]
        if fitting:
            middle = (wait["begin_s"] + wait["end_s"]) / 2 * factor
            axes.text(middle, lanes[int(wait["rank"])], fitting[0], ha="center", va="center_baseline",
                      fontsize=SMALL, color="white", fontweight="bold", zorder=7)  # fmt: skip
    for (rank, does), late_s in starts.items():
        text = f"rank {rank} {does}"
        left_s = late_s - (len(text) * SMALL * LETTER + 2 * ROOM) / each / factor
        if left_s > 0 and _computes(shown, rank, left_s, late_s):
            axes.annotate(text, (late_s * factor, lanes[rank]), xytext=(-ROOM, 0), textcoords="offset points",
                          ha="right", va="center_baseline", fontsize=SMALL, color=TEXT, zorder=7)  # fmt: skip


def _more(run: Run, positions: np.ndarray, shown: StepTimeline) -> str:
    lanes = len(shown.lanes)
    some = f"; {lanes} ranks: those that wait longest, and for whom" if lanes < run.n_ranks else ""
    return f"{about_run(run, positions)}{some}; arrows: from the rank that was late to the one that waited"


def _below(axes: Axes) -> float:
    """Where the legend begins below the axes, as a share of their height."""
    return 48 / (72 * axes.figure.get_figheight() - 110)
