# SPDX-License-Identifier: BSD-3-Clause
"""Draws the images of one page, in a process with a display: python3 draw.py JOB.json.

The job is {"panels": [...]}; a panel is one of `pages.Panel` with "pictures": the directory that `perfield
render` would write, "time": what the view shows, "scales": both ends of each field's colours or null,
"boxes": the bounds of all panels that share the camera, "line": below the title, and "file". All else is
perfield's own: views, titles, colours and layers come from catalyst_scripts.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import paraview.simple as pv  # before `drawing`, which then takes it

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "catalyst_scripts"))

import layout_filter
import machine_picture
import mesh_picture
from colours import plain
from mesh_views import MeshView
from pipeline_options import Options
from scene import FREE, Pictures, fit_points, new_view, set_title

# name: direction, up, and the part of space to fill the view with (None: the whole mesh)
LOOKS: dict[str, tuple[Any, Any, Any]] = {
    "": (mesh_picture.DIRECTION, mesh_picture.UP, None),
    "inlet": ((0.75, 0.55, -0.4), (0.0, 0.0, 1.0), None),
    "far": ((-0.7, -0.5, -0.6), (0.0, 1.0, 0.0), None),
    "symmetry": ((0.0, 0.0, -1.0), (0.0, 1.0, 0.0), None),
    "near": ((0.3, -0.25, -0.9), (0.0, 1.0, 0.0), (-3.0, 3.6, -2.1, 2.1, -1.2, 0.0)),
    "cut": ((-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), None),
}
INNERMOST = (0, 15)  # ranks: of the wing, the two rings of pieces around the fuselage
EDGED = "Surface With Edges"
# Where a legend starts, and how long it is, by how many there are.
LEGENDS = {1: ((0.2, 0.5),), 2: ((0.5, 0.3), (0.06, 0.3)), 3: ((0.69, 0.15), (0.38, 0.15), (0.07, 0.15))}


class Cut(Pictures):
    """Pictures whose mesh is cut open, or reduced to some of its points."""

    def __init__(self, path: Path, layer: str, field: str):
        super().__init__(path)
        self._layer, self._field, self._made = layer, field, None

    def read(self, name: str) -> Any:
        """The reader of a series; of the mesh, what is left of it."""
        reader = super().read(name)
        if name != "geometry":
            return reader
        if self._made is None and self._layer == "clip":
            self._made = pv.Clip(Input=reader, ClipType="Plane")
            self._made.ClipType.Origin, self._made.ClipType.Normal = (0.5, 0.0, 0.0), (1.0, 0.0, 0.0)
        elif self._made is None and self._layer == "part":
            self._made = pv.Threshold(Input=reader, ThresholdMethod="Between")
            self._made.Scalars = [self.arrays("geometry")["rank"]["association"], "rank"]
            self._made.LowerThreshold, self._made.UpperThreshold = INNERMOST
        elif self._made is None:
            self._made = pv.Threshold(Input=reader)
            association = self.arrays("geometry")[self._field]["association"]
            self._made.Scalars = [association, self._field]
            self._made.LowerThreshold, self._made.UpperThreshold = 150.0, 250.0
            self._made.ThresholdMethod = "Between"
        return self._made


def draw_mesh(panel: dict[str, Any], view: Any) -> Any:
    """Shows a panel of the mesh; returns a source for its title."""
    layer, field, folder = panel["layer"], panel["fields"][0], Path(panel["pictures"])
    pictures = Cut(folder, layer, field) if layer in ("clip", "part", "threshold") else Pictures(folder)
    if field in panel["scales"]:
        rescale(pictures.arrays("geometry")[field], panel["scales"][field])
    if layer == "focus":
        made = mesh_picture.show_focus(pictures, view, field, panel["rank"])
    elif not field:
        made = show_grid(pictures, view)
    else:
        way = MeshView("exploded", 0.5) if "exploded" in panel["options"] else mesh_picture.PLAIN
        made = mesh_picture.show_field(pictures, view, field, way)
        for display in view.Representations:  # without the edges of cells, which veil the colours
            if "cells" not in panel["options"] and getattr(display, "Representation", "") == EDGED:
                display.Representation = "Surface"
    if panel["look"]:
        point_camera(panel, view)
    return made[-1]


def rescale(about: dict[str, Any], scale: list[float]) -> None:
    """Gives an array of pictures.json another scale, which holds all values that the panel shows."""
    about["scale"], about["range"] = scale, [about["range"][0], scale[1]]


def show_grid(pictures: Pictures, view: Any) -> list[Any]:
    """Shows the cells of the mesh without a value."""
    mesh = pictures.read("geometry")
    display = pv.Show(mesh, view)
    display.Representation = EDGED
    plain(display, (0.85, 0.88, 0.92))
    display.EdgeColor, display.LineWidth = (0.45, 0.45, 0.45), 0.4
    display.Ambient, display.Diffuse = 0.6, 0.4
    mesh_picture.look(pictures, view)
    return [mesh]


def point_camera(panel: dict[str, Any], view: Any) -> None:
    """Points the camera as the panel's look says, at the bounds of all panels that share it."""
    direction, up, part = LOOKS[panel["look"]]
    boxes = [part] if part else panel["boxes"]
    corners = [corner for box in boxes for corner in itertools.product(box[0:2], box[2:4], box[4:6])]
    fit_points(view, corners, direction, up, FREE)


