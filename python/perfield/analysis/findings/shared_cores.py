# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that share cores, or are more than the PUs that they may run on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import WORTH_TELLING, Finding, Picture
from perfield.analysis.findings.placed import elsewhere, shared_cores, shorter_s, times
from perfield.analysis.observed import Observed
from perfield.analysis.words import in_percent, in_seconds
from perfield.topology import Placement, ranges, sharing

QUESTION = "Do ranks share cores?"
KINDS = ("shared cores",)
NEEDS = ()
LIKES = (
    *("compute_time_s", "step_time_s", "cpu_user_time_s", "cpu_system_time_s"),
    "involuntary_switches",
)

OWN_CORES = (
    "Bind each rank to a core of its own: `mpirun --map-by core --bind-to core`, `srun --cpu-bind=cores`; "
    "`perfield placement --here` previews it."
)
MORE_CORES = "Start at most as many ranks as there are cores, or take more nodes."


def find(observed: Observed, worth: float = WORTH_TELLING) -> Iterator[Finding]:
    """Yields a finding about ranks bound to a core with others, and one about other ranks without a PU of
    their own.

    Their cost is known only where cores are free, since nothing else would make the run shorter. worth : has
    no part in it, since times of such ranks contain the scheduler, whatever it costs.
    """
    placement = observed.placement
    if placement is None:
        return
    on_cores = shared_cores(placement)
    bound = np.sort(np.concatenate([ranks for _, ranks in on_cores])) if on_cores else np.zeros(0, np.int64)
    crowded = sharing(placement)
    if on_cores:
        (number, core), first = on_cores[0]
        node = placement.nodes[number]
        n_free = sum(_free_cores(placement, here) for here in np.unique(placement.node_id[bound]).tolist())
        free = _free_cores(placement, number)
        words = (
            f"Ranks {ranges(first)} share one core, {core} of {node.label}"
            f"{elsewhere(len(on_cores) - 1, 'core')}{f'; cores there without a rank: {free}' if free else ''}"
        )
        yield _finding(observed, bound, np.intersect1d(bound, crowded.ranks), words, n_free > 0)
    if len(np.setdiff1d(crowded.ranks, bound)):
        yield _finding(observed, crowded.ranks, crowded.ranks, crowded.words, False)


def _finding(observed: Observed, ranks: np.ndarray, without: np.ndarray, words: str, free: bool) -> Finding:
    saved_s, cost = _without_pu(observed, without)
    assert observed.placement is not None
    nodes = np.unique(observed.placement.node_id[ranks]).tolist()
    return Finding(
        kind="shared cores",
        words=f"{words}.{cost}",
        saved_s=saved_s if free else None,
        remedy=OWN_CORES if free else MORE_CORES,
        picture=Picture("machine", "involuntary_switches"),
        ranks=ranks,
        hosts=tuple(observed.placement.nodes[node].label for node in nodes),
    )


def _free_cores(placement: Placement, number: int) -> int:
    """How many cores of a node no rank may run on."""
    machine = placement.nodes[number].machine
    used = {
        int(pu)
        for binding in np.unique(placement.binding[placement.node_id == number]).tolist()
        for pu in placement.bindings[binding]
    }
    return sum(used.isdisjoint(range(part.first, part.last)) for part in machine.level("core"))


def _without_pu(observed: Observed, ranks: np.ndarray) -> tuple[float | None, str]:
    """How much shorter the steps would be if these ranks had always had a PU, at most, and the cost in words:
    they computed without a PU for at least compute time minus all CPU time.

    Step time minus CPU time is all time without a PU. It is no cost where a rank waits in MPI and leaves its
    PU to others, so it is only told.
    """
    here = np.isin(observed.ranks, ranks)
    step_s, compute_s, user_s, system_s, taken = (
        observed.of(name)[:, here].astype(float)
        for name in ("step_time_s", "compute_time_s", "cpu_user_time_s", "cpu_system_time_s", LIKES[-1])
    )
    cpu_s = user_s + system_s
    without = float(np.nansum(np.clip(step_s - cpu_s, 0, None)))
    if without <= 0 or not (taken > 0).any():
        return None, ""
    words = (
        f" A PU was taken from them {times(round(float(np.nansum(taken))))}, and they had none for "
        f"{in_seconds(without)} ({in_percent(without / float(np.nansum(step_s)))}) of their steps, waiting "
        "in MPI included"
    )
    extra = np.zeros(observed.of("compute_time_s").shape)
    extra[:, here] = np.clip(compute_s - cpu_s, 0, None)
    least = float(np.nansum(extra))
    if least <= 0:
        return None, f"{words}; how much of this delayed computing is not known."
    return shorter_s(observed, extra), f"{words}; at least {in_seconds(least)} of this delayed computing."
