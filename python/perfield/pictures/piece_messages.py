# SPDX-License-Identifier: BSD-3-Clause
"""What the pieces of a mesh send each other: on the faces between them, or as lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vtkmodules.vtkCommonDataModel import vtkPolyData

from perfield.pictures.geometry_picture import centres_and_sizes
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.mesh_messages import carried, message_faces, message_lines
from perfield.pictures.pieces import Pieces, choose_pieces
from perfield.pictures.shared_faces import NO_FACES, SharedFaces

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame


class PieceMessages:
    """The messages between the pieces of a run's mesh, in frame after frame.

    They are faces where nobody chose lines and faces show them better (`carried`), as the first frame with
    messages says for all.
    """

    def __init__(self, run: AnyRun, pieces: Pieces, lines: LineChoice | None = None):
        self._run, self._pieces, self._lines = run, pieces, lines or LineChoice()
        self._faces = SharedFaces(run, pieces)
        self._are_faces: bool | None = None if self._lines.is_default else False

    def of(self, frame: Frame) -> vtkPolyData:
        """The faces or the lines of a frame; see `message_faces` and `message_lines`."""
        faces = self._faces.at(frame) if self._lines.is_default else NO_FACES
        if self._are_faces is None:
            self._are_faces = carried(frame, faces)
        if self._are_faces is not False:
            return message_faces(frame, faces)
        places = centres_and_sizes(self._run, frame, self._pieces)
        lines = replace(self._lines, words=faces.words) if faces.words else self._lines
        return message_lines(frame, *places, lines)


def geometry_messages(
    run: AnyRun, frame: Frame, pieces: Pieces | None = None, lines: LineChoice | None = None
) -> vtkPolyData:
    """What pieces send each other in one frame, on the faces between them, or as lines between their middles.

    lines : which messages become lines; None takes faces, and lines where faces would show little.
    """
    return PieceMessages(run, pieces or choose_pieces(run), lines).of(frame)
