# SPDX-License-Identifier: BSD-3-Clause
"""Which sources of events each rank had: what none of them watched is absent, not 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

SAME = {"scorep-mpi": "pmpi", "scorep-io": "io"}  # Score-P's own wrappers watch what those of perfield do


class Sources:
    """The sources of each rank, by name ("pmpi", "io"): `sources["io"]` is (n_ranks,) bool."""

    def __init__(self, names: Sequence[Iterable[str]]):
        """names : those of each rank, in the order of the ranks."""
        self._names = [frozenset(SAME.get(name, name) for name in of_rank) for of_rank in names]
        self._ranks: dict[str, np.ndarray] = {}

    def __getitem__(self, source: str) -> np.ndarray:
        if source not in self._ranks:
            self._ranks[source] = np.array([source in names for names in self._names], dtype=bool)
        return self._ranks[source]
