# SPDX-License-Identifier: BSD-3-Clause
"""What a Python simulation tells perfield: regions, steps, its mesh and its fields.

All of it is reached as `perfield.region`, `perfield.step` and so on, and may stay in the program: where
nothing is measured, a call costs some tens of nanoseconds. What perfield cannot use (an array of the wrong
length, no room on the disk) is told once per node on stderr and never raises; only what is wrong in the
program's text does: TypeError for an argument of the wrong type, ValueError for a word or number that
cannot be meant.
"""

from __future__ import annotations

from perfield._recorder import (
    finalize,
    initialize,
    measuring,
    mesh_changed,
    pause,
    pipeline_next,
    region,
    resume,
    step,
    values,
)
from perfield.measure.mesh import (
    field,
    mesh_ghosts,
    mesh_image,
    mesh_rectilinear,
    mesh_structured,
    mesh_unstructured,
)
from perfield.measure.pauses import paused

__all__ = [
    "field",
    "finalize",
    "initialize",
    "measuring",
    "mesh_changed",
    "mesh_ghosts",
    "mesh_image",
    "mesh_rectilinear",
    "mesh_structured",
    "mesh_unstructured",
    "pause",
    "paused",
    "pipeline_next",
    "region",
    "resume",
    "step",
    "values",
]
