# SPDX-License-Identifier: BSD-3-Clause
"""Makes the datasets for pipelines: the channels "geometry" and "topology".

Both have the same arrays that `perfield render` writes. They are multiblocks: of a partitioned dataset a live
connection shows only the part of the first rank.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkDataSet, vtkMultiBlockDataSet

import perfield
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.geometry_picture import GeometryOptions, geometry_blocks
from perfield.pictures.lasting_geometry import LastingGeometry
from perfield.pictures.pieces import Pieces, SomePieces, StoredPieces, choose_pieces
from perfield.pictures.topology_picture import LAYERS, TopologyScene, topology, topology_scene

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame, RunDirectory


class GeometryChannel:
    """The pieces of the mesh of some ranks or of all, one step after another.

    run : a run directory, or the ranks here that the program gathered. options : without pieces.
    """

    def __init__(self, run: AnyRun, options: GeometryOptions | None = None):
        self._run = run
        self._options = options or GeometryOptions()
        self._pieces: Pieces | None = None
        self._lasting: LastingGeometry | None = None
        self.missing = ""  # why there is no mesh

    def has_mesh(self) -> bool:
        """Whether these ranks have a mesh, described to perfield or on disk."""
        if self._pieces is None:
            try:
                self._pieces, self.missing = choose_pieces(self._run), ""
            except MeshMissingError as error:
                self.missing = str(error)
        return self._pieces is not None

    def mesh_changed(self) -> None:
        """Drops the old mesh."""
        if isinstance(self._pieces, StoredPieces):
            self._pieces = self._lasting = None

    def blocks(self, frame: Frame) -> list[tuple[str, vtkDataSet]]:
        """Names and datasets of a step; empty if these ranks have no mesh. Valid until the next call."""
        if not self.has_mesh():
            return []
        if isinstance(self._pieces, StoredPieces):
            if self._lasting is None:
                self._lasting = LastingGeometry(self._run, self._pieces, self._options)
            return self._lasting.blocks(frame)
        ranks = self._run.ranks_here
        pieces = self._pieces if len(ranks) == self._run.n_ranks else SomePieces(self._pieces, ranks)
        return list(geometry_blocks(self._run, frame, replace(self._options, pieces=pieces)))


def geometry_among(
    blocks: list[tuple[str, vtkDataSet]], names: list[list[str]], here: int
) -> vtkMultiBlockDataSet:
    """Puts this process's blocks at their places among the blocks of all ranks.

    names : the blocks' names for each process that runs ParaView. here : index of this process among them.
    """
    picture = vtkMultiBlockDataSet()
    first = sum(map(len, names[:here]))
    for number, name in enumerate(chain.from_iterable(names)):
        is_here = 0 <= number - first < len(blocks)
        picture.SetBlock(number, blocks[number - first][1] if is_here else None)
        picture.GetMetaData(number).Set(vtkCompositeDataSet.NAME(), name)
    return picture


class TopologyChannel:
    """The machine, one step after another."""

    def __init__(self) -> None:
        self._scene: TopologyScene | None = None
        self._known: tuple[list[dict[str, Any] | None], int] = [], 0

    def dataset(self, run: RunDirectory | None, frame: Frame | None) -> vtkMultiBlockDataSet:
        """A step. run, frame : None where this process does not read them; then all layers are empty."""
        picture = vtkMultiBlockDataSet()
        layers = self._layers(run, frame) if run is not None and frame is not None else {}
        for number, layer in enumerate(LAYERS):
            picture.SetBlock(number, layers.get(layer))
            picture.GetMetaData(number).Set(vtkCompositeDataSet.NAME(), layer)
        return picture

    def _layers(self, run: RunDirectory, frame: Frame) -> dict[str, Any]:
        known = list(run.rank_entries), len(run.communicators)
        if self._scene is None or known != self._known:  # ranks may check in late, or make communicators
            self._scene, self._known = topology_scene(run), known
        return topology(run, frame, self._scene).layers()


class WrittenSteps:
    """The run directory of a program that makes pictures, on the one rank that reads it."""

    def __init__(self, path: Path | None):
        """path : the run directory, None on the other ranks."""
        self._path = path
        self.run: RunDirectory | None = None
        self.frame: Frame | None = None  # the newest that was asked for

    def read(self, index: int) -> None:
        """Sets `frame` to the step of this index, or to the newest earlier one that was written."""
        if self._path is None:
            return
        if self.run is None:
            self.run = perfield.open(self._path)
        self.run.refresh()
        newest = reversed(range(len(self.run)))
        frames = (self.run.frame(number) for number in newest)
        self.frame = next((frame for frame in frames if frame.index <= index), None)
