# SPDX-License-Identifier: BSD-3-Clause
"""The mesh and the program's own fields, as the ranks passed them through perfield.h."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from perfield.run.json_text import parse_json
from perfield.run.schema import checked

TYPES = {"i1": "<i1", "u1": "<u1", "i4": "<i4", "i8": "<i8", "f4": "<f4", "f8": "<f8"}


@dataclass(frozen=True)
class FieldArray:
    """A field of the simulation on one block.

    association : "point" or "cell". values : (n_tuples,) or (n_tuples, n_components), read-only, in the
    program's unit. index : index of the step in which it was stored.
    """

    name: str
    association: str
    values: np.ndarray
    index: int


@dataclass(frozen=True)
class Block:
    """One block of a rank's piece, in one version of its mesh.

    kind : "image", "rectilinear", "structured" or "unstructured"; attributes that do not apply are None.
    extent : six point numbers i0 i1 j0 j1 k0 k1. origin, spacing : three each. x, y, z : (n,).
    points : (n_points, 3). connectivity : (n,), from 0. offsets : (n_cells + 1,). types : (n_cells,) of VTK.
    ghosts : association -> (n,), nonzero where a point or cell belongs to a neighbour. Lengths are in the
    program's unit.
    """

    rank: int
    version: int
    block: int
    kind: str
    extent: tuple[int, ...] | None = None
    origin: tuple[float, ...] | None = None
    spacing: tuple[float, ...] | None = None
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    z: np.ndarray | None = None
    points: np.ndarray | None = None
    connectivity: np.ndarray | None = None
    offsets: np.ndarray | None = None
    types: np.ndarray | None = None
    ghosts: dict[str, np.ndarray] = field(default_factory=dict)


NEEDED = {
    "image": ("extent", "origin", "spacing"),
    "rectilinear": ("extent", "x", "y", "z"),
    "structured": ("extent", "points"),
    "unstructured": ("points", "connectivity", "offsets", "types"),
}
"""Parts of a block by its kind. An unstructured one may be empty, and then needs none."""
_ROLES = ("x", "y", "z", "points", "connectivity", "offsets", "types")


def read_block(rank: int, version: int, body: bytes, known: dict[int, Block]) -> tuple[Block | None, str]:
    """The block of a mesh entry, or None and why there is none: the body is not what its description says.

    known : blocks of earlier entries, by number. An entry without a kind adds its ghosts to one of them.
    """
    try:
        described, arrays = _decoded(body)
    except _MISSHAPEN as error:
        return None, str(error)
    found = {array["role"]: values for array, values in arrays if array["role"] in _ROLES}
    ghosts = {a.get("association", "cell"): values for a, values in arrays if a["role"] == "ghosts"}
    for name in ("extent", "origin", "spacing"):
        if name in described:
            found[name] = tuple(described[name])
    number, kind = described["block"], described.get("kind")
    if kind is None and number in known:
        return replace(known[number], ghosts=known[number].ghosts | ghosts), ""
    if kind is None:
        return None, f"adds ghosts to block {number}, which is not there"
    needed = NEEDED.get(kind, ()) if kind != "unstructured" else ()
    lacking = [name for name in needed if name not in found]
    if lacking:
        return None, f"is of kind {kind} and has no {lacking[0]}"
    return Block(rank, version, number, kind, ghosts=ghosts, **found), ""


def read_fields(index: int, body: bytes) -> Iterator[tuple[tuple[int, str], FieldArray]]:
    """((block, name), field) of a field entry, or of the field arrays in a mesh entry; nothing if the
    entry is malformed."""
    try:
        described, arrays = _decoded(body)
    except _MISSHAPEN:
        return
    for array, values in arrays:
        if array["role"] == "field" and "name" in array:
            name, association = array["name"], array.get("association", "point")
            yield (described["block"], name), FieldArray(name, association, values, index)


def field_names(opening: bytes) -> list[tuple[int, str]]:
    """(block, name) of the fields that a field entry announces; opening : its first bytes."""
    try:
        described = _description(opening)
    except _MISSHAPEN:
        return []
    fields = [array for array in described["arrays"] if array["role"] == "field" and "name" in array]
    return [(described["block"], array["name"]) for array in fields]


_MISSHAPEN = (OverflowError, ValueError, struct.error)  # no JSON, not of this kind, or shorter than it says


def _description(body: bytes) -> dict:
    """The description of an entry. Raises ValueError if a part of it is missing or is not what it must be."""
    text_bytes, _ = struct.unpack_from("<II", body)
    described, wrong = checked("mesh", parse_json(body[8 : 8 + text_bytes].decode("utf-8", "replace")))
    lacking = [key for key in ("block", "arrays") if key not in described]
    if wrong or lacking:
        raise ValueError(wrong[0] if wrong else f"has no {lacking[0]}")
    return described


def _decoded(body: bytes) -> tuple[dict, list[tuple[dict, np.ndarray]]]:
    described = _description(body)
    text_bytes, _ = struct.unpack_from("<II", body)
    arrays = []
    for array in described["arrays"]:
        components, tuples, type = array.get("components", 1), array["tuples"], array["type"]
        if type not in TYPES:
            raise ValueError(f"has an array of type {type!r:.20}, expected one of {', '.join(TYPES)}")
        at, count = 8 + text_bytes + array["offset"], components * tuples
        values = np.frombuffer(body, TYPES[type], count, at) if count else np.zeros(0, TYPES[type])
        arrays.append((array, values.reshape(tuples, components) if components > 1 else values))
    return described, arrays
