# SPDX-License-Identifier: BSD-3-Clause
"""Meshes and fields as the reader returns them."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
from twins import twin


@pytest.fixture
def written(tmp_path):
    """write(*(type, body, index)): a run of one rank with these mesh and field entries."""

    def write(*entries, versions=(1, 1, 1)):
        def on_mesh(rank, step, values):
            values["mesh_version"] = versions[step]

        path = twin.write_run(tmp_path / "run", 1, len(versions), mesh=False, change_step=on_mesh)
        writer = twin.Writer(path / "mesh" / "node0-node0-00.pf", 0)
        for type, body, index in entries:
            writer.add(type, body, index=index)
        return perfield.open(path)

    return write


def temperature(value, block=0, n=4, name="temperature"):
    array = {"role": "field", "name": name, "association": "cell", "type": "f8", "values": [value] * n}
    return twin.array_body({"block": block}, [array])


def test_image_block_keeps_its_geometry(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2))
    (block,) = run.mesh(1, 1)
    assert (block.rank, block.version, block.block, block.kind) == (1, 1, 0, "image")
    assert block.extent == (4, 8, 0, 4, 0, 4) and block.spacing == (0.125, 0.25, 0.25)
    assert block.points is None and block.ghosts == {}


def test_unstructured_block_has_arrays_of_their_types(written):
    arrays = [
        {"role": "points", "type": "f4", "components": 3, "values": [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]},
        {"role": "connectivity", "type": "i8", "values": [0, 1, 2, 3]},
        {"role": "offsets", "type": "i4", "values": [0, 4]},
        {"role": "types", "type": "u1", "values": [10]},
        {"role": "ghosts", "association": "point", "type": "u1", "values": [0, 0, 0, 1]},
    ]
    (block,) = written(("mesh", twin.array_body({"block": 2, "kind": "unstructured"}, arrays), 1)).mesh(0, 1)
    assert block.block == 2 and block.points.shape == (4, 3) and block.points.dtype == np.float32
    assert block.connectivity.tolist() == [0, 1, 2, 3] and block.connectivity.dtype == np.int64
    assert block.offsets.tolist() == [0, 4] and block.types.tolist() == [10]
    assert block.ghosts["point"].tolist() == [0, 0, 0, 1]


def test_blocks_come_by_number_and_version(written):
    def image(block, n):
        description = {"block": block, "kind": "image", "extent": [0, n, 0, 1, 0, 1]}
        return twin.array_body({**description, "origin": [0, 0, 0], "spacing": [1, 1, 1]}, [])

    run = written(("mesh", image(1, 10), 1), ("mesh", image(0, 20), 1), ("mesh", image(0, 30), 2))
    assert [block.extent[1] for block in run.mesh(0, 1)] == [20, 10]
    assert [block.extent[1] for block in run.mesh(0, 2)] == [30]
    assert run.mesh(0, 3) == []


def test_empty_piece_is_a_block_without_cells(written):
    arrays = [{"role": "points", "type": "f8", "components": 3, "values": []}]
    (block,) = written(("mesh", twin.array_body({"block": 0, "kind": "unstructured"}, arrays), 1)).mesh(0, 1)
    assert block.points.shape == (0, 3)


def test_fields_are_the_newest_ones_of_that_step(written):
    run = written(("field", temperature(1), 0), ("field", temperature(3), 2))
    found = [run.fields(0, index)[0, "temperature"] for index in range(3)]
    assert [array.values[0] for array in found] == [1, 1, 3]
    assert [array.index for array in found] == [0, 0, 2]
    assert found[0].association == "cell"


def test_each_block_and_name_has_its_own_newest_field(written):
    run = written(
        ("field", temperature(1, block=0), 0),
        ("field", temperature(2, block=1), 0),
        ("field", temperature(5, block=1), 1),
        ("field", temperature(7, name="p"), 1),
    )
    found = run.fields(0, 2)
    assert {key: array.values[0] for key, array in found.items()} == {
        (0, "temperature"): 1,
        (1, "temperature"): 5,
        (0, "p"): 7,
    }


def test_field_persists_in_later_steps(written):
    run = written(
        ("field", temperature(1), 0),
        ("field", temperature(2, name="p"), 0),
        ("field", temperature(3), 1),
        ("field", temperature(4), 2),
    )
    found = run.fields(0, 2)
    assert {name: (array.index, array.values[0]) for (_, name), array in found.items()} == {
        "temperature": (2, 4),
        "p": (0, 2),
    }


def test_later_ghosts_join_their_block(written):
    first = {
        "block": 0,
        "kind": "image",
        "extent": [0, 1, 0, 1, 0, 1],
        "origin": [0, 0, 0],
        "spacing": [1, 1, 1],
    }
    ghosts = {"role": "ghosts", "association": "cell", "type": "u1", "values": [1]}
    run = written(
        ("mesh", twin.array_body(first, []), 1), ("mesh", twin.array_body({"block": 0}, [ghosts]), 1)
    )
    (block,) = run.mesh(0, 1)
    assert block.extent == (0, 1, 0, 1, 0, 1) and block.ghosts["cell"].tolist() == [1]
    assert run.damage == []


def test_fields_of_an_earlier_mesh_are_dropped(written):
    run = written(("field", temperature(1), 0), versions=(1, 1, 2))
    assert (0, "temperature") in run.fields(0, 1) and run.fields(0, 2) == {}


def test_misshapen_mesh_is_damage_and_not_shown(written):
    beyond = twin.padded(
        b'{"block":0,"kind":"image","arrays":[{"role":"points","type":"f8","tuples":9,"offset":0}]}'
    )
    run = written(("mesh", twin.struct.pack("<II", len(beyond), 0) + beyond, 1), ("mesh", b"", 1))
    assert run.mesh(0, 1) == []
    assert any("a block of rank 0, version 1, cannot be read" in sentence for sentence in run.damage)
