# SPDX-License-Identifier: BSD-3-Clause
"""The summary where ranks that step together closed different steps."""

from __future__ import annotations

import json

import pytest
from known_runs.uneven_runs import uneven_run

import perfield
from perfield import _bridge


def lines_of(path) -> dict[str, str]:
    """Lines of the summary by their label, in order."""
    lines = _bridge.summary_lines(str(path))
    assert all(len(line) <= 150 for line in lines if line.startswith(("uneven", "advice"))), lines
    return {line[:11].strip(): line[11:] for line in lines}


def same_number(rank, step):
    return 10 * step


def same_time(rank, step):
    return 0.1 * step


def test_ranks_of_different_numbers_are_reported_and_not_compared(tmp_path):
    lines = lines_of(uneven_run(tmp_path / "run", [20] * 6 + [10] * 2))
    assert list(lines)[:3] == ["uneven", "advice", "imbalance"]
    assert (
        lines["uneven"] == "ranks 0-5 closed 20 steps, ranks 6-7 closed 10: frames may join different steps"
    )
    assert lines["advice"] == (
        'if ranks 6-7 do other work, set PERFIELD_GROUP="group2=6-7"; else let every rank close each step'
    )
    # Ranks 0 to 5 compute 1.1 to 6.1 ms; ranks 6 and 7 would be costlier.
    assert lines["imbalance"].startswith("1.69 among ranks 0-5 (20 steps), costs ")
    assert lines["imbalance"].endswith(": rank 5 is slowest")


def test_rank_that_closed_no_step_is_reported(tmp_path):
    lines = lines_of(uneven_run(tmp_path / "run", [20] * 7 + [0]))
    assert lines["uneven"] == "ranks 0-6 closed 20 steps, rank 7 closed none: no frame shows these"
    assert lines["advice"].startswith('if rank 7 does other work, set PERFIELD_GROUP="group2=7"; else')
    assert " among ranks 0-6 (20 steps), costs " in lines["imbalance"]


def test_ranks_without_equals_have_no_imbalance_and_no_groups(tmp_path):
    lines = lines_of(uneven_run(tmp_path / "run", [5, 6, 7, 8]))
    assert lines["uneven"] == (
        "rank 3 closed 8 steps, rank 2 closed 7, rank 1 closed 6, ...: frames may join different steps, "
        "so no imbalance is reported"
    )
    assert lines["advice"] == "let every rank close each step"
    assert "imbalance" not in lines and "efficiency" not in lines


def test_many_ranks_are_proposed_by_their_distance(tmp_path):
    closed = [0 if rank % 4 == 3 else 3 for rank in range(64)]
    lines = lines_of(uneven_run(tmp_path / "run", closed))
    assert lines["uneven"].endswith(", ranks 3-63:4 closed none: no frame shows these")
    assert 'PERFIELD_GROUP="group2=3-63:4"' in lines["advice"]


def test_ranks_that_stop_earlier_are_compared_where_number_and_time_agree(tmp_path):
    path = uneven_run(tmp_path / "run", [20, 20, 19], label=same_number, time_s=same_time)
    lines = lines_of(path)
    assert "uneven" not in lines and "advice" not in lines
    assert lines["steps"].endswith("; rank 2 closed 19")
    assert lines["imbalance"].startswith("1.47, costs ") and ": rank 2 " in lines["imbalance"]


def test_number_alone_does_not_show_that_steps_are_the_same(tmp_path):
    lines = lines_of(uneven_run(tmp_path / "run", [20, 20, 10], label=same_number))
    assert "may join different steps" in lines["uneven"]


def test_steps_of_different_numbers_are_reported_and_left_out(tmp_path):
    """Rank 1 closes one step twice, and one step later on less."""

    def shifted(rank, step):
        return step - (rank == 1 and 5 <= step < 15)

    lines = lines_of(uneven_run(tmp_path / "run", [20] * 3, label=shifted, time_s=same_time))
    assert lines["uneven"] == (
        "ranks closed different steps in 10 of 20 frames, first in frame 5: rank 0 number 5, rank 1 number 4"
    )
    assert lines["imbalance"].startswith("1.47, costs ")
    path = uneven_run(tmp_path / "all", [20] * 3, label=lambda rank, step: step + rank)
    assert "imbalance" not in lines_of(path)


def test_killed_ranks_that_nearly_agree_are_even(tmp_path):
    assert "uneven" not in lines_of(uneven_run(tmp_path / "run", [20, 19, 17], ended=False))
    assert "uneven" not in lines_of(uneven_run(tmp_path / "aborted", [20, 19, 17], reason="abort"))


@pytest.mark.parametrize(
    "closed, reported", [([20, 20, 0], "rank 2 closed none"), ([40, 40, 3], "rank 2 closed 3")]
)
def test_killed_ranks_far_behind_are_reported(tmp_path, closed, reported):
    path = uneven_run(tmp_path / "run", closed, ended=False)
    assert lines_of(path)["uneven"].startswith(f"so far ranks 0-1 closed {closed[0]} steps, {reported}")


def test_steps_by_the_clock_end_with_their_rank(tmp_path):
    path = uneven_run(tmp_path / "run", [20, 12], config={"step_seconds": 0.5, "group": ""})
    assert json.loads((path / "run.json").read_text())["configuration"]["step_seconds"] == 0.5
    assert "uneven" not in lines_of(path)


def test_groups_may_close_different_numbers(tmp_path):
    path = uneven_run(tmp_path / "run", [20, 20, 4], groups=["heat", "heat", "io"])
    assert "uneven" not in lines_of(path)
    assert perfield.open(path).groups == {"heat": [0, 1], "io": [2]}
