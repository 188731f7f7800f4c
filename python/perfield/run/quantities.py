# SPDX-License-Identifier: BSD-3-Clause
"""What the sources of a run's ranks have declared that they measure: `quantity` entries, joined by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield import _bridge
from perfield.run.fields import Field, declare
from perfield.run.streams import whole

if TYPE_CHECKING:
    from perfield.run.counter_values import Counters

OF_RANK = 0xFFFFFFFF  # in place of a region: the rank itself
_INSIDE = {name: kind for kind, name in enumerate([*_bridge.mpi_time_names, _bridge.file_names[0]])}
_MOST = 1 << 16  # ids have 16 bits


@dataclass(frozen=True)
class Quantity:
    """One quantity of the run.

    scope : "region" or "rank". stored : the unit of its rows. over_steps : "sum", "max" or "last". has :
    (n_ranks,) bool, which ranks define it.
    """

    name: str
    scope: str
    stored: str
    over_steps: str
    has: np.ndarray

    @property
    def kind(self) -> int:
        """Its number among the times inside regions, -1 for all others."""
        return _INSIDE.get(self.name, -1) if self.scope == "region" else -1

    @property
    def is_of_files(self) -> bool:
        """Whether the fields of reading and writing are computed from it."""
        return self.scope == "rank" and self.name in _bridge.file_names

    @property
    def factor(self) -> float:
        """From a row to the field."""
        return _bridge.unit(self.stored)[1]

    @property
    def field(self) -> str:
        """Name of the rank's field."""
        return self.name + _bridge.unit(self.stored)[2]


class Quantities:
    """The quantities of a run, and which of them each rank means by an id."""

    def __init__(self, of_ranks: Sequence[Mapping[int, Mapping[str, Any]]] = ()):
        """of_ranks : the bodies of each rank's `quantity` entries by id, in the order of the ranks."""
        n_ranks = len(of_ranks)
        numbers: dict[tuple[str, str], int] = {}
        self.all: list[Quantity] = []
        self._place = np.full((n_ranks, max((max(ids) + 1 for ids in of_ranks if ids), default=1)), -1)
        for rank, definitions in enumerate(of_ranks):
            for number, body in definitions.items():
                name, scope = str(body.get("name", "")), str(body.get("scope", ""))
                stored, over = str(body.get("unit", "1")), str(body.get("over_steps", "sum"))
                place = numbers.setdefault((name, scope), len(self.all))
                if place == len(self.all):
                    self.all.append(Quantity(name, scope, stored, over, np.zeros(n_ranks, dtype=bool)))
                    if scope == "rank":
                        unit, _, suffix = _bridge.unit(stored)
                        declare(Field(name + suffix, unit, str(body.get("help") or f"quantity {name}")))
                if self.all[place].stored == stored:  # else no unit is right for both
                    self.all[place].has[rank] = True
                    self._place[rank, number] = place

    def places(self, ranks: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Places in `all` of these ranks' quantities, -1 where no entry defines one."""
        known = ids < self._place.shape[1]
        return np.where(known, self._place[ranks, np.where(known, ids, 0)], -1)

    @cached_property
    def counters(self) -> Counters:
        """Those of regions that are fields by themselves."""
        from perfield.run.counter_values import Counters

        return Counters(self)

    @cached_property
    def kinds_inside(self) -> list[int]:
        """The kinds of time inside regions that the run has."""
        return sorted({q.kind for q in self.all if q.kind >= 0 and q.has.any()})


def definitions(entries: Sequence[tuple[int, dict]], n_ranks: int) -> list[dict[int, dict]]:
    """The bodies of `quantity` entries by rank and id. entries : (rank, body)."""
    found: list[dict[int, dict]] = [{} for _ in range(n_ranks)]
    for rank, body in entries:
        number = whole(body.get("id"), -1)
        if rank < n_ranks and 0 <= number < _MOST:
            found[rank][number] = body
    return found


def add_of_ranks(
    values: dict[str, np.ndarray],
    present: np.ndarray,
    quantities: Quantities,
    ranks: np.ndarray,
    rows: np.ndarray,
    places: np.ndarray,
) -> dict[str, np.ndarray]:
    """Adds the fields of the ranks' own quantities; returns those that make up reading and writing, in the
    units of their rows.

    present : (n_ranks,) bool, whether the rank is in the frame. ranks, rows, places : the rank of each row
    of the table `quantities`, these rows, and the places of their quantities.
    """
    of_files = {name: np.zeros(len(present)) for name in _bridge.file_names}
    of_rank = rows["region"] == OF_RANK
    for place, quantity in enumerate(quantities.all):
        if quantity.scope != "rank":
            continue
        here = of_rank & (places == place)
        column = np.full(len(present), 0.0 if quantity.over_steps == "sum" else np.nan)
        numbers = rows["value"][here].astype(np.float64)
        if quantity.over_steps == "sum":
            column = np.bincount(ranks[here], weights=numbers, minlength=len(present))
        elif quantity.over_steps == "max":
            np.fmax.at(column, ranks[here], numbers)
        else:
            column[ranks[here]] = numbers
        if quantity.is_of_files:
            of_files[quantity.name] = column
        else:
            values[quantity.field] = np.where(quantity.has & present, column * quantity.factor, np.nan)
    return of_files
