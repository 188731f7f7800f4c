# SPDX-License-Identifier: BSD-3-Clause
"""Writes a run's pictures: geometry.pvd, messages.pvd, topology.pvd and pictures.json, in one directory.

`perfield render` makes one `PictureSeries` per call. It estimates the bytes of the chosen steps, then writes
them. pictures.json holds what a .pvd cannot: ranges, titles and steps for the pipelines.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vtkmodules.vtkCommonDataModel import vtkDataSet

from perfield.catalyst_scripts.layouts import DEFAULT
from perfield.catalyst_scripts.owned_folder import OwnedFolder
from perfield.derived.injected import is_injected
from perfield.output.arrays import Arrays
from perfield.output.description import ages, describe, step_title, written_at
from perfield.output.main_arrays import with_values_over_steps
from perfield.output.series import Series
from perfield.output.steps import frame_times
from perfield.output.survey import Meshes, Survey, survey
from perfield.pictures.geometry_picture import GeometryOptions, geometry_blocks
from perfield.pictures.line_choice import LEFT_OUT
from perfield.pictures.overview import Overview
from perfield.pictures.own_fields import own_fields
from perfield.pictures.piece_messages import PieceMessages
from perfield.pictures.pieces import SomePieces, StoredPieces, mesh_at
from perfield.pictures.topology_picture import STATIC_LAYERS, TopologyScene, topology
from perfield.topology import Placement, placement_of

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame

PICTURES = "pictures.json"
SAMPLED_PIECES = 12


@dataclass
class PictureSeries:
    """The pictures of some steps of a run.

    steps : ascending numbers of frames (places in the run). directory : where the files go.
    geometry : options of the geometry picture, with pieces; None skips that picture.
    topology : what all topology pictures share; None skips them. survey : of the whole run; None makes it.
    arrays : names of the values that the pictures carry; None takes all. The simulation's own fields are
    always there. layout : how images and ParaView's pipelines arrange the nodes of the machine.
    placement : of all ranks, also where `topology` shows a part; None reads it.
    `write` sets description (the content of pictures.json), bytes (of each series) and shown_at ("time" or
    "step": what ParaView shows as time).
    """

    run: AnyRun
    steps: Sequence[int]
    directory: Path
    geometry: GeometryOptions | None
    topology: TopologyScene | None
    survey: Survey | None = None
    arrays: Collection[str] | None = None
    layout: str = DEFAULT
    placement: Placement | None = None
    description: dict[str, Any] = field(default_factory=dict, init=False)
    bytes: dict[str, int] = field(default_factory=dict, init=False)
    shown_at: str = field(default="", init=False)

    def __post_init__(self) -> None:
        if self.survey is None:
            self.survey = survey(self.run)
        if self.geometry is not None and self.geometry.fields is None and self.arrays is not None:
            self.geometry = replace(self.geometry, fields=list(self.arrays))
        if self.geometry is not None and self.geometry.fields is not None:
            fields = [*self.geometry.fields, *self.survey.over_steps]
            self.geometry = replace(self.geometry, fields=fields)
        if self.geometry is not None:
            self._messages = PieceMessages(self.run, self.geometry.pieces, self.geometry.lines)

    def estimate(self) -> int:
        """Estimates the bytes that `write` will take by writing a sample of the middle step."""
        frame = self._frame(self.steps[len(self.steps) // 2])
        with tempfile.TemporaryDirectory(prefix="perfield-estimate-") as place:
            folder = OwnedFolder(place)
            each, once = 0.0, 0.0
            if self.geometry is not None:
                each += self._sampled_geometry_bytes(frame, folder)
                messages = Series(folder, "messages")
                messages.add_one(frame.index, 0.0, self._messages.of(frame))
                each += messages.bytes
            if self.topology is not None:
                static = Series(folder, "static")
                moving = Series(folder, "moving")
                for layer, dataset in topology(self.run, frame, self.topology).layers().items():
                    (static if layer in STATIC_LAYERS else moving).static(layer, dataset)
                each, once = each + moving.bytes + 500, static.bytes
        return round(once + each * len(self.steps))

    def write(self, progress: Callable[[int], None] = lambda step: None) -> list[Path]:
        """Writes everything; returns the .pvd files. Calls `progress` with each finished step.

        Raises NotOursError, before anything is written, if `directory` is not perfield's.
        """
        folder = OwnedFolder(self.directory)
        times, self.shown_at = frame_times(self.run.frame(index) for index in self.steps)
        wanted = ["geometry", "messages"] if self.geometry is not None else []
        wanted += ["topology"] if self.topology is not None else []
        made = {name: Series(folder, name) for name in wanted}
        folder.check(PICTURES)
        arrays: dict[str, Arrays] = defaultdict(Arrays)
        own: dict[str, str] = {}
        static: dict[str, Path] = {}
        labels, meshes, crowded = [], Meshes(), Counter[str]()
        numbers: dict[object, int] = {}  # of meshes
        for number, time in zip(self.steps, times):
            frame = self._frame(number)
            kinds = self.survey.kinds
            own_time = time if self.shown_at == "time" else None
            words = step_title(frame, number, own_time, kinds, is_injected(self.run))
            mesh: object = meshes.number(frame.mesh_version)
            if self.geometry is not None and hasattr(self.geometry.pieces, "mesh_times"):
                mesh = mesh_at(self.geometry.pieces, frame)
            mesh = numbers.setdefault(mesh, len(numbers))
            mesh_age, fields_age = self._ages(frame, number)
            labels.append(
                {
                    **{"frame": number, "title": words, "mesh_age": mesh_age, "fields_age": fields_age},
                    **{"shown_at": time, "mesh": mesh, "fields_of": fields_age or self._fields_of(frame)},
                }
            )
            if self.geometry is not None:
                options = replace(self.geometry, offsets=True)
                pieces = self._noted(number, geometry_blocks(self.run, frame, options), arrays, own)
                made["geometry"].add(number, time, pieces)
                messages = self._messages.of(frame)
                arrays["messages"].note(number, messages)
                crowded["messages"] = max(crowded["messages"], _left_out(messages))
                made["messages"].add_one(number, time, messages)
            if self.topology is not None:
                layers = topology(self.run, frame, self.topology).layers()
                for layer, dataset in layers.items():
                    if layer not in static:
                        arrays[f"topology/{layer}"].note(number, dataset)
                        crowded[f"topology/{layer}"] = max(crowded[f"topology/{layer}"], _left_out(dataset))
                        if layer in STATIC_LAYERS:
                            static[layer] = made["topology"].static(layer, dataset)
                made["topology"].add(number, time, (layers | static).items())
            progress(number)
        self.bytes = {name: series.bytes for name, series in made.items()}
        of_mesh = self.geometry or GeometryOptions()
        self.description = {
            **{"shown_at": self.shown_at, "steps": labels, "focus": list(of_mesh.focus)},
            **{"view": of_mesh.view, "explode": of_mesh.explode, "mesh_way": self._mesh_way()},
            "layout": "" if isinstance(self.topology, Overview) else self.layout,  # which arranges planes
            "crowded": {layer: n_lines for layer, n_lines in crowded.items() if n_lines},
            **describe(self.run, self.survey, self.placement or placement_of(self.run), arrays, own),
        }
        folder.write(PICTURES, json.dumps(self.description, indent=1) + "\n")
        return [series.close() for series in made.values()]

    def _frame(self, number: int) -> Frame:
        """A frame with the values over all steps beside its own."""
        return with_values_over_steps(self.run.frame(number), self.survey, self.arrays)

    def _ages(self, frame: Frame, number: int) -> tuple[str, str]:
        pieces = self.geometry.pieces if self.geometry is not None else None
        older = getattr(pieces, "older_times", None)
        if older is not None:  # on disk
            mesh, fields = older(frame)
            return written_at("mesh", mesh), written_at("fields", fields)
        stored = getattr(pieces, "fields_index", None)
        return ages(frame, number, self.survey, stored(frame) if stored is not None else None)

    def _fields_of(self, frame: Frame) -> str:
        """What the titles of later steps say that show the fields which this step stored."""
        is_on_disk = self.geometry is not None and hasattr(self.geometry.pieces, "older_times")
        return written_at("fields", frame.time) if is_on_disk else f"fields of step {int(frame.label)}"

    def _mesh_way(self) -> str:
        """How the mesh was found, for titles; "" where the program described it."""
        if self.geometry is None or isinstance(self.geometry.pieces, StoredPieces):
            return ""
        return self.geometry.pieces.way

    @staticmethod
    def _noted(
        number: int,
        blocks: Iterable[tuple[str, vtkDataSet]],
        arrays: dict[str, Arrays],
        own: dict[str, str],
    ) -> Iterator[tuple[str, vtkDataSet]]:
        """Yields the pieces of a step unchanged and notes their arrays."""
        for name, dataset in blocks:
            arrays["geometry"].note(number, dataset)
            own.update(own_fields(dataset))
            yield name, dataset

    def _sampled_geometry_bytes(self, frame: Frame, folder: OwnedFolder) -> float:
        """Bytes of one step of the geometry, extrapolated from at most SAMPLED_PIECES evenly spread ranks."""
        pieces = self.geometry.pieces
        sizes = [
            sum(1 + dataset.GetNumberOfPoints() + dataset.GetNumberOfCells() for _, dataset in blocks)
            for blocks in (pieces.blocks(rank, frame) for rank in range(self.run.n_ranks))
        ]
        stride = -(-len(sizes) // SAMPLED_PIECES)
        chosen = {rank for rank in range(0, len(sizes), stride) if sizes[rank]}
        sampled = sum(sizes[rank] for rank in chosen)
        if not sampled:
            return 0.0
        series = Series(folder, "geometry")
        options = replace(self.geometry, pieces=SomePieces(pieces, chosen), offsets=True)
        series.add(frame.index, 0.0, geometry_blocks(self.run, frame, options))
        return series.bytes * sum(sizes) / sampled


def _left_out(dataset: vtkDataSet) -> int:
    """How many lines of a layer are not drawn, though nobody chose some; 0 for other layers."""
    numbers = dataset.GetFieldData().GetArray(LEFT_OUT)
    return int(numbers.GetValue(0)) if numbers is not None else 0
