# SPDX-License-Identifier: BSD-3-Clause
"""multipartition.c in Python, with mpi4py: `python multipartition.py STEPS SIZE WRITE_EVERY
[--without-perfield]`."""

from __future__ import annotations

import contextlib
import sys
from math import isqrt

import numpy as np
from mpi4py import MPI

VARIABLES, FORWARD, BACKWARD = 5, 5 * 5 + 5, 5


class Sweeps:
    """q * q ranks with cells of side**3 points. received : the sum of what arrived in this step."""

    def __init__(self, size: int) -> None:
        self.rank, self.q = MPI.COMM_WORLD.rank, isqrt(MPI.COMM_WORLD.size)
        self.side = size // self.q
        x, y = self.rank % self.q, self.rank // self.q
        towards = ((1, 0), (0, 1), (-1, 1))  # the next cell along x, y, z; of z, see cells
        self.above = [self.rank_at(x + dx, y + dy) for dx, dy in towards]
        self.below = [self.rank_at(x - dx, y - dy) for dx, dy in towards]
        self.outgoing = np.full(6 * self.q * self.side**3 * 2 * VARIABLES, float(self.rank))
        self.incoming = np.empty_like(self.outgoing)
        self.received = np.zeros(1)

    def rank_at(self, x: int, y: int) -> int:
        return x % self.q + y % self.q * self.q

    def cells(self) -> list[tuple[int, int, int]]:
        """Cell k of the rank at (x, y) is the cell at (x + k, y - k, k) of the cube's q * q * q cells."""
        x, y = self.rank % self.q, self.rank // self.q
        return [((x + k) % self.q, (y - k) % self.q, k) for k in range(self.q)]

    def take(self, numbers: np.ndarray) -> None:
        self.received += numbers.sum() / len(numbers)

    def step(self) -> None:
        self.copy_faces()
        for d in range(3):
            self.sweep(self.below[d], self.above[d], FORWARD, 6 + d)
            self.sweep(self.above[d], self.below[d], BACKWARD, 9 + d)

    def copy_faces(self) -> None:
        """Sends the faces of all cells, two points deep, to all six partners at once."""
        world, n = MPI.COMM_WORLD, (self.q - 1) * self.side**2 * 2 * VARIABLES
        parts, face = self.incoming[: 6 * n].reshape(6, n), self.outgoing[:n]
        requests = []
        for d in range(3):
            requests.append(world.Irecv(parts[2 * d], self.below[d], d))
            requests.append(world.Irecv(parts[2 * d + 1], self.above[d], 3 + d))
        for d in range(3):
            requests.append(world.Isend(face, self.above[d], d))
            requests.append(world.Isend(face, self.below[d], 3 + d))
        MPI.Request.Waitall(requests)
        for part in parts:
            self.take(part)

    def sweep(self, source: int, target: int, numbers: int, tag: int) -> None:
        """One cell per stage: sends what the next stage needs to one partner, receives from the other."""
        n = self.side**2 * numbers
        for _ in range(self.q - 1):
            request = MPI.COMM_WORLD.Isend(self.outgoing[:n], target, tag)
            MPI.COMM_WORLD.Recv(self.incoming[:n], source, tag)
            request.Wait()
            self.take(self.incoming[:n])

    def write_cells(self, file: MPI.File, time: int) -> None:
        """Writes each rank's cells contiguously, after those of lower ranks and of earlier times."""
        part = self.outgoing[: self.q * self.side**3 * VARIABLES]
        file.Write_at_all((time * self.q**2 + self.rank) * part.nbytes, part)


def main() -> None:
    """Reads the command line, runs the steps and prints the sum of the last one."""
    steps, size, write_every = (int(word) for word in sys.argv[1:4])
    measured = "--without-perfield" not in sys.argv
    solver, region = Sweeps(size), contextlib.nullcontext()
    file = MPI.File.Open(MPI.COMM_WORLD, "multipartition.out", MPI.MODE_CREATE | MPI.MODE_WRONLY)
    if measured:
        import perfield

        for k, cell in enumerate(solver.cells()):
            extent = [number for place in cell for number in (place * solver.side, (place + 1) * solver.side)]
            perfield.mesh_image(extent, block=k)
        region = perfield.region("adi")
        perfield.initialize()
    for step in range(1, steps + 1):
        with region:
            solver.received[:] = 0
            solver.step()
        if step % write_every == 0:
            solver.write_cells(file, step // write_every - 1)
        if measured:
            perfield.step(step, step)
    file.Close()
    total = np.zeros(1)
    MPI.COMM_WORLD.Reduce(solver.received, total)
    if solver.rank == 0:
        print(f"{steps} steps on {solver.q} x {solver.q} ranks, sum {total[0]:.0f}")


main()
