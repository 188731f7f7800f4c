# SPDX-License-Identifier: BSD-3-Clause
"""Refuses names in --fields that no array of a run's pictures has, before the pictures are made."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfield.commands import CommandError, words
from perfield.commands._mesh import shown_mesh
from perfield.configuration import focus_ranks
from perfield.text import did_you_mean

if TYPE_CHECKING:
    from perfield.pictures.geometry_picture import GeometryOptions
    from perfield.run import AnyRun


def check_fields(run: AnyRun, arguments: argparse.Namespace) -> None:
    """Checks each name in the --fields of `perfield render`.

    Raises CommandError with the nearest known names, StepsError for wrong --steps.
    """
    from perfield.output.steps import choose_steps

    names = words(arguments.fields or "")
    if not names:
        return
    steps = choose_steps(run, arguments.steps)
    unknown, known = list(names), set()
    for some in _known_names(run, steps, arguments):
        known |= some
        unknown = [name for name in unknown if name not in some]
        if not unknown:
            return
    known.update(run.all_fields.all_names)
    sentences = []
    for name in unknown:
        advice = did_you_mean(name, sorted(known), 1)
        advice = advice or f"'perfield fields {run.path}' lists those of regions and ranks"
        sentences.append(f"--fields {name}: this run has no such field; {advice}")
    raise CommandError("\n".join(sentences))


def _known_names(run: AnyRun, steps: Sequence[int], arguments: argparse.Namespace) -> Iterator[set[str]]:
    """The names that --fields may have, the cheap ones first: of fields, messages, meshes, the machine."""
    from perfield.pictures.blocks import MeshMissingError
    from perfield.pictures.geometry_picture import GeometryOptions
    from perfield.pictures.lines import pairs_of

    first = run.frame(steps[0])
    yield set(first.values)
    yield {"source", "target", *pairs_of(first).values}
    try:
        options = GeometryOptions(shown_mesh(run, arguments)[0], focus=_focus(run, arguments))
    except MeshMissingError:  # render prints it
        options = None
    for step in steps if options else ():
        yield _names_on_a_piece(run, step, options)
    yield _names_on_the_machine(run, steps[0])


def _focus(run: AnyRun, arguments: argparse.Namespace) -> list[int]:
    """The focus ranks of the picture; wrong ones are left to render."""
    if not arguments.focus:
        return list(focus_ranks(run)[0])
    words = arguments.focus.split(",")
    return [int(word) for word in words if word.strip().isdecimal() and int(word) < run.n_ranks]


def _names_on_a_piece(run: AnyRun, step: int, options: GeometryOptions) -> set[str]:
    """The arrays on the mesh of the first rank that has one, and the own fields behind them."""
    from dataclasses import replace

    from perfield.pictures.geometry_picture import geometry_blocks
    from perfield.pictures.own_fields import own_fields
    from perfield.pictures.pieces import SomePieces

    frame = run.frame(step)
    for rank in range(run.n_ranks):
        one = replace(options, pieces=SomePieces(options.pieces, {rank}), fields=None)
        for _, dataset in geometry_blocks(run, frame, one):
            data = (dataset.GetPointData(), dataset.GetCellData())
            arrays = {part.GetArrayName(n) for part in data for n in range(part.GetNumberOfArrays())}
            return arrays | set(own_fields(dataset).values())
    return set()


def _names_on_the_machine(run: AnyRun, step: int) -> set[str]:
    """The arrays of all layers of the machine's picture."""
    from perfield.pictures.topology_picture import topology

    layers = topology(run, run.frame(step), statistics=None).layers().values()
    data = [part for layer in layers for part in (layer.GetPointData(), layer.GetCellData())]
    return {part.GetArrayName(n) for part in data for n in range(part.GetNumberOfArrays())}
