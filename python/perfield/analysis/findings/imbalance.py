# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that compute longer than others, and why: the line `imbalance` of the summary, in sentences.

Slow nodes (`slow_nodes.py`) and groups of ranks (`imbalance_place.py`) are questions of their own.
Where they explain the imbalance, this is silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from perfield.analysis.chance import Differences, Turn, differences
from perfield.analysis.explanation import explanation
from perfield.analysis.findings.finding import ONE_STEP, WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.sight import Sight, of_ranks
from perfield.analysis.imbalance import (
    FIELDS,
    OF_REGIONS,
    Imbalance,
    UnevenRegion,
    compute_time_in,
    counts_of,
    imbalance_to_report,
)
from perfield.analysis.observed import Observed
from perfield.analysis.places import is_of_slow_nodes
from perfield.analysis.trends import trend
from perfield.text import counted, in_list, in_number, in_percent, in_ranks, in_seconds, part_of, start

QUESTION = "Do some ranks compute longer than others, and why?"
KINDS = (
    "imbalance by cells",
    "imbalance by cost per cell",
    "imbalance",
    "imbalance that moves",
    "rank that all wait for",
)
ANSWERED_BY = (
    "imbalance follows the machine",
    "imbalance follows the mesh",
    "imbalance of a group",
    "slow node",
    "slow switch",
)
NEEDS = ("compute_time_s",)
CALLS_ON_FILES = ("io_read_count", "io_write_count")
LIKES = (*FIELDS, "waiting_time_s", *OF_REGIONS, *CALLS_ON_FILES, "functions")

NEARLY_NOTHING = 0.1  # of the slowest rank's time in a region: what others compute there, if it works alone
MOSTLY = 0.6  # of its excess must lie in such regions
NEARLY_ALL = 0.9  # of the calls on files
OF_SHARED_CORE = 2.0  # times as long, at most, takes who shares a core's two hardware threads
MANY_CALLS = 100  # on files, of one rank in a step: writing the numbers takes time, which counts as computing
CELLS_GIVE_MOST = 0.5  # of what ranks compute more than the mean, where numbers of cells would give that
GROWS = 1.5  # times what they have above the mean at the begin, which they have at the end
CHANCE = 0.001  # that it grows so steadily by chance
MOST_TURNS = 5  # of ranks that are slowest one after the other, that are named
MOST_FUNCTIONS = 2  # that are named
WORTH_NAMING = 0.1  # of what the slowest ranks compute longer: the least in a function
SURE = 3  # standard deviations of the number of samples
WAITING = ("MPI library", "sched_yield")  # functions that run while a rank waits, which is no computing
OF_THE_MESH = ("cells", "points", "ghost_cells")
CAUSE_IN_WORDS = {
    "cells": "cell counts",
    "points": "numbers of points",
    "ghost_cells": "numbers of ghost cells",
    "sent_bytes": "bytes sent",
}

BY_CELLS = (
    "Divide the mesh so that every rank gets equally many: repartition it (decomposePar with scotch, METIS), "
    "and look at the weights that the partitioner was given."
)
BY_BYTES = (
    "Ranks that send more usually have more cells or particles: divide these evenly (LAMMPS: fix balance; "
    "GROMACS: -dlb yes). Describe the mesh to perfield, so that it can check whether cells explain this."
)
BY_COST = (
    "Give the partitioner the measured cost of cells as weights (perfield balance writes them), or look for "
    "what makes them cost more there: iterations, chemistry, boundary conditions, work that others do not do."
)
BY_FILES = (
    "Look at how this rank prepares output, which counts as computing: write less often, or more at once "
    "(a larger buffer, binary instead of text); or share this work with other ranks."
)
BY_COUNT = (
    "Look for what makes {region} run more often on these ranks: their part of the mesh (more cells, zones, "
    "boundaries), iterations until convergence, work that others do not get; divide by that work."
)
UNEXPLAINED = (
    "See in which functions the difference lies (perfield run --sample); describe the mesh to perfield, so "
    "that it can check whether cells explain it."
)
UNEXPLAINED_IN_FUNCTIONS = (
    "Look at the functions in which the difference lies (perfield info --functions); describe the mesh to "
    "perfield, so that it can check whether cells explain it."
)
MOVING = (
    "Move cells between ranks while the program runs (dynamic load balancing), or divide the mesh so that "
    "every rank has a part of where the work goes."
)
GROWING = (
    "Look for what grows on these ranks from step to step (particles, cells, lists), and divide it again "
    "while the program runs (dynamic load balancing)."
)
COMING_BACK = (
    "Look for what the program does again after so many steps, and on which rank: work that is dealt out in "
    "turn, output, a solver that changes its direction. Give each of these steps to all ranks."
)
LIGHT = (
    "Give these ranks as much work as the others have. If one only hands out work, nothing is wrong: start "
    "one rank more than there are cores, or let it compute, too."
)
ALONE = (
    "Spread this work over all ranks (perfield balance writes weights, if cells cause it), do it less often, "
    "or let the others compute meanwhile."
)


