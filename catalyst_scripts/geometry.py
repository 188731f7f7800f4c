# SPDX-License-Identifier: BSD-3-Clause
"""Shows the geometry picture in ParaView: values on the simulation's mesh, and messages between its pieces.

To start the GUI: `perfield open RUN`. Or in this directory, because the GUI does not tell a script its path:
PYTHONPATH=. PERFIELD_PICTURES=RUN/pictures paraview --script=geometry.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if "__file__" in globals():
    sys.path.insert(0, str(Path(__file__).resolve().parent))

import paraview.simple as pv
from colours import ABSENT, OUTLINE, PALETTE, TEXT, colour, plain
from follow import follow
from in_program import Program, is_pipeline
from scene import Pictures, at_first_step, fit_camera, new_view, set_title

DIRECTION, UP = (-1.0, 0.75, -0.6), (0.0, 0.0, 1.0)
FLAT_DIRECTION, FLAT_UP = (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)
FAINT = 0.08
FOCUS = PALETTE[4]


def show_field(pictures: Pictures, view: Any, field: str) -> list[Any]:
    """Shows a field on the mesh, with the edges of the pieces in grey; returns all proxies, the mesh last."""
    mesh = pictures.read("geometry")
    display = pv.Show(mesh, view)
    display.Representation = "Surface"
    display.Interpolation = "Flat"
    _light(display)
    colour(display, view, field, pictures.arrays("geometry")[field])
    look(pictures, view)
    return [*_edges(mesh, view, 1.0, OUTLINE), mesh]


def show_messages(pictures: Pictures, view: Any, field: str) -> list[Any]:
    """Shows the lines between pieces that communicate, and the pieces faintly around them."""
    mesh, lines = pictures.read("geometry"), pictures.read("messages")
    _faint(mesh, view)
    display = pv.Show(lines, view)
    display.LineWidth = 4.0
    display.Ambient, display.Diffuse = 1.0, 0.0
    colour(display, view, field, pictures.arrays("messages")[field])
    look(pictures, view)
    return [*_edges(mesh, view, 0.25), lines, mesh]


def show_focus(pictures: Pictures, view: Any, field: str, focus: int) -> list[Any]:
    """Shows one rank in orange, the ranks that exchange something with it, and all others faintly."""
    mesh = pictures.read("geometry")
    about, of_ranks = (pictures.arrays("geometry")[name] for name in (field, "rank"))
    _faint(mesh, view)
    peers = _between(mesh, about["association"], field, *about["range"])
    display = pv.Show(peers, view)
    _light(display)
    display.Opacity = 0.5  # the chosen rank is often behind these
    colour(display, view, field, about)
    chosen = _between(mesh, of_ranks["association"], "rank", focus, focus)
    piece = pv.Show(chosen, view)
    plain(piece, FOCUS)
    _light(piece)
    outline = _edges(chosen, view, 1.0, FOCUS, 5.0)
    look(pictures, view)
    return [*outline, *_edges(mesh, view, 0.4), chosen, peers, mesh]


def look(pictures: Pictures, view: Any) -> None:
    """Points the camera at the mesh of all steps: from an angle, or from above if it is flat."""
    bounds = pictures.bounds("geometry")
    lengths = [bounds[1] - bounds[0], bounds[3] - bounds[2], bounds[5] - bounds[4]]
    flat = lengths[2] <= 0.15 * max(lengths)
    fit_camera(view, bounds, *((FLAT_DIRECTION, FLAT_UP) if flat else (DIRECTION, UP)))


def _light(display: Any) -> None:
    """Reduces shading, so colours stay close to the legend's."""
    display.Ambient, display.Diffuse, display.Specular = 0.85, 0.15, 0.0


def _faint(mesh: Any, view: Any) -> None:
    display = pv.Show(mesh, view)
    display.Representation = "Surface"
    plain(display, ABSENT, FAINT)


def _edges(mesh: Any, view: Any, opacity: float, rgb: Any = TEXT, width: float = 1.5) -> list[Any]:
    surface = pv.ExtractSurface(registrationName="surface of the pieces", Input=mesh)
    edges = pv.FeatureEdges(registrationName="edges of the pieces", Input=surface)
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


def open_in(view: Any, pictures: Pictures) -> Any:
    """Fills a view of the GUI; returns the mesh."""
    field = pictures.first_field()
    mesh = show_field(pictures, view, field)[-1]
    set_title(view, pictures.arrays("geometry")[field]["title"], pictures.titles(), mesh)
    return mesh


def main() -> None:
    """Opens the picture in the GUI, coloured by the time in the region with the most imbalance."""
    view, pictures = new_view(), Pictures.from_environment()
    at_first_step([view], open_in(view, pictures))
    follow([view], pictures)


def in_program() -> Program:
    """The pipeline inside the measured program."""
    program = Program("geometry")
    program.extract()
    program.image("geometry", lambda view, field: pv.Show(show_field(program, view, field)[-1], view))
    return program


if __name__ == "__main__":
    main()
elif is_pipeline(__name__):
    program = in_program()
    options, catalyst_execute = program.options, program.step
