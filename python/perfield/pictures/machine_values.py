# SPDX-License-Identifier: BSD-3-Clause
"""Finds the ranks of each part of the machine, so that the part gets their values."""

from __future__ import annotations

import numpy as np

from perfield.pictures.rank_groups import RankGroups
from perfield.topology import Cells

PLACES = {"rank", "node_id", "host_name", "package_id", "core_id", "pu_id"}  # not to be averaged


def ranks_of_parts(cells: Cells) -> RankGroups:
    """The ranks of nodes and their parts, in the order of Cells.rank.

    A part has the ranks whose PUs all belong to it, so a rank that may run on the whole node belongs to the
    node alone.
    """
    part = cells.parent[cells.ranks].astype(np.int64)
    place = np.arange(len(part))
    parts, places = [part], [place]
    while len(part):
        above = cells.parent[part]
        part, place = above[above >= 0].astype(np.int64), place[above >= 0]
        parts.append(part)
        places.append(place)
    return RankGroups(np.concatenate(parts), np.concatenate(places), cells.machine.stop)
