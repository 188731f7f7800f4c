# SPDX-License-Identifier: BSD-3-Clause
"""The mesh and the program's own fields, as the ranks passed them through perfield.h."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from perfield.run.json_text import parse_json

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


_ROLES = ("x", "y", "z", "points", "connectivity", "offsets", "types")


def read_block(rank: int, version: int, body: bytes, known: dict[int, Block]) -> Block | None:
    """The block of a mesh entry; None if the body does not match its own description.

    known : blocks of earlier entries, by number. An entry without a kind adds its ghosts to one of them.
    """
    try:
        described, arrays = _decoded(body)
        found = {array["role"]: values for array, values in arrays if array["role"] in _ROLES}
        ghosts = {a.get("association", "cell"): values for a, values in arrays if a["role"] == "ghosts"}
        for name in ("extent", "origin", "spacing"):
            if name in described:
                found[name] = tuple(described[name])
        number = int(described["block"])
        if "kind" not in described:
            return replace(known[number], ghosts=known[number].ghosts | ghosts)
        return Block(rank, version, number, str(described["kind"]), ghosts=ghosts, **found)
    except _MISSHAPEN:
        return None


def read_fields(index: int, body: bytes) -> Iterator[tuple[tuple[int, str], FieldArray]]:
    """((block, name), field) of a field entry, or of the field arrays in a mesh entry; nothing if the
    entry is malformed."""
    try:
        described, arrays = _decoded(body)
        for array, values in arrays:
            if array["role"] == "field":
                name, association = str(array["name"]), array.get("association", "point")
                yield (int(described["block"]), name), FieldArray(name, association, values, index)
    except _MISSHAPEN:
        return


def field_names(opening: bytes) -> list[tuple[int, str]]:
    """(block, name) of the fields that a field entry announces; opening : its first bytes."""
    try:
        described = _description(opening)
        fields = [array for array in described["arrays"] if array["role"] == "field"]
        return [(int(described["block"]), str(array["name"])) for array in fields]
    except _MISSHAPEN:
        return []


_MISSHAPEN = (AttributeError, KeyError, OverflowError, TypeError, ValueError, struct.error)


def _description(body: bytes) -> dict:
    text_bytes, _ = struct.unpack_from("<II", body)
    return parse_json(body[8 : 8 + text_bytes].decode("utf-8", "replace"))


def _decoded(body: bytes) -> tuple[dict, list[tuple[dict, np.ndarray]]]:
    described = _description(body)
    text_bytes, _ = struct.unpack_from("<II", body)
    arrays = []
    for array in described.get("arrays", []):
        components, tuples = int(array.get("components", 1)), int(array["tuples"])
        at = 8 + text_bytes + int(array["offset"])
        if min(components, tuples, int(array["offset"])) < 0:
            raise ValueError(f"array '{array.get('name', array['role'])}' has a negative size")
        values = np.frombuffer(body, TYPES[array["type"]], components * tuples, at) if tuples else None
        if values is None:
            values = np.zeros(0, TYPES[array["type"]])
        arrays.append((array, values.reshape(tuples, components) if components > 1 else values))
    return described, arrays
