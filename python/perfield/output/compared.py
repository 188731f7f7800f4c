# SPDX-License-Identifier: BSD-3-Clause
"""Writes pictures of a comparison: geometry.pvd, topology.pvd and pictures.json, and plans their images.

Each series has one step, whose arrays are a field before, after, and as difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkDataSet

from perfield.catalyst_scripts.layouts import DEFAULT
from perfield.catalyst_scripts.owned_folder import OwnedFolder
from perfield.output.arrays import Arrays
from perfield.output.description import places
from perfield.output.picture_series import PICTURES
from perfield.output.scales import round_end
from perfield.output.series import Series
from perfield.output.titles import region_titles, title
from perfield.pictures.compared import AFTER, BEFORE, DIFFERENCE, ComparedMesh, Side, compared_frame
from perfield.pictures.topology_picture import STATIC_LAYERS, topology, topology_scene
from perfield.topology import placement_of

MEASUREMENTS = "topology/measurements"


class ComparedPictures:
    """The pictures of a comparison. directory : where the files go. field : that they show.

    words : the field for titles, "compute time". `write` sets description, the content of pictures.json.
    """

    def __init__(self, directory: Path, before: Side, after: Side, field: str):
        self.directory, self.before, self.after, self.field = directory, before, after, field
        self.words, self.unit = title(field, region_titles(after.run.known_regions), {})
        self.description: dict[str, Any] = {}
        self._layers: dict[str, dict[str, Any]] = {}
        self._more: dict[str, str] = {}  # layer -> words after the field's

    def write(self, mesh: ComparedMesh | None, machine: bool) -> list[Path]:
        """Writes everything; returns the .pvd files. mesh : None: no mesh. machine : whether to write it."""
        folder, made = OwnedFolder(self.directory), []
        folder.check(PICTURES)
        wanted = ["geometry"] * (mesh is not None) + ["topology"] * machine
        all_series = {name: Series(folder, name) for name in wanted}
        if mesh is not None:
            of_cells = " per cell" if mesh.per_cell else " of the cell's rank"
            self._more["geometry"] = "" if mesh.alike else of_cells
            series, arrays = all_series["geometry"], Arrays()
            series.add(0, 0.0, self._noted(arrays, mesh.blocks(self.field)))
            self._note("geometry", arrays)
            made.append(series.close())
        if machine:
            made.append(self._write_machine(all_series["topology"]))
        placement = placement_of(self.after.run)
        self.description = {
            "shown_at": "step",
            "steps": [
                {"frame": 0, "shown_at": 0.0, "title": "", "mesh": 0, "mesh_age": "", "fields_age": ""}
            ],
            **{"focus": [], "view": "auto", "explode": None, "layout": DEFAULT, "own_fields": {}},
            **{"run": f"{self.after.name} compared with {self.before.name}", "over_steps": {}},
            **{"n_ranks": self.after.run.n_ranks, "places": places(self.after.run, placement)},
            **{"regions": [], "typical": 0, "slowest": 0, "layers": self._layers},
        }
        folder.write(PICTURES, json.dumps(self.description, indent=1) + "\n")
        return made

    def images(self) -> list[dict[str, Any]]:
        """The images to draw, for `draw_images`: the three arrays side by side, of each picture."""
        planned = []
        for layer, stem in (("geometry", "mesh"), (MEASUREMENTS, "machine")):
            known = self._layers.get(layer, {}).get("arrays", {})
            fields = [self.field + ending for ending in (BEFORE, AFTER, DIFFERENCE)]
            if not all(field in known for field in fields):
                continue
            words = self.words + self._more.get(layer, "")
            lines = [f"{words}, {side.steps}" for side in (self.before, self.after)]
            heads = (self.before.name, self.after.name, f"change: {self.after.name} minus {self.before.name}")
            planned.append(
                {
                    **{"layer": layer, "field": fields[0], "focus": None, "static": True},
                    "steps": self.description["steps"],
                    "files": [f"{len(planned) + 1:02d}_{stem}_{self.field}.png"],
                    "panels": [
                        {"field": field, "title": head, "line": line}
                        for field, head, line in zip(
                            fields, heads, (*lines, f"{words}: red is more, blue is less")
                        )
                    ],
                }
            )
        return planned

    def _write_machine(self, series: Series) -> Path:
        run = self.after.run
        frame = compared_frame(self.before, self.after, self.field)
        scene = topology_scene(run, without=("messages", "links", "collectives"))
        layers: dict[str, Any] = {}
        for layer, dataset in topology(run, frame, scene).layers().items():
            arrays = Arrays()
            arrays.note(0, dataset)
            self._note(f"topology/{layer}", arrays)
            layers[layer] = series.static(layer, dataset) if layer in STATIC_LAYERS else dataset
        series.add(0, 0.0, layers.items())
        return series.close()

    @staticmethod
    def _noted(arrays: Arrays, blocks: Iterator[tuple[str, vtkDataSet]]) -> Iterator[tuple[str, vtkDataSet]]:
        for name, dataset in blocks:
            arrays.note(0, dataset)
            yield name, dataset

    def _note(self, layer: str, arrays: Arrays) -> None:
        described = arrays.description()
        for name, about in described.items():
            about["title"], about["unit"] = title(name, {}, {})
            about["scale"], about["beyond"] = None, {}
        share_scales(described, self.field, self.words + self._more.get(layer, ""), self.unit)
        self._layers[layer] = {"bounds": arrays.bounds, "spread": arrays.spread, "arrays": described}


def share_scales(arrays: Mapping[str, dict[str, Any]], field: str, words: str, unit: str) -> None:
    """Gives the arrays before and after one scale, and the difference a scale around zero; and their titles.

    The machine's largest values (`_rank_max`) are left as they are. field, words, unit : what is compared.
    """
    names = {ending: field + ending for ending in (BEFORE, AFTER, DIFFERENCE)}
    known = {ending: arrays[name] for ending, name in names.items() if name in arrays}
    for ending, about in known.items():
        about["title"], about["unit"] = f"{words}, {ending[1:]}", unit
    ranges = [known[ending]["range"] for ending in (BEFORE, AFTER) if ending in known]
    for ending in (BEFORE, AFTER):
        if ending in known:
            low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
            _scale(known[ending], min(low, 0.0), round_end(high, whole=unit == "1"))
    if DIFFERENCE in known:
        end = round_end(float(np.abs(known[DIFFERENCE]["range"]).max()))
        _scale(known[DIFFERENCE], -end, end)


def _scale(about: dict[str, Any], low: float, high: float) -> None:
    """Sets a scale that holds the whole range; rounding is not beyond it."""
    least, most = about["range"]
    about["scale"], about["range"] = (low, high), (max(least, low), min(most, high))
