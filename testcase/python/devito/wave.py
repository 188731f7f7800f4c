# SPDX-License-Identifier: BSD-3-Clause
"""A wave in two media with Devito, a real solver that does not know perfield.

Devito (`pip install devito mpi4py`) generates C from the equations below, compiles it with mpicc and calls
it; Devito itself divides the grid among the ranks. The program is unchanged; settings alone measure it:

    export DEVITO_MPI=1 DEVITO_LANGUAGE=C OMP_NUM_THREADS=1
    export PERFIELD_REGIONS='Operator.apply,Operator.arguments,Operator._postprocess*'
    export PERFIELD_STEP_REGION=Operator.apply
    mpirun -n 4 perfield-exec python wave.py
    perfield render perfield-run --images

A step closes whenever `Operator.apply` returns. The messages of Devito's C code are counted, too.
"""

from __future__ import annotations

import argparse

import numpy as np
from devito import Eq, Function, Grid, Operator, TimeFunction, solve


def main() -> None:
    """Runs the case and prints the strength of the wave at the end."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=40, help="time steps")
    parser.add_argument("--points", type=int, default=240, help="points along each side")
    arguments = parser.parse_args()
    n = arguments.points
    grid = Grid(shape=(n, n), extent=(1.0, 1.0))
    u = TimeFunction(name="u", grid=grid, time_order=2, space_order=4)
    speed = Function(name="speed", grid=grid)
    speed.data[:] = 1.0
    speed.data[n // 2 :] = 2.0
    u.data[:, n // 3, n // 3] = 1.0
    wave = Eq(u.forward, solve(u.dt2 - speed**2 * u.laplace, u.forward))
    operator = Operator([wave])
    for number in range(1, arguments.steps + 1):
        operator.apply(time_m=number, time_M=number, dt=0.2 / n)
    total = grid.distributor.comm.allreduce(float(np.sum(np.asarray(u.data[0]) ** 2)))
    if grid.distributor.myrank == 0:
        print(f"strength {total:.6f}")


if __name__ == "__main__":
    main()
