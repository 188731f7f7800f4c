# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are packed on one package while another is empty."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.placed import elsewhere, on_each_node
from perfield.analysis.findings.sight import Sight, of_places
from perfield.analysis.observed import Observed
from perfield.topology import ranges

QUESTION = "Are ranks packed on one package while another is empty?"
KINDS = ("packed ranks",)
NEEDS = ()


def find(observed: Observed, worth: float = WORTH_REPORTING) -> Iterator[Finding]:
    """Yields a finding for all nodes with packed ranks. It follows from the places alone, so nothing is by
    chance.

    worth : has no part in it, since one run does not show the cost.
    """
    if observed.placement is None:
        return
    on_nodes = []
    for node, ranks in on_each_node(observed.placement):
        packages = [part.number for part in node.machine.level("package")]
        held = observed.placement.package_id[ranks]
        if len(ranks) < 2 or np.isnan(held).any():
            continue
        empty = sorted(set(packages) - set(held.astype(int).tolist()))
        if empty and len(set(held.tolist())) < len(ranks):
            on_nodes.append((node, ranks, np.unique(held).astype(int), empty))
    if not on_nodes:
        return
    node, ranks, full, empty = on_nodes[0]
    yield Finding(
        kind="packed ranks",
        words=f"Ranks {ranges(ranks)} are packed on package {ranges(full)} of {node.label} while package "
        f"{ranges(empty)} is empty{elsewhere(len(on_nodes) - 1, 'node')}: they share one package's caches "
        "and memory bandwidth. This run does not show its cost.",
        saved_s=None,
        remedy="Run again with `mpirun --map-by package` (`srun --distribution=block:cyclic`) and compare "
        "compute_time_s.",
        picture=Picture("machine", "compute_time_s"),
        ranks=np.sort(np.concatenate([ranks for _, ranks, _, _ in on_nodes])),
        hosts=tuple(node.label for node, _, _, _ in on_nodes),
    )


def sees(observed: Observed) -> Sight:
    """Places are known exactly, where they are known."""
    return of_places(observed)
