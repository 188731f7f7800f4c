# SPDX-License-Identifier: BSD-3-Clause
"""Which runs may be compared, and what is reported about those that differ."""

from __future__ import annotations

import json

import pytest

import perfield
from perfield.derived.matching import check, date_in_titles, differences, program
from perfield.run import RunError
from twins import twin

NAMES = ("A", "B")


def opened(path, command=("./heat", "heat.input"), **options):
    """A run of this command."""
    twin.write_run(path, **options)
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(info | {"command": list(command)}))
    return perfield.open(path)


@pytest.fixture
def before(tmp_path):
    return opened(tmp_path / "A")


def test_one_run_is_not_compared_with_itself(before, tmp_path):
    with pytest.raises(RunError, match="are the same run; name two runs, or steps of it"):
        check(before, before, NAMES)
    copy = opened(tmp_path / "copy")  # the twin gives all runs the same id
    with pytest.raises(RunError, match="B is a copy of A"):
        check(before, copy, NAMES)


def test_different_programs_are_compared_only_on_request(before, tmp_path):
    after = opened(tmp_path / "B", ["./wave"], run_id=7)
    with pytest.raises(RunError, match="A ran heat, but B ran wave; --anyway"):
        check(before, after, NAMES)
    check(before, after, NAMES, anyway=True)


def test_a_moved_program_is_the_same_program(before, tmp_path):
    check(before, opened(tmp_path / "B", ["/opt/new/heat", "other.input"], run_id=7), NAMES)


def test_scripts_are_distinguished_behind_their_interpreter():
    assert program({"command": ["python3", "-u", "codes/heat.py", "8"]}) == "heat.py"
    assert program({"command": ["python3.11", "codes/heat.py"]}) == "heat.py"
    assert program({"command": ["./heat", "8"]}) == "heat"
    assert program({"command": ["./shallow_water", "case.input"]}) == "shallow_water"
    assert program({}) == ""


def test_the_day_of_a_run_is_known_or_left_out(before):
    assert date_in_titles(before) == "2023-11-14"
    for start in (None, "", "yesterday, at noon", 1700000000):
        before.info["start"] = start
        assert date_in_titles(before) == ""


def test_runs_without_a_common_region_are_compared_only_on_request(before, tmp_path):
    after = opened(tmp_path / "B", regions=("assemble", "precondition"), run_id=7)
    with pytest.raises(RunError, match="A has exchange and solve; B has assemble and precondition"):
        check(before, after, NAMES)
    check(before, after, NAMES, anyway=True)


def test_differing_regions_settings_hosts_and_arguments_are_reported(tmp_path):
    before = opened(tmp_path / "A", config={"measure_every": 1, "io": True})
    after = opened(
        tmp_path / "B",
        ["./heat", "heat.input", "--hot-spot"],
        regions=("solve", "write"),
        config={"measure_every": 10, "io": True},
        hosts=("node7",),
        run_id=7,
    )
    reported = list(differences(before, after, NAMES))
    assert "arguments differ: B alone has --hot-spot" in reported
    assert "the setting measure_every differs: A: 1; B: 10" in reported
    assert "hosts differ: A: node0; B: node7" in reported
    assert "regions only in A: exchange" in reported and "regions only in B: write" in reported
    assert len(reported) == 5


def test_a_run_that_has_not_ended_is_reported(before, tmp_path):
    after = opened(tmp_path / "B", ended=False, run_id=7)
    after.state = "killed"
    assert list(differences(before, after, NAMES)) == ["B was killed: it has 5 steps"]
