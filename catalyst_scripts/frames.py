# SPDX-License-Identifier: BSD-3-Clause
"""Draws frames around the nodes or ranks that a picture names: one of 10,000 is a few pixels large."""

from __future__ import annotations

from typing import Any

import numpy as np
from colours import TEXT, plain
from drawing import pv
from labels import Camera, Label
from processes import Lines

HALF = 9  # half of a frame in pixels, at least
SPACE = 0.06  # between a frame and what it is around, in cells


class Frames:
    """The frames of a view."""

    def __init__(self, view: Any):
        self._view, self._lines, self._display = view, None, None

    @property
    def proxies(self) -> list[Any]:
        """All sources, for the one who deletes the view."""
        return [self._lines.proxy] if self._lines is not None else []

    def around(
        self, names: list[Label], sizes: list[tuple[float, float]], camera: Camera
    ) -> tuple[list[Label], list[tuple[float, ...]]]:
        """Draws a frame around the cells of each name, which have these widths and heights.

        Returns the names, each at a corner of its frame from where a label has room, and the boxes of the
        frames in pixels.
        """
        moved, boxes, corners = [], [], []
        for name, size in zip(names, sizes):
            (x, y, z), unit = name.at, 1.0 / np.ptp(camera.pixels([(0, 0, 0), (1, 0, 0)])[:, 0])
            wide, high = (max(HALF * unit, length / 2 + SPACE) for length in size)
            across, up = camera.pixels([name.at])[0] / camera.size
            right, above = (1 if across < 0.5 else -1), (1 if up < 0.3 else -1)
            at = (x + right * wide, y + above * high, z)
            moved.append(Label(name.text, at, name.priority, (0.6 * right, 1.0 * above)))
            corners.append([(x + i * wide, y + j * high, z) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
            boxes.append(camera.box(corners[-1]))
        self.draw(corners)
        return moved, boxes

    def draw(self, corners: list[list[tuple[float, float, float]]]) -> None:
        """Draws frames by their four corners each, and no others."""
        if self._lines is None:
            self._lines = Lines("frames of named nodes")
        around = [[4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3, 4 * n] for n in range(len(corners))]
        self._lines.set(corners, around, [])
        if self._display is None:
            self._display = pv.Show(self._lines.proxy, self._view)
            plain(self._display, TEXT)
            self._display.Ambient, self._display.Diffuse, self._display.LineWidth = 1.0, 0.0, 2.0
        self._display.Visibility = int(bool(corners))
