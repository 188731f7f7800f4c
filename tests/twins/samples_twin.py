# SPDX-License-Identifier: BSD-3-Clause
"""A part of the twin: `samples` and `modules` entries, and runs that have them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from twins import twin
from twins.events_twin import leb, zigzag

MONOTONIC_NS = 5_000_000_000  # of stamp 0
PERIOD_NS = 5_000_000
Sample = tuple[int, int, Sequence[int]]  # time on CLOCK_MONOTONIC, thread, addresses
NOWHERE = 1  # in no region; 0: nobody knows


def on_path(path: int) -> int:
    """How a sample says that it was taken on a path."""
    return 2 * path + 1


def on_other_paths(region: int) -> int:
    """The same of other paths of a region."""
    return 2 * region + 2


def pack_samples(
    samples: Sequence[Sample],
    period_ns: int = PERIOD_NS,
    lost: int = 0,
    where: Sequence[int] | None = None,
) -> bytes:
    """The body of a `samples` entry. where : of each, in which region."""
    time = origin = samples[0][0] if samples else 0
    packed, address = b"", 0
    for n, (at, thread, addresses) in enumerate(samples):
        packed += leb(zigzag(at - time)) + leb(thread)
        packed += leb(where[n] if where else NOWHERE)
        packed += leb(len(addresses))
        time = at
        for one in addresses:
            packed += leb(zigzag(one - address))
            address = one
    body = struct.pack("<IIQQQ", len(samples), len(packed), period_ns, origin, lost) + packed
    return body + bytes(-len(body) % 8)


def module(path: str, begin: int, size: int = 0x10000, bias: int | None = None, build_id: str = "") -> dict:
    """What a `modules` entry says of one file; bias: begin unless given."""
    about = {"begin": begin, "end": begin + size, "bias": begin if bias is None else bias}
    return {name: f"{value:x}" for name, value in about.items()} | {"path": path, "build_id": build_id}


def write_sampled_run(
    path: Path, add: Callable[[int, twin.Writer], None], ranks: int = 2, mesh: bool = False, **options
) -> Path:
    """A run of `ranks` on one node; add(rank, writer) adds entries of a rank behind its steps."""

    def change_rank(rank: int, values: dict) -> None:
        values["monotonic_ns"] = MONOTONIC_NS

    twin.write_run(path, ranks, change_rank=change_rank, mesh=mesh, ended=False, **options)
    stream = next((path / "stream").glob("*.pf"))
    for rank in range(ranks):
        writer = twin.Writer(stream, rank)
        writer.sequence = 1000
        add(rank, writer)
    return path
