# SPDX-License-Identifier: BSD-3-Clause
"""A run of one frame: what some ranks measured in the step just closed, straight from their memory.

It is a `perfield.run.AnyRun`. The same code decodes it, so arrays have the same names and values inside the
program and afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from perfield.fields.columns import Columns
from perfield.fields.definitions import Defined
from perfield.fields.quantities import by_rank
from perfield.fields.regions import Region, RegionTable
from perfield.run.alike import Alike
from perfield.run.clocks import Clocks
from perfield.run.collectives import Communicator
from perfield.run.directory import read_info
from perfield.run.frame import Frame, build_frame
from perfield.run.mesh import TYPES, Block, FieldArray, read_block

_TYPE_OF = dict(enumerate(TYPES.values(), 1))  # enum perfield_type -> NumPy's type
_OTHER_REGIONS = 0  # local id


@dataclass
class Piece:
    """A rank's part of a step.

    entries : bodies of its entries of the steps that are shown. blocks : bodies of mesh entries since the
    last shown step. fields : all own fields of the simulation, from `own_field`.
    """

    rank: int
    mesh_version: int
    entries: list[bytes]
    blocks: list[bytes]
    fields: list[tuple[int, FieldArray]]


@dataclass
class NewDefinitions:
    """What ranks send each other once, when it is new.

    definitions : of regions and quantities, as (rank, body). calls : numbers of calls in their messages.
    others : whether they spent time in `other regions`. threads : whether several threads of a rank were in
    the same region.
    """

    definitions: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    calls: set[int] = field(default_factory=set)
    others: bool = False
    threads: bool = False

    def __bool__(self) -> bool:
        return bool(self.definitions or self.calls or self.others or self.threads)

    def add(self, new: NewDefinitions) -> None:
        """Takes in more."""
        self.definitions += new.definitions
        self.calls |= new.calls
        self.others |= new.others
        self.threads |= new.threads


class GatheredRun:
    """The pieces of some ranks of a run in its newest step; see `perfield.run.AnyRun` for its members."""

    state = "running"
    realtime_ns = None
    has_samples = False
    meanings: Mapping[str, Mapping[int, str]] = MappingProxyType({})
    highlights: Sequence[int] = ()

    def __init__(self, path: Path, sources: Sequence[Iterable[str]]):
        self.path = path
        self.info, _ = read_info(path)
        self.rank_entries: list[dict[str, Any] | None] = [{"sources": list(of_rank)} for of_rank in sources]
        self.ends: dict[int, dict[str, Any]] = {}
        self.communicators: list[Communicator] = []
        self.grids: list[Communicator] = []
        self._sources = sources
        self._clocks = Clocks(self.rank_entries)  # not known to each other inside the program
        self._known = NewDefinitions()
        self._table = RegionTable()
        self._columns = self._columns_now()
        self._pieces: dict[int, Piece] = {}
        self._blocks: dict[int, tuple[int, dict[int, Block]]] = {}
        self._frame: Frame | None = None

    def learn(self, of_ranks: Iterable[NewDefinitions]) -> None:
        """Takes in what is new on all ranks of the program."""
        for new in of_ranks:
            self._known.add(new)
        regions = [(rank, body) for rank, body in self._known.definitions if "scope" not in body]
        self._table.update(Defined.of(regions), self.n_ranks, self._known.others)
        self._columns = self._columns_now()

    def take(
        self,
        index: int,
        pieces: Iterable[Piece],
        waited_for: np.ndarray,
        of_focus: Mapping[int, list[bytes]] | None = None,
    ) -> bool:
        """Makes these the newest step; returns whether a mesh changed.

        waited_for : (n_ranks,) ns that all ranks of the program waited for each rank; these pieces alone do
        not hold that. of_focus : entries of the ranks in focus, as in a piece; only their messages are
        taken, which say what these ranks sent to the pieces that are here.
        """
        self._pieces = {piece.rank: piece for piece in pieces}
        changed = False
        for piece in self._pieces.values():
            version, blocks = self._blocks.get(piece.rank, (0, {}))
            if version != piece.mesh_version:
                blocks, changed = {}, True
            for body in piece.blocks:
                block, _ = read_block(piece.rank, piece.mesh_version, body, blocks)
                if block is not None:
                    blocks[block.block], changed = block, True
            self._blocks[piece.rank] = piece.mesh_version, blocks
        read = self._decode({rank: piece.entries for rank, piece in self._pieces.items()})
        elsewhere = {rank: bodies for rank, bodies in (of_focus or {}).items() if rank not in self._pieces}
        if elsewhere:
            read["messages"] = np.concatenate([read["messages"], self._decode(elsewhere)["messages"]])
        unknown = np.full(self.n_ranks, -1)
        alike = Alike(np.zeros(self.n_ranks, dtype=np.int64), unknown)  # one program, which has not ended
        self._frame = build_frame("step", index, False, self._columns, read, alike, self._clocks)
        for piece in self._pieces.values():  # the mesh may have changed since
            self._frame.mesh_version[piece.rank] = piece.mesh_version
        here = self._frame.values["waited_for_time_s"]
        here[:] = np.where(np.isnan(here), np.nan, waited_for * 1e-9)
        return changed

    def _decode(self, bodies: Mapping[int, list[bytes]]) -> dict[str, Any]:
        """What the entries of some ranks hold together. bodies : by rank."""
        ranks = np.repeat(list(bodies), [len(of_rank) for of_rank in bodies.values()])
        return self._columns.decode([body for of_rank in bodies.values() for body in of_rank], ranks)

    def _columns_now(self) -> Columns:
        declared = [(rank, body) for rank, body in self._known.definitions if "scope" in body]
        quantities = by_rank(Defined.of(declared), self.n_ranks)
        return Columns(self._sources, quantities, self._known.calls, self._table, self._known.threads)

    @property
    def n_ranks(self) -> int:
        """All regions that the program's ranks defined so far."""
        return len(self.rank_entries)

    @property
    def known_regions(self) -> list[Region]:
        """All regions that any rank of the program defined so far."""
        return list(self._table.regions)

    @property
    def ranks_here(self) -> set[int]:
        """Ranks whose pieces are here."""
        return set(self._pieces)

    def __len__(self) -> int:
        return int(self._frame is not None)

    @property
    def spans(self) -> np.ndarray:
        """(len(self),) int64, how many steps the frame adds up."""
        return np.array([frame.span for frame in self.frames()], dtype=np.int64)

    def mesh_versions(self, position: int) -> np.ndarray:
        """(n_ranks,) int64, the version of each rank's mesh in the newest step, 0 for none."""
        return self.frame(position).mesh_version

    def frame(self, number: int = 0) -> Frame:
        """The newest step; values of ranks whose pieces are not here are NaN."""
        if self._frame is None or number not in (0, -1):
            raise IndexError(f"frame {number} was asked for, but only the newest one is here")
        return self._frame

    def frames(self) -> Iterator[Frame]:
        """The newest step, if there is one."""
        return iter([] if self._frame is None else [self._frame])

    def mesh(self, rank: int, version: int) -> list[Block]:
        """The blocks of a rank's piece, ordered by number."""
        known, blocks = self._blocks.get(rank, (0, {}))
        return [blocks[number] for number in sorted(blocks)] if known == version else []

    def fields(self, rank: int, index: int) -> dict[tuple[int, str], FieldArray]:
        """The current values of the simulation's own fields on a rank, by (block, name)."""
        piece = self._pieces.get(rank)
        return {(block, field.name): field for block, field in piece.fields} if piece else {}


