# SPDX-License-Identifier: BSD-3-Clause
"""Draws messages on the mesh.

The faces between two pieces have what their ranks send each other. Where the user chooses messages, or pieces
share no faces, lines join the centres of pieces. One array per possible peer would be too many, so only a few
chosen ranks f get arrays: on every piece, what its rank exchanges with f.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData

from perfield.analysis.pair_keys import ends_of, pair_keys
from perfield.pictures.line_choice import LEFT_OUT, LineChoice
from perfield.pictures.lines import DRAWN, Pairs, calls_of, joined, pairs_of, radii, unknown_of
from perfield.pictures.shared_faces import Faces
from perfield.pictures.topology_polydata import (
    attach,
    attach_names,
    attach_numbers,
    attach_to_points,
    polygons,
)
from perfield.run.frame import UNKNOWN
from perfield.text import in_percent

if TYPE_CHECKING:
    from perfield.run import Frame

POINTS_PER_LINE = 13
BEND = 0.12  # distance of a line from the straight way, as a fraction of its length
LINE_RADIUS = 0.04  # of the thickest line, in diagonals of the middle-sized piece
LOOP = 0.15  # radius of the loop of a message to oneself and length of a stub, in diagonals of the piece


def message_lines(
    frame: Frame, centres: np.ndarray, sizes: np.ndarray, choice: LineChoice | None = None
) -> vtkPolyData:
    """One bent line from the centre of the sender's piece to the centre of the receiver's.

    centres : (n_ranks, 3), NaN for ranks without a mesh, whose messages are left out. sizes : (n_ranks,),
    length of each piece's diagonal. choice : which messages become lines; None takes all.

    Lines A to B and B to A bend to opposite sides; a message to oneself is a loop. Messages with an unknown
    peer become one short straight stub per rank, with target -3.
    Cell arrays: source, target and the values of `lines.Pairs`. Point array: radius, how thick a line is.
    Only the heaviest lines are there; in_words in the field data says what the others carry.
    """
    pairs, unknown = pairs_of(frame), unknown_of(frame)
    has_mesh = np.isfinite(centres[:, 0])
    pairs = pairs.chosen(has_mesh[pairs.source] & has_mesh[pairs.target])
    choice = choice or LineChoice()
    kept = choice.kept(joined(pairs, unknown.chosen(has_mesh[unknown.source])))
    pairs, words = choice.heaviest(kept)
    lines = vtkPolyData()
    points = vtkPoints()
    is_stub = pairs.target == UNKNOWN
    to = np.where(is_stub, pairs.source, pairs.target)
    coordinates = np.where(
        is_stub[:, None, None],
        _stubs(centres[pairs.source], sizes[pairs.source]),
        _bent(centres[pairs.source], centres[to], sizes[pairs.source]),
    )
    points.SetData(numpy_to_vtk(coordinates.reshape(-1, 3).astype(np.float32), deep=True))
    lines.SetPoints(points)
    cells = vtkCellArray()
    ends = np.arange(len(pairs.source) + 1, dtype=np.int64) * POINTS_PER_LINE
    numbers = np.arange(len(pairs.source) * POINTS_PER_LINE, dtype=np.int64)
    cells.SetData(numpy_to_vtk(ends, deep=True), numpy_to_vtk(numbers, deep=True))
    lines.SetLines(cells)
    for name, values in {"source": pairs.source, "target": pairs.target, **pairs.values}.items():
        array = numpy_to_vtk(np.ascontiguousarray(values), deep=True)
        array.SetName(name)
        lines.GetCellData().AddArray(array)
    known = sizes[sizes > 0]
    thickest = LINE_RADIUS * float(np.median(known)) if len(known) else 0.0
    attach_to_points(lines, "radius", radii(pairs, thickest, POINTS_PER_LINE))
    attach_names(lines, "in_words", [words] if words else [])
    attach_numbers(lines, LEFT_OUT, [choice.unasked(kept)])
    return lines


def message_faces(frame: Frame, faces: Faces, words: str = "") -> vtkPolyData:
    """The faces between pieces whose ranks exchange messages in a frame.

    Cell arrays: lower_rank, higher_rank and the values of `lines.Pairs`, the sums over both directions.
    in_words in the field data says what passes between other ranks. words : added to that.
    """
    pairs = pairs_of(frame)
    pairs = both_ways(pairs.chosen(pairs.source != pairs.target))
    keys = pair_keys(pairs.source, pairs.target)
    of_face = pair_keys(faces.ranks[:, 0], faces.ranks[:, 1])
    pair = np.minimum(np.searchsorted(keys, of_face), max(len(keys) - 1, 0))
    talks = keys[pair] == of_face if len(keys) else np.zeros(len(of_face), bool)
    shown, pair = faces.chosen(talks), pair[talks]
    dataset = polygons(shown.points, shown.sizes)
    attach(dataset, {"lower_rank": shown.ranks[:, 0], "higher_rank": shown.ranks[:, 1]})
    attach(dataset, {name: column[pair] for name, column in pairs.values.items()})
    sent = pairs.values["sent_bytes"]
    rest = float(sent.sum() - sent[np.unique(pair)].sum())
    if rest > 0:
        share = in_percent(rest / float(sent.sum()))
        words = (
            f"{words}{'; ' * bool(words)}{share} of the bytes pass between ranks whose pieces share no face"
        )
    attach_names(dataset, "in_words", [words] if words else [])
    return dataset


def carried(frame: Frame, faces: Faces) -> bool | None:
    """Whether faces show messages better than lines: these are too many, or faces have most of the bytes.

    None if no rank sends a message to another in the frame.
    """
    pairs = pairs_of(frame)
    pairs = pairs.chosen(pairs.source != pairs.target)
    if not len(pairs.source) or not len(faces.ranks):
        return False if len(pairs.source) else None
    ends = np.sort(np.stack([pairs.source, pairs.target]), axis=0)
    shared = np.isin(pair_keys(*ends), pair_keys(faces.ranks[:, 0], faces.ranks[:, 1]))
    weight = pairs.values["sent_bytes"]
    most = 2 * float(weight[shared].sum()) >= float(weight.sum())
    return bool(shared.any() and (most or len(shared) > DRAWN))


def both_ways(pairs: Pairs) -> Pairs:
    """The sums over both directions of each pair; the source is the lower rank."""
    ends = np.sort(np.stack([pairs.source, pairs.target]), axis=0)
    keys, pair = np.unique(pair_keys(*ends), return_inverse=True)
    values = {}
    for name, column in pairs.values.items():
        known = ~np.isnan(column)
        total = np.zeros(len(keys))
        add = np.maximum if name == "largest_bytes" else np.add
        add.at(total, pair.ravel()[known], column[known])
        total[np.bincount(pair.ravel()[known], minlength=len(keys)) == 0] = np.nan
        values[name] = total
    return Pairs(*ends_of(keys), values)


def focus_values(frame: Frame, focus: Iterable[int], n_ranks: int) -> dict[str, np.ndarray]:
    """What every rank exchanges with each rank f of `focus`: (n_ranks,) float64 each, NaN for nothing.

    `<call>_count_to_<f>`, `<call>_bytes_to_<f>`: what this rank sent to f; `..._from_<f>`: what f sent to it.
    `sent` in place of the call adds up all calls. `received_count_from_<f>`, `received_bytes_from_<f>`: what
    arrived from f by receive calls of this rank, in the step in which it arrived.
    Raises ValueError for a rank that the run does not have.
    """
    pairs = pairs_of(frame)
    values = {}
    for chosen in focus:
        if not 0 <= chosen < n_ranks:
            raise ValueError(
                f"focus rank {chosen} is not in this run, which has ranks 0 to {n_ranks - 1}; give one of "
                "these in --focus or focus_ranks."
            )
        calls = ("sent", *calls_of(frame))
        for name in (f"{call}_{quantity}" for call in calls for quantity in ("count", "bytes")):
            for direction, own, other in (
                ("to", pairs.source, pairs.target),
                ("from", pairs.target, pairs.source),
            ):
                of_rank = np.full(n_ranks, np.nan)
                of_rank[own[other == chosen]] = pairs.values[name][other == chosen]
                values[f"{name}_{direction}_{chosen}"] = of_rank
        arrived = frame.received[frame.received["source"] == chosen]
        to = arrived["target"].astype(np.int64)
        came = np.isin(np.arange(n_ranks), to)
        for quantity in ("count", "bytes"):
            total = np.bincount(to, arrived[quantity], n_ranks)
            values[f"received_{quantity}_from_{chosen}"] = np.where(came, total, np.nan)
    return values


def exchanged_with(frame: Frame, chosen: np.ndarray) -> dict[str, np.ndarray]:
    """What every rank exchanges with some ranks together: (n_ranks,) float64 each, NaN for nothing.

    chosen : bool (n_ranks,). `to_chosen_count`, `to_chosen_bytes`: what this rank sent to them;
    `from_chosen_count`, `from_chosen_bytes`: what they sent to it. Messages between chosen ranks count too.
    """
    pairs = pairs_of(frame)
    values = {}
    for direction, own, other in (("to", pairs.source, pairs.target), ("from", pairs.target, pairs.source)):
        with_chosen = chosen[other]
        ranks = own[with_chosen]
        silent = np.bincount(ranks, minlength=len(chosen)) == 0
        for what in ("count", "bytes"):
            numbers = pairs.values[f"sent_{what}"][with_chosen]
            sums = np.bincount(ranks, numbers, minlength=len(chosen))
            values[f"{direction}_chosen_{what}"] = np.where(silent, np.nan, sums)
    return values


def _stubs(start: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Points (n, POINTS_PER_LINE, 3) of short lines from start, (n, 3), slanted to show from any side."""
    way = np.linspace(0.0, 1.0, POINTS_PER_LINE)[None, :, None]
    return start[:, None] - LOOP * size[:, None, None] * way * np.full(3, 3**-0.5)


def _bent(start: np.ndarray, end: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Points (n, POINTS_PER_LINE, 3) of arcs from start to end, (n, 3) each; loops where start equals end."""
    along = end - start
    length = np.linalg.norm(along, axis=1, keepdims=True)
    upward = np.where(np.abs(along[:, 2:3]) < 0.9 * length, [[0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0]])
    sideways = np.cross(along, upward)
    sideways *= length / np.maximum(np.linalg.norm(sideways, axis=1, keepdims=True), 1e-300)
    way = np.linspace(0.0, 1.0, POINTS_PER_LINE)[None, :, None]
    arcs = start[:, None] + along[:, None] * way + sideways[:, None] * (BEND * np.sin(np.pi * way))
    angle = 2 * np.pi * way
    loops = np.concatenate([np.sin(angle), 1 - np.cos(angle), np.zeros_like(angle)], axis=2)
    loops = start[:, None] + LOOP * size[:, None, None] * loops
    return np.where(length[:, None] > 0, arcs, loops)
