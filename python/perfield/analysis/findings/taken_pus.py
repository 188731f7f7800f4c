# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that waited for a PU that no other rank may use: a CPU quota, other processes, a hypervisor."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import LATE, OF_SLOW_STEPS, WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.placed import (
    crowded,
    hosts_of,
    keep_busy,
    rank_ranges,
    shorter_s,
    used_share,
)
from perfield.analysis.observed import COMPUTING, Observed
from perfield.text import in_percent, in_seconds

QUESTION = "Does something else take PUs from ranks?"
KINDS = ("taken PUs",)
EXPLAINS = {"taken PUs": frozenset(LATE)}  # compute time is without waiting for a PU, so no difference of it
EXPLAINS_ALL = {"taken PUs": OF_SLOW_STEPS}
NEEDS = ("compute_time_s",)
LIKES = (
    *COMPUTING,
    "cpu_user_time_s",
    "cpu_system_time_s",
    "step_time_s",
    "run_delay_time_s",
    "throttled_time_s",
    "stolen_time_s",
)
READY = 0.05  # of the steps without a PU: less is what any machine does
MOSTLY = 0.5  # of the wait for a PU, to name its cause; of the largest share of a rank, to name others

QUOTA = (
    "Raise the quota to as many PUs as the ranks in that control group use (Kubernetes: limits.cpu; Docker: "
    "--cpus; Slurm: --cpus-per-task), or start fewer ranks in it."
)
OTHERS = (
    "Look for other processes on these nodes (top; ps -eLo psr,pcpu,comm), and ask for whole nodes (srun "
    "--exclusive); give each rank as many cores as it has threads, and leave one to the system."
)
HYPERVISOR = "Ask for virtual machines with PUs of their own (pinned, not overcommitted), or use other hosts."


def find(observed: Observed, worth: float = WORTH_REPORTING) -> Iterator[Finding]:
    """Yields a finding about ranks that waited for a PU, and one about PUs that a hypervisor took.

    worth : the least share of the run's time that this must cost. Ranks that share PUs with one another, and
    keep these busy, are left to the finding about these. Where waiting for a PU may all lie in MPI calls, its
    cost is not known.
    """
    delayed_s = np.nan_to_num(observed.of("delayed_compute_time_s").astype(float))
    is_asked = np.ones(len(observed.ranks), dtype=bool)
    if observed.placement is not None:
        shared = crowded(observed.placement)
        if keep_busy(observed, np.flatnonzero(shared)):
            is_asked = ~shared[observed.ranks]
    delayed_s[:, ~is_asked] = 0.0
    throttled_s, waited_s = (
        np.nansum(observed.of(name), axis=0, dtype=float) for name in ("throttled_time_s", "run_delay_time_s")
    )
    by_quota = (throttled_s > 0) & (throttled_s >= MOSTLY * waited_s)
    costly = [
        found
        for part in (by_quota, ~by_quota)
        for found in _finding(observed, np.where(part, delayed_s, 0.0), worth, _waited)
    ]
    yield from costly or _ready(observed, is_asked & ~by_quota)
    stolen_s = np.nan_to_num(observed.of("stolen_time_s").astype(float))
    yield from _finding(
        observed, np.minimum(stolen_s, np.nan_to_num(observed.of("compute_time_s"))), worth, _stolen
    )


def _finding(observed: Observed, lost_s: np.ndarray, worth: float, describe) -> Iterator[Finding]:
    """The finding about time outside of calls that is lost, (n_rows, n_columns), on the ranks with most."""
    compute_s = np.nansum(observed.outside_calls_s, axis=0)
    share = lost_s.sum(axis=0) / np.where(compute_s > 0, compute_s, np.inf)
    saved_s = shorter_s(observed, lost_s)
    if lost_s.sum() <= 0 or saved_s < worth * observed.elapsed_s:
        return
    columns = np.flatnonzero(share >= MOSTLY * share.max())
    ranks = observed.ranks[columns]
    words, remedy, field = describe(observed, columns, float(lost_s[:, columns].sum()))
    of_compute = in_percent(lost_s[:, columns].sum() / compute_s[columns].sum())
    yield Finding(
        kind="taken PUs",
        words=words.format(ranks=rank_ranges(ranks), share=of_compute),
        saved_s=saved_s,
        remedy=remedy,
        picture=Picture("machine", field),
        ranks=ranks,
        hosts=hosts_of(observed.placement, ranks) if observed.placement is not None else (),
    )


