# SPDX-License-Identifier: BSD-3-Clause
"""With `log = true` each rank writes a readable file: its decisions, what happened, and its end."""

from __future__ import annotations

import re

import pytest

LOOP = """
  perfield_region solve = REGION("solve");
  int64_t extent[6] = {0, 1, 0, 1, 0, 1};
  double origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1};
  BEGIN
  for (int step = 0; step < 40; ++step) {
    perfield_region_begin(solve); perfield_region_end(solve);
    if (step == 5) perfield_mesh_changed();
    if (step == 0 || step == 5) perfield_mesh_image(0, extent, origin, spacing);
    perfield_step(100 + step, 0.5 * step);
  }
"""
INITIALIZE = "perfield_initialize();"
ONE_MESSAGE = """MPI_Sendrecv(&rank, 1, MPI_INT, rank, 0, extent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE);"""


@pytest.fixture
def logged(measured, tmp_path):
    """logged(body, n=1, **settings): (the lines of each rank's log without their times, the process)."""

    def run(body, n=1, check=True, **settings):
        env = {"PERFIELD_LOG": "true"} | {f"PERFIELD_{k.upper()}": v for k, v in settings.items()}
        _, result = measured(body, n=n, env=env, mpi=True, check=check)
        files = sorted((tmp_path / "perfield-run/log").iterdir())
        assert [file.name for file in files] == [f"rank-{rank}.log" for rank in range(n)]
        texts = [file.read_text().splitlines() for file in files]
        assert all(re.match(r" *\d+\.\d{6}  \S", line) for lines in texts for line in lines)
        return [[line[14:] for line in lines] for lines in texts], result

    return run


def starting(lines, word):
    """The rest of the lines that start with this word."""
    return [line.removeprefix(word).strip() for line in lines if line.split()[0] == word]


def test_each_rank_writes_what_it_decided_at_the_start(logged):
    logs, result = logged(LOOP.replace("BEGIN", INITIALIZE), n=2, skip_steps="0", measure_every="1")
    for rank, lines in enumerate(logs):
        assert re.match(rf"{rank} of 2 on \S+, process \d+, perfield \d", starting(lines, "rank")[0])
        assert starting(lines, "MPI")[0].startswith("Open MPI")
        assert starting(lines, "clock")[0] in ("tsc", "cntvct", "monotonic")
        assert "pmpi" in starting(lines, "sources")[0]
        assert "log = true  (PERFIELD_LOG)" in starting(lines, "setting")
        assert 'regions = ["*"]  (default)' in starting(lines, "setting")
    assert "perfield: " not in result.stderr


def test_log_says_what_happened(logged):
    ((lines),), _ = logged(LOOP.replace("BEGIN", INITIALIZE + ONE_MESSAGE))
    assert starting(lines, "setup")[-1] == "ended by perfield_initialize"
    (region,) = starting(lines, "region")
    assert re.match(r"solve \(\S+source.c:\d+\) was entered", region)
    steps = [int(line.split()[1]) for line in lines if line.startswith("step ")]
    assert steps == [*range(10), 16, 32]
    (line,) = [line for line in lines if line.startswith("step 9 ")]
    assert re.fullmatch(r"step 9 closed after \S+ ms measured, label 109, time 4.5", line)
    assert starting(lines, "mesh") == ["version 1 from here on", "version 2 from here on"]
    assert starting(lines, "end") == ["by finalize after 40 steps"]
    assert re.search(r'"messages_seen": ?2\b', starting(lines, "counts")[0])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "the first perfield_step, or a hook that closes steps"),
        ({"step_seconds": "0.01"}, "the clock (step_seconds)"),
    ],
)
def test_log_says_what_ended_setup(logged, settings, reason):
    body = LOOP.replace("BEGIN", "") + "usleep(50000); MPI_Barrier(MPI_COMM_WORLD);"
    ((lines),), _ = logged(body, **settings)
    assert starting(lines, "setup")[-1] == f"ended by {reason}"


def test_log_says_limits_and_warnings_on_each_rank(logged):
    many = "".join(
        f'perfield_region_begin(REGION("r{n}")); perfield_region_end(REGION("r{n}"));' for n in range(9)
    )
    logs, result = logged(LOOP.replace("BEGIN", INITIALIZE + many), n=2, max_regions="4")
    for lines in logs:
        assert any("the table of regions was full" in line for line in starting(lines, "warned"))
    assert result.stderr.count("the table of regions was full") == 1


def test_log_says_in_which_step_peers_overflowed(logged):
    to_both = (
        "for (int to = 0; to < size; ++to) MPI_Sendrecv(&rank, 1, MPI_INT, (rank + to) % size, 0, extent, 1, "
    )
    to_both += "MPI_INT, (rank + size - to) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
    body = LOOP.replace("BEGIN", INITIALIZE).replace(
        "perfield_step(", f"if (step == 12) {{ {to_both} }} perfield_step("
    )
    logs, _ = logged(body, n=3, max_peers="1")
    for lines in logs:
        at = next(n for n, line in enumerate(lines) if line.startswith("peers "))
        assert re.match(r"peers +\d+ messages beyond the table of peers, counted", lines[at])
        assert lines[at - 1].startswith("step 12 closed")


def test_no_log_without_the_setting(measured, tmp_path):
    measured(LOOP.replace("BEGIN", INITIALIZE), mpi=True)
    assert not (tmp_path / "perfield-run/log").exists()


def test_log_that_cannot_be_written_is_reported_once_and_changes_nothing(measured):
    spoil = """
#include <limits.h>
__attribute__((constructor)) static void spoil(void) { /* a file is where the folder would be */
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/log", getenv("PERFIELD_RUN"));
  FILE* file = fopen(path, "w");
  if (file) fclose(file);
}
"""
    body = LOOP.replace("BEGIN", INITIALIZE)
    run, result = measured(body, n=2, before=spoil, env={"PERFIELD_LOG": "true"}, mpi=True)
    assert len(run) == 40 and run.state == "finished"
    printed = re.findall(
        r"perfield: the log \S+/log/rank-\d.log cannot be written \(Not a directory\); .*", result.stderr
    )
    assert len(printed) == 1 and printed[0].endswith("the measurement continues without it")


def test_log_is_no_file_of_the_program(measured, tmp_path):
    run, _ = measured(LOOP.replace("BEGIN", INITIALIZE), env={"PERFIELD_LOG": "true"}, mpi=True)
    for frame in (run.setup, *run.frames(), run.teardown):
        assert frame.values["io_write_count"].tolist() == [0]
