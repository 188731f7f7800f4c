# SPDX-License-Identifier: BSD-3-Clause
"""The runs that ParaView shows: each is opened once, and its mesh is converted once.

Readers and filters of one run share it. What a reader makes names its run and its frame in field
data, by which filters behind it find both.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkStringArray
from vtkmodules.vtkCommonDataModel import (
    vtkCompositeDataSet,
    vtkDataObject,
    vtkDataSet,
    vtkMultiBlockDataSet,
    vtkPolyData,
)

import perfield
from perfield.derived.run import Run
from perfield.derived.view import RunView
from perfield.output.steps import choose_steps, frame_times
from perfield.output.survey import Survey, survey
from perfield.pictures.blocks import shallow
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.overview import Overview
from perfield.pictures.piece_messages import PieceMessages
from perfield.pictures.pieces import Pieces
from perfield.pictures.shown_mesh import shown_pieces
from perfield.pictures.topology_picture import TopologyScene, topology_scene
from perfield.run.directory import read_info, run_id_of
from perfield.run.snapshot import Snapshot
from perfield.topology import Placement, placement_of

RUN, FRAME = "perfield_run", "perfield_frame"  # field data: path of the run directory, number of the frame
MOST_OPEN = 4


class OpenRun:
    """A run, and what all its frames share. `refresh` drops what has changed.

    run : its frames hold values of one step, as in the pictures of `perfield render`.
    """

    def __init__(self, path: Path):
        self.run = cast(Run, RunView(perfield.open(path), of_one_step=True))
        self.run_id = run_id_of(self.run.info, path)
        self._mesh = ""
        self._mesh_sentences: list[str] = []
        self._scene: tuple[tuple[str, ...] | None, TopologyScene | Overview] | None = None
        self._printed: set[str] = set()

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
        """The meshes, or boxes in their place. Raises MeshMissingError if there are none."""
        pieces, self._mesh_sentences = shown_pieces(self.run, self._mesh or None)
        return pieces

    @cached_property
    def messages(self) -> PieceMessages:
        """The messages between the pieces. Raises MeshMissingError if there are none."""
        return PieceMessages(self.run, self.pieces)

    def use_mesh(self, mesh: str) -> None:
        """Takes the mesh from a place on disk from now on; "" is where the run has it."""
        if mesh != self._mesh:
            self._mesh = mesh
            for name in ("pieces", "messages"):
                self.__dict__.pop(name, None)

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

    def machine_with(self, lines: LineChoice) -> TopologyScene | Overview:
        """The scene of the machine for values of a filter's own, with only some messages as lines."""
        scene = self.scene(())
        if isinstance(scene, Overview):
            return Overview(self.placement, lines)
        return replace(scene, lines=lines)

    def new_sentences(self) -> list[str]:
        """Sentences on what is damaged or left out, each once."""
        left_out = getattr(self.__dict__.get("pieces"), "left_out", {})
        several = (self.run.spans > 1).any()
        means = ["Frames add up several steps: values are the mean of one."] if several else []
        sentences = (*self.run.damage, *means, *left_out.values(), *self._mesh_sentences)
        new = [text for text in sentences if text not in self._printed]
        self._printed.update(new)
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
            for name in ("times", "survey", "pieces", "messages", "placement"):
                self.__dict__.pop(name, None)
            self._scene = None


_opened: OrderedDict[Path, OpenRun] = OrderedDict()
_histories: OrderedDict[tuple, np.ndarray] = OrderedDict()


def run_at(path: str | Path, refresh: bool = False) -> OpenRun:
    """The run of a run.json or of a run directory. refresh : read what was written since it was opened.

    Raises RunError if this is not a run; its text says what was found instead.
    """
    path = Path(path).absolute()
    path = path.parent if path.is_file() and path.name == "run.json" else path
    found = _opened.get(path)
    if found is None or run_id_of(read_info(path)[0], path) != found.run_id:
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
    for part in (dataset, *blocks_of(dataset).values()):
        part.GetFieldData().AddArray(path)
        part.GetFieldData().AddArray(frame)
    return dataset


