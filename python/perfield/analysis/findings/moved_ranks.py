# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that move between cores, and ranks that compute far from where they began, and from their memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.distributions import chance_of_larger
from perfield.analysis.findings.finding import CONSEQUENCES, WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.placed import (
    crowded,
    disturbed,
    hosts_of,
    part_of,
    rank_ranges,
    shorter_s,
    times,
)
from perfield.analysis.findings.sight import Sight, of_places
from perfield.analysis.observed import Observed
from perfield.text import in_percent, in_seconds, start

QUESTION = "Do ranks move between cores or memories?"
KINDS = ("moved ranks", "far memory", "moved threads")
EXPLAINS = dict.fromkeys(("moved ranks", "far memory"), CONSEQUENCES)
NEEDS = ("pu_id", "steps")
LIKES = (
    *("compute_time_s", "cpu_user_time_s", "cpu_system_time_s", "involuntary_switches"),
    "<region>_cpu_migrations",
)
CHANCE = 1e-3
FEWEST = 5  # steps here and there, to compare them

BIND = "Bind each rank: `mpirun --bind-to core`, `srun --cpu-bind=cores`"


def find(observed: Observed, worth: float = WORTH_REPORTING) -> Iterator[Finding]:
    """Yields findings about moves, and about ranks whose steps on another NUMA domain are longer.

    worth : the least share of the run's time that moves must cost. 0 also reports moves without a known
    cost.
    """
    if observed.placement is None:
        return
    yield from _far_memory(observed, worth)
    yield from _moved(observed, worth)
    if worth <= 0:
        yield from _moved_threads(observed)


def sees(observed: Observed) -> Sight:
    """Places are known exactly, where they are known; not what moves cost where others take the PUs."""
    placement = observed.placement
    if placement is not None:
        moves = _moves_of_cores(observed)
        if moves.any() and not (moves & _undisturbed(observed)).any():
            return Sight(
                "Others take the PUs of the ranks that move, so what moves alone cost is unknown.", False
            )
    return of_places(observed)


def _moved(observed: Observed, worth: float) -> Iterator[Finding]:
    placement = observed.placement
    assert placement is not None
    pu_id = observed.by_rank("pu_id")
    core, numa, package = (part_of(placement, pu_id, level) for level in ("core", "numa", "package"))
    moves = _changes(core)
    movers = np.flatnonzero(moves.any(axis=0))
    if not len(movers):
        return
    between = [
        f"{int(changes.sum()):,} of them between {name}"
        for changes, name in ((_changes(package), "packages"), (_changes(numa), "NUMA domains"))
        if changes.any()
    ]
    behind = "; memory that they touched before stays in the other domain" if _changes(numa).any() else ""
    counted = moves[:, observed.ranks]
    if worth > 0:  # where PUs are taken from ranks, the scheduler moves them; both have one cause
        counted = counted & _undisturbed(observed)
    saved_s, chance, cost = _cost_of_moves(observed, counted)
    if worth > 0 and (saved_s is None or saved_s < worth * observed.elapsed_s):
        return
    yield Finding(
        kind="moved ranks",
        words=f"{start(rank_ranges(movers))} moved between cores, {times(int(moves.sum()))} in "
        f"{observed.n_program_steps:,} steps{''.join(f', {text}' for text in between)}{behind}. {cost}",
        saved_s=saved_s,
        remedy=f"{BIND}.",
        picture=Picture("heat_map", "pu_id"),
        ranks=movers,
        chance=chance,
    )


def _cost_of_moves(observed: Observed, moves: np.ndarray) -> tuple[float | None, float | None, str]:
    """Compute time of steps after which a rank sat elsewhere, beyond the median of its other steps: how much
    shorter steps would be without, the probability of chance, and words."""
    compute_s = observed.of("compute_time_s").astype(float)
    has_moved = np.zeros(compute_s.shape, bool)
    has_moved[1:] = moves
    stayed = np.where(has_moved, np.nan, compute_s)
    usable = np.isfinite(stayed).sum(axis=0) >= 3
    if not (has_moved & np.isfinite(compute_s))[:, usable].any():
        return None, None, "Too few steps are known to estimate its cost."
    beyond = np.full(compute_s.shape, np.nan)
    typical = np.nanmedian(stayed[:, usable], axis=0)
    beyond[:, usable] = compute_s[:, usable] - typical
    relative = beyond[:, usable] / np.where(typical > 0, typical, 1.0)
    with_move, without = (
        relative[chosen & np.isfinite(relative)] for chosen in (has_moved[:, usable], ~has_moved[:, usable])
    )
    chance = chance_of_larger(with_move, without)
    if chance > CHANCE:
        return None, None, "Steps with a move were not longer than others, beyond chance."
    counted = has_moved & np.isfinite(beyond)
    extra = float(beyond[counted].sum())
    if extra <= 0:
        return None, None, "Steps with a move were not longer than others."
    n_moves = int(counted.sum())
    steps = "The step with a move" if n_moves == 1 else f"The {n_moves:,} steps with a move together"
    words = f"{steps} computed {in_seconds(extra)} longer than median steps without."
    return shorter_s(observed, np.where(counted, beyond, 0.0)), chance, words


