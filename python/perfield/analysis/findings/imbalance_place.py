# SPDX-License-Identifier: BSD-3-Clause
"""Whether imbalance follows the mesh or the place in the machine, or neither."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.imbalance import CALLS_ON_FILES, Why, fixed, why
from perfield.analysis.findings.sight import Sight, of_ranks
from perfield.analysis.imbalance import FIELDS, OF_REGIONS, Imbalance, imbalance_to_report
from perfield.analysis.observed import Observed
from perfield.analysis.places import (
    CHANCE,
    Group,
    cost_of_ranks,
    is_of_slow_nodes,
    likeness_in_mesh,
    moves_to_neighbours,
    place_of_slowest,
)
from perfield.text import start

QUESTION = "Does imbalance follow the mesh, or the place in the machine?"
KINDS = ("imbalance follows the machine", "imbalance follows the mesh")
NEEDS = ("compute_time_s",)
LIKES = (*FIELDS, "waiting_time_s", *OF_REGIONS, "<region>_count", *CALLS_ON_FILES)

LIKE = 0.3  # Moran's I of neighbours, below which the mesh explains little
BY_MACHINE = (
    "Look at what differs there: system processes and interrupts on the first core, PUs that share a core, "
    "memory far away; leave that core out, or bind ranks differently."
)
BY_MESH = (
    "Look at what the simulation does in that part of the mesh (boundary conditions, chemistry, iterations), "
    "and give the partitioner its cost as weights (perfield balance writes them)."
)


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the place of the slowest ranks in the machine, or else that in the mesh, if beyond chance.

    A place in the machine is the cause of an imbalance that sizes of pieces do not explain. Else findings
    here only say more about an imbalance that is reported already, and have no seconds of their own.
    """
    uneven = imbalance_to_report(observed, WORTH_REPORTING)
    if uneven is None:
        return
    imbalance, regions = uneven
    if is_of_slow_nodes(observed, imbalance):
        return
    if imbalance.found.pattern == "moving":
        if moves_to_neighbours(observed, imbalance.compute.argmax(axis=1)):
            words = "The slowest rank moves through the mesh: from one piece to another that touches it."
            yield _in_mesh(observed, imbalance, words, None)
        return
    group = place_of_slowest(observed, imbalance)
    explained = imbalance.explained.cause is not None
    if group is not None and explained:
        yield _explained(observed, imbalance, group)
    elif group is not None:
        reason = why(observed, imbalance)
        words = f"{reason.words}; {group.words} is slowest"
        place = Why("imbalance follows the machine", words, BY_MACHINE, "machine")
        yield fixed(observed, imbalance, regions, place)
    elif not explained:
        yield from _likeness(observed, imbalance)


def sees(observed: Observed) -> Sight:
    """Of an imbalance that is not found nobody knows where it would be. Of n ranks, the slowest s share a
    place by chance in one of n-over-s cases at least (hypergeometric distribution)."""
    uneven = imbalance_to_report(observed, WORTH_REPORTING)
    if uneven is None:
        return of_ranks(observed, observed.of("compute_time_s"), "computes")
    n_slowest, n_ranks = max(len(uneven[0].columns), 1), len(observed.ranks)
    if comb(n_ranks, n_slowest) * CHANCE < 1:
        return Sight(f"{n_slowest} of {n_ranks} ranks are too few to tell a place from chance.", False)
    return Sight("A place that four fifths of the slowest ranks have in common would have been found.")


def _explained(observed: Observed, imbalance: Imbalance, group: Group) -> Finding:
    return Finding(
        kind="imbalance follows the machine",
        words=f"{start(group.words)} computes longer than others, as sizes of pieces explain: the order in "
        "which the partitioner numbers its parts shows in the machine.",
        saved_s=None,
        remedy="Repartition for equal parts; else spread the large parts over nodes, packages and caches by "
        "another order of ranks (perfield placement proposes one).",
        picture=Picture("machine", "compute_time_s"),
        ranks=observed.ranks[group.columns],
        chance=group.chance,
    )


def _likeness(observed: Observed, imbalance: Imbalance) -> Iterator[Finding]:
    alike = likeness_in_mesh(observed, cost_of_ranks(observed, imbalance.compute))
    if alike is None or alike.chance > CHANCE or alike.moran < LIKE:
        return
    per_cell = " per cell" if observed.has("cells") else ""
    words = (
        f"Compute time{per_cell} follows the mesh: ranks whose pieces touch are alike (Moran's I is "
        f"{alike.moran:.2f}, by chance about 0), so the work costs more in one part of the mesh."
    )
    yield _in_mesh(observed, imbalance, words, alike.chance)


def _in_mesh(observed: Observed, imbalance: Imbalance, words: str, chance: float | None) -> Finding:
    return Finding(
        kind="imbalance follows the mesh",
        words=words,
        saved_s=None,
        remedy=BY_MESH,
        picture=Picture("mesh", "compute_time_per_cell_s" if observed.has("cells") else "compute_time_s"),
        ranks=observed.ranks[imbalance.columns],
        chance=chance,
    )
