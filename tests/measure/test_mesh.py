# SPDX-License-Identifier: BSD-3-Clause
"""Meshes and fields from NumPy arrays of any memory layout."""

from __future__ import annotations

import numpy as np
import pytest

import perfield

PROGRAM = """
import numpy as np, perfield
DESCRIPTION
perfield.initialize()
for number in range(2):
    LATER
    perfield.step(number)
"""


@pytest.fixture
def described(measured_python):
    """described(description, later="pass"): runs a program with this code; returns its run and stderr.

    later : code at the start of each step.
    """

    def run(description: str, later: str = "pass", env=None):
        text = PROGRAM.replace("DESCRIPTION", description.strip())
        text = text.replace("LATER", later.strip().replace("\n", "\n    "))
        found, result = measured_python(text, {"PERFIELD_FIELDS_EVERY": "1", **(env or {})})
        return found, result.stderr

    return run


def values(run, name: str, step: int = 0, block: int = 0) -> np.ndarray:
    """The stored values of a field, x fastest."""
    return run.fields(0, step)[block, name].values


def test_image_extents_have_one_to_three_axes(described):
    run, _ = described(
        "perfield.mesh_image((2, 4), origin=(1,), spacing=(0.5,))\n"
        "perfield.mesh_image(np.array([0, 1, 0, 2, 3, 5]), block=1)"
    )
    line, box = run.mesh(0, 1)
    assert (list(line.extent), list(line.origin), list(line.spacing)) == (
        [2, 4, 0, 0, 0, 0],
        [1, 0, 0],
        [0.5, 1, 1],
    )
    assert list(box.extent) == [0, 1, 0, 2, 3, 5]


def test_axis_0_is_x_in_every_memory_order(described):
    run, _ = described("""
perfield.mesh_image((0, 1, 0, 2, 0, 3))
a = np.arange(24.0).reshape(2, 3, 4)
perfield.field("c_order", a)
perfield.field("fortran_order", np.asfortranarray(a))
perfield.field("part", np.pad(a, 1)[1:-1, 1:-1, 1:-1])
perfield.field("backwards", a[::-1, ::-1, ::-1][::-1, ::-1, ::-1])
perfield.field("transposed", np.ascontiguousarray(a.T).T)
perfield.field("single", a.astype(np.float32))
perfield.field("flat", a.ravel(order="F"))
""")
    expected = np.arange(24.0).reshape(2, 3, 4).ravel(order="F")
    for name in ("c_order", "fortran_order", "part", "backwards", "transposed", "single", "flat"):
        assert np.array_equal(np.ravel(values(run, name)), expected), name


def test_block_shape_distinguishes_scalars_from_vectors(described):
    run, reported = described("""
perfield.mesh_image((0, 3, 0, 2))
perfield.field("plane", np.ones((4, 3)))
perfield.field("plane_of_vectors", np.ones((4, 3, 2)))
perfield.field("flat_vectors", np.ones((12, 3)))
perfield.field("cells", np.ones((3, 2), np.int32), association="cells")
perfield.field("flag", np.ones((4, 3, 1), bool))
""")
    shapes = {
        name: values(run, name).shape
        for name in ("plane", "plane_of_vectors", "flat_vectors", "cells", "flag")
    }
    sizes = {name: (shape[0], int(np.prod(shape[1:], dtype=int))) for name, shape in shapes.items()}
    assert sizes == {
        "plane": (12, 1),
        "plane_of_vectors": (12, 2),
        "flat_vectors": (12, 3),
        "cells": (6, 1),
        "flag": (12, 1),
    }
    assert "left out" not in reported


def test_field_is_kept_alive_and_read_at_step_close(described):
    run, _ = described(
        'perfield.mesh_image((0, 2))\nu = np.zeros(3)\nperfield.field("u", u)\n'
        'perfield.field("lost", np.full(3, 7.0))\njunk = [np.zeros(3) for _ in range(100)]',
        "u += 1",
    )
    assert values(run, "u", 0).tolist() == [1, 1, 1] and values(run, "u", 1).tolist() == [2, 2, 2]
    assert values(run, "lost", 1).tolist() == [7, 7, 7]


def test_new_array_replaces_and_releases_the_old_one(described):
    run, _ = described(
        """
import gc, weakref
perfield.mesh_image((0, 2))
""",
        """
u = np.full(3, number + 5.0)
perfield.field("u", u)
if number: assert earlier() is None
earlier = weakref.ref(u)
del u; gc.collect()
assert earlier() is not None
""",
    )
    assert values(run, "u", 0).tolist() == [5, 5, 5] and values(run, "u", 1).tolist() == [6, 6, 6]


