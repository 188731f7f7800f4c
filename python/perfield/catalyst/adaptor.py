# SPDX-License-Identifier: BSD-3-Clause
"""From a closed step to ParaView: gathers pieces where that is wanted, makes datasets, runs the pipelines.

Every stage ends with all ranks agreeing on how it went, so that an error on one of them ends the pictures on
all, and nobody waits for a rank that will not come.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mpi4py import MPI

from perfield.catalyst.gathered_run import GatheredRun, News, Piece, news_of, own_field
from perfield.catalyst.world import PicturesEnded, World, groups


class Adaptor:
    """The pictures of one program, on one of its ranks.

    settings : what `perfield.catalyst.start` is given. tell : says a sentence on a topic.
    """

    def __init__(self, settings: dict[str, Any], tell: Callable[[str, str], None]):
        self._settings, self._tell = settings, tell
        self._world = World(float(settings["patience"][0]))
        world = self._world
        group_of = groups(world.size, int(settings["ranks"]))
        leads = world.rank == 0 or group_of[world.rank] != group_of[world.rank - 1]
        self._group = world.comm.Split(int(group_of[world.rank]), world.rank)
        self._leaders = world.comm.Split(0 if leads else MPI.UNDEFINED, world.rank)
        counts_mpi = world.comm.allgather("pmpi" in settings["sources"])
        self._news = News([], set(), False)
        self._known_calls: set[int] = set()
        self._blocks_version, self._blocks = 0, list[bytes]()
        self._pipelines: Any = None
        self._last_time = -math.inf
        world.together("starting ParaView", lambda: self._start(counts_mpi) if leads else None)

    def _start(self, counts_mpi: list[bool]) -> None:
        from perfield.catalyst.channels import GeometryChannel, TopologyChannel
        from perfield.catalyst.description import LiveDescription
        from perfield.catalyst.pipelines import Pipelines, settings

        path = Path(self._settings["run"])
        self._run = GatheredRun(path, self._world.size, counts_mpi)
        self._geometry = GeometryChannel(self._run)
        self._topology = TopologyChannel(path if self._world.rank == 0 else None)
        self._for_scripts = settings
        self._description = LiveDescription(path.name)
        self._pipelines = Pipelines(self._settings, self._world, self._leaders, self._tell)

    def show(
        self,
        measuring: int,
        index: int,
        label: int,
        time: float,
        mesh_version: int,
        entry: bytes,
        regions: list[bytes],
        blocks: list[bytes],
        fields: list[tuple[Any, ...]],
    ) -> None:
        """Shows a step as libperfield_catalyst hands it over (see catalyst.h). Collective.

        Raises PicturesEnded or NobodyCameError where the pictures have ended.
        """
        world, rank = self._world, self._world.rank
        if entry:
            news = news_of(rank, entry, regions, self._known_calls)
            self._known_calls |= news.calls
            self._news.definitions += news.definitions
            self._news.calls |= news.calls
            self._news.others |= news.others
        has_news = bool(self._news.definitions or self._news.calls or self._news.others)
        all_measure, all_wrote, none_has_news = world.agree(measuring, int(bool(entry)), int(not has_news))
        if not all_measure:
            raise PicturesEnded("measuring has ended on a rank")
        if mesh_version != self._blocks_version:
            self._blocks_version, self._blocks = mesh_version, []
        self._blocks += blocks
        if not all_wrote:  # near record_limit, ranks may differ for a step
            return
        if not none_has_news:
            news_of_all = world.comm.allgather(self._news)
            self._news = News([], set(), False)
            if self._pipelines is not None:
                self._run.learn(news_of_all)
        own = world.together(
            "reading the simulation's fields", lambda: [own_field(index, *row) for row in fields]
        )
        piece, self._blocks = Piece(rank, mesh_version, entry, self._blocks, own), []
        pieces = [piece] if self._group.size == 1 else self._group.gather(piece)
        picture = world.together("making the datasets", lambda: self._channels(index, pieces or []))
        at = (
            time if math.isfinite(time) and time > self._last_time else max(float(index), self._last_time + 1)
        )
        self._last_time = at
        world.together("a pipeline", lambda: self._run_pipelines(index, at, picture))

    def _channels(self, index: int, pieces: list[Piece]) -> dict[str, Any]:
        if self._pipelines is None:
            return {}
        if self._run.take(index, pieces):
            self._geometry.mesh_changed()
        self._geometry.has_mesh()
        made = {"geometry": self._geometry.dataset(), "topology": self._topology.dataset(index)}
        if self._for_scripts["images"]:
            self._description.note(index, made, self._topology.run, self._topology.frame)
        return made

    def _run_pipelines(self, index: int, time: float, made: dict[str, Any]) -> None:
        if self._pipelines is None:
            return
        from perfield.output.description import step_title

        parts = self._leaders.allgather(self._description.part()) if self._for_scripts["images"] else []
        described = self._description.joined(parts, self._run.regions)
        self._for_scripts["description"] = {**described, "step": step_title(self._run.frame(), index, time)}
        self._pipelines.run(index, time, made)

    def finish(self) -> None:
        """Lets ParaView finish what it writes. Collective."""
        if MPI.Is_finalized():
            return
        self._world.agree(1)
        if self._pipelines is not None:
            self._pipelines.finish()
