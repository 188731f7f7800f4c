# SPDX-License-Identifier: BSD-3-Clause
"""The topology picture as rows of text: `perfield info --topology` prints them, and tests compare them."""

from __future__ import annotations

from .layout import Cells
from .machine import LEVELS
from .placement import Placement

Row = tuple[str, str, float, float, float, str]


def table(placement: Placement, cells: Cells) -> list[Row]:
    """One row (level, id, x, y, z, parent) per cell: nodes with their parts, then ranks, then measurements.

    id and parent : "n1" for a node, "n1 core 3" for a part, "rank 5", "measurement 5"; a node's parent is
        "".
    x, y, z : middle of the cell, in units of one row's height.
    """
    labels = [node.label for node in placement.nodes]

    def name(cell: int) -> str:
        level = LEVELS[cells.level[cell]]
        if level == "node":
            return labels[cells.node[cell]]
        own = f"{level} {cells.number[cell]}"
        return own if level in ("rank", "measurement") else f"{labels[cells.node[cell]]} {own}"

    names = [name(cell) for cell in range(len(cells.level))]
    return [
        (
            LEVELS[cells.level[cell]],
            names[cell],
            float(cells.x[cell]),
            float(cells.y[cell]),
            float(cells.z[cell]),
            names[parent] if parent >= 0 else "",
        )
        for cell, parent in enumerate(cells.parent)
    ]
