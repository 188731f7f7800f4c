# SPDX-License-Identifier: BSD-3-Clause
"""Finds meshes and fields in the files of a run's mesh folder."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from perfield.run.mesh import Block, FieldArray, field_names, read_block, read_fields
from perfield.run.streams import Streams

_KEPT = 1 << 20  # bytes of a rank's fields that are kept for the next step
_OPENING = 1 << 16  # bytes; far more than a field's description


class StoredMeshes:
    """The mesh and field entries of a run, each read when it is asked for."""

    def __init__(self, streams: Streams):
        self._streams = streams
        self._misshapen: dict[str, None] = {}
        self._names: dict[tuple[int, int], list[tuple[int, str]]] = {}
        # By rank: `places` when its fields were read, what identifies them, and the fields.
        self._last: dict[int, tuple[np.ndarray, tuple[int, ...], dict[tuple[int, str], FieldArray]]] = {}
        # By type of entry: `places` when it was sorted, the entries by rank, and their ranks.
        self._by_rank: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def __len__(self) -> int:
        return len(self._streams.places)

    @property
    def n_blocks(self) -> int:
        """How many entries describe blocks of a mesh."""
        return len(self._streams.of_type("mesh"))

    def refresh(self) -> None:
        """Finds newly written entries."""
        self._streams.refresh()

    def snapshot(self) -> StoredMeshes:
        """A copy that later refreshes do not change; it shares all that was read so far."""
        taken = copy.copy(self)
        taken._streams, taken._by_rank = copy.copy(self._streams), dict(self._by_rank)
        taken._last = dict(self._last)
        return taken

    def damage(self, running: bool) -> list[str]:
        """Sentences on damage, and on requested blocks that could not be read."""
        return self._streams.damage(running) + list(self._misshapen)

    def mesh(self, rank: int, version: int) -> list[Block]:
        """The blocks of a rank's piece in one version of its mesh, by number."""
        blocks: dict[int, Block] = {}
        for body in self._streams.bodies(self._rows("mesh", rank, lambda index: index == version)):
            block, why = read_block(rank, version, body, blocks) if body else (None, "has been damaged")
            if block is None:
                sentence = f"mesh: a block of rank {rank}, version {version}, cannot be read and is not shown"
                sentence += f": it {why}."
                self._misshapen[sentence] = None
            else:
                blocks[block.block] = block  # the newer block of a number replaces the older
        return [blocks[number] for number in sorted(blocks)]

    def fields(
        self, rank: int, index: int, versions_of: Callable[[int, np.ndarray], np.ndarray]
    ) -> dict[tuple[int, str], FieldArray]:
        """The newest fields of a rank stored at or before a step, on the mesh of that step.

        versions_of : (rank, (n,) indexes of steps) -> (n,) versions of the rank's mesh. Equal small fields
        of one step after another are the same object.
        """
        rows = self._rows("field", rank, lambda stored: stored <= index)
        key = len(rows), int(rows[-1]) if len(rows) else -1, int(versions_of(rank, np.array([index]))[0])
        places, known, found = self._last.get(rank, (None, None, {}))
        if places is self._streams.places and known == key:
            return found
        found = self._read(rows, rank, index, versions_of)
        if sum(array.values.nbytes for array in found.values()) <= _KEPT:
            self._last[rank] = self._streams.places, key, found
        return found

    def _read(
        self,
        rows: np.ndarray,
        rank: int,
        index: int,
        versions_of: Callable[[int, np.ndarray], np.ndarray],
    ) -> dict[tuple[int, str], FieldArray]:
        """The newest fields among entries of a rank, on the mesh of a step."""
        indexes = self._streams.places["index"][rows]
        versions = versions_of(rank, np.append(indexes, np.uint64(index)))
        rows = rows[versions[:-1] == versions[-1]]
        newest: dict[tuple[int, str], int] = {}
        for row in rows[np.argsort(self._streams.places["index"][rows], kind="stable")].tolist():
            newest.update(dict.fromkeys(self._named(row), row))
        needed = np.array(sorted(set(newest.values())), dtype=np.int64)
        found = {}
        for row, body in zip(needed.tolist(), self._streams.bodies(needed)):
            for key, array in read_fields(int(self._streams.places["index"][row]), body or b""):
                if newest.get(key) == row:
                    found[key] = array
        return dict(sorted(found.items()))

    def _named(self, row: int) -> list[tuple[int, str]]:
        """(block, name) of the fields in a field entry; its first bytes are read once."""
        key = int(self._streams.file[row]), int(self._streams.places["offset"][row])
        if key not in self._names:
            self._names[key] = field_names(self._streams.openings(np.array([row]), _OPENING)[0])
        return self._names[key]

    def _rows(self, type: str, rank: int, wanted: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        known, rows, ranks = self._by_rank.get(type, (None, None, None))
        if known is not self._streams.places:  # a refresh replaces it
            rows = self._streams.of_type(type)
            ranks = self._streams.places["rank"][rows]
            order = np.argsort(ranks, kind="stable")
            rows, ranks = rows[order], ranks[order]
            self._by_rank[type] = self._streams.places, rows, ranks
        begin, end = np.searchsorted(ranks, [rank, rank + 1])
        return rows[begin:end][wanted(self._streams.places["index"][rows[begin:end]])]
