# SPDX-License-Identifier: BSD-3-Clause
"""Finds meshes and fields in the files of a run's mesh folder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perfield.run.mesh import Block, FieldArray, read_block, read_fields
from perfield.run.streams import Streams


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
        blocks: dict[int, Block] = {}
        for body in self._streams.bodies(self._rows("mesh", rank, lambda index: index == version)):
            block = read_block(rank, version, body, blocks) if body else None
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
        stored = self._streams.places["index"][rows].astype(np.int64)
        newest: dict[tuple[int, str], FieldArray] = {}
        for step in np.unique(stored)[::-1].tolist():
            of_step = rows[stored == step]
            if len(of_step) <= len(newest):
                continue  # it stored no field that later steps did not store
            for body in self._streams.bodies(of_step):
                for key, array in read_fields(step, body or b""):
                    newest.setdefault(key, array)
        return dict(sorted(newest.items()))

    def _rows(self, type: str, rank: int, wanted: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        rows = self._streams.of_type(type)
        places = self._streams.places[rows]
        return rows[(places["rank"] == rank) & wanted(places["index"])]
