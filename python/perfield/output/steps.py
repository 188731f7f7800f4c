# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the frames of a run to write, and the times at which ParaView shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from perfield.analysis.steps import StepKinds
    from perfield.run import Frame, RunDirectory

DEFAULT_FRAMES = 20


class StepsError(ValueError):
    """The run does not have the requested steps; the text says which steps it has."""


def choose_steps(
    run: RunDirectory, wanted: str | None = None, kinds: StepKinds | None = None, limit: int = DEFAULT_FRAMES
) -> list[int]:
    """Ascending numbers of the frames to write (places in the run).

    wanted : None for at most `limit` frames: a typical one, the slowest to compute, those that show added
    fields best, the first, the last, and evenly spaced others. Or "all". Or the program's own numbers of
    steps, and ranges, as "0,10,20:50:5": first:end:stride, end excluded. kinds : of the run's frames; None
    leaves typical and slowest to chance.
    Raises StepsError for other text and for steps that the run does not have.
    """
    if not len(run):
        advice = "wait for the first one, or call perfield_step(step, time) once per time step."
        if run.state != "running":
            advice = "it ended before its first measured step (see `perfield setup config`)."
        raise StepsError(f"{run.path} holds no finished step; {advice}")
    if wanted == "all":
        return list(range(len(run)))
    if wanted is not None:
        headers = run.frame_headers(range(len(run)))
        steps, spans = headers["label"], headers["span"].astype(np.int64)
        found = {place for word in wanted.split(",") for place in _positions(word.strip(), steps, spans)}
        if not found:
            raise StepsError(
                f"'{wanted}' in --steps names none of the steps {steps.min()} to {steps.max()} of this run."
            )
        return sorted(found)
    if len(run) <= limit:
        return list(range(len(run)))
    shown = (kinds.typical, kinds.slowest) if kinds is not None else ()
    shown = (*shown, *run.highlights)
    chosen = {0, len(run) - 1, *(number for number in shown if number is not None)}
    evenly = np.linspace(0, len(run) - 1, limit).round().astype(int)
    nearest_first = sorted(evenly.tolist(), key=lambda index: min(abs(index - other) for other in chosen))
    while len(chosen) < limit:
        chosen.add(nearest_first.pop())  # the one farthest from the chosen frames
    return sorted(chosen)


def frame_times(frames: Iterable[Frame]) -> tuple[list[float], str]:
    """The times at which ParaView shows frames, and their meaning.

    Returns the program's own times and "time" if they are all known and ascend; else the indices of the
    steps and "step".
    """
    seen = np.array([(frame.time, frame.index) for frame in frames], dtype=float).reshape(-1, 2)
    times, indices = seen.T
    if np.isfinite(times).all() and (np.diff(times) > 0).all():
        return times.tolist(), "time"
    return indices.tolist(), "step"


def _positions(word: str, steps: np.ndarray, spans: np.ndarray) -> list[int]:
    """The places of the frames that a number or a range names, by the numbers of their last steps."""
    numbers = word.split(":")
    try:
        parts = [int(number) if number else None for number in numbers]
    except ValueError:
        parts = []
    usable = 1 <= len(parts) <= 3 and word and not (len(parts) == 1 and parts[0] is None)
    if not usable or any(part is not None and part < 0 for part in parts) or parts[2:] == [0]:
        raise StepsError(
            f"'{word}' in --steps is not a step; expected all, or numbers and ranges as 0,10,20:50:5 "
            "(first:end:stride, end excluded)."
        )
    if len(parts) > 1:
        first, end, stride = (*parts, None)[:3]
        inside = (steps >= (first or 0)) & (steps < (steps.max() + 1 if end is None else end))
        return np.flatnonzero(inside)[::stride].tolist()
    found = np.flatnonzero((steps - spans < parts[0]) & (parts[0] <= steps))
    if not len(found):
        near = steps[np.argmin(np.abs(steps - parts[0]))]
        raise StepsError(
            f"step {parts[0]} is not in this run, which has steps {steps.min()} to {steps.max()}; the "
            f"nearest is {near}."
        )
    return found.tolist()
