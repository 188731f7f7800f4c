# SPDX-License-Identifier: BSD-3-Clause
"""perfield: the performance of running MPI programs as fields, on their mesh and on their machine.

run = perfield.open("perfield-run")
frame = run.frame(0)
frame.values["step_time_s"]  # one number per rank
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from perfield.run import Run

__all__ = ["open"]


def open(path: str | PathLike[str]) -> Run:
    """Opens a run directory, finished, killed or still being written.

    path : the directory that holds run.json.
    Raises perfield.run.RunError, whose text says what was found instead of a run.
    """
    from perfield.run import Run  # NumPy is loaded where it is needed

    return Run(path)
