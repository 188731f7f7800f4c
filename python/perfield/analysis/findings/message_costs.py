# SPDX-License-Identifier: BSD-3-Clause
"""What messages cost the ranks that send and receive them, as far as a run shows that."""

from __future__ import annotations

import numpy as np

from perfield.analysis.observed import Observed

COST_FIELDS = ("mpi_p2p_time_s", "sent_count", "received_count")
UNDISTURBED = 10  # percent of the steps, in which calls take least: there they wait for nobody


def cost_s(observed: Observed, source: np.ndarray, target: np.ndarray, count: np.ndarray) -> float | None:
    """How long the calls of some messages take the rank that they take longest, in s of all steps.

    source, target : ranks. count : messages. A call costs what the rank's point-to-point calls take in the
    steps in which they take least, so that it holds little waiting. Time in later waits is not in it.
    None if the run does not tell times of calls.
    """
    if not observed.has("mpi_p2p_time_s"):
        return None
    n_calls = observed.of("sent_count").astype(float) + np.nan_to_num(observed.of("received_count"))
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(n_calls > 0, observed.of("mpi_p2p_time_s") / n_calls, np.nan)
    calling = np.isfinite(each).any(axis=0)
    if not calling.any():
        return None
    call_s = np.zeros(observed.n_ranks)
    call_s[observed.ranks[calling]] = np.nanpercentile(each[:, calling], UNDISTURBED, axis=0)
    of_rank = sum(np.bincount(end[end >= 0], count[end >= 0], observed.n_ranks) for end in (source, target))
    return float((of_rank * call_s).max(initial=0.0))
