# SPDX-License-Identifier: BSD-3-Clause
"""`perfield compare` finds what was planted in one run and not in the other, or in one step."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def compared(perfield_cli, tmp_path):
    """compared(*words): the object that `perfield compare --json` prints."""

    def compare(*words: object) -> dict:
        result = perfield_cli("compare", *words, "--json", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return compare


def test_the_rank_that_is_costly_in_one_run_only_is_named(compared, planted_run):
    cost, waits = (planted_run(case).cwd / "perfield-run" for case in ("cost", "waits"))
    found = compared(cost, waits)
    change = {row["rank"]: row["difference"] for row in found["ranks"]}
    assert change[0] > 5e-3, found["verdict"]
    assert change.get(2, -1.0) < 0, found["verdict"]  # on a busy machine that may be chance
    assert "arguments differ: " in found["notes"][0]


def test_an_output_step_is_longer_by_what_it_writes(compared, planted_run):
    found = compared(planted_run("output").cwd / "perfield-run", "--steps", "19", "20")
    rows = {row["key"]: row for row in found["rows"]}
    assert found["verdict"].startswith("step 20 takes "), found["verdict"]
    assert "; most of it in write, and most of it computing" in found["verdict"]
    assert rows["io_write_bytes"]["before"] == 0 and rows["io_write_bytes"]["beyond_chance"]
    assert not rows["sent_bytes"]["beyond_chance"]
    assert "step 20 writes output" in found["notes"]


def test_the_halves_of_a_run_have_their_output_steps_compared_apart(compared, planted_run):
    found = compared(planted_run("output").cwd / "perfield-run", "--steps", "1:31", "31:61")
    rows = {row["key"]: row for row in found["rows"]}
    assert [found[side]["output_steps_left_out"] for side in ("before", "after")] == [1, 2]
    assert rows["step_time_s"]["before"] < rows["output_step_time_s"]["before"] / 2