def _far_memory(observed: Observed, worth: float) -> Iterator[Finding]:
    """Ranks that compute longer while they sit on another NUMA domain than at the beginning, where Linux
    placed the memory that they touched first."""
    placement = observed.placement
    assert placement is not None
    numa = part_of(placement, observed.by_rank("pu_id"), "numa")[:, observed.ranks]
    compute = observed.of("compute_time_s").astype(float)
    known = np.isfinite(numa) & (compute > 0)
    if not known.any():
        return
    home = numa[known.argmax(axis=0), np.arange(numa.shape[1])]
    away = known & (numa != home)
    typical = np.ones(len(compute))
    if compute.shape[1] > 2:  # what makes the steps of all ranks longer is no memory that is far
        typical = np.nanmedian(np.where(np.isfinite(compute), compute, 0.0), axis=1)
        typical = np.where(typical > 0, typical, 1.0)
    relative = compute / typical[:, None]
    extra, chances = np.zeros(compute.shape), {}
    for column in np.flatnonzero(away.sum(axis=0) >= FEWEST).tolist():
        there, here = away[:, column], (known & ~away)[:, column]
        if int(here.sum()) < FEWEST:
            continue
        chance = chance_of_larger(relative[there, column], relative[here, column]) * compute.shape[1]
        if chance > CHANCE:
            continue
        chances[column] = chance
        longer = compute[:, column] - np.median(relative[here, column]) * typical
        extra[there, column] = longer[there]
    far = np.array(sorted(chances), np.int64)
    saved_s = shorter_s(observed, extra)
    if not len(far) or saved_s <= 0 or saved_s < worth * observed.elapsed_s:
        return
    most = far[extra[:, far].sum(axis=0).argmax()]
    there = away[:, most]
    typical_s = float(compute[there, most].sum() - extra[there, most].sum())
    ranks = observed.ranks[far]
    yield Finding(
        kind="far memory",
        words=f"{start(rank_ranges(ranks))} moved to another NUMA domain than that where "
        f"{'it began, and its' if len(far) == 1 else 'they began, and their'} memory stayed behind: rank "
        f"{observed.ranks[most]} spent {in_percent(there.mean())} of the steps there and computed "
        f"{in_percent(extra[there, most].sum() / typical_s)} longer in these.",
        saved_s=saved_s,
        remedy=f"{BIND}, so that each rank stays near the memory that it touches first.",
        picture=Picture("heat_map", "pu_id"),
        ranks=ranks,
        hosts=hosts_of(placement, ranks),
        chance=max(chances.values()),
    )


def _moved_threads(observed: Observed) -> Iterator[Finding]:
    of_regions = observed.of_regions("<region>_cpu_migrations")
    if not of_regions:
        return
    # Regions nest, so the one with most holds the others' moves.
    moves = np.max([np.nansum(table, axis=0) for table in of_regions.values()], axis=0)
    movers = np.flatnonzero(moves > 0)
    if len(movers):
        who, count = rank_ranges(observed.ranks[movers]), round(float(moves[movers].sum()))
        yield Finding(
            kind="moved threads",
            words=f"Threads of {who} moved to another PU, {times(count)}. This run does not show its cost.",
            saved_s=None,
            remedy="Bind the threads: OMP_PROC_BIND=close and OMP_PLACES=cores.",
            picture=Picture("machine", "compute_time_s"),
            ranks=observed.ranks[movers],
        )


def _moves_of_cores(observed: Observed) -> np.ndarray:
    """bool (n_rows - 1, n_columns), whether a rank changed its core since the row before."""
    assert observed.placement is not None
    core = part_of(observed.placement, observed.by_rank("pu_id"), "core")
    return _changes(core)[:, observed.ranks]


def _undisturbed(observed: Observed) -> np.ndarray:
    """bool (n_columns,), the ranks that neither share PUs nor lose them to others often."""
    assert observed.placement is not None
    return ~crowded(observed.placement)[observed.ranks] & ~disturbed(observed)


def _changes(part: np.ndarray) -> np.ndarray:
    """(n_rows - 1, n_ranks) whether the part differs from that of the row before."""
    return (part[1:] != part[:-1]) & np.isfinite(part[1:]) & np.isfinite(part[:-1])
