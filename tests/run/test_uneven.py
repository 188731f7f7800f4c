# SPDX-License-Identifier: BSD-3-Clause
"""Frames that join different steps, since ranks that step together closed different ones."""

from __future__ import annotations

import pytest
from known_runs.uneven_runs import uneven_run

import perfield
from perfield import commands
from perfield.output.description import step_title


def make(*arguments, **options):
    return perfield.open(uneven_run(*arguments, **options))


@pytest.mark.parametrize(
    "closed, options, uneven",
    [
        ([5, 5, 3], {}, [1, 1, 1, 0, 0]),  # without rank 2, the others agree
        ([5, 5, 0], {}, [0] * 5),
        ([5, 5, 3], {"time_s": lambda rank, step: 0.5 * step}, [0] * 5),
        ([5, 5, 3], {"groups": ["heat", "heat", "io"]}, [0] * 5),
        ([5, 5, 3], {"ended": False}, [0] * 5),
        ([5, 5, 3], {"reason": "abort"}, [0] * 5),
        ([5, 5, 3], {"config": {"step_seconds": 0.5}}, [0] * 5),
        ([5, 5, 5], {"label": lambda rank, step: step - (rank == 1 and step == 2)}, [0, 0, 1, 0, 0]),
    ],
)
def test_frame_is_uneven_where_ranks_of_a_group_may_have_done_different_steps(
    tmp_path, closed, options, uneven
):
    run = make(tmp_path / "run", closed, **options)
    assert [int(frame.uneven) for frame in run.frames()] == uneven
    assert run.steps.uneven.values.astype(int).tolist() == uneven
    assert not run.setup.uneven and not run.teardown.uneven


def test_ranks_of_uneven_frames_are_not_compared(tmp_path, capsys):
    run = make(tmp_path / "run", [4, 4, 3])
    assert commands.main(["info", str(run.path), "--steps", "2:4"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split()[-1] == "uneven"
    assert printed[1].split()[0] == "2" and printed[1].split()[-1] == "uneven"
    assert printed[2].split()[0] == "3" and printed[2].split()[-1] != "uneven"
    at = printed[0].split().index("imbalance") - 1  # the program gave no time, which is "-"
    assert printed[1].split()[at + 1] == "-" and printed[2].split()[at + 1] != "-"
    assert repr(make(tmp_path / "all", [4, 4, 9])).count("imbalance") == 0


def test_title_says_that_ranks_may_be_in_different_steps(tmp_path):
    run = make(tmp_path / "run", [4, 4, 3])
    assert step_title(run.frame(0), 0, None) == "step 0, ranks may be in different steps"
    assert step_title(run.frame(3), 3, None) == "step 3"


def test_table_of_regions_says_which_ranks_are_uneven(tmp_path, capsys):
    run = make(tmp_path / "run", [4, 4, 3])
    assert commands.main(["info", str(run.path), "--regions"]) == 0
    assert "uneven     ranks 0-1 closed 4 steps, rank 2 closed 3: frames may join" in capsys.readouterr().out
