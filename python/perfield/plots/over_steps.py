# SPDX-License-Identifier: BSD-3-Clause
"""Imbalance over steps: how much longer than the mean the slowest rank computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import BEYOND, PALETTE
from perfield.plots.source import Source
from perfield.plots.style import (
    Steps,
    about_run,
    frames_of,
    head,
    new_axes,
    scaled,
    step_numbers,
    whole_numbers,
)
from perfield.text import in_percent, in_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perfield.derived.run import Run

MOST_POINTS = 2000  # of a line; more steps are joined


def imbalance(run: Run, steps: Steps = None, axes: Axes | None = None, source: Source | None = None) -> Axes:
    """Draws the imbalance of compute time (slowest rank over mean) of each step. 1 is perfect balance.

    run : an open run. steps, axes, source and errors : as `perfield.plots` says. More than 2000 steps are
    joined: a point is the largest imbalance of the steps that it stands for.
    """
    positions = frames_of(run, steps)
    source = source or Source(run)
    largest, mean = source.of_steps(positions)[:2]
    ratio = np.divide(largest, mean, np.full_like(mean, np.nan), where=mean > 0)
    axes = new_axes(axes)
    numbers, counted = step_numbers(run, positions)
    numbers, shown, joined = _joined(numbers, ratio)
    axes.plot(numbers, shown, color=PALETTE[0], linewidth=1.5, **_marker(numbers))
    median = float(np.nanmedian(ratio)) if np.isfinite(ratio).any() else np.nan
    saved = source.saved_s(positions)
    share = saved / max(source.elapsed_s(positions), 1e-300)
    axes.axhline(1.0, color="0.6", linewidth=1)
    beside = {"xytext": (-4, 4), "textcoords": "offset points", "ha": "right", "fontsize": 11}
    axes.annotate("balanced", (1, 1), xycoords=("axes fraction", "data"), color="0.4", **beside)
    axes.set_ylim(0.0, max(1.2, 1.08 * float(np.nanmax(np.append(shown, 1.0)))))
    axes.set_xlabel(counted)
    axes.set_ylabel("slowest rank / mean")
    whole_numbers(axes.xaxis)
    head(
        axes,
        f"Imbalance of compute time: median {median:.2f}; "
        f"balancing would save at most {in_seconds(saved)} ({in_percent(share)})",
        about_run(run, positions) + (f"; each point: the largest of {joined} steps" if joined > 1 else ""),
    )
    return axes


def compute_and_waiting(
    run: Run, steps: Steps = None, axes: Axes | None = None, source: Source | None = None
) -> Axes:
    """Draws the seconds behind the imbalance: compute time of the slowest rank and of the mean, and the
    mean waiting time, for each step. Arguments as for `imbalance`."""
    positions = frames_of(run, steps)
    lines = (source or Source(run)).of_steps(positions) / run.spans[positions]
    axes = new_axes(axes)
    numbers, counted = step_numbers(run, positions)
    factor, unit = scaled("s", float(np.nanmax(np.append(lines[0], 0.0))))
    styles = zip(lines, ("compute, slowest rank", "compute, mean", "waiting, mean"), (BEYOND, *PALETTE[:2]))
    for line, words, rgb in styles:
        at, shown, _ = _joined(numbers, line * factor)
        axes.plot(at, shown, label=words, color=rgb, linewidth=1.5, **_marker(at))
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(counted)
    axes.set_ylabel(f"time per step ({unit})")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    whole_numbers(axes.xaxis)
    return axes


def _joined(numbers: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """At most MOST_POINTS points: the first number and the largest value of each few steps, and how few."""
    size = -(-len(values) // MOST_POINTS)
    begin = np.arange(0, len(values), size)
    return numbers[begin], np.fmax.reduceat(values, begin), size


def _marker(numbers: np.ndarray) -> dict[str, object]:
    return {"marker": "o", "markersize": 4} if len(numbers) <= 60 else {}
