# SPDX-License-Identifier: BSD-3-Clause
"""Shows steps in ParaView's pipelines: the same in the program and beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkMultiBlockDataSet

from perfield.catalyst.channels import GeometryChannel, TopologyChannel, geometry_among
from perfield.catalyst.description import LiveDescription
from perfield.catalyst.pipelines import Pipelines, settings
from perfield.output.description import name_of, step_title

if TYPE_CHECKING:
    from mpi4py import MPI

    from perfield.catalyst.alone import Alone
    from perfield.catalyst.world import World
    from perfield.pictures.geometry_picture import GeometryOptions
    from perfield.run import AnyRun, Frame, RunDirectory


class Stage:
    """The channels and pipelines of one of the processes that run ParaView.

    given : the settings of `perfield.catalyst.start`. comm : communicator of these processes. run : the ranks
    whose mesh is shown here. options : of the geometry, without pieces. warn : prints a sentence on a topic.
    """

    def __init__(
        self,
        given: dict[str, Any],
        world: World | Alone,
        comm: MPI.Comm | Alone,
        run: AnyRun,
        warn: Callable[[str, str], None],
        options: GeometryOptions | None = None,
    ):
        self._comm, self._run = comm, run
        self.geometry = GeometryChannel(run, options)
        self._topology = TopologyChannel()
        self._description = LiveDescription(name_of(run))
        self.pipelines = Pipelines(given, world, comm, warn)

    def datasets(
        self, frame: Frame, run: RunDirectory | None, written: Frame | None
    ) -> tuple[list[tuple[str, vtkDataSet]], vtkMultiBlockDataSet]:
        """The geometry's blocks, with names, and the topology, of a step.

        run, written : the run directory and the step in it, of all ranks; None where this process does not
        read them.
        """
        blocks, machine = self.geometry.blocks(frame), self._topology.dataset(run, written)
        if settings["describes"]:
            self._description.note(frame.index, blocks, machine, run, written)
        return blocks, machine

    def show(
        self, frame: Frame, time: float, blocks: list[tuple[str, vtkDataSet]], machine: vtkMultiBlockDataSet
    ) -> None:
        """Runs the pipelines on what `datasets` made. time : at which ParaView shows it. Collective."""
        names = self._comm.allgather([name for name, _ in blocks])
        settings["has_mesh"] = any(names)
        if settings["describes"]:
            described = self._description.joined(
                self._comm.allgather(self._description.part()), self._run.known_regions
            )
            settings["description"] = {**described, "step": step_title(frame, frame.index, time)}
        geometry = geometry_among(blocks, names, self._comm.rank)
        self.pipelines.run(frame.index, time, {"geometry": geometry, "topology": machine})

    def finish(self) -> None:
        """Lets ParaView finish what it writes. Collective."""
        self.pipelines.finish()