def new_definitions_of(
    rank: int, tables: dict[str, np.ndarray], definitions: Iterable[bytes], known: NewDefinitions
) -> NewDefinitions:
    """The new definitions of a rank.

    tables : of its step entry, from _bridge.decode_steps. definitions : bodies of region and quantity
    entries. known : those it sent before.
    """
    calls = set(tables["messages"]["call"].tolist()) - known.calls
    others = bool((tables["regions"]["id"] == _OTHER_REGIONS).any())
    threads = bool((tables["regions"]["threads"] > 1).any()) and not known.threads
    return NewDefinitions([(rank, json.loads(body)) for body in definitions], calls, others, threads)


def waited_for_in(rank: int, n_ranks: int, tables: dict[str, np.ndarray]) -> np.ndarray:
    """Nanoseconds that a rank waited for each rank in a step. tables : as for `new_definitions_of`."""
    rows = tables["waits"]
    known = (rows["peer"] >= 0) & (rows["peer"] < n_ranks) & (rows["peer"] != rank)
    return np.bincount(rows["peer"][known], weights=rows["ns"][known], minlength=n_ranks)


def own_field(
    index: int,
    block: int,
    name: str,
    association: int,
    address: int,
    type: int,
    components: int,
    component_stride: int,
    size: Sequence[int],
    stride: Sequence[int],
) -> tuple[int, FieldArray]:
    """Makes (block, field) of a perfield_array in this process, over the program's own memory.

    The values are valid until the step is shown.
    """
    dtype = np.dtype(_TYPE_OF[type])
    view = _Memory()
    strides = [*reversed(stride), component_stride]
    view.__array_interface__ = {
        "version": 3,
        "data": (address, True),
        "typestr": dtype.str,
        "shape": (*reversed(size), components),
        "strides": tuple(dtype.itemsize * step for step in strides),
    }
    values = np.asarray(view).reshape(-1, components)  # copies only if the program's array has gaps
    kind = "cell" if association == 1 else "point"
    return block, FieldArray(name, kind, values[:, 0] if components == 1 else values, index)


class _Memory:
    __array_interface__: dict[str, Any]
