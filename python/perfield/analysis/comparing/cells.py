# SPDX-License-Identifier: BSD-3-Clause
"""Finds the cells of one mesh in another by their middles, where ranks divide the same mesh differently."""

from __future__ import annotations

import numpy as np

NEAR = 1e-3  # of the distance to the nearest other cell


def matching_cells(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """For each cell after, the number of the cell before that has the same middle; -1 where none has.

    before, after : (n_cells, 3), middles of cells in the meshes' unit. Equal middles are those nearer than a
    thousandth of the distance to the nearest other cell. Returns int64 (n_cells after,).
    """
    from scipy.spatial import cKDTree

    if not len(before) or not len(after):
        return np.full(len(after), -1)
    distance, found = cKDTree(before).query(after)
    if len(after) > 1:
        spacing = cKDTree(after).query(after, k=2)[0][:, 1]
        spacing = np.where(
            spacing > 0, spacing, np.ptp(after, axis=0).max(initial=0.0)
        )  # ghosts lie on others
    else:
        spacing = np.ones(1)
    return np.where(distance <= NEAR * spacing, found, -1).astype(np.int64)