def test_changed_mesh_gets_new_version_without_old_fields(described):
    run, _ = described(
        'perfield.mesh_image((0, 2))\nperfield.field("u", np.zeros(3))',
        """
if number:
    perfield.mesh_changed()
    perfield.mesh_image((0, 5))
    perfield.field("u", np.ones(6))
""",
    )
    assert [int(frame.mesh_version[0]) for frame in run.frames()] == [1, 2]
    assert values(run, "u", 1).tolist() == [1] * 6


def test_all_kinds_of_blocks_are_stored(described):
    run, reported = described("""
perfield.mesh_rectilinear(np.arange(3.0), np.array([0.0, 2.0]), np.zeros(1))
x, y = np.meshgrid(np.arange(3.0), np.arange(2.0), indexing="ij")
perfield.mesh_structured(np.stack([x, y, 0 * x], axis=-1), block=1)
points, offsets = np.eye(4, 3), np.array([0, 4])
perfield.mesh_unstructured(points, np.array([1, 2, 3, 4]), offsets, 10, first_number=1, block=2)
perfield.mesh_ghosts(np.array([False, True, False, False]), block=2)
""")
    grid, curved, tetrahedron = run.mesh(0, 1)
    assert (grid.kind, curved.kind, tetrahedron.kind) == ("rectilinear", "structured", "unstructured")
    assert list(grid.extent) == [0, 2, 0, 1, 0, 0] == list(curved.extent)
    points = curved.points
    assert points.tolist() == [[x, y, 0] for y in range(2) for x in range(3)]
    assert tetrahedron.connectivity.tolist() == [0, 1, 2, 3]
    assert tetrahedron.ghosts["point"].tolist() == [0, 1, 0, 0]
    assert "left out" not in reported


@pytest.mark.parametrize(("description", "sentence"), [
    ('perfield.mesh_image((0, 9)); perfield.field("u", np.zeros(8))',
     "field 'u' of block 0 has 8 values but the block has 10 points"),
    ('perfield.field("u", np.zeros(8))\nperfield.mesh_image((0, 9), block=1)', "belongs to no block"),
    ("perfield.mesh_unstructured(np.zeros((3, 3)), np.array([0, 1, 5]), np.array([0, 3]), 5)",
     "connectivity[2] names point 5 but the points are 0 to 2"),
    ("perfield.mesh_rectilinear(np.zeros(2), np.zeros(2), np.zeros(2), extent=(0, 4, 0, 1, 0, 1))",
     "x of block 0 has 2 numbers but the extent names 5"),
    ("perfield.mesh_image((0, 9), block=-1)", "blocks count from 0"),
])  # fmt: skip
def test_mismatched_sizes_are_reported_and_program_continues(described, description, sentence):
    run, reported = described(description)
    assert reported.count(sentence) == 1 and len(run) == 2


@pytest.mark.parametrize(("wrong", "raised", "words"), [
    (lambda: perfield.field("u", [1.0, 2.0]), TypeError, "expected an array such as NumPy's, found list"),
    (lambda: perfield.field("u", np.zeros(3, complex)), TypeError, "expected .* float64"),
    (lambda: perfield.field("u", np.zeros(3, np.int16)), TypeError, "type 'h' \\(2 bytes\\)"),
    (lambda: perfield.field("u", np.zeros(3, ">f8")), TypeError, "byte order"),
    (lambda: perfield.field("u", np.zeros((2, 2, 2, 2, 2))), TypeError, "5 axes"),
    (lambda: perfield.field("u", np.zeros(3, "f8,f4")["f0"]), TypeError, "8 bytes lie 12 bytes apart"),
    (lambda: perfield.field("u", np.zeros(3), association="faces"), ValueError, '"points" or "cells"'),
    (lambda: perfield.field(3, np.zeros(3)), TypeError, "str"),
    (lambda: perfield.mesh_image((0, 1, 2)), ValueError, "expected 2, 4 or 6"),
    (lambda: perfield.mesh_image((0, 1.5)), TypeError, "float"),
    (lambda: perfield.mesh_image((0, 1), origin=(0, 0, 0, 0)), ValueError, "at most 3"),
    (lambda: perfield.mesh_structured(np.zeros((2, 3)), extent=(0, 1, 2)), ValueError, "expected"),
])  # fmt: skip
def test_misuse_raises_and_says_what_was_found(wrong, raised, words):
    with pytest.raises(raised, match=words):
        wrong()