def draw_machine(panel: dict[str, Any], view: Any) -> Any:
    """Shows a panel of the machine; returns a source for its title."""
    pictures = Pictures(Path(panel["pictures"]))
    own = [layer["bounds"] for layer in pictures.description["layers"].values()]
    if any(box not in own for box in panel["boxes"]):  # another panel shares the camera, which sees both
        ends = list(zip(*panel["boxes"]))
        around = [(min, max)[n % 2](end) for n, end in enumerate(ends)]
        pictures.description["layers"]["topology/messages"]["bounds"] = around
    layers = machine_picture.Layers(pictures, view)
    legends = []
    for number, name in enumerate(panel["fields"]):
        layer, _, field = name.partition("/")
        if name in panel["scales"]:
            rescale(pictures.arrays(f"topology/{layer}")[field], panel["scales"][name])
        if number:
            legends.append(layers.also(layer, field))
        else:
            layers.colour(layer, field)
            legends.append(pv.GetScalarBar(pv.GetColorTransferFunction(field), view))
            main = (layer, field)
    for legend, (bottom, length) in zip(legends, LEGENDS[len(legends)]):
        legend.Position, legend.ScalarBarLength = [0.82, bottom], length
    machine_picture.look(pictures, view)
    if "front" in panel["options"]:
        written = layout_filter.leaves(layers.reader.GetClientSideObject().GetOutputDataObject(0))
        around = layout_filter.hull(pictures.layout, written).tolist()
        fit_points(view, around, (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), machine_picture.AREA)  # from below
    if "ends" in panel["options"]:
        for display in layers.coloured:
            display.Representation, display.PointSize = "Points", 4.0
    view.ViewTime = panel["time"]
    if main[0] != "measurements":  # or the names of the ranks that compute longest lie before it
        pictures.arrays("topology/measurements").pop("compute_time_s", None)
    names = machine_picture.Names(pictures, view, *main, layers.proxies[-1])
    names.at(panel["time"])
    return layers.proxies[-1]


def draw(panel: dict[str, Any]) -> None:
    """Draws one panel into its file."""
    os.environ["PERFIELD_LAYOUT"] = panel["layout"]
    view = new_view(alone=True)
    view.ViewSize, view.ViewTime = Options.size, panel["time"]
    source = (draw_machine if panel["layer"] == "topology" else draw_mesh)(panel, view)
    set_title(view, panel["words"], [panel["line"]], source)
    file = panel["file"]
    pv.SaveScreenshot(file, view, ImageResolution=Options.size, TransparentBackground=0, CompressionLevel="9")


def main() -> None:
    """Draws all panels of the job; prints each one's file, and behind a tab what went wrong."""
    for panel in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["panels"]:
        try:
            draw(panel)
            print(panel["file"], flush=True)
        except Exception as error:  # the other panels can still be drawn
            traceback.print_exc()
            print(panel["file"], f"{type(error).__name__}: {error}".replace("\n", " "), sep="\t", flush=True)
        pv.ResetSession()


if __name__ == "__main__":
    main()
