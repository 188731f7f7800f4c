# SPDX-License-Identifier: BSD-3-Clause
"""Calls for a Python simulation: regions, steps, its mesh and its fields.

Use them as `perfield.region`, `perfield.step` and so on. They may stay in the program: without perfield, a
call costs some tens of nanoseconds. Problems at run time (an array of the wrong length, a full disk) print
one warning per node on stderr and never raise. Only mistakes in the program's text raise: TypeError for an
argument of the wrong type, ValueError for a word or number that makes no sense.
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
    mesh_size,
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
    "mesh_size",
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
