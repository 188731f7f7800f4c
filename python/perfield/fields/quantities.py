# SPDX-License-Identifier: BSD-3-Clause
"""The quantities that the sources of each rank declared, from the `quantity` entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_MOST = 1 << 16  # ids have 16 bits


@dataclass(frozen=True)
class Quantity:
    """A quantity as one rank declared it.

    id : its number in the rank's entries. scope : "region" or "rank". unit : unit of its rows ("1", "B",
    "ns", "uJ"). over_steps : "sum", "max" or "last". help : what it means, or "".
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


def whole(value: object, otherwise: int = 0) -> int:
    """A whole number of a JSON body; `otherwise` if it is something else."""
    return value if isinstance(value, int) else otherwise


def by_rank(entries: Iterable[tuple[int, dict[str, Any]]], n_ranks: int) -> list[list[Quantity]]:
    """The quantities of each rank; entries are (rank, body of a `quantity` entry). If an id comes twice,
    the later entry counts.
    """
    found: list[dict[int, Quantity]] = [{} for _ in range(n_ranks)]
    for rank, body in entries:
        number = whole(body.get("id"), -1)
        if 0 <= rank < n_ranks and 0 <= number < _MOST:
            words = (str(body.get(key, other)) for key, other in _WORDS)
            found[rank][number] = Quantity(number, *words)
    return [list(of_rank.values()) for of_rank in found]


_WORDS = (("name", ""), ("scope", ""), ("unit", "1"), ("over_steps", "sum"), ("help", ""))
