# SPDX-License-Identifier: BSD-3-Clause
"""Classifies steps: steps that write output, a typical step, and the slowest one.

The first and the last step of a run, and the longest, are often set-up or output. A picture of them misleads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FAR_BEYOND = 10.0  # an output step writes this many times as much as the median step
LOG_BYTES = 4096.0  # steps in which all ranks together write less may write a log
LOG_TIME = 0.01  # so may steps that spend less than this part of the run's mean compute time in files


@dataclass(frozen=True)
class StepKinds:
    """Kinds of the steps of a run.

    is_output : (n_steps,) bool, steps that write far more to files than the median step.
    typical : position of the step whose compute times come nearest to the ranks' medians, among the steps
    that are not output. slowest : position of the step, among the same, in which a rank computed longest.
    Both None if no step has compute times.
    """

    is_output: np.ndarray
    typical: int | None
    slowest: int | None


def kinds_of_steps(
    compute_s: np.ndarray, written_bytes: np.ndarray | None = None, file_time_s: np.ndarray | None = None
) -> StepKinds:
    """Classifies steps.

    compute_s : (n_steps, n_ranks) s, compute time; NaN where unknown. written_bytes, file_time_s : the same
    shape, B and s, what each rank wrote to files and its time there; None or NaN where not watched.
    Raises ValueError if the shapes differ.
    """
    compute_s = _times_by_rank("compute_s", compute_s)
    is_output = np.zeros(len(compute_s), dtype=bool)
    for name, given, least in (
        ("written_bytes", written_bytes, LOG_BYTES),
        ("file_time_s", file_time_s, LOG_TIME * _mean(np.nansum(compute_s, axis=1))),
    ):
        if given is None:
            continue
        given = _times_by_rank(name, given)
        if given.shape != compute_s.shape:
            raise ValueError(
                f"{name} has the shape {given.shape}, but compute_s has {compute_s.shape}; pass both of the "
                "same steps and ranks."
            )
        if np.isfinite(given).any():  # bytes are better evidence than times: a slow disk also delays a log
            is_output = output_steps(given, least)
            break
    typical = np.isfinite(compute_s).any(axis=1)
    typical &= ~is_output if (typical & ~is_output).any() else True
    if not typical.any():
        return StepKinds(is_output, None, None)
    positions = np.flatnonzero(typical)
    times = compute_s[positions]
    known = np.isfinite(times)
    medians = np.nanmedian(times[:, known.any(axis=0)], axis=0)
    apart = np.abs(times[:, known.any(axis=0)] - medians)
    present = np.isfinite(apart)
    # A rank that is absent in a step counts like the mean of the others.
    distance = np.where(present, apart, 0.0).sum(axis=1) / present.sum(axis=1)
    longest = np.where(known, times, -np.inf).max(axis=1)
    return StepKinds(is_output, int(positions[distance.argmin()]), int(positions[longest.argmax()]))


def output_steps(written: np.ndarray, least: float = LOG_BYTES) -> np.ndarray:
    """Which steps write output, (n_steps,) bool: far more than the median step, and more than `least`.

    written : (n_steps, n_ranks) bytes or seconds, NaN where unknown. least : of all ranks together.
    """
    of_step = np.nansum(_times_by_rank("written", written), axis=1)
    if not len(of_step):
        return np.zeros(0, dtype=bool)
    return of_step > max(FAR_BEYOND * float(np.median(of_step)), least)


def savings_s(compute_s: np.ndarray) -> float:
    """Seconds that balancing would save: the sum over steps of the largest over ranks minus their mean.

    compute_s : (n_steps, n_ranks) s; NaN, where a rank did not compute or was not seen, counts as 0. Steps
    of only NaN save nothing.
    """
    times = np.nan_to_num(_times_by_rank("compute_s", compute_s), nan=0.0)
    return float((times.max(axis=1) - times.mean(axis=1)).sum()) if times.size else 0.0


def _times_by_rank(name: str, values: np.ndarray) -> np.ndarray:
    """The values as float64 (n_steps, n_ranks)."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"{name} has the shape {values.shape}; expected (n_steps, n_ranks).")
    return values


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0