def shown_in(dataset: vtkDataObject, run: str = "") -> tuple[OpenRun, int]:
    """The run that a dataset, or one of its blocks, shows, and the number of its frame.

    run : path of the run of a dataset that names none, as those that `perfield render` wrote; their time then
    says the frame. Raises ValueError if the run is not known.
    """
    for part in (dataset, *blocks_of(dataset).values()):
        path, number = (part.GetFieldData().GetAbstractArray(name) for name in (RUN, FRAME))
        if path is not None and number is not None:
            return run_at(path.GetValue(0)), int(number.GetTuple1(0))
    if not run:
        raise ValueError(
            "the input does not say which run it shows. Put this filter behind a run.json that File > Open "
            "opened, or give the path of the run directory in the filter's advanced property Run."
        )
    opened, about = run_at(run), dataset.GetInformation()
    time = vtkDataObject.DATA_TIME_STEP()
    return opened, opened.frame_at(about.Get(time) if about.Has(time) else None)


def blocks_of(dataset: vtkDataObject) -> dict[str, vtkDataSet]:
    """The datasets in a composite dataset by name, or a dataset itself, called ""."""
    if not isinstance(dataset, vtkCompositeDataSet):
        return {"": dataset} if isinstance(dataset, vtkDataSet) else {}
    found: dict[str, vtkDataSet] = {}
    iterator = dataset.NewIterator()
    iterator.InitTraversal()
    while not iterator.IsDoneWithTraversal():
        about = iterator.GetCurrentMetaData() if iterator.HasCurrentMetaData() else None
        key = vtkCompositeDataSet.NAME()
        name = about.Get(key) if about is not None and about.Has(key) else f"block_{len(found)}"
        found[name if name not in found else f"{name}_{len(found)}"] = iterator.GetCurrentDataObject()
        iterator.GoToNextItem()
    return found


def named_blocks(datasets: Mapping[str, vtkDataSet]) -> vtkMultiBlockDataSet:
    """A composite dataset of copies of some datasets, which share their points, cells and arrays."""
    made = vtkMultiBlockDataSet()
    for number, (name, dataset) in enumerate(datasets.items()):
        made.SetBlock(number, shallow(dataset))
        made.GetMetaData(number).Set(vtkCompositeDataSet.NAME(), name)
    return made


def ranks_in(dataset: vtkDataSet) -> tuple[np.ndarray, str]:
    """The rank of each point or cell of a dataset, int (n,), and which of both: "point" or "cell".

    Raises ValueError if it has no array `rank`.
    """
    for association, data in (("point", dataset.GetPointData()), ("cell", dataset.GetCellData())):
        array = data.GetArray("rank")
        if array is not None:
            return np.round(vtk_to_numpy(array)).astype(int), association
    raise ValueError(
        "the input has no array rank. Put this filter behind a run.json that File > Open opened, or filters "
        "that keep its arrays."
    )


def words_in(text: str) -> list[str]:
    """The words of a list that is separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def some_cells(cells: vtkPolyData, keep: np.ndarray) -> vtkPolyData:
    """The cells for which keep, bool (n_cells,), is true, with their arrays."""
    some = vtkPolyData()
    some.DeepCopy(cells)
    some.BuildCells()
    for number in np.flatnonzero(~keep).tolist():
        some.DeleteCell(number)
    some.RemoveDeletedCells()
    return some


def known_field(run: OpenRun, name: str) -> str:
    """The name of a field of a run, without blanks around it.

    Raises ValueError with the nearest names if the run has no such field.
    """
    name = name.strip()
    if name not in run.run.all_fields:
        raise ValueError(f"Array: {run.run.all_fields.unknown(name)}" if name else "Array is empty.")
    return name


def over_all_steps(run: OpenRun, name: str) -> np.ndarray:
    """A field in all frames, (n_frames, n_ranks), NaN where absent; the last few are kept. Of frames that add
    up several steps it is the mean of one."""
    key = (run.run.path, run.run_id, len(run.run), *run.run.until.items(), name)
    if key not in _histories:
        chunks = Snapshot(run.run).in_chunks(np.arange(len(run.run)), [name])
        each = [(values / run.run.all_fields.per_step([name], here))[:, 0] for here, values in chunks]
        _histories[key] = np.concatenate(each)
        while len(_histories) > MOST_OPEN:
            _histories.popitem(last=False)
    return _histories[key]
