# SPDX-License-Identifier: BSD-3-Clause
"""The options that say where the mesh of a run is, of all commands that show one."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.commands import CommandError
from perfield.configuration import OF_GRID, is_boxes

if TYPE_CHECKING:
    from perfield.pictures.pieces import Pieces
    from perfield.run import AnyRun

MESH_HELP = """\
a mesh on disk: a file with an array of ranks (.case of EnSight, .vtu, .cgns, ...), pieces of all ranks
(.pvtu, .pvd, .e.4.0 of Exodus), a table of boxes (.csv: rank,x0,x1,y0,y1,z0,z1), an AMReX plotfile,
or an OpenFOAM case; docs/meshes.md lists all. `boxes` shows a box for each rank, whatever mesh there is"""
GRID_HELP = """\
show a box for each rank in a grid of these lengths along x, y and z, as 4x2x2; also
4x2x2,order=zyx (ranks count along z first; default: as fits the messages) and 4x2x2,periodic=xz"""
RANK_ARRAY_HELP = """\
the array of the file in --mesh that holds the rank of each cell or point (default: one with a common
name, as mpi_rank_id)"""


def add_mesh_options(parser: argparse.ArgumentParser, grid: bool = True) -> None:
    """Adds --mesh, --rank-array, and --grid where boxes will do."""
    parser.add_argument("--mesh", metavar="PATH", help=MESH_HELP)
    parser.add_argument("--rank-array", metavar="NAME", help=RANK_ARRAY_HELP)
    if grid:
        parser.add_argument("--grid", metavar="LENGTHS", dest="mesh", type=_grid, help=GRID_HELP)


def _grid(text: str) -> str:
    """What --mesh would say. Raises ArgumentTypeError, with what to give."""
    from perfield.pictures.stated_grid import grid_words

    try:
        grid_words(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return OF_GRID + text


def mesh_words(arguments: argparse.Namespace) -> list[str]:
    """The options again, for another command's line."""
    words = ["--mesh", arguments.mesh] if arguments.mesh else []
    return [*words, "--rank-array", arguments.rank_array] if arguments.rank_array else words


def check_path(arguments: argparse.Namespace) -> None:
    """Raises CommandError if nothing is where --mesh says: a slip, not a mesh that cannot be used."""
    if arguments.mesh and not is_boxes(arguments.mesh) and not Path(arguments.mesh).exists():
        raise CommandError(
            f"--mesh {arguments.mesh} does not exist; give a mesh file, as results.case or mesh.pvtu, or the "
            "directory of an OpenFOAM case."
        )


def mesh_of(run: AnyRun, arguments: argparse.Namespace, cells: bool = True) -> Pieces:
    """The mesh that the options name, or that the run has. cells : whether boxes, which have none, are not
    enough. Raises MeshMissingError."""
    from perfield.pictures.blocks import MeshMissingError
    from perfield.pictures.pieces import choose_pieces

    pieces = choose_pieces(run, arguments.mesh, arguments.rank_array)
    if cells and not getattr(pieces, "are_cells", True):
        raise MeshMissingError(f"the {pieces.way} have no cells; name a mesh with --mesh PATH.")
    return pieces


def shown_mesh(run: AnyRun, arguments: argparse.Namespace) -> tuple[Pieces, list[str]]:
    """What pictures show in the place of a mesh, and sentences on it.

    Raises MeshMissingError if there is nothing to show, CommandError for a path where nothing is.
    """
    check_path(arguments)
    from perfield.pictures.shown_mesh import shown_pieces

    return shown_pieces(run, arguments.mesh, arguments.rank_array)


def mesh_line(run: AnyRun, arguments: argparse.Namespace) -> list[str]:
    """Where the mesh of a run's pictures comes from, in lines; none without VTK or without a mesh."""
    if find_spec("vtkmodules") is None:
        return []
    from perfield.pictures.blocks import MeshMissingError

    try:
        pieces, notes = shown_mesh(run, arguments)
    except MeshMissingError as error:
        return [f"mesh       {error}"] if arguments.mesh or arguments.rank_array else []
    return [f"mesh       {pieces.way.removeprefix('mesh ')}", *(f"           {note}" for note in notes)]


def agrees(place: str) -> bool:
    """Asks whether a page may show a mesh at a place outside; no without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    print(f"The mesh of this run is in {place}, outside the directory in which the program started.")
    return input("Show it to whoever opens the page? [y/N] ").strip().lower() in ("y", "yes")
