# SPDX-License-Identifier: BSD-3-Clause
"""Names of fields: how regions get theirs, and the table that documents all."""

from __future__ import annotations

import re

import pytest

import perfield
from perfield import _bridge
from perfield.fields import table as fields
from perfield.fields.waits import WAIT_FIELDS
from twins import twin

UNIT_OF_SUFFIX = {"_time_s": "s", "_time_per_call_s": "s", "_bytes": "B"}


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
    assert _bridge.region_stem(name) == stem


def stems_of(*names: str) -> list[str]:
    """The stems of the fields of these regions, which occur in this order."""
    stems = _bridge.Stems()
    for name in names:
        stems.add({(name.encode(), 0)})
    return stems.names


def test_equal_region_names_are_numbered():
    assert stems_of("a-b", "a_b", "a b") == ["a_b", "a_b_2", "a_b_3"]


def test_regions_with_clashing_field_names_are_numbered():
    """`a_self_time_s` could be the self time of region `a` or the time of region `a_self`."""
    assert stems_of("a", "a_self") == ["a", "a_self_2"]


def test_names_of_one_step_are_assigned_in_sorted_order():
    stems = _bridge.Stems()
    stems.add({(b"b c", 0), (b"a", 1), (b"b-c", 0), (b"a", 0)})
    assert stems.names == ["a", "a_2", "b_c", "b_c_2"]
    assert [stems.of(b"a", 1), stems.of(b"b-c", 0)] == [1, 3]


def test_field_names_are_identifiers_with_units():
    for field in fields.FIELDS:
        if "<quantity>" in field.name:  # its declaration says name and unit
            continue
        name = field.name.replace("<region>", "solve").replace("<call>", "isend")
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
        expected = next((unit for suffix, unit in UNIT_OF_SUFFIX.items() if name.endswith(suffix)), "1")
        assert field.unit == expected, name
        assert field.meaning and field.direction in ("", "lower", "higher")


def test_every_field_of_a_frame_has_a_description(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", regions=("rank", "Überall 1")))
    for name in run.frame(0).values:
        field = run.columns.field(name)
        assert field.name == name and field.meaning and "<" not in field.meaning
    assert run.columns.field("_berall_1_time_s").meaning.startswith("region '_berall_1': time inside")
    assert list(run.frame(0).values) == run.columns.names


def test_unknown_field_is_named(tmp_path):
    columns = perfield.open(twin.write_run(tmp_path / "run")).columns
    with pytest.raises(KeyError, match="'nothing_s' is not a field of this run"):
        columns.field("nothing_s")
    with pytest.raises(
        KeyError, match="'<region>_file_time_s' is not a field of regions of this run; it has"
    ):
        columns.of_regions("<region>_file_time_s")


def test_reserved_region_names_match_the_table():
    everything = [field.name for field in (*fields.FIELDS, *WAIT_FIELDS)]
    of_ranks = [name for name in everything if "<region>" not in name]
    of_ranks.remove("<quantity>")
    of_calls = {name.replace("<call>", call) for name in of_ranks for call in fields.CALL_NAMES.values()}
    assert of_calls == set(_bridge.reserved_field_names())
    of_regions = [name.replace("<region>", "") for name in everything if "<region>" in name]
    assert set(fields.region_fields("")) <= set(of_regions)


def test_damaged_name_becomes_an_identifier():
    assert fields.identifier("a\udc80b") == "a_b"


def test_every_field_of_a_counter_has_a_description(tmp_path):
    counters = [(name, "1", "region", "sum") for name in ("cache_misses", "instructions", "cycles", "count")]
    counters.append(("task_clock_time", "ns", "region", "sum"))
    run = perfield.open(twin.write_run(tmp_path / "run", quantities=(*twin.QUANTITIES, *counters)))
    columns = run.columns
    assert columns.field("solve_cache_misses").meaning.startswith("region 'solve': ")
    assert columns.field("solve_task_clock_time_s").unit == "s"
    assert columns.field("solve_instructions_per_cycle").direction == "higher"
    assert columns.field("solve_counter_count").unit == "1"
    assert run.frame(0).values["solve_counter_count"].tolist() == [0] * run.n_ranks
