# SPDX-License-Identifier: BSD-3-Clause
"""The quantities that the sources of each rank declared, as the streams define them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.fields.definitions import Defined

_MOST = 1 << 16  # ids have 16 bits


@dataclass(frozen=True)
class Quantity:
    """A quantity as one rank declared it.

    id : its number in the rank's entries. scope : "region" or "rank". unit : unit of its rows ("1", "B",
    "ns", "uJ", "ppm"). over_steps : "sum", "max" or "last". help : what it means, or "".
    """

    id: int
    name: str
    scope: str
    unit: str
    over_steps: str
    help: str

    def for_kernel(self) -> tuple[int, str, str, str, str, str]:
        """As _bridge.Columns takes it."""
        return self.id, self.name, self.scope, self.unit, self.over_steps, self.help


def by_rank(defined: Defined, n_ranks: int) -> list[tuple[Quantity, ...]]:
    """The quantities of each rank; ranks with equal ones share a tuple. If an id comes twice, the later
    definition counts.
    """
    defined = defined.where((defined.id >= 0) & (defined.id < _MOST))
    words = [tuple(body.get(key, other) for key, other in _WORDS) for body in defined.bodies]
    order = np.argsort(defined.rank, kind="stable")
    rows = np.stack((defined.id, defined.which), axis=1)[order]
    ends = np.searchsorted(defined.rank[order], np.arange(n_ranks + 1))
    known: dict[bytes, tuple[Quantity, ...]] = {}
    quantities = []
    for begin, end in zip(ends.tolist(), ends[1:].tolist()):
        key = rows[begin:end].tobytes()
        if key not in known:
            newest = dict(rows[begin:end].tolist())
            known[key] = tuple(Quantity(number, *words[which]) for number, which in newest.items())
        quantities.append(known[key])
    return quantities


_WORDS = (("name", ""), ("scope", ""), ("unit", "1"), ("over_steps", "sum"), ("help", ""))
