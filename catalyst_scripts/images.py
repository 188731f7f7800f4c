# SPDX-License-Identifier: BSD-3-Clause
"""Draws images of written pictures. Run it with a display: pvpython or python3 images.py JOB.json.

The job lists images: {"pictures": directory, "images": [{"layer": as in pictures.json, "field", "focus": a
rank or null, "static": whether one image serves all steps, "steps": [{"shown_at"}], "files": [...]}]}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import geometry
import paraview.simple as pv
from arrows import Words
from colours import CATEGORIES
from mesh_values import MeshValues
from mesh_views import MeshView
from scene import SIZE, Pictures, new_view, set_title

import topology


def draw(pictures: Pictures, image: dict[str, Any], mesh: Mesh) -> None:
    """Draws one image per step, all with the same camera, colours and legend."""
    view = new_view()
    view.ViewSize = SIZE
    layer, field = image["layer"], image["field"]
    picture, _, part = layer.partition("/")
    words, names = "", None
    if picture == "topology":
        made = topology.show_layers(pictures, view, part, field)
        names = topology.Names(pictures, view, part, field, made[-1])
    elif picture == "messages":
        made = geometry.show_messages(pictures, view, field)
        names = Words(view, made[-1])
    elif image["focus"] is not None:
        made = geometry.show_focus(pictures, view, field, image["focus"])
    else:
        way, names = mesh.way(field), mesh.names(view, field)
        made = geometry.show_field(pictures, view, field, way, names)
        words = f" ({way.words})" if way.words else ""
    words = " (orange)" if image["focus"] is not None else words
    heading = pictures.arrays(layer)[field]["title"] + words
    lines = [pictures.description["run"]] if image["static"] else pictures.titles(layer, field)
    made.insert(0, set_title(view, heading, lines, made[-1]))
    for step, file in zip(image["steps"], image["files"]):
        view.ViewTime = step["shown_at"]
        if names is not None:
            names.at(step["shown_at"])
        target = pictures.path / "images" / file
        temporary = target.with_name(f".{target.name}.png")
        pv.SaveScreenshot(str(temporary), view, ImageResolution=SIZE, TransparentBackground=0)
        temporary.replace(target)
    pv.HideScalarBarIfNotNeeded(pv.GetColorTransferFunction(field), view)
    for proxy in [*made, *(names.proxies if names is not None else [])]:
        pv.Delete(proxy)
    pv.Delete(view)


class Mesh:
    """How the images show the mesh: chosen for all of them together, as reading the mesh takes time."""

    def __init__(self, pictures: Pictures, images: list[dict[str, Any]]):
        own = [image for image in images if image["layer"] == "geometry" and image["focus"] is None]
        times = sorted({step["shown_at"] for image in own for step in image["steps"]})
        self._pictures = pictures
        self._values = MeshValues(pictures, [image["field"] for image in own])
        self._chooser = geometry.chooser(pictures, self._values, times)

    def way(self, field: str) -> MeshView:
        """The way to show a field."""
        return self._chooser.choose(field)

    def names(self, view: Any, field: str) -> geometry.Names | None:
        """The names of a field's dearest ranks on a view; None if ranks are no dearer by this field."""
        if field in CATEGORIES or field in self._pictures.description["own_fields"]:
            return None
        return geometry.Names(self._pictures, view, field, self._values, self.way(field))


def main() -> None:
    """Draws all images of the job."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    pictures = Pictures(Path(job["pictures"]))
    (pictures.path / "images").mkdir(exist_ok=True)
    mesh = Mesh(pictures, job["images"])
    for image in job["images"]:
        draw(pictures, image, mesh)


if __name__ == "__main__":
    main()
