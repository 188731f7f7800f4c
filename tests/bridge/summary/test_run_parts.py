# SPDX-License-Identifier: BSD-3-Clause
"""The summary and the report on the time outside the steps: how long it is, and who waits there."""

from __future__ import annotations

import pytest

import perfield
from perfield import _bridge
from perfield.report import report
from perfield.report.facts import numbers
from perfield.report.text import as_text
from twins import twin


def line_of(path, **options) -> str | None:
    """The line about the parts of the run."""
    lines = {line[:11].strip(): line[11:] for line in _bridge.summary_lines(str(path), **options)}
    return lines.get("run")


def lasting(setup_ms, teardown_ms, waits=()):
    """For `outside` of `write_run`: ranks in `waits` wait in a barrier for 99 % of it."""

    def outside(rank, kind):
        ns = 1_000_000 * (setup_ms if kind == 1 else teardown_ms)
        barrier = {"call": 45, "time_class": 2, "count": 1, "ns": ns * 99 // 100}
        return {"end_ns": ns, "measured_ns": ns, "calls": [barrier] * (rank in waits)}

    return outside


def test_parts_are_seconds_and_shares_of_the_run(tmp_path):
    # steps: five of 4.200 to 4.204 ms; see twin.py
    path = twin.write_run(tmp_path / "run", outside=lasting(10, 2))
    assert line_of(path) == "33.0 ms: setup 10.0 ms (30 %), steps 21.0 ms (64 %), teardown 2.00 ms (6.1 %)"


def test_ranks_that_wait_are_named_in_the_part_where_they_wait(tmp_path):
    path = twin.write_run(tmp_path / "run", outside=lasting(3000, 2000, waits=(1, 2, 3)))
    assert line_of(path) == (
        "5.02 s: setup 3.00 s (60 %; ranks 1-3 wait for 99 % of it), steps 21.0 ms (0.42 %), "
        "teardown 2.00 s (40 %; ranks 1-3 wait for 99 % of it)"
    )
    path = twin.write_run(tmp_path / "all", outside=lasting(30, 20, waits=range(4)))
    assert "(42 %; all ranks wait for 99 % of it)" in line_of(path)


def test_parts_come_first_where_the_steps_are_the_smaller_part(tmp_path):
    long = twin.write_run(tmp_path / "long", outside=lasting(30, 20))
    assert _bridge.summary_lines(str(long))[0].startswith("run ")
    short = twin.write_run(tmp_path / "short", outside=lasting(1, 1))
    assert _bridge.summary_lines(str(short))[0].startswith("imbalance ")


def test_killed_run_has_no_teardown(tmp_path):
    path = twin.write_run(tmp_path / "run", ended=False)
    assert line_of(path) == (
        "31.0 ms recorded, and ranks 0-3 have not ended: setup 10.0 ms (32 %), steps 21.0 ms (68 %)"
    )
    assert _bridge.summary_lines(str(path))[0].startswith("run "), "what is not known comes first"


def test_unread_begin_gives_no_parts(tmp_path):
    path = twin.write_run(tmp_path / "run", steps=200)
    assert line_of(path) and not line_of(path, max_bytes=20_000)


def test_run_without_steps_has_no_parts(tmp_path):
    path = twin.write_run(tmp_path / "run", steps=0)
    assert not line_of(path)
    assert report(perfield.open(path)).parts == ()


def test_report_has_the_numbers_of_the_summary(tmp_path):
    path = twin.write_run(tmp_path / "run", outside=lasting(3000, 2000, waits=(1, 2, 3)))
    made = report(perfield.open(path))
    assert [part.name for part in made.parts] == ["setup", "steps", "teardown"]
    found = numbers(made)
    assert (found["setup_s"], found["teardown_s"]) == (3.0, 2.0)
    assert found["outside_steps_share"] == pytest.approx(5 / 5.02101)
    text = as_text(made)
    assert (
        "Findings are about the steps, which take 0.42 % of the run. Setup takes 3 s (60 %), and ranks"
        in text
    )
    assert "ranks 1-3 wait for 99 % of it" in text.partition("Setup, steps and teardown")[2]
