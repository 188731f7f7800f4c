# SPDX-License-Identifier: BSD-3-Clause
"""Draws images of written pictures. Run it where VTK can draw: python3 images.py JOB.json.

The job is {"pictures": directory, "images": [...], "draw": [...], "folder": of the files, which holds none of
these names}, and may have "size" and "camera" as the options of pipelines, and "one_scale": true for the same
colours in all steps. An image is {"layer": as in pictures.json,
"field", "focus": a rank or null, "static": whether one image serves all steps, "steps": [{"frame",
"shown_at"}], "files": [...]}; "panels", in all images or none, are fields side by side (see `panels.py`).
"draw" lists what to draw here: pairs of an image's number and a step's. It prints each file's name.

Reading a step takes longer than drawing it, so images of one step follow each other, and those that differ
only in field and step share all sources.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import machine_picture
import mesh_picture
import panels
from arrows import FACES, LINES, Words
from colours import CATEGORIES, colour
from drawing import pv
from mesh_values import MeshValues
from mesh_views import Chooser, MeshView
from pipeline_options import from_settings
from scene import Pictures, literal, new_view, text_title


class Mesh:
    """How the images show the mesh: chosen for all of them together, as reading the mesh takes time."""

    def __init__(self, pictures: Pictures, images: list[dict[str, Any]]):
        own = [image for image in images if image["layer"] == "geometry" and image["focus"] is None]
        times = sorted({step["shown_at"] for image in own for step in image["steps"]})
        self._pictures = pictures
        fields = list(dict.fromkeys(image["field"] for image in own))
        measured = next((name for name in fields if measures_ranks(pictures, name)), "compute_time_s")
        self._values = MeshValues(pictures, [*fields, measured])
        self._sight = mesh_picture.sight(pictures, self._values)
        self._chooser = Chooser(pictures, self._values, times, self._sight, measured)

    def way(self, field: str) -> MeshView:
        """The way to show a field."""
        return self._chooser.choose(field)

    def names(self, view: Any, field: str) -> mesh_picture.Names:
        """The names of a field's highest ranks on a view."""
        return mesh_picture.Names(self._pictures, view, field, self.way(field), self._values, self._sight)


class Scene:
    """A picture in a view: all that images of one kind share. Draws one of them after the other."""

    def __init__(
        self, pictures: Pictures, view: Any, image: dict[str, Any], mesh: Mesh, one_scale: bool = False
    ):
        """view : with nothing in it that is visible. image : the first to draw. one_scale : no step has
        colours of its own."""
        self._pictures, self._view, self._one_scale = pictures, view, one_scale
        layer, field = image["layer"], image["field"]
        picture, _, part = layer.partition("/")
        self._layer, self._field, self._scale = layer, field, None
        self._words, self._names, self._machine = "", None, None
        if picture == "topology":
            self._machine = machine_picture.Layers(pictures, view)
            self._machine.colour(part, field)
            machine_picture.look(pictures, view, layer=part)
            made = self._machine.proxies
            self._names = machine_picture.Names(pictures, view, part, field, made[-1])
        elif picture == "messages":
            made = mesh_picture.show_messages(pictures, view, field)
            faces = mesh_picture.are_faces(pictures)
            self._names = Words(view, made[-1], FACES if faces else LINES)
        elif image["focus"] is not None:
            made = mesh_picture.show_focus(pictures, view, field, image["focus"])
            self._words = " (orange)"
        else:
            way, self._names = mesh.way(field), mesh.names(view, field)
            self._names.show(self._named(field))
            made = mesh_picture.show_field(pictures, view, field, way, self._names)
            self._words = f" ({way.words})" if way.words else ""
        self._title = text_title(view)
        # ParaView makes these objects anew, and slowly, at each access.
        self._coloured = (
            []
            if self._machine
            else [
                shape
                for shape in view.Representations
                if shape.Visibility and hasattr(shape, "ColorArrayName") and shape.ColorArrayName[1] == field
            ]
        )

    def draw(self, image: dict[str, Any], step: dict[str, Any], target: Path) -> None:
        """Draws an image of the scene's kind at a step, into a file."""
        field, view = image["field"], self._view
        about = self._pictures.arrays(image["layer"])[field]
        beyond = about.get("beyond", {}).get(str(step["frame"])) or {}
        self._colour(image["layer"], field, about, None if self._one_scale else beyond.get("scale"))
        steps = self._pictures.description["steps"]
        at = next(number for number, known in enumerate(steps) if known["frame"] == step["frame"])
        title = self._pictures.titles(image["layer"], field, self._one_scale)[at]
        line = static_line(self._pictures, image["layer"], steps[at]) if image["static"] else title
        self._title.Text = literal(f"{about['title']}{self._words}\n{line}")
        view.ViewTime = step["shown_at"]
        if self._names is not None:
            self._names.at(step["shown_at"])
        pv.SaveScreenshot(
            str(target),
            view,
            ImageResolution=self._pictures.options.size,
            TransparentBackground=0,
            CompressionLevel="1",
        )

    def hide(self) -> None:
        """Hides all that the scene shows, for the next one in the view."""
        pv.HideScalarBarIfNotNeeded(pv.GetColorTransferFunction(self._field), self._view)
        for shape in self._machine.coloured if self._machine else self._coloured:
            shape.SetScalarBarVisibility(self._view, False)
        for shape in self._view.Representations:
            shape.Visibility = 0

    def _colour(self, layer: str, field: str, about: Mapping[str, Any], scale: Any) -> None:
        """Colours by another field, or by another scale; what had the old field's colours takes the new."""
        if (layer, field, scale) == (self._layer, self._field, self._scale):
            return
        if self._machine:
            part = layer.partition("/")[2]
            self._names.show(part, field)
            self._machine.colour(part, field, scale)
            machine_picture.look(self._pictures, self._view, layer=part)
        elif isinstance(self._names, mesh_picture.Names):
            self._names.show(self._named(field))
        for shape in self._coloured:
            if field != self._field:
                shape.SetScalarBarVisibility(self._view, False)
            colour(shape, self._view, field, about, own_scale=scale)
        self._layer, self._field, self._scale = layer, field, scale

    def _named(self, field: str) -> str:
        """The field whose highest ranks carry names; "" where it does not measure ranks."""
        return field if measures_ranks(self._pictures, field) else ""


