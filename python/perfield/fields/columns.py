# SPDX-License-Identifier: BSD-3-Clause
"""The fields of a run as columns of numbers, one per rank and step. C++ computes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from perfield import _bridge
from perfield.fields.quantities import Quantity
from perfield.fields.regions import RegionTable
from perfield.fields.table import Field


@dataclass(frozen=True)
class Places:
    """Where step entries lie, and which step and rank they belong to.

    paths : of the stream files, as bytes, since a path need not be UTF-8. file, offset : (n_entries,), the
    number of each entry's file and its place there. reference : (n_entries,), the place of the full entry
    that it is unpacked with. step : (n_entries,) int, from 0 to n_steps - 1. rank : (n_entries,) int. Entries
    of the same step and rank are added up.
    """

    paths: list[bytes]
    file: np.ndarray
    offset: np.ndarray
    reference: np.ndarray
    step: np.ndarray
    rank: np.ndarray
    n_steps: int


class Columns:
    """Computes the fields of a run from its step entries.

    names : of all fields that the run has: first those of ranks, then those of regions, stem by stem.
    stems : the prefix of each region's fields. n_ranks : length of a column.
    """

    def __init__(
        self,
        sources: Sequence[Iterable[str]],
        quantities: Sequence[Iterable[Quantity]],
        calls: Collection[int],
        regions: RegionTable,
        several_threads: bool,
    ):
        """sources : names of each rank's sources of events. quantities : those that each rank declared.
        calls : numbers of the calls that occur in the run's messages, so that all frames have the same
        fields. regions : the run's regions. several_threads : whether threads of a rank shared a region.
        """
        alike: dict[tuple, int] = {}  # most ranks have the same sources and quantities
        of_rank = [
            alike.setdefault((*sorted(names), id(declared)), len(alike))
            for names, declared in zip(sources, quantities)
        ]
        first = np.unique(np.array(of_rank, dtype=np.int64), return_index=True)[1].tolist()
        self._facts = (
            [list(sources[rank]) for rank in first],
            [[quantity.for_kernel() for quantity in quantities[rank]] for rank in first],
            of_rank,
            list(calls),
            list(regions.stems),
            *regions.tables(len(sources)),
            several_threads,
        )
        self._make()

    def __getstate__(self) -> tuple:
        return self._facts

    def __setstate__(self, facts: tuple) -> None:
        self._facts = facts
        self._make()

    def _make(self) -> None:
        of_rank, stems = self._facts[2], self._facts[4]
        self.stems, self.n_ranks = stems, len(of_rank)
        self._kernel = _bridge.Columns(*self._facts)
        all_columns = self._kernel.all
        self.names = [name for name, _, _ in all_columns]
        self._kind_and_stem = [(kind, stem) for _, kind, stem in all_columns]

    @cached_property
    def kinds(self) -> dict[str, Field]:
        """The kinds of field by name, `<region>` standing for any region of the run."""
        return {row[0]: Field(*row) for row in self._kernel.kinds}

    def of_regions(self, kind: str) -> list[str]:
        """Names of the fields of one kind (`<region>_time_s`), in the order of `stems`.

        Raises KeyError if the run has no fields of that kind.
        """
        if kind not in self.kinds or "<region>" not in kind:
            known = ", ".join(name for name in self.kinds if "<region>" in name)
            raise KeyError(f"'{kind}' is not a field of regions of this run; it has {known}")
        return [kind.replace("<region>", stem) for stem in self.stems]

    def __contains__(self, name: str) -> bool:
        return name in self._number

    def field(self, name: str) -> Field:
        """What a field of the run means. Raises KeyError if it has no such field."""
        kind, stem = self._kind_and_stem[self._numbers([name])[0]]
        field = list(self.kinds.values())[kind]
        of_region = f"region '{self.stems[stem]}': " if stem >= 0 else ""
        return replace(field, name=name, meaning=of_region + field.meaning)

    def read(self, places: Places, names: Sequence[str]) -> np.ndarray:
        """Values of fields, (n_steps, len(names), n_ranks) float64, NaN where absent.

        Reads the files of `places` without the GIL. Raises KeyError if the run has no field of such a
        name.
        """
        return self.read_tables(places, names, with_tables=False)["values"]

    def read_tables(self, places: Places, names: Sequence[str], with_tables: bool = True) -> dict[str, Any]:
        """As `read`, with the tables of the entries; see _bridge.Columns.read."""
        where = places.file, places.offset, places.reference, places.step, places.rank, places.n_steps
        return self._kernel.read(places.paths, *where, self._numbers(names), with_tables)

    def decode(self, bodies: Sequence[bytes], ranks: Sequence[int]) -> dict[str, Any]:
        """All fields and tables of one step, from the bodies of its entries."""
        return self._kernel.decode(list(bodies), ranks, range(len(self.names)))

    def _numbers(self, names: Sequence[str]) -> Sequence[int]:
        if names is self.names:
            return range(len(names))
        missing = [name for name in names if name not in self._number]
        if missing:
            raise KeyError(f"'{missing[0]}' is not a field of this run; Columns.names lists them")
        return [self._number[name] for name in names]

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}
