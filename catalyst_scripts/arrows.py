# SPDX-License-Identifier: BSD-3-Clause
"""Draws messages as tapered tubes: thick at the sender, thin at the receiver, thicker for more bytes. And how
to read messages in pictures, in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from colours import TEXT, font_size
from drawing import pv
from processes import of_first

SIDES = 8
POINTS = 17  # of the words below a picture
LINES = "lines: thick at the sender, thin at the receiver; the thicker, the more bytes (logarithmic)"
FACES = "faces between pieces: what their two ranks send each other"


def show_arrows(lines: Any, view: Any) -> tuple[Any, Any]:
    """Shows the lines of a message layer as tubes; returns the tubes and their display.

    lines : a source whose points carry `radius`. The tubes keep the lines' cell arrays.
    """
    lines.UpdatePipeline()  # else the GUI's first Apply, of any source, would set Scalars to none again
    tubes = pv.Tube(registrationName="messages as arrows", Input=lines)
    tubes.Scalars = ["POINTS", "radius"]
    tubes.VaryRadius = "By Absolute Scalar"
    tubes.NumberofSides = SIDES
    display = pv.Show(tubes, view)
    display.Ambient, display.Diffuse, display.Specular = 0.85, 0.15, 0.0
    return tubes, display


def in_lines(sentences: Iterable[str], view: Any) -> str:
    """Joins sentences in lines that fit below the picture, without breaking a sentence if possible."""
    most = round(0.96 * view.ViewSize[0] / (0.52 * font_size(view, POINTS)))
    lines: list[str] = []
    for sentence in sentences:
        if lines and len(lines[-1]) + len(sentence) + 2 <= most:
            lines[-1] += f"; {sentence}"
        else:
            lines += textwrap.wrap(sentence, most)
    return "\n".join(lines)


class Words:
    """How to read the lines or faces of a message layer, and what they leave out, below the picture.

    Call `at` after each change of the view's time. lines : the source with them. how : to read them.
    """

    def __init__(self, view: Any, lines: Any, how: str = LINES):
        self._lines, self._view, self._how = lines, view, how
        self._text = pv.Text(registrationName="words", Text=how)
        display = pv.Show(self._text, view, "TextSourceRepresentation")
        display.WindowLocation = "Any Location"
        display.Position = [0.02, 0.015]
        display.Color = TEXT
        display.Justification = "Left"
        display.FontSize, display.LineSpacing = font_size(view, POINTS), 1.3

    @property
    def proxies(self) -> list[Any]:
        """All sources of the words, for the one who deletes the view."""
        return [self._text]

    def at(self, time: float) -> None:
        """Writes the words of a time."""
        self._lines.UpdatePipeline(time)
        data = of_first(self._lines)
        while data.IsA("vtkMultiBlockDataSet"):
            data = data.GetBlock(0)
        texts = data.GetFieldData().GetAbstractArray("in_words")
        left_out = [texts.GetValue(n) for n in range(texts.GetNumberOfValues())] if texts is not None else []
        self._text.Text = in_lines([self._how, *left_out], self._view)
