# SPDX-License-Identifier: BSD-3-Clause
"""Heat diffusion on a plate with NumPy and mpi4py, measured by perfield.

mpirun -n 4 perfield-exec python heat.py --steps 50
perfield render perfield-run --images

Each rank owns a strip of the plate. One strip has an oven below it. Its rank also computes the oven's
temperature, which takes time, so both pictures must show that rank as the slow one.
"""

from __future__ import annotations

import argparse

import numpy as np
from mpi4py import MPI

import perfield

DIFFUSIVITY = 0.2  # per step, in units of the spacing squared


class Plate:
    """A rank's strip: `u[i, j]`, with one row of a neighbour's points before and after its own."""

    def __init__(self, world: MPI.Comm, length: int, width: int) -> None:
        self.world = world
        self.below = world.rank - 1 if world.rank > 0 else MPI.PROC_NULL
        self.above = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL
        first = length * world.rank // world.size
        last = length * (world.rank + 1) // world.size
        self.u = np.zeros((last - first + 2, width))
        self.has_oven = world.rank == world.size // 2
        # Strips share a line of points, so that pictures have no gap between two pieces.
        shown = min(last, length - 1)
        perfield.mesh_image((first, shown, 0, width - 1), spacing=(1 / length, 1 / length))
        perfield.field("temperature", self.u[1 : shown - first + 2])

    @perfield.region
    def exchange(self) -> None:
        """Sends the outermost own rows to the neighbours, and receives theirs."""
        u, world = self.u, self.world
        world.Sendrecv(u[-2], dest=self.above, recvbuf=u[0], source=self.below)
        world.Sendrecv(u[1], dest=self.below, recvbuf=u[-1], source=self.above)

    @perfield.region("diffusion")
    def diffuse(self) -> None:
        """One explicit step; the edge of the plate stays cold."""
        u = self.u
        change = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += DIFFUSIVITY * change

    def heat(self) -> None:
        """Sets the points above the oven to its temperature: a series that converges slowly to 1."""
        with perfield.region("oven"):
            terms = np.arange(200_000)
            temperature = 4 / np.pi * np.sum((-1.0) ** terms / (2 * terms + 1))
            middle = self.u.shape[1] // 2
            self.u[2:-2, middle - 3 : middle + 3] = temperature


def main() -> None:
    """Runs the case and prints the mean temperature."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=50, help="time steps")
    parser.add_argument("--length", type=int, default=64, help="points along the ranks")
    parser.add_argument("--width", type=int, default=48, help="points across")
    arguments = parser.parse_args()
    world = MPI.COMM_WORLD
    plate = Plate(world, arguments.length, arguments.width)
    perfield.initialize()
    for number in range(arguments.steps):
        if plate.has_oven:
            plate.heat()
        plate.exchange()
        plate.diffuse()
        perfield.step(number, number * DIFFUSIVITY)
    mean = world.allreduce(float(plate.u[1:-1].sum())) / (arguments.length * arguments.width)
    if world.rank == 0:
        print(f"mean temperature {mean:.6f}")


if __name__ == "__main__":
    main()
