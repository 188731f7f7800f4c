# SPDX-License-Identifier: BSD-3-Clause
"""The mesh that pictures show of any run: the first way that works, and sentences on those that did not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.pieces import Pieces, choose_pieces

if TYPE_CHECKING:
    from perfield.run import Run


def shown_pieces(
    run: Run, mesh: str | Path | None = None, rank_array: str | None = None
) -> tuple[Pieces, list[str]]:
    """What pictures of the mesh show of a run, and what the user should know of it.

    Takes what `choose_pieces` finds; if the named mesh cannot be used, what it finds without that.
    Raises MeshMissingError, with what to do, if there is nothing to show.
    """
    try:
        pieces = choose_pieces(run, mesh, rank_array)
        return pieces, list(getattr(pieces, "notes", ()))
    except MeshMissingError as error:
        first = error
    try:
        pieces = choose_pieces(run, named=False)
    except MeshMissingError:
        raise first from None
    return pieces, [f"{first} Shown instead: {pieces.way}.", *getattr(pieces, "notes", ())]
