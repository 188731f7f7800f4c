# SPDX-License-Identifier: BSD-3-Clause
"""A white view with a title, a camera that fits what is shown, and the pictures of a run to show in it.

The pictures are the directory that `perfield render` wrote; pictures.json there holds labels and ranges.
"""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import paraview.simple as pv
from colours import TEXT

SIZE = (1600, 1000)
FREE = (0.03, 0.76, 0.04, 0.85)  # left, right, bottom, top of what neither title nor legend needs


class Pictures:
    """The pictures of a run: `path` of the directory, `description` as pictures.json has it."""

    def __init__(self, path: Path):
        self.path = path
        self.description = json.loads((path / "pictures.json").read_text(encoding="utf-8"))

    @classmethod
    def from_environment(cls) -> Pictures:
        """The directory that PERFIELD_PICTURES names; else perfield-run/pictures here."""
        return cls(Path(os.environ.get("PERFIELD_PICTURES", "perfield-run/pictures")))

    def read(self, name: str) -> Any:
        """A reader of one series: "geometry", "messages" or "topology"."""
        reader = pv.PVDReader(registrationName=name, FileName=str(self.path / f"{name}.pvd"))
        reader.UpdatePipeline()
        return reader

    def has(self, name: str) -> bool:
        """Whether a series was written."""
        return (self.path / f"{name}.pvd").exists() and name in self.description["ranges"]

    def bounds(self, name: str, field: str) -> tuple[float, float] | None:
        """Smallest and largest value of an array over all steps; None if it was never measured."""
        bounds = self.description["ranges"].get(name, {}).get(field)
        return tuple(bounds) if bounds else None

    def beyond(self, name: str, field: str) -> float | None:
        """Where the colours of a field end, if single steps go far beyond the others; else None."""
        return self.description["usual_peaks"].get(name, {}).get(field)

    def title(self, step: dict[str, Any] | None) -> str:
        """One line that says which run and step is shown; None: something that is the same in all steps."""
        if step is None:
            return self.description["run"]
        time = f", time {step['shown_at']:.6g}" if self.description["shown_at"] == "time" else ""
        return f"{self.description['run']}, step {step['label']}{time}"


def new_view() -> Any:
    """A white view of fixed size, parallel projection."""
    view = pv.GetActiveViewOrCreate("RenderView")
    view.ViewSize = SIZE
    view.UseColorPaletteForBackground = 0
    view.BackgroundColorMode = "Single Color"
    view.Background = (1.0, 1.0, 1.0)
    view.OrientationAxesLabelColor = TEXT
    view.OrientationAxesVisibility = 0
    view.CameraParallelProjection = 1
    return view


def set_title(view: Any, texts: tuple[str, str], sources: list[Any] | None = None) -> list[Any]:
    """Writes two lines at the upper left, the first one large; its result, given back, changes the texts."""
    sources = sources or [pv.Text(registrationName=name) for name in ("title", "subtitle")]
    for source, text, height, size in zip(sources, texts, (0.93, 0.885), (30, 22)):
        source.Text = text
        display = pv.Show(source, view, "TextSourceRepresentation")
        display.WindowLocation = "Any Location"
        display.Position = [0.02, height]
        display.Justification = "Left"
        display.Color = TEXT
        display.FontSize = size
    return sources


def fit_camera(
    view: Any,
    bounds: tuple[float, ...],
    direction: tuple[float, float, float],
    up: tuple[float, float, float],
) -> None:
    """Looks along `direction` so that the box `bounds`, x0 to z1, just fits into the free part."""
    forward = _unit(direction)
    right = _unit(_cross(forward, up))
    above = _cross(right, forward)
    corners = list(itertools.product(bounds[0:2], bounds[2:4], bounds[4:6]))
    across = [_dot(corner, right) for corner in corners]
    along = [_dot(corner, above) for corner in corners]
    left, r, bottom, top = FREE
    aspect = view.ViewSize[0] / view.ViewSize[1]
    height = max(
        (max(across) - min(across)) / ((r - left) * aspect), (max(along) - min(along)) / (top - bottom), 1e-12
    )
    middle_right = (max(across) + min(across)) / 2 - ((left + r) / 2 - 0.5) * height * aspect
    middle_above = (max(along) + min(along)) / 2 - ((bottom + top) / 2 - 0.5) * height
    depths = [_dot(corner, forward) for corner in corners]
    middle = (max(depths) + min(depths)) / 2
    focus = [middle_right * right[n] + middle_above * above[n] + middle * forward[n] for n in range(3)]
    distance = 2 * (max(depths) - min(depths)) + height
    view.CameraFocalPoint = focus
    view.CameraPosition = [focus[n] - distance * forward[n] for n in range(3)]
    view.CameraViewUp = above
    view.CameraParallelScale = height / 2


def _dot(a: Any, b: Any) -> float:
    return sum(x * y for x, y in zip(a, b))


def _cross(a: Any, b: Any) -> tuple[float, float, float]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _unit(a: Any) -> tuple[float, ...]:
    length = _dot(a, a) ** 0.5
    return tuple(x / length for x in a)
