# SPDX-License-Identifier: BSD-3-Clause
"""Which pieces of a run's mesh touch, which findings about messages ask."""

from __future__ import annotations

import numpy as np

from perfield.run import RunDirectory

WITHOUT_VTK = (
    "Nobody looked which pieces of the mesh touch: VTK's Python modules are not installed; "
    "`pip install vtk` brings them."
)


def mesh_neighbours(run: RunDirectory) -> tuple[np.ndarray | None, str]:
    """As `perfield.pictures.neighbours.touching`; where VTK is not installed, None and a sentence."""
    try:
        from perfield.pictures.neighbours import touching
    except ImportError:
        return None, WITHOUT_VTK
    return touching(run)
