# SPDX-License-Identifier: BSD-3-Clause
"""The regions of a run: local ids of the ranks joined by name, block and call armed_at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from perfield import _bridge
from perfield.fields.quantities import whole
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
        self._n_definitions = -1

    @property
    def stems(self) -> list[str]:
        """Prefixes of fields: one per (name, armed_at), in the order of definition."""
        return self._stems.names

    def update(self, definitions: Iterable[tuple[int, dict]], n_ranks: int, others: bool) -> None:
        """Takes all definitions of the run: (rank, body of a region entry). others : whether some time
        belongs to `other regions`, which ranks need not define.
        """
        if not n_ranks:
            return
        found = [(rank, _definition(body)) for rank, body in definitions]
        found = [(rank, region) for rank, region in found if region[0] <= _LARGEST_ID]
        if others:
            found.append((0, (0, OTHER_REGIONS, -1, 0, "", 0)))
        if len(found) == self._n_definitions and len(self._base) == n_ranks + 1:
            return
        self._n_definitions = len(found)
        new = {
            (name, armed_at, block): (file, line)
            for _, (_, name, block, armed_at, file, line) in reversed(found)
        }
        wanted = [key for key in sorted(new) if key[0] != OTHER_REGIONS or others]
        self._stems.add({(utf8(name), armed_at) for name, armed_at, _ in wanted})
        names = self.stems
        for name, armed_at, block in wanted:
            if (name, block, armed_at) not in self._number_of:
                stem = self._stems.of(utf8(name), armed_at)
                self._number_of[name, block, armed_at] = len(self.regions)
                self._stem_of_region.append(stem)
                self.regions.append(Region(name, block, names[stem], *new[name, armed_at, block]))

        longest = np.zeros(n_ranks, dtype=np.int64)  # id 0 is known to each rank
        for rank, (number, *_) in found:
            longest[rank] = max(longest[rank], number)
        self._base = np.concatenate(([0], np.cumsum(longest + 1)))
        other = self._number_of.get((OTHER_REGIONS, -1, 0), -1)
        self._local = np.full(self._base[-1], other, dtype=np.int64)
        for rank, (number, name, block, armed_at, *_) in found:
            self._local[self._base[rank] + number] = self._number_of.get((name, block, armed_at), other)

    def tables(self, n_ranks: int) -> tuple[list[int], list[int], np.ndarray, np.ndarray, int]:
        """For the C++ kernel: stem and block of each region; where each rank's local ids begin, and their
        regions; the region of all other ids. -1: none.
        """
        blocks = [min(max(region.block, -1), _LARGEST_ID) for region in self.regions]
        other = self._number_of.get((OTHER_REGIONS, -1, 0), -1)
        base = self._base if len(self._base) == n_ranks + 1 else np.zeros(n_ranks + 1, dtype=np.int64)
        return self._stem_of_region, blocks, base, self._local[: base[-1]], other


def _definition(body: dict) -> tuple[int, str, int, int, str, int]:
    number, block, armed_at, line = (whole(body.get(key), other) for key, other in _NUMBERS)
    return max(number, 0), str(body.get("name", "")), block, armed_at % 2**64, str(body.get("file", "")), line


_LARGEST_ID = 1 << 20  # far above any max_regions; larger numbers are damaged
_NUMBERS = (("id", 0), ("block", -1), ("armed_at", 0), ("line", 0))
