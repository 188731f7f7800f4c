# SPDX-License-Identifier: BSD-3-Clause
"""farm.py - a task farm in mpi4py: rank 0 hands out tasks of different sizes, the others return results.

mpirun -n 4 python3 farm.py STEPS [SLOW TIMES]
"""

import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
n_tasks = 4 * (int(sys.argv[1]) if len(sys.argv) > 1 else 40)
slow, times = (int(sys.argv[2]), float(sys.argv[3])) if len(sys.argv) > 3 else (-1, 1.0)


def solve(task):
    """Sleeps where a solver would compute."""
    time.sleep(0.001 * (1 + task % 5) * (times if rank == slow else 1))
    return task


if rank == 0:
    status, working, given = MPI.Status(), size - 1, 0
    while working:
        comm.recv(source=MPI.ANY_SOURCE, status=status)
        task = given if given < n_tasks else None
        given += 1
        working -= task is None
        comm.send(task, dest=status.source)
else:
    comm.send(None, dest=0)
    while (task := comm.recv(source=0)) is not None:
        comm.send(solve(task), dest=0)
