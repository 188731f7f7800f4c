# SPDX-License-Identifier: BSD-3-Clause
"""The mesh that pictures show of any run: the first way that works, and sentences on those that did not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfield.pictures.blocks import MeshMissingError, MeshUnknownError
from perfield.pictures.boxes import boxes_by_messages
from perfield.pictures.pieces import Pieces, choose_pieces

if TYPE_CHECKING:
    from perfield.run import Run

NOBODY = "no rank described a mesh, and none was named (--mesh PATH), so ranks are {way}."


def shown_pieces(
    run: Run, mesh: str | Path | None = None, rank_array: str | None = None
) -> tuple[Pieces, list[str]]:
    """What pictures of the mesh show of a run, and what the user should know of it.

    Takes the first of: what `choose_pieces` finds, what it finds without the mesh that was named, and boxes
    placed by messages.
    Raises MeshMissingError, with what to do, if there is nothing to show, or nothing at the place `mesh`.
    """
    try:
        pieces = choose_pieces(run, mesh, rank_array)
        return pieces, list(getattr(pieces, "notes", ()))
    except MeshMissingError as error:
        first = error
    if mesh is not None and not Path(mesh).exists():  # a slip
        raise first
    for way in (lambda: choose_pieces(run, named=False), lambda: boxes_by_messages(run)):
        try:
            pieces = way()
        except MeshMissingError:
            continue
        is_nobody = isinstance(first, MeshUnknownError)
        told = NOBODY.format(way=pieces.way) if is_nobody else f"{first} Shown instead: {pieces.way}."
        return pieces, [told, *getattr(pieces, "notes", ())]
    raise first
