# SPDX-License-Identifier: BSD-3-Clause
"""genetic.py - a genetic algorithm in mpi4py: rank 0 gets the results of each generation, and sends the
parents of the next to all.

mpirun -n 4 python3 genetic.py STEPS [SLOW TIMES]
"""

import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
n_generations = int(sys.argv[1]) if len(sys.argv) > 1 else 40
slow, times = (int(sys.argv[2]), float(sys.argv[3])) if len(sys.argv) > 3 else (-1, 1.0)


def fitness(parents):
    """Sleeps where a model would be evaluated."""
    time.sleep(0.002 * (times if comm.rank == slow else 1))
    return sum(parents) / (1 + comm.rank)


def select(scores):
    """The parents of the next generation."""
    return sorted(scores)[-2:] if comm.rank == 0 else None


parents = [1.0, 2.0]
for _ in range(n_generations):
    scores = comm.gather(fitness(parents), root=0)
    parents = comm.bcast(select(scores or []), root=0)