def _ready(observed: Observed, is_asked: np.ndarray) -> Iterator[Finding]:
    """The finding about ranks that were ready to run without a PU, maybe only in MPI calls."""
    waited_s = np.nansum(observed.ready_s, axis=0)
    step_s = np.nansum(observed.of("step_time_s"), axis=0, dtype=float)
    columns = np.flatnonzero(is_asked & (waited_s >= READY * step_s) & (step_s > 0))
    ranks = observed.ranks[columns]
    share = used_share(observed, ranks)
    if not share < 1:
        return
    took, taken_s = float(waited_s[columns].sum()), float(step_s[columns].sum())
    who = "it was" if len(columns) == 1 else "they were"
    yield Finding(
        kind="taken PUs",
        words=(
            f"Other processes took PUs from {rank_ranges(ranks)}: {who} ready to run without one for "
            f"{in_seconds(took)}, {in_percent(took / taken_s)} of {_whose(columns)} steps, and used "
            f"{in_percent(share)} of the CPU time of {_whose(columns)} PUs. What that costs is not known, as "
            "it may lie in MPI calls that wait anyway."
        ),
        saved_s=None,
        remedy=OTHERS,
        picture=Picture("machine", "run_delay_time_s"),
        ranks=ranks,
        hosts=hosts_of(observed.placement, ranks) if observed.placement is not None else (),
    )


def _waited(observed: Observed, columns: np.ndarray, lost_s: float) -> tuple[str, str, str]:
    who = "it" if len(columns) == 1 else "they"
    waited = (
        f"waited {in_seconds(lost_s)} for a PU, {{share}} of {_whose(columns)} time outside MPI and files"
    )
    waited_s, throttled_s = (
        float(np.nansum(observed.of(name)[:, columns], dtype=float))
        for name in ("run_delay_time_s", "throttled_time_s")
    )
    if throttled_s >= MOSTLY * waited_s:
        group = "its control group" if len(columns) == 1 else "their control groups"
        return (
            f"A CPU quota stopped {{ranks}}: {who} {waited}, and the quota kept {group} from running for "
            f"{in_seconds(throttled_s)}.",
            QUOTA,
            "throttled_time_s",
        )
    placement = observed.placement
    if placement is not None and crowded(placement)[observed.ranks[columns]].any():
        return (
            f"Other processes took PUs from {{ranks}}: {who} {waited}, and used less than half of the CPU "
            f"time of {_whose(columns)} PUs.{_in_calls(observed, columns, lost_s)}",
            OTHERS,
            "run_delay_time_s",
        )
    return (
        f"Other processes, or more threads than PUs, took PUs from {{ranks}}: {who} {waited}, and no other "
        f"rank shares these PUs.{_in_calls(observed, columns, lost_s)}",
        OTHERS,
        "run_delay_time_s",
    )


def _in_calls(observed: Observed, columns: np.ndarray, lost_s: float) -> str:
    """That these ranks waited longer for a PU in calls than outside them, if they did."""
    all_s = float(np.nansum(observed.ready_s[:, columns]))
    step_s = float(np.nansum(observed.of("step_time_s")[:, columns], dtype=float))
    if not all_s > max(2 * lost_s, READY * step_s):
        return ""
    whose, who = _whose(columns), "it was" if len(columns) == 1 else "they were"
    return (
        f" With {whose} MPI calls, {who} ready to run without one for {in_seconds(all_s)}, "
        f"{in_percent(all_s / step_s)} of {whose} steps; what that costs is not known."
    )


def _whose(columns: np.ndarray) -> str:
    """The possessive of one rank or of several."""
    return "its" if len(columns) == 1 else "their"


def _stolen(observed: Observed, columns: np.ndarray, lost_s: float) -> tuple[str, str, str]:
    words = (
        f"The hypervisor took PUs of {{ranks}} for {in_seconds(lost_s)}, {{share}} of {_whose(columns)} time "
        "outside MPI and files, to run something else."
    )
    return words, HYPERVISOR, "stolen_time_s"
