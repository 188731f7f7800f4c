# SPDX-License-Identifier: BSD-3-Clause
"""What messages cost the ranks that send and receive them, as far as a run shows that."""

from __future__ import annotations

import numpy as np

from perfield.analysis.observed import Observed
from perfield.text import in_number

CPU_FIELDS = ("cpu_user_time_s", "cpu_system_time_s")
COST_FIELDS = ("mpi_p2p_time_s", "mpi_wait_time_s", "sent_count", "received_count", *CPU_FIELDS)
UNDISTURBED = 10  # percent of the steps, in which messages cost a rank least: there it hardly waits
FEWEST_ROWS = 10  # of the tables
AS_MANY = 0.5  # of the mean number of messages, at least, has a rank whose costs count


def cost_s(observed: Observed, source: np.ndarray, target: np.ndarray, count: np.ndarray) -> float | None:
    """How long some messages take the rank that has most of them, in s of all steps.

    source, target : ranks. count : messages. A message costs what it costs in the steps in which it takes
    least, on the rank where it takes least: the time of point-to-point and wait calls holds little waiting
    there. It is at most the process's CPU time, as messages do not cost the time without a PU. None if the
    run has no times of calls, or too few steps to separate waiting from work.
    """
    if not observed.has("mpi_p2p_time_s") or len(observed.of("mpi_p2p_time_s")) < FEWEST_ROWS:
        return None
    n_messages = observed.of("sent_count").astype(float) + np.nan_to_num(observed.of("received_count"))
    time_s = observed.of("mpi_p2p_time_s").astype(float) + np.nan_to_num(observed.of("mpi_wait_time_s"))
    if all(map(observed.has, CPU_FIELDS)):
        time_s = np.fmin(time_s, sum(observed.of(name).astype(float) for name in CPU_FIELDS))
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(n_messages > 0, time_s / n_messages, np.nan)
    total = np.nansum(n_messages, axis=0)
    busy = np.isfinite(each).any(axis=0) & (total >= AS_MANY * total.mean())
    if not busy.any():
        return None
    of_rank = of_each_rank(observed, source, target, count)
    each_s = np.nanpercentile(each[:, busy], UNDISTURBED, axis=0).min()
    return min(float(of_rank.max(initial=0.0) * each_s), observed.elapsed_s)


def of_each_rank(observed: Observed, source: np.ndarray, target: np.ndarray, count: np.ndarray) -> np.ndarray:
    """How many of some messages each rank of the world sends and receives, float64 (n_ranks,)."""
    known = ((end, (end >= 0) & (end < observed.n_ranks)) for end in (source, target))
    return sum(np.bincount(end[ours], count[ours], observed.n_ranks) for end, ours in known)


def per_step(observed: Observed, number: float) -> str:
    """A number of messages in words: "1,500 per step", and of a run with one step "1,500"."""
    many = observed.n_program_steps > 1
    return f"{in_number(number / max(observed.n_program_steps, 1))}{' per step' if many else ''}"
