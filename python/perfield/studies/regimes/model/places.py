# SPDX-License-Identifier: BSD-3-Clause
"""Where the ranks of timings sit: the groups of ranks that share a switch, a node or a package."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.studies.regimes.model.errors import RegimeError

if TYPE_CHECKING:
    from perfield.topology import Placement

LEVELS = ("switch", "node", "package")  # from the outside to the inside


def places(placement: Placement | None, ranks: np.ndarray, level: str) -> tuple[np.ndarray, list[str]]:
    """The place of each rank on a level: its number, -1 without one, int64 (n_ranks,); and the places' names.

    ranks : of the world; -1, the longest of all ranks, has no place. Places without ranks have no number.
    Raises RegimeError for an unknown level, or where the placement is not known.
    """
    if level not in LEVELS:
        raise RegimeError(f"{level!r} is not a level of the machine; give one of {', '.join(LEVELS)}.")
    if placement is None:
        raise RegimeError(
            f"nobody knows the {level} of these ranks; pass the placement of the run, `perfield.topology."
            "placement_of(run)`."
        )
    ranks = np.asarray(ranks, dtype=np.int64)
    is_placed = (ranks >= 0) & (ranks < placement.n_ranks)
    node = np.where(is_placed, placement.node_id[np.where(is_placed, ranks, 0)], -1).astype(np.int64)
    labels = np.array([one.label for one in placement.nodes] + [""], dtype=object)[node]
    if level == "node":
        names, found = labels, node >= 0
    elif level == "switch":
        of_node = np.append(np.asarray(placement.switches.of_node, np.int64), -1)[node]
        found = (node >= 0) & (of_node >= 0)
        names = np.array([*placement.switches.name, ""], dtype=object)[np.where(found, of_node, -1)]
    else:
        package = np.where(node >= 0, placement.package_id[np.where(is_placed, ranks, 0)], np.nan)
        found = np.isfinite(package)
        names = np.array(
            [f"{name} package {one:.0f}" if np.isfinite(one) else "" for name, one in zip(labels, package)],
            dtype=object,
        )
    numbers: dict[str, int] = {}
    number = np.array(
        [numbers.setdefault(name, len(numbers)) if here else -1 for name, here in zip(names, found)], np.int64
    )
    return number.reshape(-1), list(numbers)
