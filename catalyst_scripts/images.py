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
from scene import SIZE, Pictures, new_view, set_title

import topology


def draw(pictures: Pictures, image: dict[str, Any]) -> None:
    """Draws one image per step, all with the same camera, colours and legend."""
    view = new_view()
    view.ViewSize = SIZE
    layer, field = image["layer"], image["field"]
    picture, _, part = layer.partition("/")
    names = None
    if picture == "topology":
        made = topology.show_layers(pictures, view, part, field)
        names = topology.Names(pictures, view, part, field, made[-1])
    elif picture == "messages":
        made = geometry.show_messages(pictures, view, field)
    elif image["focus"] is not None:
        made = geometry.show_focus(pictures, view, field, image["focus"])
    else:
        made = geometry.show_field(pictures, view, field)
    heading = pictures.arrays(layer)[field]["title"] + (" (orange)" if image["focus"] is not None else "")
    lines = [pictures.description["run"]] if image["static"] else pictures.titles()
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


def main() -> None:
    """Draws all images of the job."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    pictures = Pictures(Path(job["pictures"]))
    (pictures.path / "images").mkdir(exist_ok=True)
    for image in job["images"]:
        draw(pictures, image)


if __name__ == "__main__":
    main()
