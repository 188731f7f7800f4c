# SPDX-License-Identifier: BSD-3-Clause
"""What some ranks measured in the step just closed, as a run of one frame, straight from their memory.

It answers what the pictures ask of a `perfield.run.Run`, and is decoded by the same code, so that arrays are
called and filled alike in process and out of process.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from perfield import _bridge
from perfield.run.directory import read_info
from perfield.run.fields import SENDING_CALLS
from perfield.run.frame import Frame, build_frame
from perfield.run.mesh import TYPES, Block, FieldArray, read_block
from perfield.run.quantities import Quantities, definitions
from perfield.run.regions import Region, RegionTable
from perfield.run.sources import Sources
from perfield.run.wait_values import waited_for_ns

_TYPE_OF = dict(enumerate(TYPES.values(), 1))  # enum perfield_type -> of NumPy
_OTHER_REGIONS = 0  # local id


@dataclass
class Piece:
    """A rank's part of a step. entry : body of its step entry. blocks : bodies of mesh entries, new since the
    last time. fields : all own fields of the simulation, as `own_field` gives them.
    """

    rank: int
    mesh_version: int
    entry: bytes
    blocks: list[bytes]
    fields: list[tuple[int, FieldArray]]


@dataclass
class News:
    """What ranks tell each other when it is new: definitions of regions and quantities as (rank, body),
    numbers of calls in their messages, and whether there is time of `other regions`.
    """

    definitions: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    calls: set[int] = field(default_factory=set)
    others: bool = False

    def __bool__(self) -> bool:
        return bool(self.definitions or self.calls or self.others)

    def add(self, new: News) -> None:
        """Takes in more."""
        self.definitions += new.definitions
        self.calls |= new.calls
        self.others |= new.others


class GatheredRun:
    """The pieces of some ranks of a run in its newest step; see `perfield.run.Run` for what it answers."""

    def __init__(self, path: Path, sources: Sequence[Iterable[str]]):
        self.path = path
        self.info = read_info(path)
        self.n_ranks = len(sources)
        self._sources = Sources(sources)
        self._quantities = Quantities()
        self._known = News()
        self._table = RegionTable()
        self._pieces: dict[int, Piece] = {}
        self._blocks: dict[int, tuple[int, dict[int, Block]]] = {}
        self._frame: Frame | None = None

    def learn(self, news: Iterable[News]) -> None:
        """Takes in what is new on all ranks of the program."""
        for new in news:
            self._known.add(new)
        known = self._known.definitions
        regions = [(rank, body) for rank, body in known if "scope" not in body]
        self._table.update(regions, self.n_ranks, self._known.others)
        self._quantities = Quantities(
            definitions([(rank, body) for rank, body in known if "scope" in body], self.n_ranks)
        )

    def take(self, index: int, pieces: Iterable[Piece], waited_for: np.ndarray) -> bool:
        """Makes these the newest step; returns whether a mesh changed. waited_for : ns that all ranks of the
        program waited for each, which the pieces here do not tell."""
        self._pieces = {piece.rank: piece for piece in pieces}
        changed = False
        for piece in self._pieces.values():
            version, blocks = self._blocks.get(piece.rank, (0, {}))
            if version != piece.mesh_version:
                blocks, changed = {}, True
            for body in piece.blocks:
                block = read_block(piece.rank, piece.mesh_version, body, blocks)
                if block is not None:
                    blocks[block.block], changed = block, True
            self._blocks[piece.rank] = piece.mesh_version, blocks
        ranks = np.array(list(self._pieces), dtype=np.int64)
        tables = _bridge.decode_steps([piece.entry for piece in self._pieces.values()])
        known = self._known
        calls = [SENDING_CALLS[number] for number in sorted(known.calls) if number in SENDING_CALLS]
        place = {"kind": "step", "index": index, "partial": False}
        facts = self.n_ranks, self._table, calls, self._sources, self._quantities
        self._frame = build_frame(place, [(ranks, tables)], *facts)
        here = self._frame.values["waited_for_time_s"]
        here[:] = np.where(np.isnan(here), np.nan, waited_for * 1e-9)
        return changed

    @property
    def regions(self) -> list[Region]:
        """All regions that any rank of the program defined so far."""
        return list(self._table.regions)

    @property
    def ranks_here(self) -> set[int]:
        """Ranks whose pieces are here."""
        return set(self._pieces)

    def __len__(self) -> int:
        return int(self._frame is not None)

    def frame(self, number: int = 0) -> Frame:
        """The newest step; values of ranks whose pieces are not here are NaN."""
        if self._frame is None or number not in (0, -1):
            raise IndexError(f"frame {number} was asked for, but only the newest one is here")
        return self._frame

    def mesh(self, rank: int, version: int) -> list[Block]:
        """The blocks of a rank's piece, by number."""
        known, blocks = self._blocks.get(rank, (0, {}))
        return [blocks[number] for number in sorted(blocks)] if known == version else []

    def fields(self, rank: int, index: int) -> dict[tuple[int, str], FieldArray]:
        """The simulation's own fields of a rank by (block, name), as they are now."""
        piece = self._pieces.get(rank)
        return {(block, field.name): field for block, field in piece.fields} if piece else {}


def news_of(rank: int, tables: dict[str, np.ndarray], definitions: Iterable[bytes], known: News) -> News:
    """What a rank has to tell. tables : of its step entry, as _bridge.decode_steps gives them; definitions :
    bodies of region and quantity entries; known : what it told before.
    """
    calls = set(tables["messages"]["call"].tolist()) - known.calls
    others = bool((tables["regions"]["id"] == _OTHER_REGIONS).any())
    return News([(rank, json.loads(body)) for body in definitions], calls, others)


def waited_for_in(rank: int, n_ranks: int, tables: dict[str, np.ndarray]) -> np.ndarray:
    """Nanoseconds that a rank waited for each rank in a step. tables : as for `news_of`."""
    rows = tables["waits"]
    return waited_for_ns(n_ranks, np.full(len(rows), rank), rows)


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
    """(block, field) of a perfield_array in this process, over the program's own memory.

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
    values = np.asarray(view).reshape(-1, components)  # a copy only where the program's array has gaps
    kind = "cell" if association == 1 else "point"
    return block, FieldArray(name, kind, values[:, 0] if components == 1 else values, index)


class _Memory:
    __array_interface__: dict[str, Any]
