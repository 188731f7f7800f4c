# SPDX-License-Identifier: BSD-3-Clause
"""Writes a run's pictures: geometry.pvd, messages.pvd, topology.pvd and pictures.json, in one directory.

`Pictures` is made once per call of `perfield render`: it chooses the mesh, estimates how many bytes the
chosen steps will take, and writes them. pictures.json holds what a .pvd cannot: ranges, steps and labels for
the pipelines.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkDataSet

from perfield.output.series import Series
from perfield.output.steps import frame_times
from perfield.pictures.geometry_picture import GeometryOptions, geometry_blocks, geometry_messages

SAMPLED_PIECES = 12
LAYERS = ("machine", "ranks", "measurements", "messages")
STATIC_LAYERS = ("machine", "ranks")


@dataclass
class Pictures:
    """The pictures of some steps of a run.

    steps : numbers of frames (places in the run), rising; directory : where the files go.
    geometry : options of the geometry picture, its pieces chosen; None: do not make it.
    topology : (run, frame) -> TopologyPicture; None: do not make it.
    After `write`: description, what pictures.json says; bytes of each series; shown_at, "time" or "step",
    what ParaView shows as time.
    """

    run: Any
    steps: Sequence[int]
    directory: Path
    geometry: GeometryOptions | None
    topology: Callable[[Any, Any], Any] | None
    description: dict[str, Any] = field(default_factory=dict, init=False)
    bytes: dict[str, int] = field(default_factory=dict, init=False)
    shown_at: str = field(default="", init=False)

    def estimate(self) -> int:
        """Bytes that `write` will take: a few pieces of the middle step are written to a temporary place."""
        frame = self.run.frame(self.steps[len(self.steps) // 2])
        with tempfile.TemporaryDirectory(prefix="perfield-estimate-") as place:
            trial = replace(self, directory=Path(place))
            each, once = 0.0, 0.0
            if self.geometry is not None:
                each += trial._sampled_geometry_bytes(frame)
                messages = Series(Path(place), "messages")
                messages.add_one(frame.index, 0.0, geometry_messages(self.run, frame, self.geometry.pieces))
                each += messages.bytes
            if self.topology is not None:
                static = Series(Path(place), "static")
                moving = Series(Path(place), "moving")
                picture = self.topology(self.run, frame)
                for layer in LAYERS:
                    (static if layer in STATIC_LAYERS else moving).static(layer, getattr(picture, layer))
                each, once = each + moving.bytes + 400, static.bytes
        return round(once + each * len(self.steps))

    def write(self, progress: Callable[[int], None] = lambda step: None) -> list[Path]:
        """Writes everything; returns the .pvd files. `progress` is told each step when it is done."""
        times, meaning = frame_times([self.run.frame(index) for index in self.steps])
        made: dict[str, Series] = {}
        if self.geometry is not None:
            made["geometry"] = Series(self.directory, "geometry")
            made["messages"] = Series(self.directory, "messages")
        if self.topology is not None:
            made["topology"] = Series(self.directory, "topology")
        static: dict[str, Path] = {}
        labels = []
        pieces = self.geometry.pieces if self.geometry is not None else None
        for number, time in zip(self.steps, times):
            frame = self.run.frame(number)
            labels.append({"frame": number, "label": int(frame.label), "shown_at": time})
            if self.geometry is not None:
                made["geometry"].add(number, time, geometry_blocks(self.run, frame, self.geometry))
                made["messages"].add_one(number, time, geometry_messages(self.run, frame, pieces))
            if self.topology is not None:
                picture = self.topology(self.run, frame)
                for layer in STATIC_LAYERS:
                    if layer not in static:
                        static[layer] = made["topology"].static(layer, getattr(picture, layer))
                made["topology"].add(
                    number, time, ((layer, static.get(layer, getattr(picture, layer))) for layer in LAYERS)
                )
            progress(number)
        self.shown_at = meaning
        self.bytes = {name: series.bytes for name, series in made.items()}
        self._describe(made, labels)
        return [series.close() for series in made.values()]

    def _sampled_geometry_bytes(self, frame: Any) -> float:
        """Bytes of one step of the geometry, from at most SAMPLED_PIECES ranks spread over all."""
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
        series = Series(self.directory, "geometry")
        options = replace(self.geometry, pieces=_Some(pieces, chosen))
        series.add(frame.index, 0.0, geometry_blocks(self.run, frame, options))
        return series.bytes * sum(sizes) / sampled

    def _describe(self, made: dict[str, Series], labels: list[dict[str, Any]]) -> None:
        options = self.geometry or GeometryOptions()
        self.description = {
            "run": Path(self.run.path).resolve().name,
            "n_ranks": self.run.n_ranks,
            "shown_at": self.shown_at,
            "steps": labels,
            "association": options.association,
            "focus": list(options.focus),
            "regions": self._regions(),
            "ranges": {name: series.ranges for name, series in made.items()},
            "usual_peaks": {name: series.usual_peaks() for name, series in made.items()},
        }
        path = self.directory / "pictures.json"
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(self.description, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)

    def _regions(self) -> list[str]:
        """Regions by name of field, first the one in which the ranks differ most.

        By the seconds that the slowest rank needs beyond the mean, over the steps shown: what all ranks would
        gain at most if the region were balanced.
        """
        lost: dict[str, float] = dict.fromkeys((region.field for region in self.run.regions), 0.0)
        for number in self.steps:
            values = self.run.frame(number).values
            for name in lost:
                times = values.get(f"{name}_self_time_s", np.zeros(0))
                times = times[np.isfinite(times)]
                if len(times):
                    lost[name] += float(times.max() - times.mean())
        return sorted(lost, key=lambda name: -lost[name])


@dataclass
class _Some:
    """Pieces of some ranks only; to the others it gives none."""

    pieces: Any
    ranks: set[int]

    @property
    def origin(self) -> str:
        return self.pieces.origin

    def blocks(self, rank: int, frame: Any) -> list[tuple[int, vtkDataSet]]:
        return self.pieces.blocks(rank, frame) if rank in self.ranks else []


def human_bytes(number: float) -> str:
    """A number of bytes for people, in decimal units: 1234567 -> "1.2 MB"."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
