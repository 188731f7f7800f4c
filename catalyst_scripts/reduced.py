# SPDX-License-Identifier: BSD-3-Clause
"""Keeps some arrays of a picture and drops the others, so that extracts are small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import paraview.simple as pv

ALWAYS = ("rank", "vtkGhostType")  # whose values they are, and which of them are copies


def reduced(source: Any, arrays: Sequence[str], name: str) -> Any:
    """A picture with these arrays of points and cells, and `ALWAYS`; the source itself if `arrays` is empty.

    name : of the picture, for the pipeline browser.
    """
    if not arrays:
        return source
    few = pv.PassArrays(registrationName=f"{name}: chosen fields", Input=source)
    few.PointDataArrays = few.CellDataArrays = [*arrays, *ALWAYS]
    return few
