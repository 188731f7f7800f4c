# SPDX-License-Identifier: BSD-3-Clause
"""The definitions in a run's streams: of single ranks, and those that ranks share by hash."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.fields.definitions import Defined
from perfield.run.streams import TYPES, Streams

_ROW = np.dtype([("hash", "<u8"), ("id", "<u4"), ("type", "<u2"), ("zero", "<u2")])


@dataclass(frozen=True)
class Definitions:
    """regions, quantities : what the ranks' ids mean. lost : hashes of those that no entry describes."""

    regions: Defined
    quantities: Defined
    lost: tuple[int, ...]

    @property
    def damage(self) -> list[str]:
        """A sentence if some are lost."""
        if not self.lost:
            return []
        which = ", ".join(f"{hash:016x}" for hash in self.lost[:3]) + ", ..." * (len(self.lost) > 3)
        many = len(self.lost) > 1
        return [
            f"stream: the {'texts' if many else 'text'} of {len(self.lost)} "
            f"{'definitions are' if many else 'definition is'} lost ({which}); "
            "such regions are shown by that number, and such quantities are left out."
        ]


def read_definitions(streams: Streams, size: int, running: bool) -> Definitions:
    """All definitions by ranks below `size`. running : what is lost may yet come."""
    rank, rows = _rows(streams, size)
    hashes, bodies = _texts(streams)
    at = np.searchsorted(hashes, rows["hash"])
    known = hashes[np.minimum(at, len(hashes) - 1)] == rows["hash"] if len(hashes) else at < 0
    lost = np.zeros(0, np.uint64) if running else np.unique(rows["hash"][~known])
    if len(lost):
        bodies += [{"name": f"region {hash:016x}"} for hash in lost.tolist()]
        at[~known] = len(hashes) + np.searchsorted(lost, rows["hash"][~known])
    shared = Defined(rank, rows["id"].astype(np.int64), at.astype(np.int64), bodies)
    is_region = (rows["type"] == TYPES["region"]) & (known | bool(len(lost)))
    return Definitions(
        Defined.of(_of_ranks(streams, "region", size)) + shared.where(is_region),
        Defined.of(_of_ranks(streams, "quantity", size))
        + shared.where((rows["type"] == TYPES["quantity"]) & known),
        tuple(lost.tolist()),
    )


def _of_ranks(streams: Streams, name: str, size: int) -> list[tuple[int, dict]]:
    return [(rank, body) for rank, body in streams.json(name) if 0 <= rank < size]


def _rows(streams: Streams, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rank and row of each id in the `defined` entries."""
    bodies = [body[: len(body) // _ROW.itemsize * _ROW.itemsize] for body in streams.raw("defined")]
    counts = [len(body) // _ROW.itemsize for body in bodies]
    ranks = streams.places["rank"][streams.of_type("defined")].astype(np.int64)
    rank, rows = np.repeat(ranks, counts), np.frombuffer(b"".join(bodies), _ROW)
    if len(rank) and not 0 <= ranks.min() <= ranks.max() < size:
        inside = (rank >= 0) & (rank < size)
        rank, rows = rank[inside], rows[inside]
    return rank, rows


def _texts(streams: Streams) -> tuple[np.ndarray, list[dict]]:
    """Hashes, sorted, and bodies of the `definition` entries; of equal ones any that can be read."""
    rows = streams.of_type("definition")
    hashes = streams.places["index"][rows]
    found: dict[int, dict] = {}
    while len(rows):
        _, first = np.unique(hashes, return_index=True)
        for row, (_, body) in zip(first.tolist(), streams.json_of("definition", rows[first])):
            if body:
                found[int(hashes[row])] = body
        others = np.ones(len(rows), bool)
        others[first] = False
        others &= ~np.isin(hashes, np.array(list(found), np.uint64))
        rows, hashes = rows[others], hashes[others]
    order = sorted(found)
    return np.array(order, np.uint64), [found[hash] for hash in order]
