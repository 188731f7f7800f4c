# SPDX-License-Identifier: BSD-3-Clause
"""Whether ranks that compute longer have something in common: their part of the mesh, their place in the
machine, their numbers, or an attribute that the user gave."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

import numpy as np

from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.imbalance import CALLS_ON_FILES, Why, fixed, why
from perfield.analysis.findings.sight import Sight, of_size
from perfield.analysis.groups import AS_MUCH, candidates, untested, visible_excess
from perfield.analysis.imbalance import FIELDS, OF_REGIONS, Imbalance, imbalance_to_report
from perfield.analysis.observed import Observed
from perfield.analysis.places import (
    CHANCE,
    cost_of_ranks,
    is_of_slow_nodes,
    likeness_in_mesh,
    moves_to_neighbours,
)
from perfield.text import in_list

QUESTION = "Do ranks that compute longer have a part of the mesh, or a place in the machine, in common?"
ANSWERED_BY = ("slow node", "slow switch")
KINDS = ("imbalance follows the machine", "imbalance follows the mesh", "imbalance of a group")
NEEDS = ("compute_time_s",)
LIKES = (*FIELDS, "waiting_time_s", *OF_REGIONS, *CALLS_ON_FILES)

LIKE = 0.3  # Moran's I of neighbours, below which the mesh explains little
BY_MESH = (
    "Look at what the simulation does in that part of the mesh (boundary conditions, chemistry, iterations), "
    "and give the partitioner its cost as weights (perfield balance writes them)."
)
BY_MACHINE = (
    "Look at what differs there: system processes and interrupts on the first core, PUs that share a core, "
    "memory far away; leave that core out, or bind ranks differently."
)
BY_OWN = (
    "Look at what the program does on ranks with this value and not on the others; give such ranks less "
    "work, or divide that work among all."
)
BY_NUMBERS = (
    "Look at what these ranks have in common in the program: their part of the mesh, a role, files. Describe "
    "the mesh to perfield, or list roles (perfield report --attributes), so that it can name what they share."
)


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the group of ranks that compute longer, if beyond chance and if sizes of pieces do not explain
    it; else what only says more about an imbalance that is reported already, without seconds of its own."""
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
    if imbalance.explained.cause is not None:
        return
    if imbalance.group is None:
        yield from _likeness(observed, imbalance)
        return
    words = why(observed, imbalance).words
    in_common = {
        "machine": Why("imbalance follows the machine", words, BY_MACHINE, "machine"),
        "mesh": Why("imbalance follows the mesh", words, BY_MESH, "mesh"),
        "own": Why("imbalance of a group", words, BY_OWN),
        "numbers": Why("imbalance of a group", words, BY_NUMBERS),
    }
    yield fixed(observed, imbalance, regions, in_common[imbalance.group.kind])


def sees(observed: Observed) -> Sight:
    """What the slowest ranks would have to have in common; without these, how much longer than the others a
    group would have to compute; and which attributes of the user allow no test."""
    seen, without = _sees(observed), untested(observed)
    if not without:
        return seen
    return Sight(f"{seen.words} Too few ranks for a test share a value of {in_list(without)}.", False)


def _sees(observed: Observed) -> Sight:
    uneven = imbalance_to_report(observed, WORTH_REPORTING)
    n_ranks = len(observed.ranks)
    sizes = {int(members.sum()) for _, _, members, _ in candidates(observed)}
    if uneven is not None and len(uneven[0].columns):
        n_slowest = len(uneven[0].columns)
        if n_slowest < min(sizes, default=n_ranks) * AS_MUCH:
            return Sight(f"{n_slowest} of {n_ranks} ranks are too few to tell a group from chance.", False)
        return Sight("A group with four fifths of the slowest ranks would have been found.")
    visible = visible_excess(observed, np.nan_to_num(observed.of("compute_time_s").astype(float)))
    if not isfinite(visible):
        return Sight(f"{n_ranks} ranks are too few to tell a group from chance.", False)
    return of_size("group of ranks that computes {} longer than the others", visible)


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
