# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that share cores, or are more than the PUs that they may run on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import CONSEQUENCES, WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.placed import elsewhere, keep_busy, shared_cores, shorter_s, times, used_share
from perfield.analysis.findings.sight import Sight, of_places
from perfield.analysis.observed import COMPUTING, Observed
from perfield.text import in_percent, in_seconds
from perfield.topology import Placement, ranges, sharing

QUESTION = "Do ranks wait for cores that they share?"
KINDS = ("shared cores",)
EXPLAINS = {"shared cores": CONSEQUENCES}
NEEDS = ()
LIKES = (
    *(*COMPUTING, "step_time_s", "run_delay_time_s", "involuntary_switches"),
    *("cpu_user_time_s", "cpu_system_time_s"),
)

DELAYED = 0.05  # of the time outside of calls, waiting for a PU: less is what any machine does

OWN_CORES = (
    "Bind each rank to a core of its own: `mpirun --map-by core --bind-to core`, `srun --cpu-bind=cores`; "
    "`perfield placement --here` previews it."
)
MORE_CORES = "Start at most as many ranks as there are cores, or take more nodes."


def find(observed: Observed, worth: float = WORTH_REPORTING) -> Iterator[Finding]:
    """Yields a finding about ranks bound to a core with others, and one about other ranks without a PU of
    their own.

    Their cost is known only where cores are free, since nothing else would make the run shorter. worth : 0
    also yields them where they hardly waited for a PU. Where the kernel does not report that, they are always
    reported, since times of such ranks contain the scheduler, whatever it costs.
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
            f"Ranks {ranges(first)} share core {core} of {node.label}"
            f"{elsewhere(len(on_cores) - 1, 'core')}{f'; cores there without a rank: {free}' if free else ''}"
        )
        if worth <= 0 or _wait_for_pus(observed, bound):
            yield _finding(observed, bound, np.intersect1d(bound, crowded.ranks), words, n_free > 0)
    apart = np.setdiff1d(crowded.ranks, bound)
    if len(apart) and (worth <= 0 or _wait_for_pus(observed, apart)):
        few = crowded.words.replace(": times", ", so their times")
        words = f"Too few PUs for the ranks: {few}"
        yield _finding(observed, crowded.ranks, crowded.ranks, words, False)


def sees(observed: Observed) -> Sight:
    """Places are known exactly, where they are known."""
    return of_places(observed)


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


def _wait_for_pus(observed: Observed, ranks: np.ndarray) -> bool:
    """Whether these ranks waited for one another for 5 % of their steps or of their time outside of calls, or
    the kernel does not report it."""
    here = np.isin(observed.ranks, ranks)
    step_s, waited_s = observed.of("step_time_s")[:, here], observed.ready_s[:, here]
    is_ready = np.nansum(waited_s, dtype=float) >= DELAYED * np.nansum(step_s, dtype=float) > 0
    if is_ready and used_share(observed, ranks, ready=True) > 1:
        return True
    delayed_s, outside_s = observed.of("delayed_compute_time_s")[:, here], observed.outside_calls_s[:, here]
    if not np.isfinite(delayed_s).any():
        return True
    if not keep_busy(observed, ranks):
        return False
    return bool(np.nansum(delayed_s, dtype=float) >= DELAYED * np.nansum(outside_s) > 0)


def _without_pu(observed: Observed, ranks: np.ndarray) -> tuple[float | None, str]:
    """How much shorter the steps would be if these ranks had always had a PU, at most, and the cost in words.

    The kernel reports how long they were ready to run without a PU. That is no cost where a rank waits in MPI
    and leaves its PU to others, so it is only mentioned where what delayed computing is not known.
    """
    here = np.isin(observed.ranks, ranks)
    waited_s = observed.ready_s[:, here]
    step_s, delayed_s, taken = (
        observed.of(name)[:, here].astype(float)
        for name in ("step_time_s", "delayed_compute_time_s", "involuntary_switches")
    )
    lost = f"They lost their PU {times(round(float(np.nansum(taken))))}" if (taken > 0).any() else ""
    waited = float(np.nansum(waited_s))
    if waited <= 0:
        return None, f" {lost}." if lost else ""
    extra = np.zeros(observed.of("step_time_s").shape)
    extra[:, here] = np.nan_to_num(delayed_s)
    least, begin = float(extra.sum()), f" {lost}, and they waited" if lost else " They waited"
    one = "one" if lost else "a PU"
    if least <= 0:
        share = in_percent(waited / float(np.nansum(step_s)))
        words = f"{begin} {in_seconds(waited)} for {one}, {share} of their steps, waiting in MPI included"
        return None, f"{words}; whether this delayed computing is not known."
    outside_s = float(np.nansum(observed.outside_calls_s[:, here]))
    share = in_percent(least / outside_s)
    words = f"{begin} {in_seconds(least)} for {one}, {share} of their time outside MPI and files"
    others = "" if keep_busy(observed, ranks) else "; other processes used these PUs, too"
    return shorter_s(observed, extra), f"{words}{others}."
