# SPDX-License-Identifier: BSD-3-Clause
"""The mesh that pictures show of any run: the first way that works, and sentences on those that did not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from perfield.configuration import BOXES, setting
from perfield.pictures.blocks import MeshMissingError, MeshUnknownError
from perfield.pictures.boxes import shown_boxes
from perfield.pictures.found_mesh import found_mesh
from perfield.pictures.pieces import Pieces, choose_pieces, started_in
from perfield.text import first_of

if TYPE_CHECKING:
    from perfield.run import AnyRun

NOBODY = "no rank described a mesh, and none was found or named (--mesh PATH), so ranks are boxes."
FOUND = "no rank described a mesh, so perfield looked for one on disk; --mesh names another, or boxes."
USELESS = (
    "The run wrote {files}, where nothing says which rank owns what; see --rank-array, and for plotfiles "
    "amr.plot_nfiles = -1."
)
NAMED = 3  # files that a sentence names


def shown_pieces(
    run: AnyRun,
    mesh: str | Path | None = None,
    rank_array: str | None = None,
    boxes: Callable[[AnyRun], Pieces] = shown_boxes,
) -> tuple[Pieces, list[str]]:
    """What pictures of the mesh show of a run, and what the user should know of it.

    Takes the first of: what `choose_pieces` finds, what it finds without the mesh that was named, what the
    program wrote while it was measured, and boxes. With BOXES for `mesh` or `mesh_path`, boxes at once.
    boxes : makes them.
    Raises MeshMissingError, with what to do, if there is nothing to show, or nothing at the place `mesh`.
    """
    if BOXES in (str(mesh), mesh is None and setting(run, "mesh_path")):
        return _with_notes(boxes(run))
    try:
        return _with_notes(choose_pieces(run, mesh, rank_array))
    except MeshMissingError as error:
        first = error
    if mesh is not None and not Path(mesh).exists():  # a slip
        raise first
    useless: list[str] = []
    for way in (choose_without_name, lambda run: _found(run, useless), boxes):
        try:
            pieces = way(run)
        except MeshMissingError:
            continue
        if not isinstance(first, MeshUnknownError):
            notes = [f"{first} Shown instead: {pieces.way}."]
        else:
            notes = [FOUND] if way is not boxes else [NOBODY, *_reasons(useless)]
        return _with_notes(pieces, notes)
    raise first


def mesh_of(run: AnyRun, mesh: str | Path | None = None, rank_array: str | None = None) -> Pieces:
    """The mesh of a run: what `choose_pieces` finds, else what the program wrote while it was measured.

    Raises MeshMissingError if neither is there, or boxes alone, which have no cells.
    """
    try:
        pieces = choose_pieces(run, mesh, rank_array)
    except MeshUnknownError:
        pieces = _found(run, [])
    if not getattr(pieces, "are_cells", True):
        raise MeshMissingError(f"the {pieces.way} have no cells.")
    return pieces


def choose_without_name(run: AnyRun) -> Pieces:
    """What `choose_pieces` finds where nobody named a mesh."""
    return choose_pieces(run, named=False)


def _found(run: AnyRun, useless: list[str]) -> Pieces:
    pieces, others = found_mesh(run, started_in(run))
    useless += others
    if pieces is None:
        raise MeshUnknownError("the run wrote no mesh")
    return pieces


def _with_notes(pieces: Pieces, notes: list[str] | None = None) -> tuple[Pieces, list[str]]:
    return pieces, [*(notes or ()), *getattr(pieces, "notes", ())]


def _reasons(useless: list[str]) -> list[str]:
    some = first_of(useless, NAMED)
    return [USELESS.format(files=some)] if useless else []
