# SPDX-License-Identifier: BSD-3-Clause
"""What the two patterns send, put and write in one step, computed from the number of ranks and the size."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from math import isqrt, prod

DOUBLE = 8  # bytes


@dataclass
class Step:
    """One step of all ranks.

    messages : (rank, peer, call) -> messages. bytes : the same keys -> bytes. calls : (rank, call) -> calls
    of collective and file operations. written : rank -> bytes to the file, in steps that write. total : the
    number that the program prints at its end.
    """

    messages: Counter = field(default_factory=Counter)
    bytes: Counter = field(default_factory=Counter)
    calls: Counter = field(default_factory=Counter)
    written: Counter = field(default_factory=Counter)
    total: int = 0

    def send(self, rank: int, peer: int, call: str, numbers: int, times: int = 1) -> None:
        """Counts messages of this many doubles, each filled with its sender's rank."""
        self.messages[rank, peer, call] += times
        self.bytes[rank, peer, call] += times * numbers * DOUBLE
        self.total += times * rank


@dataclass(frozen=True)
class Level:
    """A level of the multigrid: its world ranks as a box (z fastest), and the points of a rank."""

    ranks: tuple[int, ...]
    dims: tuple[int, int, int]
    block: tuple[int, int, int]


def multigrid_levels(n_ranks: int, size: int) -> list[Level]:
    """The levels, finest first. n_ranks and size are powers of two, size >= n_ranks."""
    dims = [1, 1, 1]
    for doubling in range(n_ranks.bit_length() - 1):
        dims[doubling % 3] *= 2
    ranks, levels, points = tuple(range(n_ranks)), [], size
    while points > 1 and points >= max(dims):
        if len(levels) > 1:
            if len(ranks) == 1:
                break
            last = max(d for d in range(3) if dims[d] > 1)
            dims[last] //= 2
            ranks = ranks[::2]
        levels.append(Level(ranks, tuple(dims), tuple(points // n for n in dims)))
        points //= 2
    return levels


def multigrid(n_ranks: int, size: int) -> Step:
    """One V-cycle and its norm."""
    step, levels = Step(), multigrid_levels(n_ranks, size)
    for number, level in enumerate(levels):
        visits = 1 if number == len(levels) - 1 else 2  # down and up again; the coarsest one once
        places = list(product(*map(range, level.dims)))
        for rank, place in zip(level.ranks, places):
            for d in range(3):
                for way in (-1, 1) if level.dims[d] > 1 else ():
                    neighbour = list(place)
                    neighbour[d] = (place[d] + way) % level.dims[d]
                    peer = level.ranks[places.index(tuple(neighbour))]
                    face = prod(level.block) // level.block[d]
                    step.send(rank, peer, "send", face, visits)
        if number > 1:  # leaving ranks hand over their half of the block and get it back
            before = levels[number - 1].ranks
            for stays, leaves in zip(before[::2], before[1::2]):
                step.send(leaves, stays, "send", prod(level.block) // 2)
                step.send(stays, leaves, "send", prod(level.block) // 2)
    for rank in range(n_ranks):
        step.calls[rank, "allreduce"] = 1
    return step


def multipartition(n_ranks: int, size: int, writes: bool) -> Step:
    """One step of the sweeps. n_ranks is a square q * q, size a multiple of q; writes: to the file, too."""
    step, q = Step(), isqrt(n_ranks)
    side = size // q
    for rank in range(n_ranks):
        x, y = rank % q, rank // q
        for dx, dy in ((1, 0), (0, 1), (-1, 1)):  # of the next cell along x, along y, along z
            above = (x + dx) % q + (y + dy) % q * q
            below = (x - dx) % q + (y - dy) % q * q
            for peer, sweep in ((above, 5 * 5 + 5), (below, 5)):
                step.send(rank, peer, "isend", (q - 1) * side**2 * 2 * 5)
                step.send(rank, peer, "isend", side**2 * sweep, q - 1)
        if writes:
            step.calls[rank, "file_write_all"] = 1
            step.written[rank] = q * side**3 * 5 * DOUBLE
    return step
