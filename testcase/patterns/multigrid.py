# SPDX-License-Identifier: BSD-3-Clause
"""multigrid.c in Python, with mpi4py: `python multigrid.py STEPS SIZE [--without-perfield]`."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI


@dataclass
class Level:
    """A level, divided among the ranks that hold it (MPI.COMM_NULL if this rank does not)."""

    ranks: MPI.Cartcomm
    dims: list[int]  # ranks along x, y, z
    block: list[int]  # points of a rank along x, y, z

    @property
    def points(self) -> int:
        """Points of a rank."""
        return self.block[0] * self.block[1] * self.block[2]


def make_levels(size: int) -> list[Level]:
    """The levels, finest first, while a rank has a point along each direction."""
    dims = MPI.Compute_dims(MPI.COMM_WORLD.size, 3)
    ranks = MPI.COMM_WORLD.Create_cart(dims, periods=[True] * 3)
    levels: list[Level] = []
    points = size
    while points > 1 and points >= dims[0]:
        if len(levels) > 1:
            if dims[0] == 1:
                break
            ranks, dims = half_of(ranks, dims)
        levels.append(Level(ranks, dims, [points // n for n in dims]))
        points //= 2
    return levels


def half_of(ranks: MPI.Cartcomm, dims: list[int]) -> tuple[MPI.Cartcomm, list[int]]:
    """Every second rank of this box: half as many along the last direction that has several."""
    last = max(d for d in range(3) if dims[d] > 1)
    dims = [n // 2 if d == last else n for d, n in enumerate(dims)]
    if ranks == MPI.COMM_NULL:
        return ranks, dims
    half = ranks.Split(MPI.UNDEFINED if ranks.rank % 2 else 0, ranks.rank)
    return (half if half == MPI.COMM_NULL else half.Create_cart(dims, periods=[True] * 3)), dims


class Multigrid:
    """The V-cycle. norm : the sum of what arrived in this step."""

    def __init__(self, size: int) -> None:
        self.levels = make_levels(size)
        self.outgoing = np.full(size**3, float(MPI.COMM_WORLD.rank))
        self.incoming = np.empty(size**3)
        self.norm = np.zeros(1)

    def take(self, n: int) -> None:
        self.norm += self.incoming[:n].sum() / n

    def cycle(self, number: int = 0) -> None:
        """From this level down to the coarsest one and back up."""
        level, following = self.levels[number], self.levels[number + 1 : number + 2]
        self.exchange(level)
        if not following:
            return
        if following[0].ranks == level.ranks:
            self.cycle(number + 1)
        else:
            self.cycle_on_half_the_ranks(level.ranks, number + 1)
        self.exchange(level)

    def cycle_on_half_the_ranks(self, ranks: MPI.Cartcomm, following: int) -> None:
        """Every second rank takes its neighbour's half of the next block, and returns it afterwards."""
        half = self.levels[following].points // 2
        if ranks.rank % 2:
            ranks.Send(self.outgoing[:half], ranks.rank - 1, 2)
            ranks.Recv(self.incoming[:half], ranks.rank - 1, 3)
            self.take(half)
        else:
            ranks.Recv(self.incoming[:half], ranks.rank + 1, 2)
            self.take(half)
            self.cycle(following)
            ranks.Send(self.outgoing[:half], ranks.rank + 1, 3)

    def exchange(self, level: Level) -> None:
        """Along x, then y, then z: a face to the rank above, then one to the rank below."""
        for d in range(3):
            if level.dims[d] == 1:  # this rank is its own neighbour
                continue
            face = level.points // level.block[d]
            ends = level.ranks.Shift(d, 1)
            for way in range(2):
                request = level.ranks.Irecv(self.incoming[:face], ends[way], way)
                level.ranks.Send(self.outgoing[:face], ends[1 - way], way)
                request.Wait()
                self.take(face)


def main() -> None:
    """Reads the command line, runs the cycles and prints the last norm."""
    steps, size = int(sys.argv[1]), int(sys.argv[2])
    measured = "--without-perfield" not in sys.argv
    solver, region = Multigrid(size), contextlib.nullcontext()
    if measured:
        import perfield

        finest = solver.levels[0]
        first = [n * place for n, place in zip(finest.block, finest.ranks.coords)]
        perfield.mesh_image([number for n, a in zip(finest.block, first) for number in (a, a + n)])
        region = perfield.region("cycle")
        perfield.initialize()
    for step in range(1, steps + 1):
        with region:
            solver.norm[:] = 0
            solver.cycle()
        MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, solver.norm)
        if measured:
            perfield.step(step, step)
    if MPI.COMM_WORLD.rank == 0:
        print(f"{steps} cycles on {len(solver.levels)} levels, norm {solver.norm[0]:.0f}")


main()
