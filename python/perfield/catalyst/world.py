# SPDX-License-Identifier: BSD-3-Clause
"""Keeps all ranks of the program at the same step while they make pictures.

No rank waits for ever. Before each collective operation all ranks agree that they are there. A rank that
waits too long for the others continues without pictures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from mpi4py import MPI

from perfield.catalyst.errors import PicturesEnded, reason

Result = TypeVar("Result")
_BUSY_POLLS = 2000  # after these, a waiting rank sleeps between two polls
_NAP_S = 1e-4


class NobodyCameError(RuntimeError):
    """Other ranks did not close the step; the text says what to do."""

    is_known = True


class World:
    """The ranks of MPI_COMM_WORLD, on perfield's own communicator.

    patience : s, the longest wait for the other ranks.
    """

    def __init__(self, patience: float):
        self._patience = patience
        comm, request = MPI.COMM_WORLD.Idup()
        self._wait(request)
        self.comm = comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()

    def agree(self, *numbers: int, comm: MPI.Comm | None = None) -> list[int]:
        """The minimum of each number over all ranks (of `comm`, if given)."""
        mine = np.array(numbers, dtype=np.int64)
        least = np.empty_like(mine)
        self._wait((comm or self.comm).Iallreduce(mine, least, MPI.MIN))
        return least.tolist()

    def together(self, what: str, action: Callable[[], Result], comm: MPI.Comm | None = None) -> Result:
        """Runs an action on each rank; ends the pictures on all if it fails on one.

        what : name of the action, for the error message. action : not collective, or it raises on all ranks.
        """
        comm = comm or self.comm
        result: Any = None
        words = ""
        try:
            result = action()
        except BaseException as error:
            if isinstance(error, NobodyCameError):
                raise
            words = reason(error)
            if isinstance(error, PicturesEnded):  # an inner `together` raised it on all ranks
                words = f"={words}"
        if self.agree(int(not words), comm=comm) == [1]:
            return result
        rank, words = next((rank, text) for rank, text in enumerate(comm.allgather(words)) if text)
        raise PicturesEnded(words[1:] if words[0] == "=" else f"{what} failed on rank {rank} ({words})")

    def _wait(self, request: MPI.Request) -> None:
        began, polls = time.monotonic(), 0
        while not request.Test():
            polls += 1
            if polls < _BUSY_POLLS:
                continue
            time.sleep(_NAP_S)
            if time.monotonic() - began > self._patience:
                raise NobodyCameError(
                    f"some rank did not close this step within {self._patience:g} s (catalyst_patience); all "
                    "ranks of the program must run under perfield and call perfield_step in the same steps"
                )


def groups(n_ranks: int, wanted: int) -> np.ndarray:
    """The group of each rank, (n_ranks,), ascending from 0. wanted : number of groups; 0: one per rank."""
    count = min(wanted or n_ranks, n_ranks)
    return np.arange(n_ranks, dtype=np.int64) * count // n_ranks
