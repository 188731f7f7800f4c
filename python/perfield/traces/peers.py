# SPDX-License-Identifier: BSD-3-Clause
"""World ranks of the members of a trace's communicators: its events name peers by their place in one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perfield.run.frame import OUTSIDE, UNKNOWN

Ranks = Sequence[int]


class Peers:
    """The communicators of a trace."""

    def __init__(self, groups: Mapping[int, tuple[Ranks | None, ...]]):
        """groups : communicator -> world ranks of its members; None for the group of whoever asks.

        An inter-communicator has two groups, of which a rank talks to the other.
        """
        self._groups = groups

    def world_rank(self, comm: int, place: int, own: int) -> int:
        """The world rank of the member `place` of a communicator, seen from rank `own`.

        OUTSIDE if that is in no MPI_COMM_WORLD of ours, UNKNOWN if the trace does not say.
        """
        groups = self._groups.get(comm)
        if groups is None:
            return UNKNOWN
        ranks = groups[-1] if len(groups) == 2 and own in (groups[0] or ()) else groups[0]
        if ranks is None:
            return own
        return ranks[place] if 0 <= place < len(ranks) else UNKNOWN


def read_peers(otf2: Any, comms: Iterable[Any], rank_of_location: Mapping[int, int]) -> Peers:
    """The communicators as the library defines them.

    rank_of_location : rank of each location. Communicators of the same group share its members.
    """
    known: dict[int, Ranks] = {}

    def ranks(group: Any) -> Ranks | None:
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

    return Peers(
        {
            comm._ref: (ranks(comm.groupA), ranks(comm.groupB))
            if hasattr(comm, "groupA")
            else (ranks(comm.group),)
            for comm in comms
        }
    )
