# SPDX-License-Identifier: BSD-3-Clause
"""Boxes in the place of a mesh, one for each rank, where nobody knows its pieces.

`boxes_by_grid` places them as MPI_Cart_create did, `boxes_by_messages` by who talks to whom, and
`boxes_of_stated_grid` as the user says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkDataSet, vtkImageData

from perfield.analysis.graph_layout import main_pairs, placed_by_messages
from perfield.analysis.grid_fit import grid_fit
from perfield.pictures.blocks import MeshMissingError
from perfield.pictures.stated_grid import grid_words
from perfield.text import counted, first_of, in_percent

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame

SIDE = 0.6  # of a box; the middles of neighbours are about 1 apart
HEIGHT = 0.2  # of boxes that are placed in the plane
STRIP = 0.25  # of a row's length: how long its boxes are across it, so that their colours show
STATE = "--grid states another, as --grid 4x2x2."
MOST_FRAMES = 200  # whose messages are added up; of more, every n-th


class Boxes:
    """A box for each rank that has a place, the same in all steps.

    way, notes : for titles, and for the user. place : gives (n_ranks, 3) the middles, NaN for a rank without
    one; called when the first box is requested. size : of all boxes, three. gap : between boxes that are
    neighbours in space.
    """

    are_cells = False  # a box is no cell of the program

    def __init__(
        self,
        way: str,
        place: Callable[[], np.ndarray],
        size: Sequence[float],
        notes: Sequence[str],
        gap: float = 1.0 - SIDE,
    ):
        self.way, self.origin, self.notes, self.gap = way, "the run", list(notes), gap
        self._place, self._size = place, size

    @cached_property
    def _places(self) -> np.ndarray:
        return self._place()

    def blocks(self, rank: int, frame: Frame | None) -> list[tuple[int, vtkDataSet]]:
        """The rank's box; none if it has no place."""
        if np.isnan(self._places[rank]).any():
            return []
        box = vtkImageData()
        box.SetExtent(0, 1, 0, 1, 0, 1)
        box.SetSpacing(*self._size)
        box.SetOrigin(*(self._places[rank] - np.array(self._size) / 2))
        return [(0, box)]


def shown_boxes(run: AnyRun) -> Boxes:
    """Boxes by grid, else by messages. Raises MeshMissingError if the run has neither."""
    try:
        return boxes_by_grid(run)
    except MeshMissingError:
        return boxes_by_messages(run)


def boxes_by_grid(run: AnyRun) -> Boxes:
    """Boxes as the program's largest Cartesian communicator places its ranks; of several, the first made.

    Its first three axes are x, y and z; ranks that differ in a further axis only are in blocks beside one
    another. Raises MeshMissingError if the run has none of several ranks, and of half of all ranks.
    """
    grid = max(run.grids, key=lambda one: one.size, default=None)
    if grid is None or grid.size < 2 or 2 * grid.size < run.n_ranks:
        raise MeshMissingError(
            f"no grid of ranks (MPI_Cart_create) has at least half of the ranks of {run.path}."
        )
    known = grid.members < run.n_ranks
    members, coordinates = grid.members[known], grid.coordinates[known]

    def place() -> np.ndarray:
        places = np.full((run.n_ranks, 3), np.nan)
        places[members] = in_blocks(coordinates, grid.dims)
        return places

    way = f"boxes of {_grid_of(grid.dims)} (MPI_Cart_create){_ends(grid.dims, grid.periodic)}"
    notes = _without(run, members, "got no place in that grid")
    if len(grid.dims) > 3:
        notes.append(
            f"The grid has {len(grid.dims)} axes: ranks that differ in another than the first three are in "
            "blocks beside one another."
        )
    return Boxes(way, place, _size(grid.dims), notes)


def boxes_of_stated_grid(run: AnyRun, text: str) -> Boxes:
    """Boxes in the grid that the user states, as 4x2x2,order=zyx,periodic=x (`grid_words`).

    Without an order the one counts in which most bytes pass between neighbours. Raises MeshMissingError if
    the text is not a grid, or one of another number of ranks.
    """
    try:
        dims, orders, periodic = grid_words(text)
    except ValueError as error:
        raise MeshMissingError(str(error)) from error
    if math.prod(dims) != run.n_ranks:
        raise MeshMissingError(
            f"the grid {text} has {math.prod(dims):,} ranks, but the run has {run.n_ranks:,}; state lengths "
            "whose product is the number of ranks."
        )
    grids = [_coordinates(dims, order) for order in orders]
    order, notes = orders[0], []
    if len({grid.tobytes() for grid in grids}) > 1:
        source, target, amount = _messages(run)
        shares = [_between_neighbours(grid, dims, periodic, source, target, amount) for grid in grids]
        order = orders[int(np.argmax(shares))]
        tells = max(shares) > min(shares)
        why = f", as then {in_percent(max(shares))} of the bytes pass between neighbours" if tells else ""
        notes.append(
            f"The order of ranks is assumed: along {order[0]} first ({order}){why}; "
            f"--grid {text.partition(',')[0]},order={order[::-1]} states another."
        )
    first = f", ranks along {order[0]} first" if len(grids[0][0]) > 1 else ""
    way = f"boxes of {_grid_of(dims)} as stated{first}{_ends(dims, periodic)}"
    return Boxes(way, lambda: in_blocks(_coordinates(dims, order), dims), _size(dims), notes)


