# SPDX-License-Identifier: BSD-3-Clause
"""A program of the model on other numbers of ranks and elements, and in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perfield.text import counted, in_seconds

if TYPE_CHECKING:
    from perfield.studies.hiding.model.model import Program


def scaled(program: Program, n_ranks: int, n_elements: int) -> Program:
    """The program on so many ranks, in a grid that is nearly a cube, with so many inner elements on each.

    C and eps grow with the elements, M with the area around them; latencies stay.
    """
    more = n_elements / program.n_elements
    return replace(
        program,
        shape=nearly_a_cube(n_ranks),
        n_elements=n_elements,
        n_polls=min(program.n_polls, n_elements),
        compute_s=program.compute_s * more,
        mirror_s=program.mirror_s * more ** (2 / 3),
        splitting=replace(program.splitting, eps=program.splitting.eps * more),
    )


def nearly_a_cube(n: int) -> tuple[int, int, int]:
    """The three factors of n with the least surface, ascending: 18,720 is 24 x 26 x 30."""
    best = (1, 1, n)
    for x in range(1, round(n ** (1 / 3)) + 1):
        if n % x:
            continue
        rest = n // x
        y = next(y for y in range(int(rest**0.5), 0, -1) if rest % y == 0)
        best = min(
            best, (x, y, rest // y), key=lambda box: box[0] * box[1] + box[0] * box[2] + box[1] * box[2]
        )
    return best


def in_words(program: Program) -> str:
    """Ranks, elements, C and eps of a program: "64 ranks (4 x 4 x 4) with ..."."""
    x, y, z = program.shape
    compute, eps = float(program.compute_s), program.splitting.eps
    return (
        f"{counted(program.n_ranks, 'rank')} ({x} x {y} x {z}) with {program.n_elements:,} inner elements "
        f"each, C = {in_seconds(compute)}, eps = {in_seconds(eps)}, latencies drawn"
    )
