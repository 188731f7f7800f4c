# SPDX-License-Identifier: BSD-3-Clause
"""World ranks of the members of a trace's communicators; events name peers by their rank in one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perfield import _bridge
from perfield.run.frame import OUTSIDE, UNKNOWN


def read_peers(otf2: Any, comms: Iterable[Any], rank_of_location: Mapping[int, int]) -> Any:
    """Turns the library's communicators into `_bridge.TracePeers`.

    rank_of_location : rank of each location. Communicators of the same group share one tuple of ranks.
    """
    known: dict[int, Sequence[int]] = {}

    def ranks(group: Any) -> Sequence[int] | None:
        if group is None:
            return ()
        if group.group_type == otf2.GroupType.COMM_SELF:
            return None
        if group._ref not in known:
            known[group._ref] = tuple(
                rank_of_location.get(member._ref, OUTSIDE) if member is not None else UNKNOWN
                for member in group.members
            )
        return known[group._ref]

    return _bridge.TracePeers(
        {
            comm._ref: (ranks(comm.groupA), ranks(comm.groupB))
            if hasattr(comm, "groupA")
            else (ranks(comm.group),)
            for comm in comms
        }
    )
