# SPDX-License-Identifier: BSD-3-Clause
"""Passes a closed step to the ranks that run ParaView: every rank, or the first of each group of ranks.

After every stage, all ranks agree on its success. So an error on one rank ends the pictures on all, and no
rank waits for one that never comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI

from perfield import _bridge
from perfield.catalyst.conditions import check_paraview
from perfield.catalyst.errors import PicturesEnded
from perfield.catalyst.gathered_run import NewDefinitions, Piece, new_definitions_of, own_field, waited_for_in
from perfield.catalyst.newest_entries import NewestEntries
from perfield.catalyst.times import ShownTimes
from perfield.catalyst.world import World, groups

if TYPE_CHECKING:
    from perfield.catalyst.leader import Leader


class Adaptor:
    """The pictures of one program, on one of its ranks.

    settings : as in `perfield.catalyst.start`. warn : prints a sentence on a topic.
    """

    def __init__(self, settings: dict[str, Any], warn: Callable[[str, str], None]):
        self._settings = settings
        self._world = world = World(float(settings["patience"][0]))
        group_of = groups(world.size, int(settings["ranks"]))
        leads = world.rank == 0 or group_of[world.rank] != group_of[world.rank - 1]
        self._group = world.comm.Split(int(group_of[world.rank]), world.rank)
        leaders = world.comm.Split(0 if leads else MPI.UNDEFINED, world.rank)
        sources = world.comm.allgather(settings["sources"])
        self._unsent, self._known = NewDefinitions(), NewDefinitions()
        self._newest = NewestEntries()
        self._blocks_version, self._blocks = 0, list[bytes]()
        self._times = ShownTimes()

        def lead() -> Leader | None:
            if not leads:
                return None

            world.together("finding ParaView", check_paraview, leaders)
            from perfield.catalyst.leader import Leader  # loads VTK

            return Leader(settings, world, leaders, sources, warn)

        self._leader = world.together("starting ParaView", lead)

    def show(
        self,
        measuring: int,
        index: int,
        label: int,
        time: float,
        mesh_version: int,
        entries: list[tuple[int, bytes]],
        regions: list[bytes],
        blocks: list[bytes],
        fields: list[tuple[Any, ...]],
    ) -> None:
        """Shows a step; libperfield_catalyst passes the arguments (see catalyst.h). Collective.

        Raises PicturesEnded or NobodyCameError once the pictures have ended.
        """
        world, leader = self._world, self._leader
        if mesh_version != self._blocks_version:
            self._blocks_version, self._blocks = mesh_version, []
        self._blocks += blocks
        self._newest.add(entries)
        if not self._exchange(measuring, [body for _, body in entries], regions):
            return
        chosen = self._newest.of_all(world)
        if not chosen:
            return

        def own_piece() -> tuple[Piece, np.ndarray]:
            own = [own_field(index, *row) for row in fields]
            waited_for = waited_for_in(world.rank, world.size, _bridge.decode_steps(chosen))
            return Piece(world.rank, mesh_version, chosen, self._blocks, own), waited_for

        piece, waited_for = world.together("reading the simulation's fields", own_piece)
        world.comm.Allreduce(MPI.IN_PLACE, waited_for)
        of_focus = {rank: world.comm.bcast(chosen, root=rank) for rank in self._settings["focus"]}
        self._blocks = []
        pieces = [piece] if self._group.size == 1 else self._group.gather(piece)
        made = world.together(
            "making the datasets", lambda: leader and leader.datasets(index, pieces, waited_for, of_focus)
        )
        at = self._times.of(index, time)
        world.together("a pipeline", lambda: leader and leader.show(index, at, *made))

    def _exchange(self, measuring: int, bodies: list[bytes], regions: list[bytes]) -> bool:
        """Sends definitions to the ranks that run ParaView; returns whether all have entries to show."""
        world, unsent = self._world, self._unsent
        if bodies or regions:
            new = new_definitions_of(world.rank, _bridge.decode_steps(bodies), regions, self._known)
            self._known.calls |= new.calls
            unsent.add(new)
        all_measure, all_have_some, none_new = world.agree(
            measuring, int(bool(self._newest)), int(not unsent)
        )
        if not all_measure:
            raise PicturesEnded("measuring has ended on a rank")
        if not all_have_some:
            return False
        if not none_new:
            of_ranks = world.comm.allgather(unsent)
            self._unsent = NewDefinitions()
            if self._leader is not None:
                self._leader.learn(of_ranks)
        return True

    def finish(self) -> None:
        """Lets ParaView finish what it writes. Collective."""
        if MPI.Is_finalized():
            return
        self._world.agree(1)
        if self._leader is not None:
            self._leader.finish()
        if self._settings["ends_mpi"]:  # a program without MPI: mpi4py started MPI for ParaView
            MPI.Finalize()
