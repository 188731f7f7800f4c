# SPDX-License-Identifier: BSD-3-Clause
"""What findings ask of a run's mesh: how many cells each rank has, where pieces are, and which touch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfield import extras
from perfield.analysis.observed import Observed
from perfield.configuration import setting
from perfield.derived.run import Run

if TYPE_CHECKING:
    from perfield.pictures.neighbours import Touching

WITHOUT = "Which pieces of the mesh touch was not checked: that {}"


def mesh_neighbours(run: Run, *mesh: str | None) -> tuple[Touching | None, str]:
    """As `perfield.pictures.neighbours.touching`; where a package is not installed that it needs, None and a
    sentence, "" if nobody knows of a mesh. mesh : the arguments of `touching`."""
    try:
        from perfield.pictures.neighbours import touching

        return touching(run, *mesh)
    except ImportError as error:
        is_described = len(run) > 0 and run.mesh_versions(len(run) - 1).any()
        is_known = any(mesh) or setting(run, "mesh_path") or is_described
        return None, WITHOUT.format(extras.words(error)) if is_known else ""


def with_cells(observed: Observed, run: Run, *mesh: str | None) -> Observed:
    """With the numbers of cells of a mesh that the program wrote, where the run does not have them itself and
    they are the same at its begin and its end."""
    if observed.has("cells") or not len(run):
        return observed
    try:
        from perfield.pictures.blocks import MeshError, owned_cells
        from perfield.pictures.shown_mesh import mesh_of
    except ImportError:
        return observed
    try:
        pieces = mesh_of(run, *mesh)
        first, last = (
            [
                sum(owned_cells(block) for _, block in pieces.blocks(rank, frame))
                for rank in range(run.n_ranks)
            ]
            for frame in (run.frame(0), run.frame(len(run) - 1))
        )
    except MeshError:
        return observed
    if first != last:
        return observed
    cells = np.tile(np.array(last, np.float32)[observed.ranks], (len(observed.of("step_time_s")), 1))
    return replace(observed, tables={**observed.tables, "cells": cells})