class Why(NamedTuple):
    """Why the same ranks are slowest. words : end the sentence that names them. shown : kind of picture; ""
    for the default one."""

    kind: str
    words: str
    remedy: str
    shown: str = ""


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the imbalance of compute time, if it is beyond chance."""
    uneven = imbalance_to_report(observed, WORTH_REPORTING)
    if uneven is None:
        return
    imbalance, regions = uneven
    if imbalance.found.pattern == "moving":
        yield _moving(observed, imbalance, regions)
        return
    if is_of_slow_nodes(observed, imbalance):
        return
    explained = imbalance.explained.cause is not None
    alone = _worked_alone(observed, imbalance, regions)
    if alone:
        yield fixed(observed, imbalance, alone, _alone(observed, imbalance, alone))
    elif explained or imbalance.group is None:
        yield fixed(observed, imbalance, regions, why(observed, imbalance))


def sees(observed: Observed) -> Sight:
    """How much longer a rank would have to compute to be found; not proven where one computes longer still,
    in all steps together, as a few of them may make that."""
    table = observed.of("compute_time_s")
    seen = of_ranks(observed, table, "computes")
    if not seen.is_enough or len(observed.ranks) < 2:
        return seen
    compute = np.nan_to_num(table.astype(float))
    column = int(compute.sum(axis=0).argmax())
    others = np.median(np.delete(compute, column, axis=1), axis=1)  # a rank without work is no measure
    excess = compute[:, column] - others
    is_seldom = np.median(excess) < excess.mean() / 2
    costs = excess.sum() >= WORTH_REPORTING * observed.elapsed_s
    if not (costs and is_seldom and excess.sum() > differences(table).visible * others.sum()):
        return seen
    longer = in_percent(excess.sum() / others.sum())
    return Sight(
        f"Rank {observed.ranks[column]} computes {longer} longer than the others in all steps together, but "
        f"in a few steps alone, which may be chance. {seen.words}",
        False,
    )


def _moving(observed: Observed, imbalance: Imbalance, regions: Sequence[UnevenRegion]) -> Finding:
    found = imbalance.found
    each = f", for {found.stay:.0f} steps on average" if found.stay >= 1.5 else ""
    columns = list(dict.fromkeys(turn.column for turn in found.turns))
    are_some = len(columns) < len(observed.ranks)
    return Finding(
        kind="imbalance that moves",
        words=f"The slowest rank changes, but not by chance: {found.n_in_turn} of {len(observed.ranks)} "
        f"ranks are slowest in turn{each}, and compute {found.ratio:.3g} times as long as the mean"
        f"{_inside(imbalance)}{_apart_from_waits(observed)}"
        f"{_explained(observed, imbalance) if imbalance.explained.cause else ''}."
        f"{_turns(observed, found.turns)}{_again(imbalance)}{_where(imbalance, regions)}",
        saved_s=found.saved,
        remedy=COMING_BACK if found.period else MOVING,
        picture=Picture("heat_map", _field(observed, imbalance, regions)),
        ranks=np.sort(observed.ranks[columns]) if are_some else observed.ranks[:0],
        regions=tuple(region.name for region in regions),
        chance=found.chance,
        in_cpu_time=_is_in_cpu_time(observed),
    )


def _is_in_cpu_time(observed: Observed) -> bool:
    """Whether the slowest rank changes beyond chance in CPU time, too, by more than sharing a core makes."""
    found = differences(np.nan_to_num(observed.of("compute_cpu_time_s").astype(float)))
    return found.pattern == "moving" and found.ratio >= OF_SHARED_CORE


def _turns(observed: Observed, turns: Sequence[Turn]) -> str:
    """Which rank is slowest when, the first turns of many."""
    named = turns if len(turns) <= MOST_TURNS else turns[: MOST_TURNS - 1]
    single = observed.n_program_steps == len(observed.steps_in_row)  # so rows are the program's steps
    words = []
    for turn in named:
        first, last = np.searchsorted(observed.row, [turn.begin, turn.end]) - [0, 1]
        steps = f"steps {observed.label[first]} to {observed.label[last]}"
        hits = f" ({turn.n_most:,} of {turn.end - turn.begin:,})" if single else ""
        words.append(f"rank {observed.ranks[turn.column]}{'' if words else ' is slowest'} in {steps}{hits}")
    more = len(turns) - len(named)
    rest = f", and so on in {more:,} more turns" if more else ""
    return f" {start(', then '.join(words))}{rest}." if words else ""


def _again(imbalance: Imbalance) -> str:
    """After how many steps the same ranks are slowest again, if that is what was tested."""
    period, order = imbalance.found.period, imbalance.compute.argmax(axis=1)
    if not period:
        return ""
    again = order[period:] == order[:-period]
    return (
        f" It alternates: the slowest rank is the same as {counted(period, 'step')} before in "
        f"{again.sum():,} of {counted(len(again), 'step')}."
    )


def fixed(observed: Observed, imbalance: Imbalance, regions: Sequence[UnevenRegion], reason: Why) -> Finding:
    """The finding about an imbalance whose ranks stay the same."""
    if 2 * len(imbalance.columns) > len(observed.ranks) and imbalance.group is None:
        return _light(observed, imbalance, regions)
    ranks = observed.ranks[imbalance.columns]
    hosts = _hosts(observed, ranks)
    where = f" on {'host' if len(hosts) == 1 else 'hosts'} {in_list(hosts)}" if hosts else ""
    shown = "mesh" if observed.has("cells") else "heat_map"
    (region, by_counts), grows = _counted(observed, imbalance, regions), _grows(imbalance)
    remedy = GROWING if grows and reason.remedy in (UNEXPLAINED, UNEXPLAINED_IN_FUNCTIONS) else reason.remedy
    return Finding(
        kind=reason.kind,
        words=f"{_who(observed, imbalance, where)}{_in_most_steps(observed, imbalance)}"
        f"{_apart_from_waits(observed)}{reason.words}.{_slowest(observed, imbalance)}{grows}"
        f"{_others_wait(observed, imbalance)}{_where(imbalance, regions)}"
        f"{_functions(observed, imbalance)}{by_counts}",
        saved_s=imbalance.found.saved,
        remedy=BY_COUNT.format(region=region) if region else remedy,
        picture=Picture(reason.shown or shown, _field(observed, imbalance, regions)),
        ranks=ranks,
        regions=tuple(region.name for region in regions),
        hosts=hosts,
        **proof(imbalance.found),
    )


def _light(observed: Observed, imbalance: Imbalance, regions: Sequence[UnevenRegion]) -> Finding:
    """The finding where most ranks would be named as slowest: it names the others, which compute least."""
    columns = np.setdiff1d(np.arange(len(observed.ranks)), imbalance.columns)
    ranks, of_rank = observed.ranks[columns], imbalance.compute.sum(axis=0)
    share = of_rank[columns].mean() / of_rank[imbalance.columns].mean()
    cause = imbalance.explained.cause
    one = len(ranks) == 1
    return Finding(
        kind="imbalance by cells" if cause in OF_THE_MESH else "imbalance",
        words=f"{start(in_ranks(ranks))} {'computes' if one else 'compute'} {in_percent(share)} of what the "
        f"other ranks do on average{_inside(imbalance)}{_apart_from_waits(observed)}"
        f"{_explained(observed, imbalance) if cause else ''}.{_where(imbalance, regions)}",
        saved_s=imbalance.found.saved,
        remedy=BY_CELLS if cause in OF_THE_MESH else LIGHT,
        picture=Picture(
            "mesh" if observed.has("cells") else "heat_map", _field(observed, imbalance, regions)
        ),
        ranks=ranks,
        regions=tuple(region.name for region in regions),
        hosts=_hosts(observed, ranks),
        **proof(imbalance.found),
    )


def _who(observed: Observed, imbalance: Imbalance, where: str) -> str:
    """Who computes how much longer: a group than the others, else ranks than the mean."""
    ranks, group = observed.ranks[imbalance.columns], imbalance.group
    if group is None:
        return (
            f"{start(in_ranks(ranks))}{where} {'computes' if len(ranks) == 1 else 'compute'} "
            f"{imbalance.times_mean:.3g} times as long as the mean of all ranks{_inside(imbalance)}"
        )
    n_rows = len(imbalance.compute)
    single = n_rows == observed.n_program_steps > 1  # so rows are the program's steps
    steps = f" (longer on average in {group.n_longer:,} of {counted(n_rows, 'step')})" if single else ""
    return (
        f"The {group.words} ({in_ranks(ranks)}) compute {group.times:.3g} times as long as the others"
        f"{_inside(imbalance)}{steps}"
    )


def _slowest(observed: Observed, imbalance: Imbalance) -> str:
    """Those ranks of a group that are slower than the others of it."""
    if imbalance.group is None or len(imbalance.slowest) == len(imbalance.columns):
        return ""
    ranks = observed.ranks[list(imbalance.slowest)]
    return f" {start(in_ranks(ranks))} {'is' if len(ranks) == 1 else 'are'} slowest."


def why(observed: Observed, imbalance: Imbalance) -> Why:
    """Why: sizes of pieces, the cost of cells, or nothing that is known."""
    cause, cost = imbalance.explained.cause, imbalance.cost
    has = "it has" if len(imbalance.columns) == 1 else "each has"
    if cause:
        of_rank = observed.of(cause).astype(float).mean(axis=0)
        own, mean = of_rank[imbalance.columns].mean(), of_rank.mean()
        counts = f"{has} {own:,.6g}, the mean is {mean:,.6g}: {in_percent(own / mean - 1)} more"
        words = f"{_explained(observed, imbalance)} ({counts})"
        if cause in CAUSE_IN_WORDS:
            is_mesh = cause in OF_THE_MESH
            return Why(
                "imbalance by cells" if is_mesh else "imbalance", words, BY_CELLS if is_mesh else BY_BYTES
            )
        return Why("imbalance", words, BY_COUNT.format(region=_counted_region(observed, cause)))
    if cost is None:
        files = _calls_on_files(observed, imbalance)
        unexplained = UNEXPLAINED if observed.functions is None else UNEXPLAINED_IN_FUNCTIONS
        return Why("imbalance", files, BY_FILES if files else unexplained)
    others = "fewer" if cost.alone < 1 else "more"
    alone = f": {has} {in_percent(abs(cost.alone - 1))} {others} cells than the mean"
    if cost.may_explain:
        return Why("imbalance", f"{alone}, but two ranks are too few to test whether that is why", BY_CELLS)
    counts = f": {has} as many cells as others" if cost.are_alike else alone
    if cost.costs_more:
        return Why(
            "imbalance by cost per cell",
            f"{counts}, but each costs {cost.relative:.3g} times as much as on the other ranks",
            BY_COST,
        )
    if cost.are_alike:
        return Why("imbalance by cost per cell", counts, BY_COST)
    if cost.alone - 1 >= CELLS_GIVE_MOST * (imbalance.times_mean - 1):  # more cells, which cost no more
        return Why("imbalance", f"{counts}, which may be chance", BY_CELLS)
    return Why("imbalance", counts, BY_COST)


def proof(found: Differences) -> dict[str, Any]:
    """What a finding says on the test of the ranks that it names."""
    if found.pattern == "untested":
        return {"unproven": ONE_STEP}
    return {"chance": found.chance}


def _calls_on_files(observed: Observed, imbalance: Imbalance) -> str:
    """How many calls on files one of the slowest ranks makes, if it makes nearly all of them, and many."""
    calls = sum(np.nansum(observed.of(name), axis=0, dtype=float) for name in CALLS_ON_FILES)
    own = float(calls[imbalance.columns].sum())
    many = len(imbalance.columns) == 1 and own >= MANY_CALLS * observed.n_program_steps
    if not many or own < NEARLY_ALL * calls.sum():
        return ""
    return f": it also makes {part_of(own / calls.sum())} the {in_number(calls.sum())} calls on files"


def _explained(observed: Observed, imbalance: Imbalance) -> str:
    cause = imbalance.explained.cause or ""
    words = CAUSE_IN_WORDS.get(cause) or f"calls of {_counted_region(observed, cause)}"
    return f": {words} explain a factor of {imbalance.explained.imbalance:.3g}"


def _apart_from_waits(observed: Observed) -> str:
    """Says that what ranks waited for a PU is no part of the compute time, where they did."""
    return ", apart from waiting for a PU" if observed.has_delays else ""


def _in_most_steps(observed: Observed, imbalance: Imbalance) -> str:
    """Says that it is so in most steps, where few steps in which other ranks are slowest add more."""
    if not imbalance.found.in_most_steps:
        return ""
    n_steps = len(imbalance.compute)
    one = len(imbalance.columns) == 1
    return (
        f" in most steps ({'it is' if one else 'they are'} slowest in {imbalance.found.n_most:,} of "
        f"{counted(n_steps, 'step')}; a few steps of other ranks are far longer)"
    )


def _grows(imbalance: Imbalance) -> str:
    """Says that what these ranks compute longer grows from the run's begin to its end, if it does."""
    mean = imbalance.compute.mean(axis=1)
    relative = imbalance.compute[:, imbalance.columns].mean(axis=1)[mean > 0] / mean[mean > 0]
    found = trend(relative)
    if found is None or found.chance > CHANCE or not found.is_steady:
        return ""
    if found.end - 1 < GROWS * max(found.start - 1, 0.0):
        return ""
    begin, end = f"{found.start:.3g} times the mean at the beginning", f"{found.end:.3g} at the end"
    return f" The difference grows: from {begin} to {end}."


