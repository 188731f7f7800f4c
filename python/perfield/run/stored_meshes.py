# SPDX-License-Identifier: BSD-3-Clause
"""Finds meshes and fields in the files of a run's mesh folder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perfield.run.mesh import Block, FieldArray, read_block, read_fields
from perfield.run.streams import Streams

_AT_ONCE = 8  # field entries that are read before asking whether older ones add anything


class StoredMeshes:
    """The mesh and field entries of a run, each read when it is asked for."""

    def __init__(self, streams: Streams):
        self._streams = streams
        self._misshapen: dict[str, None] = {}

    def refresh(self) -> None:
        """Finds what was written since."""
        self._streams.refresh()

    def damage(self, running: bool) -> list[str]:
        """Sentences on what is damaged, and on blocks that were asked for and could not be read."""
        return self._streams.damage(running) + list(self._misshapen)

    def mesh(self, rank: int, version: int) -> list[Block]:
        """The blocks of a rank's piece in one version of its mesh, by number."""
        blocks = {}
        for body in self._streams.bodies(self._rows("mesh", rank, lambda index: index == version)):
            block = read_block(rank, version, body) if body else None
            if block is None:
                sentence = (
                    f"mesh: a block of rank {rank}, version {version}, cannot be read and is not shown."
                )
                self._misshapen[sentence] = None
            else:
                blocks[block.block] = block  # of two with one number the newer
        return [blocks[number] for number in sorted(blocks)]

    def fields(
        self, rank: int, index: int, versions_of: Callable[[int, np.ndarray], np.ndarray]
    ) -> dict[tuple[int, str], FieldArray]:
        """The newest fields of a rank stored at or before a step, on the mesh of that step.

        versions_of : (rank, (n,) indexes of steps) -> (n,) versions of the rank's mesh.
        """
        rows = self._rows("field", rank, lambda stored: stored <= index)
        indexes = self._streams.places["index"][rows]
        versions = versions_of(rank, np.append(indexes, np.uint64(index)))
        rows = rows[versions[:-1] == versions[-1]]
        rows = rows[np.argsort(self._streams.places["index"][rows], kind="stable")[::-1]]  # newest first
        newest: dict[tuple[int, str], FieldArray] = {}
        for begin in range(0, len(rows), _AT_ONCE):
            before = len(newest)
            part = rows[begin : begin + _AT_ONCE]
            for row, body in zip(part, self._streams.bodies(part)):
                for key, array in read_fields(int(self._streams.places["index"][row]), body or b""):
                    newest.setdefault(key, array)
            if begin and len(newest) == before:
                break
        return dict(sorted(newest.items()))

    def _rows(self, type: str, rank: int, wanted: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        rows = self._streams.of_type(type)
        places = self._streams.places[rows]
        return rows[(places["rank"] == rank) & wanted(places["index"])]
