# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that compute longer than others, and why: the first closing line, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from perfield.analysis.findings.finding import WORTH_TELLING, Finding, Picture
from perfield.analysis.imbalance import (
    CAUSES,
    OF_REGIONS,
    DearRegion,
    Imbalance,
    compute_time_in,
    dear_regions,
    imbalance_of,
)
from perfield.analysis.observed import Observed
from perfield.analysis.words import in_list, in_percent, in_ranks, in_seconds, start

QUESTION = "Do some ranks compute longer than others?"
KINDS = (
    "imbalance by cells",
    "imbalance by cost per cell",
    "imbalance",
    "imbalance that moves",
    "rank that all wait for",
)
NEEDS = ("compute_time_s",)
LIKES = (*CAUSES, "waiting_time_s", *OF_REGIONS)

NEARLY_NOTHING = 0.1  # of the dear rank's time in a region: what others compute there, if it works alone
MOSTLY = 0.6  # of its excess must lie in such regions
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
BY_COST = (
    "Give the partitioner the measured cost of cells as weights (perfield balance writes them), or look for "
    "what makes cells dearer there: iterations, chemistry, boundary conditions."
)
UNEXPLAINED = (
    "Compare what these ranks do with what others do, region by region; describe the mesh to perfield, and "
    "it says whether cells explain the difference."
)
MOVING = (
    "Move cells between ranks while the program runs (dynamic load balancing), or divide the mesh so that "
    "every rank has a part of where the work goes."
)
ALONE = "Spread this work over all ranks, do it less often, or let the others compute meanwhile."


class Why(NamedTuple):
    """Why the same ranks are dear. words : end the sentence that names them."""

    kind: str
    words: str
    remedy: str


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the imbalance of compute time, if it is beyond chance."""
    imbalance = imbalance_of(observed)
    found = imbalance.found
    if found.pattern == "chance" or found.saved < WORTH_TELLING * observed.elapsed_s:
        return
    regions = dear_regions(observed)
    yield (_moving if found.pattern == "moving" else _fixed)(observed, imbalance, regions)


def _moving(observed: Observed, imbalance: Imbalance, regions: Sequence[DearRegion]) -> Finding:
    found = imbalance.found
    each = f", for {found.stay:.0f} steps each" if found.stay >= 1.5 else ""
    cause = imbalance.explained.cause
    return Finding(
        kind="imbalance that moves",
        words=f"The slowest rank changes, but not by chance: {found.n_in_turn} of {len(observed.ranks)} "
        f"ranks are slowest in turn{each}, and compute {found.ratio:.3g} times as long as the mean"
        f"{_explained(imbalance) if cause else ''}. {_saving(observed, imbalance, regions)}",
        saved_s=found.saved,
        remedy=MOVING,
        picture=Picture("heat_map", "compute_time_s"),
        regions=tuple(region.name for region in regions),
        chance=found.chance,
    )


def _fixed(observed: Observed, imbalance: Imbalance, regions: Sequence[DearRegion]) -> Finding:
    ranks = observed.ranks[imbalance.columns]
    alone = _worked_alone(observed, imbalance, regions)
    why = _alone(observed, imbalance, alone) if alone else _why(observed, imbalance)
    regions = alone or regions
    hosts = _hosts(observed, ranks)
    where = f" on {'host' if len(hosts) == 1 else 'hosts'} {in_list(hosts)}" if hosts else ""
    has_mesh = np.isfinite(observed.of("cells")).any()
    return Finding(
        kind=why.kind,
        words=f"{start(in_ranks(ranks))}{where} {'computes' if len(ranks) == 1 else 'compute'} "
        f"{imbalance.times_mean:.3g} times as long as the mean of all ranks{why.words}. "
        f"{_others_wait(observed, imbalance)}{_saving(observed, imbalance, regions)}",
        saved_s=imbalance.found.saved,
        remedy=why.remedy,
        picture=Picture("mesh" if has_mesh else "heat_map", "compute_time_s"),
        ranks=ranks,
        regions=tuple(region.name for region in regions),
        hosts=hosts,
        chance=imbalance.found.chance,
    )


def _why(observed: Observed, imbalance: Imbalance) -> Why:
    cause, cost = imbalance.explained.cause, imbalance.cost
    has = "it has" if len(imbalance.columns) == 1 else "each has"
    if cause:
        of_rank = observed.of(cause).astype(float).mean(axis=0)
        counts = f"{has} {of_rank[imbalance.columns].mean():,.6g}, the mean is {of_rank.mean():,.6g}"
        kind = "imbalance by cells" if cause in OF_THE_MESH else "imbalance"
        return Why(kind, f"{_explained(imbalance)} ({counts})", BY_CELLS)
    if cost is None:
        return Why("imbalance", "", UNEXPLAINED)
    alone = f"numbers of cells alone give {cost.alone:.3g}"
    if cost.may_explain:
        return Why("imbalance", f": {alone}, but two ranks are too few to test that", BY_CELLS)
    counts = f": {has} as many cells as others" if cost.are_alike else f": {alone}"
    if cost.is_dearer:
        return Why(
            "imbalance by cost per cell", f"{counts}, and each costs {cost.dearer:.3g} times as much", BY_COST
        )
    return Why("imbalance by cost per cell" if cost.are_alike else "imbalance", counts, BY_COST)


def _explained(imbalance: Imbalance) -> str:
    words = CAUSE_IN_WORDS[imbalance.explained.cause or ""]
    return f": {words} explain {imbalance.explained.imbalance:.3g}"


def _saving(observed: Observed, imbalance: Imbalance, regions: Sequence[DearRegion]) -> str:
    saved = imbalance.found.saved
    told = [f"{region.name} ({in_seconds(region.saved_s)})" for region in regions]
    where = f", most of it in {in_list(told)}" if told else ""
    share = in_percent(saved / observed.elapsed_s)
    return f"Balancing would save at most {in_seconds(saved)}, {share} of the time{where}."


def _others_wait(observed: Observed, imbalance: Imbalance) -> str:
    """How long the others wait, if they are many."""
    waiting, elapsed = (observed.of(name).astype(float) for name in ("waiting_time_s", "step_time_s"))
    if not np.isfinite(waiting).any() or 2 * len(imbalance.columns) > len(observed.ranks):
        return ""
    wait, all_time = (np.delete(t, imbalance.columns, axis=1) for t in (waiting, elapsed))
    return f"The others wait for {in_percent(np.nansum(wait) / np.nansum(all_time))} of their time. "


def _worked_alone(
    observed: Observed, imbalance: Imbalance, regions: Sequence[DearRegion]
) -> list[DearRegion]:
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


def _alone(observed: Observed, imbalance: Imbalance, regions: Sequence[DearRegion]) -> Why:
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
