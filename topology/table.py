# SPDX-License-Identifier: BSD-3-Clause
"""The topology picture as rows of text: what `perfield info --picture` prints and what tests compare."""

from __future__ import annotations

from collections.abc import Iterable

from .layout import Cells
from .machine import LEVELS
from .placement import Placement

Row = tuple[str, str, float, float, float, str]
HEADINGS = ("level", "id", "x", "y", "z", "parent")


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


def format_table(rows: Iterable[Row]) -> str:
    """The rows as aligned text under their headings; numbers with at most four digits after the point."""
    lines = [
        HEADINGS,
        *((r[0], r[1], *(f"{value:.4f}".rstrip("0").rstrip(".") for value in r[2:5]), r[5]) for r in rows),
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            text.rjust(width) if heading in ("x", "y", "z") else text.ljust(width)
            for heading, text, width in zip(HEADINGS, line, widths)
        ).rstrip()
        for line in lines
    )
