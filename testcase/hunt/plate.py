# SPDX-License-Identifier: BSD-3-Clause
"""A plate in strips, with NumPy and mpi4py, which the hunt plants problems in.

plant.py names the arguments. A step sweeps over the strip, exchanges rows with the neighbours, updates a
source and takes the residual, an allreduce. The sweep really computes; the rest of a step's work is sleep,
so the planted seconds hold on any number of cores.
"""

from __future__ import annotations

import random
import sys
import time
from math import exp
from pathlib import Path

import numpy as np
from mpi4py import MPI

import perfield

ROWS, WIDTH = 32, 64
SHARES = (0.7, 0.3)  # of a step's work: sweep, source
DISK_BYTES_PER_S = 1e7  # machine.c


class Plate:
    """A rank's strip: `u[i, j]`, with one row of a neighbour's points before and after its own."""

    def __init__(self, words: list[str]) -> None:
        self.steps, self.seed = int(words[0]), int(words[1])
        self.noise, self.step_s = float(words[2]), float(words[3])
        self.problem, self.planted = words[4], int(words[5])
        self.strength, self.region, self.every = float(words[6]), int(words[7]), int(words[8])
        self.world = MPI.COMM_WORLD
        rank, size = self.world.rank, self.world.size
        self.below = rank - 1 if rank > 0 else MPI.PROC_NULL
        self.above = rank + 1 if rank + 1 < size else MPI.PROC_NULL
        self.random = random.Random(self.seed * 1000 + rank)
        larger = self.problem == "cells" and rank == self.planted
        rows = round(ROWS * (self.strength if larger else 1))
        self.slept = np.zeros(2)  # seconds that this rank meant to sleep, and those that it did
        self.relative_cells = rows / ROWS
        self.u = np.zeros((rows + 2, WIDTH))
        perfield.mesh_image((0, rows, 0, WIDTH), (rank, 0), (1 / rows, 1 / WIDTH))

    def compute(self, region: int, number: int, done_s: float = 0.0) -> None:
        """The rest of a region's work: random noise, and rarely the system takes the core away."""
        share = SHARES[region] * self.relative_cells * exp(self.random.gauss(0.0, self.noise))
        if self.random.random() < 0.003:
            share += 0.5
        if region == self.region:
            turn = (self.planted + number // self.every) % self.world.size
            if self.problem == "cost" and self.world.rank == self.planted:
                share += self.strength - 1
            if self.problem == "moves" and self.world.rank == turn:
                share += self.strength - 1
            changed = (self.planted + (2 * number > self.steps)) % self.world.size
            if self.problem == "changes" and self.world.rank == changed:
                share += self.strength - 1
            if self.problem == "slower":
                share += (self.strength - 1) * number / self.steps
        self.sleep(share * self.step_s - done_s)

    def sleep(self, seconds: float) -> None:
        """Sleeps, and adds up what was meant and what it took."""
        if seconds > 0:
            start = time.perf_counter()
            time.sleep(seconds)
            self.slept += seconds, time.perf_counter() - start

    @perfield.region("sweep")
    def sweep(self, number: int) -> None:
        """One explicit step of the heat equation."""
        start = time.thread_time()
        u = self.u
        change = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.2 * change
        self.compute(0, number, time.thread_time() - start)

    @perfield.region("rows")
    def exchange(self) -> None:
        """Sends the outermost own rows to the neighbours, and receives theirs."""
        u, world = self.u, self.world
        for to, sent, source, received in ((self.above, -2, self.below, 0), (self.below, 1, self.above, -1)):
            world.Sendrecv(u[sent], dest=to, recvbuf=u[received], source=source)
            if self.problem == "empty":
                self.send_nothing(to, source)

    def send_nothing(self, to: int, source: int) -> None:
        """One rank sends many messages without anything in them."""
        to = to if self.world.rank == self.planted else MPI.PROC_NULL
        source = source if source == self.planted else MPI.PROC_NULL
        nothing = np.zeros(0)
        for _ in range(self.every):
            self.world.Sendrecv(nothing, dest=to, recvbuf=nothing, source=source, sendtag=1)

    def step(self, number: int) -> None:
        """One time step."""
        rank, world = self.world.rank, self.world
        self.sweep(number)
        self.exchange()
        with perfield.region("source"):
            self.u[1:-1, WIDTH // 2] += 0.001
            self.compute(1, number)
        with perfield.region("residual"):
            world.allreduce(float(self.u[1, 1]))
        if self.problem == "serial":
            with perfield.region("control"):
                if rank == self.planted:
                    self.sleep((self.strength - 1) * self.step_s)
                world.Bcast(np.zeros(8), self.planted)
        if number % self.every == 0 and self.problem in ("writer", "output"):
            with perfield.region("output"):
                self.write_through_one() if self.problem == "writer" else self.write_all()
        perfield.step(number, 0.1 * number)

    def write_through_one(self) -> None:
        """Gathers all values on one rank, which writes them."""
        seconds = (self.strength - 1) * self.step_s * self.every
        mine = np.ones(int(seconds * DISK_BYTES_PER_S / self.world.size), np.uint8)
        is_writer = self.world.rank == self.planted
        gathered = np.empty(len(mine) * self.world.size, np.uint8) if is_writer else None
        self.world.Gather(mine, gathered, self.planted)
        if is_writer:
            Path("plate.out").write_bytes(gathered.tobytes())

    def write_all(self) -> None:
        """Each rank writes its values."""
        n = int(self.strength * self.step_s * DISK_BYTES_PER_S)
        Path(f"plate-{self.world.rank}.out").write_bytes(bytes(n))


def main() -> None:
    """Runs the case."""
    if len(sys.argv) != 10:
        sys.exit(f"plate: expected 9 arguments, those of plant.py, not {len(sys.argv) - 1}")
    plate = Plate(sys.argv[1:])
    perfield.initialize()
    for number in range(1, plate.steps + 1):
        plate.step(number)
    # How late the machine woke the ranks, as a share of what they meant to sleep.
    meant, slept = plate.world.allreduce(plate.slept)
    if plate.world.rank == 0:
        print(f"late {slept / meant - 1:.3f}")


if __name__ == "__main__":
    main()