def _inside(imbalance: Imbalance) -> str:
    return f" in {imbalance.inside}" if imbalance.inside else ""


def _where(imbalance: Imbalance, regions: Sequence[UnevenRegion]) -> str:
    """The regions in which balancing would save most."""
    if not regions or imbalance.inside:
        return ""
    saved = [in_seconds(region.saved_s) for region in regions]
    named = [f"{region.name} ({time})" for region, time in zip(regions, saved)]
    named[0] = f"{regions[0].name} (balancing it would save {saved[0]})"
    return f" Ranks differ most in {in_list(named)}."


def _functions(observed: Observed, imbalance: Imbalance) -> str:
    """The functions in which these ranks compute longer than the mean, as far as samples are sure of it."""
    found = observed.functions
    if found is None or imbalance.inside:
        return ""
    own = imbalance.columns
    longer_s = found.time_s[:, own].mean(axis=1) - found.time_s.mean(axis=1)
    longer_s[[name in WAITING for name in found.names]] = 0.0
    weight = np.full(found.time_s.shape[1], -1 / found.time_s.shape[1])
    weight[own] += 1 / len(own)
    is_sure = longer_s > SURE * np.sqrt(found.variance @ weight**2)
    share = longer_s / max(longer_s.sum(), longer_s[is_sure].sum(), 1e-9)
    order = [n for n in np.argsort(-share).tolist() if is_sure[n] and share[n] >= WORTH_NAMING]
    functions = [
        f"{in_percent(share[n])}{' of the difference is' if n == order[0] else ''} in {found.names[n]}"
        for n in order[:MOST_FUNCTIONS]
    ]
    return f" By samples, {in_list(functions)}." if functions else ""


