# SPDX-License-Identifier: BSD-3-Clause
"""Makes images of written pictures: pvpython or python3 images.py JOB.json, with a display.

The job lists images: {"pictures": directory, "images": [{"file", "kind": "field" | "messages" | "focus" |
"topology", "field", "layer", "focus", "steps": [{"frame", "label", "shown_at"}], "files": [...]}]}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import geometry
import paraview.simple as pv
from colours import label
from scene import SIZE, Pictures, new_view, set_title

import topology


def draw(pictures: Pictures, image: dict[str, Any]) -> None:
    """Draws one image per step, all with the same camera, colours and legend."""
    view = new_view()
    field = image["field"]
    if image["kind"] == "topology":
        made = topology.show_layers(pictures, view, image["layer"], field)
    elif image["kind"] == "messages":
        made = geometry.show_messages(pictures, view, field)
    elif image["kind"] == "focus":
        made = geometry.show_focus(pictures, view, field, image["focus"])
    else:
        made = geometry.show_field(pictures, view, field)
    heading = label(field) + (" (orange)" if image["kind"] == "focus" else "")
    title = None
    for step, file in zip(image["steps"], image["files"]):
        view.ViewTime = step["shown_at"]
        title = set_title(view, (heading, pictures.title(None if image["static"] else step)), title)
        target = pictures.path / "images" / file
        temporary = target.with_name(f".{target.name}.png")
        pv.SaveScreenshot(str(temporary), view, ImageResolution=SIZE, TransparentBackground=0)
        temporary.replace(target)
    pv.HideScalarBarIfNotNeeded(pv.GetColorTransferFunction(field), view)
    for proxy in [*title, *made]:
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
