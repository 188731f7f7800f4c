# SPDX-License-Identifier: BSD-3-Clause
"""Names of fields: the rule by which regions get theirs, and the table that documents all."""

from __future__ import annotations

import re

import pytest

import perfield
import twin
from perfield.run import fields

UNIT_OF_SUFFIX = {"_time_s": "s", "_bytes": "B"}


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("solve", "solve"),
        ("a b", "a_b"),
        ("Foam::fvMatrix<T>::solve", "Foam__fvMatrix_T___solve"),
        ("strömung", "str_mung"),
        ("流れ", "__"),
        ("2nd", "_2nd"),
        ("", "_"),
        ("rank", "region_rank"),
        ("isend", "region_isend"),
        ("sent", "region_sent"),
        ("step", "region_step"),
        ("mpi wait", "region_mpi_wait"),
        ("step_time_s", "region_step_time_s"),
        ("iflux_edge", "iflux_edge"),
    ],
)
def test_region_name_becomes_an_identifier(name, stem):
    assert fields.sanitised(name) == stem


def test_alike_regions_are_numbered():
    taken = set()
    stems = []
    for name in ("a-b", "a_b", "a b"):
        stems.append(fields.unique_stem(name, taken))
        taken |= set(fields.region_fields(stems[-1]))
    assert stems == ["a_b", "a_b_2", "a_b_3"]


def test_regions_whose_derived_names_meet_are_numbered():
    """`a_self_time_s` is the self time of region `a` and would be the time of region `a_self`."""
    assert fields.unique_stem("a_self", set(fields.region_fields("a"))) == "a_self_2"


def test_every_name_can_stand_in_a_calculator_and_says_its_unit():
    for field in fields.FIELDS:
        name = field.name.replace("<region>", "solve").replace("<call>", "isend")
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
        expected = next((unit for suffix, unit in UNIT_OF_SUFFIX.items() if name.endswith(suffix)), "1")
        assert field.unit == expected, name
        assert field.meaning and field.direction in ("", "lower", "higher")


def test_every_field_of_a_frame_is_documented(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", regions=("rank", "Überall 1")))
    own_name = {
        name: r.name
        for r in run.known_regions
        for name in fields.region_fields(r.field) + fields.inside_fields(r.field)
    }
    for name in run.frame(0).values:
        assert fields.description(name, own_name.get(name)).name == name


def test_unknown_field_is_named():
    with pytest.raises(KeyError, match="'nothing_s' is no field"):
        fields.description("nothing_s")


def test_region_fields_name_their_region():
    assert "region 'a b'" in fields.description("a_b_time_s", "a b").meaning


def test_the_names_that_regions_may_not_have_are_those_of_the_table():
    of_calls = {name + suffix for name in fields.CALL_NAMES.values() for suffix in ("_count", "_bytes")}
    assert {field.name for field in fields.FIELDS if "<" not in field.name} | of_calls == fields.RESERVED
    of_regions = [f.name.removeprefix("<region>") for f in fields.FIELDS if f.name.startswith("<region>")]
    own = fields.region_fields("") + fields.inside_fields("")
    assert list(own) == of_regions[: len(own)]


def test_a_name_that_was_damaged_is_one_too():
    assert fields.sanitised("a\udc80b") == "a_b"


def test_each_field_of_a_counter_says_what_it_is():
    assert fields.description("solve_cache_misses", "solve").meaning.startswith(
        "region 'solve': accesses that missed"
    )
    assert fields.description("solve_task_clock_time_s", "solve").unit == "s"
    assert fields.description("solve_instructions_per_cycle", "solve").direction == "higher"
    assert "counted" in fields.description("solve_r1a8", "solve").meaning
