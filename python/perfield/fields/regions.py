# SPDX-License-Identifier: BSD-3-Clause
"""The regions of a run: local ids of the ranks joined by name, block and call armed_at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield import _bridge
from perfield.fields.definitions import Defined
from perfield.fields.table import OTHER_REGIONS, utf8


@dataclass(frozen=True)
class Region:
    """A named piece of code that was measured.

    name : as the program gave it. block : of the rank's mesh, -1 for none. field : the name that its fields
    begin with, the same for all blocks: `<field>_time_s`. file, line : where it was defined ("", 0: unknown).
    """

    name: str
    block: int
    field: str
    file: str
    line: int


class RegionTable:
    """Maps the local ids of each rank to regions. It grows and never renames a region."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self._stems = _bridge.Stems()
        self._stem_of_region: list[int] = []
        self._number_of: dict[tuple[str, int, int], int] = {}
        self._base = np.zeros(1, dtype=np.int64)
        self._local = np.zeros(0, dtype=np.int64)
        self._known = (-1, False)

    @property
    def stems(self) -> list[str]:
        """Prefixes of fields: one per (name, armed_at), in the order of definition."""
        return self._stems.names

    def update(self, defined: Defined, n_ranks: int, others: bool) -> None:
        """Takes all definitions of regions of the run. others : whether some time belongs to `other regions`,
        which ranks need not define.
        """
        if not n_ranks:
            return
        known = (len(defined), others)
        if known == self._known and len(self._base) == n_ranks + 1:
            return
        self._known = known
        defined = defined.where(defined.id <= _LARGEST_ID)
        keys = [_definition(body) for body in defined.bodies]
        met = np.unique(defined.which)
        new = {keys[n][:3]: keys[n][3:] for n in met[::-1].tolist()}
        if others:
            new.setdefault((OTHER_REGIONS, 0, -1), ("", 0))
        wanted = [key for key in sorted(new) if key[0] != OTHER_REGIONS or others]
        self._stems.add({(utf8(name), armed_at) for name, armed_at, _ in wanted})
        names = self.stems
        for name, armed_at, block in wanted:
            if (name, armed_at, block) not in self._number_of:
                stem = self._stems.of(utf8(name), armed_at)
                self._number_of[name, armed_at, block] = len(self.regions)
                self._stem_of_region.append(stem)
                self.regions.append(Region(name, block, names[stem], *new[name, armed_at, block]))

        id = np.maximum(defined.id, 0)
        longest = np.zeros(n_ranks, dtype=np.int64)  # id 0 is known to each rank
        np.maximum.at(longest, defined.rank, id)
        self._base = np.concatenate(([0], np.cumsum(longest + 1)))
        other = self._number_of.get((OTHER_REGIONS, 0, -1), -1)
        self._local = np.full(self._base[-1], other, dtype=np.int64)
        numbers = np.array([self._number_of.get(key[:3], other) for key in keys], dtype=np.int64)
        self._local[self._base[defined.rank] + id] = numbers[defined.which]

    def tables(self, n_ranks: int) -> tuple[list[int], list[int], np.ndarray, np.ndarray, int]:
        """For the C++ kernel: stem and block of each region; where each rank's local ids begin, and their
        regions; the region of all other ids. -1: none.
        """
        blocks = [min(max(region.block, -1), _LARGEST_ID) for region in self.regions]
        other = self._number_of.get((OTHER_REGIONS, 0, -1), -1)
        base = self._base if len(self._base) == n_ranks + 1 else np.zeros(n_ranks + 1, dtype=np.int64)
        return self._stem_of_region, blocks, base, self._local[: base[-1]], other


def _definition(body: dict) -> tuple[str, int, int, str, int]:
    block, armed_at, line = (body.get(key, other) for key, other in _NUMBERS)
    return body.get("name", ""), armed_at % 2**64, block, body.get("file", ""), line


_LARGEST_ID = 1 << 20  # far above any max_regions; larger numbers are damaged
_NUMBERS = (("block", -1), ("armed_at", 0), ("line", 0))
