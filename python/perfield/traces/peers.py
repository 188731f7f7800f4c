# SPDX-License-Identifier: BSD-3-Clause
"""World ranks of the members of a trace's communicators: its events name peers by their place in one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

OUTSIDE, UNKNOWN = -2, -3  # peers that are no world rank, as in a stream


class Peers:
    """The communicators of a trace.

    comms : as the library gives them. rank_of_location : rank of each location.
    """

    def __init__(self, otf2: Any, comms: Iterable[Any], rank_of_location: dict[int, int]):
        self._otf2, self._rank_of_location = otf2, rank_of_location
        self._ranks_of_group: dict[int, tuple[int, ...]] = {}
        # One group; of inter-communicators both, of which a rank talks to the other.
        self._groups: dict[int, tuple[tuple[int, ...] | None, ...]] = {}
        for comm in comms:
            groups = (comm.groupA, comm.groupB) if hasattr(comm, "groupA") else (comm.group,)
            self._groups[comm._ref] = tuple(self._ranks(group) for group in groups)

    def world_rank(self, comm: int, place: int, own: int) -> int:
        """The world rank of the member `place` of a communicator, seen from rank `own`.

        OUTSIDE if that is in no MPI_COMM_WORLD of ours, UNKNOWN if the trace does not say.
        """
        groups = self._groups.get(comm)
        if groups is None:
            return UNKNOWN
        ranks = groups[-1] if len(groups) == 2 and own in (groups[0] or ()) else groups[0]
        if ranks is None:  # MPI_COMM_SELF
            return own
        return ranks[place] if 0 <= place < len(ranks) else UNKNOWN

    def _ranks(self, group: Any) -> tuple[int, ...] | None:
        """World ranks of a group's members; None for the group of whoever asks."""
        if group is None:
            return ()
        if group.group_type == self._otf2.GroupType.COMM_SELF:
            return None
        if group._ref not in self._ranks_of_group:
            known = self._rank_of_location
            self._ranks_of_group[group._ref] = tuple(
                known.get(member._ref, OUTSIDE) if member is not None else UNKNOWN for member in group.members
            )
        return self._ranks_of_group[group._ref]
