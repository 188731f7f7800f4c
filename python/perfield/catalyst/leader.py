# SPDX-License-Identifier: BSD-3-Clause
"""A rank that runs ParaView: makes the datasets of its own and the received pieces, and shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkMultiBlockDataSet

from perfield.catalyst.channels import GeometryChannel, TopologyChannel, geometry_among
from perfield.catalyst.description import LiveDescription
from perfield.catalyst.gathered_run import GatheredRun, News, Piece
from perfield.catalyst.pipelines import Pipelines, settings
from perfield.catalyst.world import World
from perfield.output.description import step_title


class Leader:
    """One of the ranks that run ParaView.

    given : the settings of `perfield.catalyst.start`. comm : communicator of these ranks. sources :
    names of sources, for each rank of the program. tell : prints a sentence on a topic.
    """

    def __init__(
        self,
        given: dict[str, Any],
        world: World,
        comm: MPI.Comm,
        sources: Sequence[list[str]],
        tell: Callable[[str, str], None],
    ):
        path = Path(given["run"])
        self._comm = comm
        self._run = GatheredRun(path, sources)
        self._geometry = GeometryChannel(self._run, given["focus"])
        self._topology = TopologyChannel(path if comm.rank == 0 else None)
        self._description = LiveDescription(path.name)
        self._pipelines = Pipelines(given, world, comm, tell)

    def learn(self, news: Iterable[News]) -> None:
        """Takes in what is new on all ranks of the program."""
        self._run.learn(news)

    def datasets(
        self, index: int, pieces: Iterable[Piece], waited_for: np.ndarray, of_focus: Mapping[int, bytes]
    ) -> tuple[list[tuple[str, vtkDataSet]], vtkMultiBlockDataSet]:
        """The geometry's blocks, with names, and the topology, of the step of this index.

        waited_for, of_focus : as in `GatheredRun.take`.
        """
        if self._run.take(index, pieces, waited_for, of_focus):
            self._geometry.mesh_changed()
        blocks, machine = self._geometry.blocks(), self._topology.dataset(index)
        if settings["images"]:
            self._description.note(index, blocks, machine, self._topology.run, self._topology.frame)
        return blocks, machine

    def show(
        self, index: int, time: float, blocks: list[tuple[str, vtkDataSet]], machine: vtkMultiBlockDataSet
    ) -> None:
        """Runs the pipelines on what `datasets` made. Collective."""
        names = self._comm.allgather([name for name, _ in blocks])
        if settings["images"]:
            described = self._description.joined(
                self._comm.allgather(self._description.part()), self._run.known_regions
            )
            settings["description"] = {**described, "step": step_title(self._run.frame(), index, time)}
        geometry = geometry_among(blocks, names, self._comm.rank)
        self._pipelines.run(index, time, {"geometry": geometry, "topology": machine})

    def finish(self) -> None:
        """Lets ParaView finish what it writes. Collective."""
        self._pipelines.finish()
