# SPDX-License-Identifier: BSD-3-Clause
"""The key `group`: one name, or names for some ranks of one binary."""

from __future__ import annotations

import pytest

BODY = """
  perfield_initialize();
  MPI_Comm mine;
  MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1, rank, &mine);
  for (int s = 0; s < (rank == size - 1 ? 4 : 12); ++s) {
    MPI_Barrier(mine);
    perfield_step(s, NAN);
  }
"""
BEFORE = "#include <math.h>"


def lists(run) -> dict[str, list[int]]:
    """Ranks by the name of their group; the program's own name is "program"."""
    return {("program" if "program" in name else name): ranks for name, ranks in run.groups.items()}


@pytest.mark.parametrize(
    "value, groups",
    [
        ("fluid", {"fluid": [0, 1, 2, 3, 4]}),
        ("io=4", {"program": [0, 1, 2, 3], "io": [4]}),
        ("io=0-4:2", {"io": [0, 2, 4], "program": [1, 3]}),
        ("io=1,3-4 viz=0", {"viz": [0], "io": [1, 3, 4], "program": [2]}),
    ],
)
def test_group_names_some_ranks_of_one_binary(measured, value, groups):
    run, _ = measured("perfield_initialize();", n=5, mpi=True, env={"PERFIELD_GROUP": value})
    assert lists(run) == groups


@pytest.mark.parametrize("value", ["io=", "io=x", "io=3-1", "io=1-", "=3", "io=1-5:0", "io=1;2", "io=1 rest"])
def test_group_of_no_ranks_is_refused(measured, execute, bin_dir, tmp_path, value):
    result = execute(bin_dir / "perfield", "setup", "config", env={"PERFIELD_GROUP": value})
    assert result.returncode == 2
    assert f'PERFIELD_GROUP: found the text "{value}", expected one name, or a name and its ranks' in (
        result.stdout + result.stderr
    )


def test_groups_that_the_closing_lines_propose_give_even_frames(measured):
    run, result = measured(BODY, n=4, mpi=True, before=BEFORE)
    assert (
        "uneven     ranks 0-2 closed 12 steps, rank 3 closed 4: frames may join different steps"
        in result.stderr
    )
    assert [frame.uneven for frame in run.frames()] == [True] * 4 + [False] * 8
    assert run.steps.uneven.values.tolist() == [True] * 4 + [False] * 8
    proposal = result.stderr.split('PERFIELD_GROUP="')[1].split('"')[0]
    again, result = measured(
        BODY,
        n=4,
        mpi=True,
        before=BEFORE,
        env={"PERFIELD_GROUP": proposal, "PERFIELD_RUN_DIRECTORY": "again"},
        directory="again",
    )
    assert "uneven" not in result.stderr
    assert list(again.groups.values()) == [[0, 1, 2], [3]]
    assert not any(frame.uneven for frame in again.frames())
    assert [int(frame.present.sum()) for frame in again.frames()] == [4] * 4 + [3] * 8
