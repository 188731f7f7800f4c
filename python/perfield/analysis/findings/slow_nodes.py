# SPDX-License-Identifier: BSD-3-Clause
"""Nodes, or all nodes below a switch, on which every rank computes longer than elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.distributions import student_quantile
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.sight import FOUND, LEAST_COST, Sight, of_size
from perfield.analysis.imbalance import FIELDS, OF_REGIONS
from perfield.analysis.observed import Observed
from perfield.analysis.places import CHANCE, SLOWER, slow_nodes
from perfield.text import in_list, start

QUESTION = "Is a node slow, or are all nodes below one switch?"
KINDS = ("slow node", "slow switch")
NEEDS = ("compute_time_s",)
LIKES = (*FIELDS, *OF_REGIONS)


def find(observed: Observed) -> Iterator[Finding]:
    """Yields the slow nodes, in one finding."""
    compute = np.nan_to_num(observed.of("compute_time_s"))
    slow = slow_nodes(observed, compute)
    if slow is None or observed.placement is None:
        return
    without = compute.copy()
    without[:, slow.columns] /= slow.ratio
    saved = float((compute.max(axis=1) - without.max(axis=1)).sum())
    if saved < WORTH_REPORTING * observed.elapsed_s:
        return
    hosts = tuple(observed.placement.nodes[node].label for node in slow.nodes)
    one = len(hosts) == 1
    who = f"node {hosts[0]}" if one else f"nodes {in_list(hosts)}"
    if slow.switch is not None:
        who += f", all nodes below switch {observed.placement.switches.name[slow.switch]},"
    ranks = observed.ranks[slow.columns]
    per_cell = " per cell" if slow.by_cell else ""
    on_each = len(ranks) / len(hosts)
    on_others = (len(observed.ranks) - len(ranks)) / (len(observed.placement.nodes) - len(hosts))
    more = ""
    if on_each > on_others:
        more = (
            f" It holds {on_each:.3g} ranks and other nodes {on_others:.3g}: these may lack memory bandwidth."
        )
    yield Finding(
        kind="slow node" if slow.switch is None else "slow switch",
        words=f"{start(who)} {'is' if one else 'are'} slow: all {len(ranks)} ranks there compute "
        f"{slow.ratio:.3g} times as long{per_cell} as the others.{more}",
        saved_s=saved,
        remedy=f"Run without {'it' if one else 'them'} (sbatch --exclude). If these ranks are then as fast "
        "as the others, compare clock rate, temperature, memory and other jobs with those of other "
        "nodes (turbostat, STREAM, top); if they are still slow, look at their work.",
        picture=Picture("machine", "compute_time_s"),
        ranks=ranks,
        hosts=hosts,
        chance=slow.chance,
    )


def sees(observed: Observed) -> Sight:
    """How slow a node would have to be: Student's t of two samples, the ranks of the smallest node and all
    others, with the level of the test and a power of 95 %, by the scatter of ranks inside nodes."""
    if observed.placement is None:
        return Sight("The run does not say on which nodes its ranks ran.", False)
    node = observed.placement.node_id[observed.ranks]
    nodes, sizes = np.unique(node[node >= 0], return_counts=True)
    if len(nodes) < 2:
        return Sight("All ranks ran on one node.")
    times = np.nansum(observed.of("compute_time_s"), axis=0, dtype=float)
    free = int(sizes.sum()) - len(nodes)
    if sizes.min() < 2 or not (times > 0).all():
        return Sight("A node with one rank allows no test against chance.", False)
    squares = sum(np.log(times[node == one]).var() * size for one, size in zip(nodes, sizes))
    error = np.sqrt(squares / free * (1 / sizes.min() + 1 / max(sizes.sum() - sizes.min(), 1)))
    quantiles = student_quantile(CHANCE / (2 * len(nodes)), free) + student_quantile(1 - FOUND, free)
    visible = max(float(np.expm1(quantiles * error)), SLOWER - 1)
    return of_size(f"node whose ranks compute {{}} longer, at a cost of {LEAST_COST},", visible)
