# SPDX-License-Identifier: BSD-3-Clause
"""The geometry picture in ParaView: values on the simulation's mesh, and the messages between its pieces.

In the GUI: `perfield open RUN`, or, in this directory, since the GUI does not tell a script where it lies:
PYTHONPATH=. PERFIELD_PICTURES=RUN/pictures paraview --script=geometry.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if "__file__" in globals():
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import paraview.simple as pv
from colours import ABSENT, PALETTE, TEXT, colour, label, plain
from scene import Pictures, fit_camera, new_view, set_title

DIRECTION, UP = (-1.0, 0.75, -0.6), (0.0, 0.0, 1.0)
FLAT_DIRECTION, FLAT_UP = (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)
FAINT = 0.08
FOCUS = PALETTE[4]


def show_field(pictures: Pictures, view: Any, field: str) -> list[Any]:
    """Shows a field on the mesh, edges of the pieces in dark; returns what was made."""
    mesh = pictures.read("geometry")
    association = "POINTS" if pictures.description["association"] == "point" else "CELLS"
    display = pv.Show(mesh, view)
    display.Representation = "Surface"
    display.Interpolation = "Flat"
    _light(display)
    bounds, end = pictures.bounds("geometry", field), pictures.beyond("geometry", field)
    colour(display, view, field, association, bounds, absent=field != "rank", end=end)
    look(mesh, view)
    return [*_edges(mesh, view), mesh]


def show_messages(pictures: Pictures, view: Any, field: str) -> list[Any]:
    """Shows the lines between the pieces that communicate, the pieces faintly around them."""
    mesh, lines = pictures.read("geometry"), pictures.read("messages")
    _faint(mesh, view)
    display = pv.Show(lines, view)
    display.LineWidth = 4.0
    display.Ambient, display.Diffuse = 1.0, 0.0
    bounds, end = pictures.bounds("messages", field), pictures.beyond("messages", field)
    colour(display, view, field, "CELLS", bounds, end=end)
    look(mesh, view)
    return [*_edges(mesh, view, 0.25), lines, mesh]


def show_focus(pictures: Pictures, view: Any, field: str, focus: int) -> list[Any]:
    """Shows one rank (orange) and those that exchange something with it, the others faintly."""
    mesh = pictures.read("geometry")
    association = "POINTS" if pictures.description["association"] == "point" else "CELLS"
    _faint(mesh, view)
    bounds, end = pictures.bounds("geometry", field), pictures.beyond("geometry", field)
    peers = _between(mesh, association, field, *(bounds or (0.0, 0.0)))
    display = pv.Show(peers, view)
    _light(display)
    display.Opacity = 0.5  # the chosen rank often lies behind
    colour(display, view, field, association, bounds, end=end)
    chosen = _between(mesh, association, "rank", focus, focus)
    piece = pv.Show(chosen, view)
    plain(piece, FOCUS)
    _light(piece)
    outline = _edges(chosen, view, rgb=FOCUS, width=5.0)
    look(mesh, view)
    return [*outline, *_edges(mesh, view, 0.4), chosen, peers, mesh]


def look(mesh: Any, view: Any) -> None:
    """Points the camera at the mesh: from an angle, or from above if it is flat."""
    bounds = mesh.GetDataInformation().GetBounds()
    lengths = [bounds[1] - bounds[0], bounds[3] - bounds[2], bounds[5] - bounds[4]]
    flat = lengths[2] <= 0.15 * max(lengths)
    fit_camera(view, bounds, *((FLAT_DIRECTION, FLAT_UP) if flat else (DIRECTION, UP)))


def _light(display: Any) -> None:
    """Little shade, so that colours stay those of the legend."""
    display.Ambient, display.Diffuse, display.Specular = 0.55, 0.45, 0.0


def _faint(mesh: Any, view: Any) -> None:
    display = pv.Show(mesh, view)
    display.Representation = "Surface"
    plain(display, ABSENT, FAINT)


def _edges(mesh: Any, view: Any, opacity: float = 0.6, rgb: Any = TEXT, width: float = 1.0) -> list[Any]:
    surface = pv.ExtractSurface(Input=mesh)
    edges = pv.FeatureEdges(Input=surface)
    edges.NonManifoldEdges = 0
    display = pv.Show(edges, view)
    plain(display, rgb, opacity)
    display.LineWidth = width
    return [edges, surface]


def _between(mesh: Any, association: str, field: str, low: float, high: float) -> Any:
    chosen = pv.Threshold(Input=mesh)
    chosen.Scalars = [association, field]
    chosen.LowerThreshold, chosen.UpperThreshold = low, high
    chosen.ThresholdMethod = "Between"
    return chosen


def main() -> None:
    """Opens the picture in the GUI, coloured by the first region's time."""
    pictures = Pictures.from_environment()
    regions = [f"{name}_time_s" for name in pictures.description["regions"]]
    field = next((name for name in regions if pictures.bounds("geometry", name)), "compute_time_s")
    view = new_view()
    show_field(pictures, view, field)
    set_title(view, (label(field), pictures.description["run"]))
    pv.Render(view)


if __name__ == "__main__":
    main()
