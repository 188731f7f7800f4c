# SPDX-License-Identifier: BSD-3-Clause
"""plate.py - a plate in mpi4py: halos by lower-case calls, and the residual of each step.

mpirun -n 4 python3 plate.py STEPS [SLOW TIMES]
"""

import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
n_steps = int(sys.argv[1]) if len(sys.argv) > 1 else 40
slow, times = (int(sys.argv[2]), float(sys.argv[3])) if len(sys.argv) > 3 else (-1, 1.0)


def work(seconds):
    """Sleeps where a solver would compute."""
    time.sleep(seconds * (times if rank == slow else 1))
    return seconds


def relax(u):
    """A halo and a sweep."""
    below, above = (rank - 1) % size, (rank + 1) % size
    u = comm.sendrecv(u, dest=above, source=below)
    return u + work(0.001)


def main():
    """The loop over time."""
    u = float(rank)
    for step in range(n_steps):
        for _ in range(2):
            u = relax(u)
        change = comm.allreduce(u, op=MPI.MAX)
        if rank == 0 and step % 10 == 0:
            print(step, change)


main()
