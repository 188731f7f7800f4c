# SPDX-License-Identifier: BSD-3-Clause
"""Draws messages as tapered tubes: thick at the sender, thin at the receiver, thicker for more bytes."""

from __future__ import annotations

from typing import Any

import paraview.simple as pv

SIDES = 8
WORDS = "lines: thick at the sender, thin at the receiver; the thicker, the more bytes (logarithmic)"


def show_arrows(lines: Any, view: Any) -> tuple[Any, Any]:
    """Shows the lines of a message layer as tubes; returns the tubes and their display.

    lines : a source whose points carry `radius`. The tubes keep the lines' cell arrays.
    """
    tubes = pv.Tube(registrationName="messages as arrows", Input=lines)
    tubes.Scalars = ["POINTS", "radius"]
    tubes.VaryRadius = "By Absolute Scalar"
    tubes.NumberofSides = SIDES
    display = pv.Show(tubes, view)
    display.Ambient, display.Diffuse, display.Specular = 0.85, 0.15, 0.0
    return tubes, display
