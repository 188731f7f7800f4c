# SPDX-License-Identifier: BSD-3-Clause
"""A rank that runs ParaView: makes the datasets of its own and the received pieces, and shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkMultiBlockDataSet

from perfield.catalyst.channels import WrittenSteps
from perfield.catalyst.gathered_run import GatheredRun, NewDefinitions, Piece
from perfield.catalyst.stage import Stage
from perfield.catalyst.world import World
from perfield.pictures.geometry_picture import GeometryOptions


class Leader:
    """One of the ranks that run ParaView.

    given : the settings of `perfield.catalyst.start`. comm : communicator of these ranks. sources :
    names of sources, for each rank of the program. warn : prints a sentence on a topic.
    """

    def __init__(
        self,
        given: dict[str, Any],
        world: World,
        comm: MPI.Comm,
        sources: Sequence[list[str]],
        warn: Callable[[str, str], None],
    ):
        path = Path(given["run"])
        self._run = GatheredRun(path, sources)
        self._written = WrittenSteps(path if comm.rank == 0 else None)
        self._stage = Stage(given, world, comm, self._run, warn, GeometryOptions(focus=given["focus"]))

    def learn(self, of_ranks: Iterable[NewDefinitions]) -> None:
        """Takes in what is new on all ranks of the program."""
        self._run.learn(of_ranks)

    def datasets(
        self, index: int, pieces: Iterable[Piece], waited_for: np.ndarray, of_focus: Mapping[int, list[bytes]]
    ) -> tuple[list[tuple[str, vtkDataSet]], vtkMultiBlockDataSet]:
        """The geometry's blocks, with names, and the topology, of the step of this index.

        waited_for, of_focus : as in `GatheredRun.take`.
        """
        if self._run.take(index, pieces, waited_for, of_focus):
            self._stage.geometry.mesh_changed()
        self._written.read(index)
        return self._stage.datasets(self._run.frame(), self._written.run, self._written.frame)

    def show(
        self, index: int, time: float, blocks: list[tuple[str, vtkDataSet]], machine: vtkMultiBlockDataSet
    ) -> None:
        """Runs the pipelines on what `datasets` made. Collective."""
        self._stage.show(self._run.frame(), time, blocks, machine)

    def finish(self) -> None:
        """Lets ParaView finish what it writes. Collective."""
        self._stage.finish()
