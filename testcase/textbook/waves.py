# SPDX-License-Identifier: BSD-3-Clause
"""waves.py - waves in mpi4py with NumPy: halos by nonblocking messages of buffers, in a class, and the energy
at each tenth step.

mpirun -n 4 python3 waves.py STEPS [SLOW TIMES]
"""

import sys
import time

import numpy as np
from mpi4py import MPI


class Waves:
    """A piece of the string, with a ghost at each end."""

    def __init__(self, comm, slow, times):
        self.comm, self.rank, self.size = comm, comm.Get_rank(), comm.Get_size()
        self.seconds = 0.002 * (times if self.rank == slow else 1)
        self.u = np.ones(66)

    def exchange(self):
        """Fills the ghosts."""
        left, right = (self.rank - 1) % self.size, (self.rank + 1) % self.size
        requests = [
            self.comm.Irecv(self.u[:1], source=left, tag=0),
            self.comm.Irecv(self.u[-1:], source=right, tag=1),
            self.comm.Isend(self.u[-2:-1], dest=right, tag=0),
            self.comm.Isend(self.u[1:2], dest=left, tag=1),
        ]
        MPI.Request.Waitall(requests)

    def step(self):
        """Sleeps where a solver would compute."""
        self.exchange()
        time.sleep(self.seconds)

    def energy(self):
        """Of all ranks."""
        return self.comm.allreduce(float(self.u[1:-1].sum()))


def main(n_steps=40, slow=-1, times=1.0):
    """The loop over time."""
    waves = Waves(MPI.COMM_WORLD, int(slow), float(times))
    for step in range(int(n_steps)):
        waves.step()
        if step % 10 == 0:
            waves.energy()


main(*sys.argv[1:])
