# SPDX-License-Identifier: BSD-3-Clause
"""The regions of a run: local ids of the ranks joined by name, block and call armed_at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from perfield.run.fields import OTHER_REGIONS, inside_fields, region_fields, unique_stem
from perfield.run.streams import whole


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
    """Which region a rank means by a local id; grows, and never renames."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self.stems: list[str] = []  # one per (name, armed_at), in the order of definition
        self._stem_of: dict[tuple[str, int], int] = {}
        self._number_of: dict[tuple[str, int, int], int] = {}
        self._taken: dict[str, None] = {}
        self._stem_of_region = np.zeros(0, dtype=np.int64)
        self._block_of_region = np.zeros(0, dtype=np.int64)
        self._base = np.zeros(1, dtype=np.int64)
        self._local = np.zeros(0, dtype=np.int64)
        self._n_definitions = -1

    def update(self, definitions: Iterable[tuple[int, dict]], n_ranks: int, others: bool) -> None:
        """Takes all definitions of the run: (rank, body of a region entry).

        others : some time belongs to `other regions`, which no rank needs to define.
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
        for name, armed_at, block in sorted(new):
            if (name, block, armed_at) not in self._number_of and (name != OTHER_REGIONS or others):
                self._add(name, block, armed_at, *new[name, armed_at, block])
        number_of_stem = {stem: number for number, stem in enumerate(self.stems)}
        self._stem_of_region = np.array([number_of_stem[r.field] for r in self.regions], dtype=np.int64)
        self._block_of_region = np.array([r.block for r in self.regions], dtype=np.int64)

        longest = np.zeros(n_ranks, dtype=np.int64)  # id 0 is known to each rank
        for rank, (number, *_) in found:
            longest[rank] = max(longest[rank], number)
        self._base = np.concatenate(([0], np.cumsum(longest + 1)))
        other = self._number_of.get((OTHER_REGIONS, -1, 0), -1)
        self._local = np.full(self._base[-1], other, dtype=np.int64)
        for rank, (number, name, block, armed_at, *_) in found:
            self._local[self._base[rank] + number] = self._number_of.get((name, block, armed_at), other)

    def numbers(self, rank: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Numbers in `regions` of local ids; those whose definition was lost are `other regions` (-1:
        none)."""
        length = self._base[rank + 1] - self._base[rank]
        known = local < length
        at = self._base[rank] + np.where(known, local, 0)
        return self._local[at] if len(self._local) else np.full(len(rank), -1)

    def stem_numbers(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers in `stems` of regions."""
        return self._stem_of_region[numbers]

    def blocks(self, numbers: np.ndarray) -> np.ndarray:
        """Blocks of regions, -1 where none."""
        return self._block_of_region[numbers]

    def _add(self, name: str, block: int, armed_at: int, file: str, line: int) -> None:
        if (name, armed_at) not in self._stem_of:
            stem = unique_stem(name, self._taken)
            self._taken.update(dict.fromkeys(region_fields(stem) + inside_fields(stem)))
            self._stem_of[name, armed_at] = len(self.stems)
            self.stems.append(stem)
        self._number_of[name, block, armed_at] = len(self.regions)
        self.regions.append(Region(name, block, self.stems[self._stem_of[name, armed_at]], file, line))


def _definition(body: dict) -> tuple[int, str, int, int, str, int]:
    number, block, armed_at, line = (whole(body.get(key), other) for key, other in _NUMBERS)
    return max(number, 0), str(body.get("name", "")), block, armed_at, str(body.get("file", "")), line


_LARGEST_ID = 1 << 20  # far above any max_regions; a number beyond it is no id
_NUMBERS = (("id", 0), ("block", -1), ("armed_at", 0), ("line", 0))
