# SPDX-License-Identifier: BSD-3-Clause
"""The runs that ParaView shows: each is opened once, and its mesh is converted once.

Readers and filters of one run share it. What a reader makes names its run and its frame in field
data, by which filters behind it find both.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from pathlib import Path

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkStringArray
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkDataObject

import perfield
from perfield.output.steps import choose_steps, frame_times
from perfield.output.survey import Survey, survey
from perfield.pictures.overview import Overview
from perfield.pictures.pieces import Pieces, choose_pieces
from perfield.pictures.topology_picture import TopologyScene, topology_scene
from perfield.run import Frame, RunDirectory
from perfield.run.directory import read_info, run_id_of
from perfield.topology import Placement, placement_of

RUN, FRAME = "perfield_run", "perfield_frame"  # field data: path of the run directory, number of the frame
MOST_OPEN = 4


class OpenRun:
    """A run, and what all its frames share. `refresh` drops what has changed."""

    def __init__(self, path: Path):
        self.run: RunDirectory = perfield.open(path)
        self.run_id = run_id_of(self.run.info, path)
        self._scene: tuple[tuple[str, ...] | None, TopologyScene | Overview] | None = None
        self._told: set[str] = set()

    @cached_property
    def times(self) -> list[float]:
        """The time of each frame, as `perfield render` gives it. Raises StepsError without frames."""
        return frame_times(self.run.frame(number) for number in choose_steps(self.run, "all"))[0]

    @cached_property
    def survey(self) -> Survey:
        """What all frames say together."""
        return survey(self.run)

    @cached_property
    def pieces(self) -> Pieces:
        """The meshes. Raises MeshMissingError if there are none."""
        return choose_pieces(self.run)

    @cached_property
    def placement(self) -> Placement:
        """Where the ranks sat."""
        return placement_of(self.run)

    def scene(self, statistics: tuple[str, ...] | None) -> TopologyScene | Overview:
        """What all pictures of the machine share. statistics : as for `topology_scene`; the last is kept."""
        if self._scene is None or self._scene[0] != statistics:
            made = topology_scene(self.run, self.placement, statistics=statistics)
            self._scene = (statistics, made)
        return self._scene[1]

    def news(self) -> list[str]:
        """Sentences on what is damaged or left out, each once."""
        left_out = getattr(self.__dict__.get("pieces"), "left_out", {})
        new = [text for text in (*self.run.damage, *left_out.values()) if text not in self._told]
        self._told.update(new)
        return new

    def frame_at(self, time: float | None) -> int:
        """The number of the frame at a time, else of the last one before it; None: the first."""
        if time is None:
            return 0
        return max(0, int(np.searchsorted(self.times, time, side="right")) - 1)

    def refresh(self) -> None:
        """Reads what was written since."""
        before = self.run.until, len(self.run), self.run.state
        self.run.refresh()
        if (self.run.until, len(self.run), self.run.state) != before:
            for name in ("times", "survey", "pieces", "placement"):
                self.__dict__.pop(name, None)
            self._scene = None


_opened: OrderedDict[Path, OpenRun] = OrderedDict()


def run_at(path: str | Path, refresh: bool = False) -> OpenRun:
    """The run of a run.json or of a run directory. refresh : read what was written since it was opened.

    Raises RunError if this is no run; its text says what was found instead.
    """
    path = Path(path).absolute()
    path = path.parent if path.is_file() and path.name == "run.json" else path
    found = _opened.get(path)
    if found is None or run_id_of(read_info(path), path) != found.run_id:
        found = _opened[path] = OpenRun(path)
        while len(_opened) > MOST_OPEN:
            _opened.popitem(last=False)
    elif refresh:
        found.refresh()
    _opened.move_to_end(path)
    return found


def mark(dataset: vtkDataObject, run: OpenRun, number: int) -> vtkDataObject:
    """Writes into a dataset's field data which run and frame it shows, also into that of its blocks."""
    path = vtkStringArray()
    path.SetName(RUN)
    path.InsertNextValue(str(run.run.path))
    frame = numpy_to_vtk(np.array([number], np.int32), deep=True)
    frame.SetName(FRAME)
    for part in (dataset, *leaves(dataset)):
        part.GetFieldData().AddArray(path)
        part.GetFieldData().AddArray(frame)
    return dataset


def shown_in(dataset: vtkDataObject) -> tuple[OpenRun, Frame] | None:
    """The run and the frame that a dataset, or one of its blocks, shows; None if it names none."""
    for part in (dataset, *leaves(dataset)):
        path, number = (part.GetFieldData().GetAbstractArray(name) for name in (RUN, FRAME))
        if path is not None and number is not None:
            run = run_at(path.GetValue(0))
            return run, run.run.frame(int(number.GetTuple1(0)))
    return None


def leaves(dataset: vtkDataObject) -> list[vtkDataObject]:
    """The datasets that a composite dataset holds; none of any other."""
    if not isinstance(dataset, vtkCompositeDataSet):
        return []
    found, iterator = [], dataset.NewIterator()
    iterator.InitTraversal()
    while not iterator.IsDoneWithTraversal():
        found.append(iterator.GetCurrentDataObject())
        iterator.GoToNextItem()
    return found