def _field(observed: Observed, imbalance: Imbalance, regions: Sequence[UnevenRegion]) -> str:
    """The field that shows it: compute time, or that in the region that it names."""
    if not imbalance.inside:
        return "compute_time_s"
    stem = regions[0].stem
    return next(name for name in (f"{stem}_compute_time_s", f"{stem}_time_s") if observed.has(name))


def _counted_region(observed: Observed, count: str) -> str:
    """The name of the region that a field counts, as "solve_count"."""
    return observed.regions[count.removesuffix("_count")]


def _counted(observed: Observed, imbalance: Imbalance, regions: Sequence[UnevenRegion]) -> tuple[str, str]:
    """Which region these ranks run more often, if that explains their time, and the words that say it; both
    "" without one. It is the region with most to save, or any where times of regions contain waits."""
    counts, time = counts_of(observed), imbalance.compute
    if regions:
        name = f"{regions[0].stem}_count"
        counts, time = (
            {n: t for n, t in counts.items() if n == name},
            compute_time_in(observed, regions[0].stem),
        )
    cause = None if imbalance.explained.cause else explanation(time, imbalance.found, counts).cause
    if cause is None:
        return "", ""
    region, calls = _counted_region(observed, cause), counts[cause].sum(axis=0) / observed.n_steps
    own, mean = in_number(calls[imbalance.columns].mean()), in_number(calls.mean())
    return region, f" Counts explain that: {region} runs {own} times in a step there, and {mean} in the mean."