def _coordinates(dims: Sequence[int], order: str) -> np.ndarray:
    """Coordinates (n_ranks, n_axes) of ranks that count along the first axis of the order first."""
    axes = ["xyz".index(letter) for letter in order]
    counted_in = np.unravel_index(np.arange(math.prod(dims)), [dims[axis] for axis in axes], order="F")
    return np.stack([counted_in[axes.index(axis)] for axis in range(len(dims))], axis=1)


def _between_neighbours(
    grid: np.ndarray,
    dims: Sequence[int],
    periodic: Sequence[bool],
    source: np.ndarray,
    target: np.ndarray,
    amount: np.ndarray,
) -> float:
    """The share of the amount that passes between neighbours across a face."""
    apart = np.abs(grid[source] - grid[target])
    apart = np.where(periodic, np.minimum(apart, np.array(dims) - apart), apart)
    return float(amount[apart.sum(axis=1) == 1].sum() / max(amount.sum(), 1.0))


def _grid_of(dims: Sequence[int]) -> str:
    return f"a row of {dims[0]} ranks" if len(dims) == 1 else f"a grid of {' x '.join(map(str, dims))} ranks"


def _size(dims: Sequence[int]) -> list[float]:
    """Of the boxes of a grid: low along the last axis along which there is one box, and strips in a row."""
    far_corner = in_blocks(np.array(dims)[None] - 1, dims)[0]
    flat = np.flatnonzero(far_corner == 0)
    size = np.where(np.arange(3) == flat.max(initial=-1), HEIGHT, SIDE)
    if len(flat) == 2:
        size[flat[0]] = max(SIDE, STRIP * far_corner.max())
    return size.tolist()


def in_blocks(coordinates: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """Places (n, 3) of coordinates (n, n_dims) in a grid, neighbours 1 apart.

    Axis 3 repeats the block of the first three along x, axis 4 along y, and so on, with a gap of 1.
    """
    places, lengths = np.zeros((len(coordinates), 3)), np.ones(3)
    for axis, length in enumerate(dims):
        along = axis % 3
        pitch = lengths[along] + (axis > 2)
        places[:, along] += coordinates[:, axis] * pitch
        lengths[along] += pitch * (length - 1)
    return places


def _ends(dims: Sequence[int], periodic: Sequence[bool]) -> str:
    """Which axes close on themselves, in words."""
    axes = [
        "xyz"[axis] if axis < 3 else f"axis {axis}"
        for axis, (length, is_one) in enumerate(zip(dims, periodic))
        if is_one and length > 1
    ]
    return f", periodic in {', '.join(axes)}" if axes else ""


def boxes_by_messages(run: AnyRun) -> Boxes:
    """Boxes in the grid of ranks that explains the messages; without one in the plane, where ranks that
    exchange much lie side by side.

    Raises MeshMissingError if no rank sent a message to another: then nothing says which are neighbours.
    """
    source, target, amount = _messages(run)
    if not len(source):
        raise MeshMissingError(
            f"no rank of {run.path} sent a message to another, so nothing says which ranks are neighbours."
        )

    pairs = main_pairs(run.n_ranks, source, target, amount)
    talking = np.unique(np.concatenate(pairs[:2]))
    notes = _without(run, np.union1d(source, target), "exchanged no messages")
    fit = grid_fit(len(talking), *(np.searchsorted(talking, end) for end in pairs[:2]), pairs[2])
    if fit is not None:

        def in_grid() -> np.ndarray:
            places = np.full((run.n_ranks, 3), np.nan)
            places[talking] = in_blocks(fit.coordinates(), fit.dims)
            return places

        way = f"boxes of {_grid_of(fit.dims)}{_ends(fit.dims, fit.periodic)}, guessed from messages"
        guess = f"The grid is a guess: {in_percent(fit.share)} of the bytes pass between its neighbours."
        return Boxes(way, in_grid, _size(fit.dims), [f"{guess} {STATE}", *notes])

    def place() -> np.ndarray:
        flat = placed_by_messages(run.n_ranks, source, target, amount)
        return np.hstack([flat, np.zeros((run.n_ranks, 1))])

    way = "boxes placed by messages, not by space"
    return Boxes(way, place, (SIDE, SIDE, HEIGHT), notes, gap=0.0)  # neighbours need not share a face


def _without(run: AnyRun, with_box: np.ndarray, why: str) -> list[str]:
    """A sentence on the ranks without a box."""
    ranks = np.setdiff1d(np.arange(run.n_ranks), with_box)
    if not len(ranks):
        return []
    some = first_of(ranks)
    have, they = ("has", "it") if len(ranks) == 1 else ("have", "they")
    return [f"{counted(len(ranks), 'rank')} of {run.n_ranks} {have} no box ({some}), as {they} {why}."]


def _messages(run: AnyRun) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Source, target and bytes of all messages between two ranks of the run, added up by pair."""
    chosen = range(0, len(run), -(-len(run) // MOST_FRAMES) or 1)
    pairs, sums = np.zeros(0, np.int64), np.zeros(0)
    for number in chosen:
        messages = run.frame(number).messages
        source, target = (messages[end].astype(np.int64) for end in ("source", "target"))
        between = (source >= 0) & (target >= 0) & (source != target)
        between &= (source < run.n_ranks) & (target < run.n_ranks)
        here = source[between] * run.n_ranks + target[between]
        pairs, place = np.unique(np.concatenate([pairs, here]), return_inverse=True)
        amounts = np.concatenate([sums, messages["bytes"][between].astype(float)])
        sums = np.bincount(place.ravel(), amounts, len(pairs))
    return pairs // run.n_ranks, pairs % run.n_ranks, sums
