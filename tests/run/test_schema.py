# SPDX-License-Identifier: BSD-3-Clause
"""Fields that are not what they must be are left out, and a sentence names file, entry and field."""

from __future__ import annotations

import json
import math

import pytest

import perfield
from perfield.commands import main
from perfield.run.schema import FIELDS, MOST, OF_TYPE, checked
from twins import twin

GOOD = {
    "a text": "a",
    "a list of texts": ["a", "b"],
    "a text without zero bytes": "/a b",
    "a list of texts without zero bytes": ["-case", "a"],
    "true or false": False,
    "a whole number below 2^62": MOST - 1,
    "a whole number of 64 bits": -(1 << 63),
    "a finite number below 2^62": 1.5,
    "a list of whole numbers below 2^62": [1, 2],
}
BAD = {
    "a text": [7, ["a"]],
    "a list of texts": ["a", [1], {}],
    "a text without zero bytes": [7, "a\0b"],
    "a list of texts without zero bytes": ["a", ["a", "a\0b"]],
    "true or false": [0, "true"],
    "a whole number below 2^62": [1.0, True, "1", MOST, -MOST],
    "a whole number of 64 bits": [1 << 63, 1.5],
    "a finite number below 2^62": [math.nan, math.inf, 1e300, "1", True],
    "a list of whole numbers below 2^62": [[1.5], [True], 3, [MOST]],
}


def test_coordinates_may_be_of_any_size():
    mesh = {"origin": [-1e-300, 1e22, 0], "spacing": [1, 2.5, 1e300]}
    assert checked("mesh", mesh) == (mesh, [])
    for large in (math.inf, math.nan, 10**400):
        assert checked("mesh", {"origin": [large, 0, 0]})[0] == {}


def test_null_is_a_field_that_is_not_known():
    assert checked("run.json", {"size": None, "program": "a"}) == ({"program": "a"}, [])


@pytest.mark.parametrize("words", GOOD)
def test_fields_of_each_kind_are_kept_or_named(words):
    keys = [key for key, kind in FIELDS.items() if kind.words == words]
    assert keys
    for key in keys:
        assert checked("rank", {key: GOOD[words]}) == ({key: GOOD[words]}, [])
        for value in BAD[words]:
            kept, (sentence,) = checked("rank", {key: value, "other": 1})
            assert kept == {"other": 1}
            assert sentence.startswith(f"has {key} ") and sentence.endswith(f"expected {words}")


def test_one_damaged_object_of_a_list_is_left_out_alone():
    good = {"begin": "10", "end": "20", "bias": "0", "path": "/bin/a"}
    bad = [{**good, "end": "2" * 17}, {**good, "begin": 16}, 7, None]
    kept, wrong = checked("modules", {"modules": [*bad, good]})
    assert kept == {"modules": [good]}
    assert "has modules[0].end '22222222222222222', expected a hexadecimal number of 64 bits" in wrong
    assert [one for one in wrong if "modules[0] without a usable end" in one]


def test_injected_model_without_regimes_is_left_out():
    injected = {"mean_s": 1e-3, "model": {"regime": [], "field": "x"}}
    kept, wrong = checked("run.json", {"injected": injected})
    assert kept == {"injected": {"mean_s": 1e-3}}
    assert "has injected.model.regime [], expected a list of regimes" in wrong


@pytest.mark.parametrize("key", sorted(OF_TYPE["mesh"]))
def test_mesh_description_with_a_wrong_field_names_it(tmp_path, key):
    run = twin.write_run(tmp_path / "run", ranks=1)
    good = {"block": 0, "kind": "image", "extent": [0, 1] * 3, "origin": [0.0] * 3, "spacing": [1.0] * 3}
    text = twin.padded(json.dumps({**good, "arrays": [], key: {"a": 1}}).encode())
    (mesh,) = (run / "mesh").glob("*.pf")
    twin.Writer(mesh, 0).add("mesh", twin.struct.pack("<II", len(text), 0) + text, index=7)
    opened = perfield.open(run)
    assert opened.mesh(0, 7) == []
    (sentence,) = opened.damage
    assert (
        f"rank 0, version 7, cannot be read and is not shown: it has {key} {{'a': 1}}, expected" in sentence
    )


def test_damaged_fields_are_named_and_the_rest_of_the_run_is_shown(tmp_path, capsys):
    def change(rank, values):
        if rank == 1:
            values["size"] = "two"

    run = twin.write_run(tmp_path / "run", ranks=2, change_rank=change)
    info = json.loads((run / "run.json").read_text())
    info |= {"command": "a.out", "configuration": {"sum_every": [1], "messages": True}}
    (run / "run.json").write_text(json.dumps(info))
    opened = perfield.open(run)
    assert opened.n_ranks == 2 and len(opened) == 5
    assert (
        "run.json has command 'a.out', expected a list of texts without zero bytes; it is left out."
        in opened.damage
    )
    assert any("run.json has configuration.sum_every [1], expected" in one for one in opened.damage)
    (sentence,) = [one for one in opened.damage if "rank entry of rank 1 at byte" in one]
    assert "stream/node0-node0-00.pf: " in sentence and "has size 'two', expected a whole number" in sentence
    assert main(["info", str(run)]) == 0
    assert "has size 'two'" in capsys.readouterr().out.replace("\n", " ")


def test_entry_that_is_no_object_is_named(tmp_path):
    run = twin.write_run(tmp_path / "run", ranks=1)
    (stream,) = (run / "stream").glob("*.pf")
    writer = twin.Writer(stream, 0)
    writer.sequence = 1000
    writer.add("place", b"[1,2]   ")
    writer.add("clock", b"{no json")
    damage = " ".join(perfield.open(run).damage)
    assert "the place entry of rank 0" in damage and "holds [1, 2], expected an object of JSON" in damage
    assert "the clock entry of rank 0" in damage and "is not JSON (" in damage
