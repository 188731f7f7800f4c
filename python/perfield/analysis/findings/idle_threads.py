# SPDX-License-Identifier: BSD-3-Clause
"""Threads that have no work while others of their rank compute, and threads without PUs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.placed import disturbed, hosts_of, on_each_node, rank_ranges, shorter_s
from perfield.analysis.observed import Observed
from perfield.text import start

QUESTION = "Do threads have no work while others compute?"
KINDS = ("idle threads", "more threads than PUs")
NEEDS = ("<region>_thread_count",)
LIKES = (
    *("<region>_time_s", "<region>_thread_mean_time_s", "<region>_thread_imbalance"),
    *("compute_time_s", "step_time_s"),
    *("cpu_user_time_s", "cpu_system_time_s", "involuntary_switches"),
)
OFTEN = 0.25  # quantile: in three steps of four the threads differ at least so much
UNEQUAL = 1.1  # longest thread over the mean of all
MOST_OF_IT = 0.75  # of what the costliest region costs, in the innermost one that is named
LEAST_IDLE = 0.4  # of the threads' time in computing


def find(observed: Observed, worth: float = WORTH_REPORTING) -> Iterator[Finding]:
    """Yields findings about ranks with more threads than PUs, and about threads that have no work.

    worth : the least share of the run's time that idle threads must cost.
    """
    counts = observed.of_regions("<region>_thread_count")
    if not counts:
        return
    n_threads = np.nan_to_num(np.nanmax(np.stack([_most(table) for table in counts.values()]), axis=0))
    many = _more_than_pus(observed, n_threads)
    if many is not None:
        yield many
    free = _have_pus(observed, n_threads)
    found = [each for each in (_unequal(observed, counts, free), _unused(observed, n_threads, free)) if each]
    costliest = max(found, key=lambda each: each.saved_s or 0.0, default=None)
    if (
        costliest is not None
        and (costliest.saved_s or 0.0) >= max(worth, WORTH_REPORTING) * observed.elapsed_s
    ):
        yield costliest


def _most(table: np.ndarray) -> np.ndarray:
    """The largest value of each rank, NaN where it has none."""
    return np.fmax.reduce(table, axis=0)


def _more_than_pus(observed: Observed, n_threads: np.ndarray) -> Finding | None:
    placement = observed.placement
    if placement is None:
        return None
    n_pus = placement.n_pus[observed.ranks]
    many = np.flatnonzero((n_pus > 0) & (n_threads > n_pus))
    if not len(many):
        return None
    worst = many[np.argmax(n_threads[many] / n_pus[many])]
    pus = "1 PU" if n_pus[worst] == 1 else f"{n_pus[worst]} PUs"
    ranks = observed.ranks[many]
    return Finding(
        kind="more threads than PUs",
        words=f"{start(rank_ranges(ranks))}: more threads than PUs (rank {observed.ranks[worst]}: "
        f"{int(n_threads[worst])} threads in one region, {pus}). This run does not show its cost.",
        saved_s=None,
        remedy="Give each rank as many cores as it has threads: `mpirun --map-by slot:PE=4 --bind-to core`, "
        "`srun --cpus-per-task=4`; or set OMP_NUM_THREADS.",
        picture=Picture("machine", "involuntary_switches"),
        ranks=ranks,
        hosts=hosts_of(placement, ranks),
    )


def _have_pus(observed: Observed, n_threads: np.ndarray) -> np.ndarray:
    """bool (n_columns,), the ranks whose node has a PU for each thread of all its ranks; where it has not,
    the scheduler makes threads wait."""
    placement = observed.placement
    if placement is None:
        return np.ones(len(observed.ranks), bool)
    threads = np.ones(placement.n_ranks)
    threads[observed.ranks] = np.maximum(n_threads, 1)
    free = np.zeros(placement.n_ranks, bool)
    for node, ranks in on_each_node(placement):
        enough = threads[ranks].sum() <= len(node.machine.level("pu"))
        free[ranks] = enough & (placement.n_pus[ranks] >= threads[ranks])
    return free[observed.ranks]


def _unequal(observed: Observed, counts: dict[str, np.ndarray], free: np.ndarray) -> Finding | None:
    """The costliest region whose threads take unequally long, step after step."""
    uneven = []
    for stem, count in counts.items():
        longest, mean = observed.of(f"{stem}_time_s"), observed.of(f"{stem}_thread_mean_time_s")
        shared = (count > 1) & (mean > 0) & free
        ratio = np.where(shared, longest / np.where(shared, mean, 1.0), np.nan)
        usable = np.flatnonzero(shared.mean(axis=0) > 0.5)
        steady = usable[np.nanquantile(ratio[:, usable], OFTEN, axis=0) >= UNEQUAL] if len(usable) else usable
        if len(steady):
            extra = np.zeros(longest.shape)
            extra[:, steady] = np.where(shared, longest - mean, 0.0)[:, steady].astype(float)
            time_s = float(np.nansum(longest))
            uneven.append((shorter_s(observed, extra), time_s, stem, steady, ratio))
    if not uneven:
        return None
    most = max(saved_s for saved_s, *_ in uneven)
    inner = (each for each in uneven if each[0] >= MOST_OF_IT * most)
    saved_s, _, stem, steady, ratio = min(inner, key=lambda each: each[1])
    worst = steady[np.nanmedian(ratio[:, steady], axis=0).argmax()]
    n_threads = int(np.nanmax(counts[stem][:, worst]))
    times_mean = float(np.nanmedian(ratio[:, worst]))
    ranks = observed.ranks[steady]
    on = f", on {rank_ranges(ranks)}" if len(ranks) > 1 else ""
    return Finding(
        kind="idle threads",
        words=f"In {observed.regions[stem]} threads wait for the longest of them{on}: of the {n_threads} "
        f"threads of rank {observed.ranks[worst]}, it takes {times_mean:.3g} times as long as their mean.",
        saved_s=saved_s,
        remedy="Divide the work of the loop differently: schedule(dynamic) or schedule(guided), smaller "
        "tasks, or equal chunks.",
        picture=Picture("heat_map", f"{stem}_thread_imbalance"),
        ranks=ranks,
        regions=(observed.regions[stem],),
    )


def _unused(observed: Observed, n_threads: np.ndarray, free: np.ndarray) -> Finding | None:
    """Ranks that compute with few of their threads: their CPU time bounds how many were busy."""
    compute, user, system = (
        observed.of(name).astype(float) for name in ("compute_time_s", "cpu_user_time_s", "cpu_system_time_s")
    )
    cpu = user + system
    total, used = np.nansum(compute, axis=0), np.nansum(cpu, axis=0)
    known = free & (n_threads > 1) & (total > 0) & (used > 0) & ~disturbed(observed)
    busy = np.divide(used, total, out=np.ones(len(used)), where=total > 0)
    idle = 1 - busy / np.maximum(n_threads, 1)
    few = np.flatnonzero(known & (idle >= LEAST_IDLE))
    if not len(few):
        return None
    extra = np.zeros(compute.shape)
    extra[:, few] = np.clip(compute[:, few] - cpu[:, few] / n_threads[few], 0, None)
    saved_s = shorter_s(observed, extra)
    worst = few[idle[few].argmax()]
    ranks = observed.ranks[few]
    return Finding(
        kind="idle threads",
        words=f"Threads of {rank_ranges(ranks)} have no work: the {int(n_threads[worst])} threads of rank "
        f"{observed.ranks[worst]} keep {busy[worst]:.2g} PUs busy while it computes.",
        saved_s=saved_s,
        remedy="Share more of the loops among the threads, the longest first; or start fewer threads and "
        "more ranks.",
        picture=Picture("heat_map", "cpu_user_time_s"),
        ranks=ranks,
    )
