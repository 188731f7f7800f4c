# SPDX-License-Identifier: BSD-3-Clause
"""Where pieces go in an exploded view: away from the middle of the mesh.

Every point of a piece carries the same vector. ParaView's filter Warp By Vector adds it, times a factor, to
the points, so the pieces move apart and keep their shapes. ParaView has no filter of its own that moves
pieces, Python in a filter starts slowly, and of equal vectors zlib leaves next to nothing.
"""

from __future__ import annotations

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkDataSet

from perfield.pictures.blocks import attach

OFFSET = "piece_offset"


def piece_offsets(centres: np.ndarray) -> np.ndarray:
    """From the middle of the mesh to the middle of each piece, (n_ranks, 3), in the mesh's own unit.

    centres : (n_ranks, 3), the middles of the pieces, NaN for ranks without a mesh; those stay NaN.
    """
    known = centres[np.isfinite(centres).all(axis=1)]
    return centres - (known.min(axis=0) + known.max(axis=0)) / 2 if len(known) else centres


def attach_offset(dataset: vtkDataSet, offset: np.ndarray) -> None:
    """Adds a piece's vector (3,) to all its points, as the float32 array OFFSET."""
    vectors = np.broadcast_to(offset.astype(np.float32), (dataset.GetNumberOfPoints(), 3))
    attach(dataset, OFFSET, vectors, "point")
