# SPDX-License-Identifier: BSD-3-Clause
"""A run directory as frames: `perfield.open(path)` gives a Run, and that gives Frames.

Reads finished, killed and live runs, damaged ones included. Knows no meshes but as arrays, and no machine.
"""

from perfield.run.errors import RunError
from perfield.run.frame import Frame
from perfield.run.mesh import Block, FieldArray
from perfield.run.regions import Region
from perfield.run.run import Run

__all__ = ["Block", "FieldArray", "Frame", "Region", "Run", "RunError"]
