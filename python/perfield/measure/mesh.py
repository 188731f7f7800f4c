# SPDX-License-Identifier: BSD-3-Clause
"""Describes this rank's piece of the mesh and its fields, block by block, from NumPy arrays.

Axis 0 of an array is x (i), axis 1 y (j), axis 2 z (k), in any memory order: pass `a.T` if the program stores
z first. A last axis may hold the components of a vector. Any array with Python's buffer protocol works, of
float32, float64, int8, uint8, bool, int32 or int64. perfield does not copy it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Literal, Union

from perfield import _recorder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Association = Literal["points", "cells"]
    Integers = Union[Sequence[int], NDArray]
    Reals = Union[Sequence[float], NDArray]

_POINTS_ALONG: dict[int, tuple[int, int, int]] = {}  # points along i, j, k of each structured block


def mesh_image(extent: Integers, origin: Reals = (), spacing: Reals = (), block: int = 0) -> None:
    """Describes a block whose points lie at origin + spacing * index.

    extent : first and last index of this rank's points along each axis, both included. Indices count over
        the whole grid: (i0, i1), (i0, i1, j0, j1) or (i0, i1, j0, j1, k0, k1).
    origin, spacing : up to three numbers, in the program's unit of length; default 0 and 1.
    """
    whole = _extent(extent)
    _recorder.mesh_image(block, whole, _three(origin, 0.0, "origin"), _three(spacing, 1.0, "spacing"))
    _remember(block, whole)


def mesh_rectilinear(x: NDArray, y: NDArray, z: NDArray, extent: Integers = (), block: int = 0) -> None:
    """Describes a block with points at all (x[i], y[j], z[k]).

    extent : as for mesh_image; by default, indices count from 0.
    """
    whole = _extent(extent or [number for axis in (x, y, z) for number in (0, len(axis) - 1)])
    _recorder.mesh_rectilinear(block, whole, x, y, z)
    _remember(block, whole)


def mesh_structured(points: NDArray, extent: Integers = (), block: int = 0) -> None:
    """Describes a curvilinear block.

    points : of shape (ni, nj, nk, 3), (ni, nj, 3) or (ni, 3).
    extent : as for mesh_image; by default, indices count from 0.
    """
    shape = _shape(points, "points")
    whole = _extent(extent or [number for length in shape[:-1] for number in (0, length - 1)])
    _recorder.mesh_structured(block, whole, points)
    _remember(block, whole)


def mesh_unstructured(
    points: NDArray,
    connectivity: NDArray,
    offsets: NDArray,
    types: NDArray | int,
    first_number: int = 0,
    block: int = 0,
) -> None:
    """Describes an unstructured block of VTK cells.

    points : of shape (n, 3).
    connectivity, offsets : cell c uses the points connectivity[offsets[c]:offsets[c + 1]]. There is one
        offset more than cells, and the first is 0.
    types : VTK's type of each cell (10 tetrahedron, 12 hexahedron, ...), or one type for all cells.
    first_number : the index of the first point in connectivity, 0 or 1.
    """
    each = bytes([types]) if isinstance(types, int) else types
    _recorder.mesh_unstructured(block, points, connectivity, offsets, each, first_number)
    _POINTS_ALONG.pop(block, None)


def mesh_ghosts(ghosts: NDArray, association: Association = "points", block: int = 0) -> None:
    """Marks the points or cells of a block that belong to a neighbour.

    ghosts : integers or bool, one per point or cell, not 0 for ghosts; of the block's shape or flat.
    """
    _recorder.mesh_ghosts(block, _association(association), ghosts)


def mesh_size(cells: int, points: int, ghost_cells: int = 0, grid: int = 0) -> None:
    """Says how large this rank's piece is, for a program that does not describe its mesh.

    cells, points : the rank's own. ghost_cells : those beside them. grid : any number; it distinguishes
    several grids of one rank apart, which add up. The numbers hold until a later step brings new ones.
    `perfield.attach` calls it for the grids that it gets.
    """
    _recorder.mesh_size(grid, cells, points, ghost_cells)


def field(name: str, values: NDArray, association: Association = "points", block: int = 0) -> None:
    """Shows a field of the simulation beside perfield's own.

    values : one number, or one vector along a last axis, per point or cell. The array has the block's shape
        (axes of length 1 may be left out) or is flat. perfield keeps it alive and reads it when it stores
        the fields of a closed step: change it in place, or call again with another array. A field that does
        not fit the block is left out, with one warning.
    association : "points" or "cells".
    Raises TypeError for a number type that perfield does not know, and for a list: perfield could not read
    its changes later.
    """
    where = _association(association)
    shape = _shape(values, f"field {name!r}")
    _recorder.field(block, name, where, values, _has_components(shape, block, where))


def _shape(array: NDArray, what: str) -> tuple[int, ...]:
    try:
        return memoryview(array).shape
    except TypeError:
        raise TypeError(f"{what}: expected an array such as NumPy's, found {type(array).__name__}") from None


def _has_components(shape: tuple[int, ...], block: int, association: int) -> bool:
    """Whether the last axis of a field holds components, by the shape of its block."""
    along = _POINTS_ALONG.get(block)
    if along:
        if association == _recorder.CELLS:
            along = tuple(max(points - 1, 1) for points in along)
        needed = [length for length in along if length != 1]
        if [length for length in shape if length != 1] == needed:
            return False
        if len(shape) > 1 and [length for length in shape[:-1] if length != 1] == needed:
            return True
    return len(shape) in (2, 4)  # (n, components) or (ni, nj, nk, components)


def _remember(block: int, extent: tuple[int, ...]) -> None:
    _POINTS_ALONG[block] = tuple(extent[2 * axis + 1] - extent[2 * axis] + 1 for axis in range(3))


def _extent(numbers: Integers) -> tuple[int, ...]:
    if len(numbers) not in (2, 4, 6):
        raise ValueError(
            f"extent has {len(numbers)} numbers; expected 2, 4 or 6: first and last of each axis"
        )
    return tuple(index(number) for number in numbers) + (0,) * (6 - len(numbers))


def _three(numbers: Reals, otherwise: float, name: str) -> tuple[float, ...]:
    if len(numbers) > 3:
        raise ValueError(f"{name} has {len(numbers)} numbers; expected at most 3")
    return tuple(float(number) for number in numbers) + (otherwise,) * (3 - len(numbers))


def _association(word: str) -> int:
    known = {"points": _recorder.POINTS, "cells": _recorder.CELLS}
    if word not in known:
        raise ValueError(f'association is {word!r}; expected "points" or "cells"')
    return known[word]
