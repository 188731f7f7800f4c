# SPDX-License-Identifier: BSD-3-Clause
"""Which regions of a trace are measured, under which names, and which one closes steps."""

from __future__ import annotations

from collections.abc import Sequence

from perfield import _bridge
from perfield.traces.definitions import Trace

OTHER = 0  # number of `other regions`


class RegionChoice:
    """The choice of the configuration's `regions` and `step_region` among the regions of a trace.

    The rule is that of compiled functions, but a lone `*` chooses all. step_regions : the numbers that the
    trace has for the region that closes steps; empty if none is to.
    """

    def __init__(self, trace: Trace, regions: Sequence[str], step_region: str, max_regions: int = 4096):
        self.step_region, self.max_regions = step_region, max_regions
        self.name_of: dict[int, str] = {}
        for number, region in trace.regions.items():
            if region.is_code:
                chosen = _bridge.region_of(region.name, region.symbol, list(regions), step_region)
                if chosen:
                    self.name_of[number] = chosen
        self._definitions = trace.regions
        self.step_regions = frozenset(
            number for number, name in self.name_of.items() if step_region and name == step_region
        )

    def names_of(self, rank: int) -> RegionNames:
        """The regions of one rank, still to be numbered."""
        return RegionNames(self, self._definitions)


class RegionNames:
    """Numbers of the regions that a rank enters, from 1 on by first entry; one for all of the same name."""

    def __init__(self, choice: RegionChoice, definitions: dict):
        self._choice, self._definitions = choice, definitions
        self.numbers: dict[str, int] = {}
        self._overflowed = 0
        self._unwritten: list[dict] = []

    def number(self, region: int) -> int:
        """The number of a region of the trace; -1 if it is not measured, 0 if the table is full."""
        name = self._choice.name_of.get(region)
        if name is None:
            return -1
        if name not in self.numbers:
            if len(self.numbers) + 1 >= self._choice.max_regions:
                self._overflowed += 1
                return OTHER
            self.numbers[name] = len(self.numbers) + 1
            known = self._definitions[region]
            where = {"file": known.file, "line": known.line, "block": -1, "armed_at": 0}
            self._unwritten.append({"id": self.numbers[name], "name": name, **where})
        return self.numbers[name]

    def take_new(self) -> list[dict]:
        """Definitions that were made since this was asked last, as `region` entries have them."""
        new, self._unwritten = self._unwritten, []
        return new

    def take_overflowed(self) -> int:
        """How many regions found no place since this was asked last."""
        number, self._overflowed = self._overflowed, 0
        return number
