# SPDX-License-Identifier: BSD-3-Clause
"""Writes the pictures of `perfield compare`, and says which there are none of, and why."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.owned_folder import OwnedFolder
from perfield.commands._mesh import mesh_of
from perfield.text import first_of
from perfield.topology import placement_of

if TYPE_CHECKING:
    from perfield.analysis.comparing import Measured
    from perfield.derived.run import Run
    from perfield.pictures.compared import ComparedMesh, Side


@dataclass
class Pictured:
    """What was written, and sentences on what was not."""

    files: list[Path]
    notes: list[str]


def draw_comparison(
    runs: tuple[Run, Run],
    compared: tuple[Measured, Measured],
    field: str,
    directory: Path,
    arguments: argparse.Namespace,
) -> Pictured:
    """Writes the .pvd files and images of a field into a directory. arguments : that name the mesh.

    Raises RunError if a run has no such field, MeshError for a mesh that cannot be read, ImagesError or
    OutputError.
    """
    from perfield.output.compared import ComparedPictures
    from perfield.output.images import draw_images

    found = Pictured([], [])
    before, after = (_side(run, side, field) for run, side in zip(runs, compared))
    mesh = _mesh(before, after, field, arguments, found.notes)
    machine = _is_on_one_machine(before, after, found.notes)
    pictures = ComparedPictures(directory, before, after, field)
    if mesh is not None or machine:
        found.files += pictures.write(mesh, machine)
        found.files += draw_images(directory, pictures.images())
    _messages(runs, compared, directory, found)
    return found


def _messages(
    runs: tuple[Run, Run],
    compared: tuple[Measured, Measured],
    directory: Path,
    found: Pictured,
) -> None:
    """The message matrices; a note where there are none."""
    try:
        from perfield.plots.compared_messages import compared_messages

        positions = tuple(side.positions[side.compared] for side in compared)
        figure = compared_messages(runs, positions, tuple(side.name for side in compared))
    except (ImportError, ValueError) as error:
        found.notes.append(f"no picture of messages: {error}")
        return
    with OwnedFolder(directory / "images").writing("messages.png") as place:
        figure.savefig(place)
    found.files.append(directory / "images" / "messages.png")


def _side(run: Run, side: Measured, field: str) -> Side:
    from perfield.derived.comparing import mean_by_rank, mesh_changes
    from perfield.pictures.compared import Side

    positions = side.positions[side.compared]
    values = mean_by_rank(run, field, positions)
    steps = f"mean of {len(positions):,} steps" if len(positions) > 1 else "one step"
    changes = mesh_changes(run, positions)
    return Side(side.name, steps, run, run.frame(int(positions[-1])), values, mesh_changes=changes)


def _mesh(
    before: Side, after: Side, field: str, arguments: argparse.Namespace, notes: list[str]
) -> ComparedMesh | None:
    """The field on the mesh; None, and a note, where there is none, or the meshes differ."""
    from dataclasses import replace

    from perfield.pictures.blocks import MeshError
    from perfield.pictures.compared import compared_mesh

    for side in (before, after):
        if side.mesh_changes:
            notes.append(
                f"no picture of the mesh: that of {side.name} changes in these steps; choose one with --steps"
            )
            return None
    try:
        sides = [replace(side, pieces=mesh_of(side.run, arguments, cells=False)) for side in (before, after)]
        return compared_mesh(*sides, field)
    except MeshError as error:
        notes.append(f"no picture of the mesh: {error}")
        return None


def _is_on_one_machine(before: Side, after: Side, notes: list[str]) -> bool:
    """Whether the ranks of both sides sat alike; adds a note where they did not."""
    from perfield.pictures.compared import other_places

    sizes = before.run.n_ranks, after.run.n_ranks
    if sizes[0] != sizes[1]:
        notes.append(f"no picture of the machine: {sizes[0]} ranks before, and {sizes[1]} after")
        return False
    if before.run is after.run:
        return True
    apart = other_places(*(placement_of(side.run) for side in (before, after)))
    if apart:
        some = first_of(apart)
        notes.append(
            f"no picture of the machine: {len(apart)} of {sizes[0]} ranks sat elsewhere: rank {some}"
        )
    return not apart and bool(np.isfinite(after.values).any())
