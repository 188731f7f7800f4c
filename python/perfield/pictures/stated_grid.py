# SPDX-License-Identifier: BSD-3-Clause
"""A grid of ranks as a user states it: lengths along x, y and z, the order of ranks, and periodic axes."""

from __future__ import annotations

import re
from itertools import permutations

AXES = "xyz"
_FORM = re.compile(r"(\d{1,7}(?:x\d{1,7}){0,2})(?:,order=([xyz]{1,3}))?(?:,periodic=([xyz]{1,3}))?")


def grid_words(text: str) -> tuple[tuple[int, ...], tuple[str, ...], tuple[bool, ...]]:
    """Lengths of axes, the possible orders, and which axes are periodic, of 4x2x2,order=zyx,periodic=x.

    The first letter of an order is the axis along which ranks count first. Without one all are possible, xyz
    first. Raises ValueError, whose text says what is expected.
    """
    found = _FORM.fullmatch(text)
    lengths = tuple(map(int, found[1].split("x"))) if found else (0,)
    axes = AXES[: len(lengths)]
    order, periodic = (found[2], found[3] or "") if found else (None, "")
    if 0 in lengths or (order and sorted(order) != list(axes)) or set(periodic) - set(axes):
        raise ValueError(
            f"{text!r} is not a grid of ranks; expected one to three lengths, as 4x2x2, and after them, if "
            "wanted, ,order=zyx (every axis once) and ,periodic=x"
        )
    orders = (order,) if order else tuple("".join(one) for one in permutations(axes))
    return lengths, orders, tuple(axis in periodic for axis in axes)
