# SPDX-License-Identifier: BSD-3-Clause
"""Makes the datasets for pipelines inside the program: the channels "geometry" and "topology".

Both have the same arrays that `perfield render` writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkDataSet, vtkMultiBlockDataSet

import perfield
from perfield.catalyst.world import joined
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.geometry_picture import GeometryOptions, geometry_blocks
from perfield.pictures.pieces import Pieces, SomePieces, StoredPieces, choose_pieces
from perfield.pictures.topology_picture import LAYERS, TopologyScene, topology, topology_scene

if TYPE_CHECKING:
    from perfield.catalyst.gathered_run import GatheredRun
    from perfield.run import Frame, RunDirectory


class GeometryChannel:
    """Some ranks' pieces of the mesh, among the blocks of all."""

    def __init__(self, run: GatheredRun, focus: Sequence[int] = ()):
        """focus : ranks f that get arrays `sent_count_to_<f>` and so on, as in `GeometryOptions`."""
        self._run, self._focus = run, focus
        self._pieces: Pieces | None = None

    def has_mesh(self) -> bool:
        """Whether these ranks have a mesh, described to perfield or on disk."""
        if self._pieces is None:
            try:
                self._pieces = choose_pieces(self._run)
            except MeshMissingError:
                return False
        return True

    def mesh_changed(self) -> None:
        """Drops the old mesh."""
        if isinstance(self._pieces, StoredPieces):
            self._pieces = None

    def blocks(self) -> list[tuple[str, vtkDataSet]]:
        """Names and datasets of the newest step; empty if these ranks have no mesh."""
        if not self.has_mesh():
            return []
        options = GeometryOptions(SomePieces(self._pieces, self._run.ranks_here), focus=self._focus)
        return list(geometry_blocks(self._run, self._run.frame(), options))


def geometry_among(
    blocks: list[tuple[str, vtkDataSet]], names: list[list[str]], here: int
) -> vtkMultiBlockDataSet:
    """Puts this process's blocks at their places among the blocks of all ranks.

    names : the blocks' names for each process that runs ParaView. here : index of this process among them.
    """
    picture = vtkMultiBlockDataSet()
    first = sum(map(len, names[:here]))
    for number, name in enumerate(joined(names)):
        is_here = 0 <= number - first < len(blocks)
        picture.SetBlock(number, blocks[number - first][1] if is_here else None)
        picture.GetMetaData(number).Set(vtkCompositeDataSet.NAME(), name)
    return picture


class TopologyChannel:
    """The machine, on the one rank that reads the run directory; empty layers on the others."""

    def __init__(self, path: Path | None):
        """path : the run directory on the rank that reads, None on the others."""
        self._path = path
        self.run: RunDirectory | None = None
        self.frame: Frame | None = None  # the newest that was shown
        self._scene: TopologyScene | None = None

    def dataset(self, index: int) -> vtkMultiBlockDataSet:
        """The step of this index, or the newest earlier one in the run directory."""
        picture = vtkMultiBlockDataSet()
        layers = self._layers(index) if self._path is not None else {}
        for number, layer in enumerate(LAYERS):
            picture.SetBlock(number, layers.get(layer))
            picture.GetMetaData(number).Set(vtkCompositeDataSet.NAME(), layer)
        return picture

    def _layers(self, index: int) -> dict[str, Any]:
        if self.run is None:
            self.run = perfield.open(self._path)
        self.run.refresh()
        if self._scene is None:
            self._scene = topology_scene(self.run)
        newest = reversed(range(len(self.run)))
        frames = (self.run.frame(number) for number in newest)
        self.frame = next((frame for frame in frames if frame.index <= index), None)
        if self.frame is None:
            return {}
        return topology(self.run, self.frame, self._scene).layers()
