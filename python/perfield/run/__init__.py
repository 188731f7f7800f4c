# SPDX-License-Identifier: BSD-3-Clause
"""A run directory as frames; `perfield.derived` makes Datasets and DataFrames of them.

Reads finished, killed and live runs, damaged ones included. Returns meshes as plain arrays and draws
nothing.
"""

from perfield.fields.regions import Region
from perfield.run.errors import RunError
from perfield.run.frame import Frame
from perfield.run.mesh import Block, FieldArray
from perfield.run.protocol import AnyRun
from perfield.run.run_directory import RunDirectory

__all__ = ["AnyRun", "Block", "FieldArray", "Frame", "Region", "RunDirectory", "RunError"]