def _others_wait(observed: Observed, imbalance: Imbalance) -> str:
    """How long the others wait, if they are many."""
    waiting, elapsed = (observed.of(name).astype(float) for name in ("waiting_time_s", "step_time_s"))
    if not np.isfinite(waiting).any() or 2 * len(imbalance.columns) > len(observed.ranks):
        return ""
    wait, all_time = (np.delete(t, imbalance.columns, axis=1) for t in (waiting, elapsed))
    return f" The others wait for {in_percent(np.nansum(wait) / np.nansum(all_time))} of their time."


def _worked_alone(
    observed: Observed, imbalance: Imbalance, regions: Sequence[UnevenRegion]
) -> list[UnevenRegion]:
    """The regions in which one rank computes and the others do not, if they make most of the imbalance."""
    if len(imbalance.columns) != 1:
        return []
    own = int(imbalance.columns[0])
    alone, excess = [], 0.0
    for region in regions:
        of_rank = compute_time_in(observed, region.stem).sum(axis=0)
        others = np.delete(of_rank, own).mean()
        if others <= NEARLY_NOTHING * of_rank[own]:
            alone.append(region)
            excess += of_rank[own] - others
    of_rank = imbalance.compute.sum(axis=0)
    return alone if excess >= MOSTLY * (of_rank[own] - np.delete(of_rank, own).mean()) else []


def _alone(observed: Observed, imbalance: Imbalance, regions: Sequence[UnevenRegion]) -> Why:
    own = int(imbalance.columns[0])
    time = sum(compute_time_in(observed, region.stem)[:, own].sum() for region in regions)
    where = in_list([region.name for region in regions])
    return Why("rank that all wait for", f": it alone computes in {where} ({in_seconds(time)})", ALONE)


def _hosts(observed: Observed, ranks: np.ndarray) -> tuple[str, ...]:
    """Their hosts, where a run has several."""
    if observed.placement is None or len(observed.placement.nodes) < 2:
        return ()
    nodes = observed.placement.node_id[ranks]
    return tuple(dict.fromkeys(observed.placement.nodes[node].host for node in nodes if node >= 0))