def measures_ranks(pictures: Pictures, field: str) -> bool:
    """Whether a field is neither a name of something nor the simulation's own."""
    return field not in CATEGORIES and field not in pictures.description["own_fields"]


def static_line(pictures: Pictures, layer: str, step: dict[str, Any]) -> str:
    """The line of an image that serves all steps: the run, whose step's mesh it shows if that changes, and
    how the mesh was found."""
    run, steps = pictures.description["run"], pictures.description["steps"]
    if layer != "geometry":
        return run
    way = pictures.description.get("mesh_way", "")
    if len({known["mesh"] for known in steps}) > 1:
        run = f"{run}, on the mesh of {step['title'].partition(',')[0]}"
    return f"{run}\n{way}" if way else run


def kind_of(image: dict[str, Any], mesh: Mesh) -> tuple[Any, ...]:
    """What images that share a scene have in common."""
    picture = image["layer"].partition("/")[0]
    if picture == "geometry" and image["focus"] is None:
        return picture, mesh.way(image["field"])
    return picture, image["focus"]


def draw(
    pictures: Pictures,
    images: list[dict[str, Any]],
    chosen: list[tuple[int, int]],
    folder: Path,
    one_scale: bool = False,
    drawn: Callable[[str], None] = lambda name: print(name, flush=True),
) -> None:
    """Draws images into a folder; nothing of theirs is there.

    images : as in a job. chosen : pairs of an image's number and a step's. one_scale : as in a job. drawn :
    is called with each complete file's name; by default, it prints it.
    """
    mesh = Mesh(pictures, images)
    view = new_view()
    view.ViewSize = pictures.options.size
    kinds: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for number, place in chosen:
        kinds.setdefault(kind_of(images[number], mesh), []).append((number, place))
    for of_kind in kinds.values():
        scene = Scene(pictures, view, images[of_kind[0][0]], mesh, one_scale)
        for number, place in sorted(of_kind, key=lambda pair: images[pair[0]]["steps"][pair[1]]["shown_at"]):
            image = images[number]
            scene.draw(image, image["steps"][place], folder / image["files"][place])
            drawn(image["files"][place])
        scene.hide()


def main() -> None:
    """Draws all images of the job."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    pictures = Pictures(Path(job["pictures"]), from_settings(job))
    folder, images = Path(job["folder"]), job["images"]
    for number, place in job["draw"]:
        if os.path.lexists(folder / images[number]["files"][place]):
            sys.exit(f"{folder / images[number]['files'][place]} exists already; give an empty folder.")
    if not any("panels" in image for image in images):
        draw(pictures, images, job["draw"], folder, bool(job.get("one_scale")))
        return
    for number, place in job["draw"]:  # of a comparison, which has no others
        file = images[number]["files"][place]
        panels.draw(pictures, images[number], folder / file)
        print(file, flush=True)


if __name__ == "__main__":
    main()
