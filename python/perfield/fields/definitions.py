# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks' local ids of regions and quantities mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Defined:
    """Ids of ranks and their meanings, which ranks share.

    rank, id, which : (n,) int64, in the order in which ranks defined them; `which` is an index into `bodies`.
    bodies : what definitions say, without ids.
    """

    rank: np.ndarray
    id: np.ndarray
    which: np.ndarray
    bodies: list[dict[str, Any]]

    @classmethod
    def of(cls, entries: Iterable[tuple[int, dict[str, Any]]]) -> Defined:
        """From the definitions of single ranks: (rank, body with its `id`)."""
        entries = list(entries)
        distinct = {id(body): body for _, body in entries}  # ranks may share them
        bodies, number_of, known = [], {}, {}
        for key, body in distinct.items():
            own = {name: value for name, value in body.items() if name != "id"}
            number = number_of.setdefault(repr(own), len(bodies))
            if number == len(bodies):
                bodies.append(own)
            known[key] = body.get("id", -1), number
        rows = [(rank, *known[id(body)]) for rank, body in entries]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return cls(*columns, bodies)

    def __len__(self) -> int:
        return len(self.rank)

    def __add__(self, more: Defined) -> Defined:
        if not len(more) or not len(self):
            return self if len(self) else more
        which = np.concatenate((self.which, more.which + len(self.bodies)))
        rank, id = np.concatenate((self.rank, more.rank)), np.concatenate((self.id, more.id))
        return Defined(rank, id, which, self.bodies + more.bodies)

    def where(self, chosen: np.ndarray) -> Defined:
        """Those that are chosen. chosen : (n,) bool."""
        return Defined(self.rank[chosen], self.id[chosen], self.which[chosen], self.bodies)
