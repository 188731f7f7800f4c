# SPDX-License-Identifier: BSD-3-Clause
"""Steps that close at wall-clock intervals (step_seconds)."""

from __future__ import annotations

import numpy as np

from twins import twin

WINDOW_S = 0.1
EVERY = {"PERFIELD_STEP_SECONDS": str(WINDOW_S)}


def step_entries(run) -> list[dict]:
    """The entries of all steps, without setup and teardown, in the order of the streams."""
    entries = [e for file in (run.path / "stream").glob("*.pf") for e in twin.decode(file.read_bytes())[0]]
    return [e for e in entries if e["type"] == "step" and e["body"]["kind"] == 0]


def closings(run) -> dict[int, list[tuple[int, int]]]:
    """Rank -> (index, CLOCK_REALTIME in ns) of each step that it closed."""
    found: dict[int, list[tuple[int, int]]] = {}
    for entry in step_entries(run):
        found.setdefault(entry["rank"], []).append((entry["index"], entry["body"]["realtime_ns"]))
    return found


def spans(run) -> list[tuple[int, int]]:
    """(begin, end) of each step of rank 0, in ns from the start of measuring."""
    return [(entry["body"]["begin_ns"], entry["body"]["end_ns"]) for entry in step_entries(run)]


def test_all_ranks_close_windows_on_one_grid_without_mpi_calls(measured):
    run, _ = measured(
        """
      usleep(650000);
    """,
        mpi=True,
        n=2,
        env=EVERY,
    )
    found = closings(run)
    start_ns = int(run.info["start_ns"])
    for rank in (0, 1):
        indexes = [index for index, _ in found[rank]]
        assert len(indexes) >= 2 and indexes == sorted(set(indexes))  # a busy machine joins some
        for index, time_ns in found[rank]:
            assert time_ns // 10**8 - start_ns // 10**8 == index + 1
    frame = run.frame(1)
    assert frame.label == frame.index
    assert 0 < frame.time - WINDOW_S * frame.index <= WINDOW_S * 1.0001


def test_windows_of_a_stopped_rank_join_the_one_before(measured):
    run, _ = measured(
        """
      perfield_initialize();
      perfield_begin("all");
      usleep(150000);
      pid_t child = fork();
      if (child == 0) {
        kill(getppid(), SIGSTOP);
        usleep(450000);
        kill(getppid(), SIGCONT);
        _exit(0);
      }
      usleep(150000);
      waitpid(child, 0, 0);
      usleep(250000);
      perfield_end("all");
    """,
        before="#include <signal.h>\n#include <sys/wait.h>",
        env=EVERY,
        real_time=True,
    )
    labels = [frame.label for frame in run.frames()]
    assert labels == sorted(set(labels))
    assert labels[-1] - labels[0] + 1 >= len(labels) + 3
    longest = max(run.frames(), key=lambda frame: frame.values["step_time_s"][0])
    assert longest.values["step_time_s"][0] >= 0.4
    assert longest.label + 1 not in labels
    shares = [float(f.values["all_time_s"][0] / f.values["step_time_s"][0]) for f in run.frames()]
    np.testing.assert_allclose(shares[1:], 1, rtol=0.05)
    begins, ends = np.transpose(spans(run))
    assert (abs(begins[1:] - ends[:-1]) < 1000).all(), "time between two windows is lost"


def test_long_mpi_call_has_its_share_of_each_window(measured):
    run, _ = measured(
        """
      int word = 0;
      if (rank == 0) { usleep(700000); MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); }
      if (rank == 1) MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    """,
        mpi=True,
        n=2,
        env=EVERY,
    )
    frames = [frame for frame in run.frames() if frame.present.all()]
    assert len(frames) >= 4
    whole = frames[1:-1]
    for frame in whole:
        step_s, mpi_s = frame.values["step_time_s"], frame.values["mpi_time_s"]
        assert (mpi_s <= step_s * 1.001).all()
        assert mpi_s[1] > 0.95 * step_s[1]
        assert mpi_s[0] < 0.05 * step_s[0]
    assert run.frame(-1).values["mpi_time_s"][1] < 2 * WINDOW_S


def test_open_region_has_its_share_of_each_window(measured):
    run, _ = measured(
        """
      perfield_initialize();
      perfield_begin("all"); usleep(450000); perfield_end("all");
    """,
        env=EVERY,
        real_time=True,
    )
    assert len(run) >= 2
    shares = [float(f.values["all_time_s"][0] / f.values["step_time_s"][0]) for f in run.frames()]
    np.testing.assert_allclose(shares[1:], 1, rtol=0.05)


def test_clock_overrides_the_programs_own_steps(measured):
    run, result = measured(
        "perfield_initialize(); for (int s = 0; s < 60; ++s) { usleep(5000); perfield_step(s, s); }",
        env=EVERY,
        real_time=True,
    )
    assert 2 <= len(run) <= 20
    assert result.stderr.count("says where steps end") == 1


def test_clock_thread_does_not_read_fields(measured):
    run, _ = measured(
        """
      static double values[8];
      const int64_t extent[6] = {0, 1, 0, 1, 0, 1};
      const double origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1};
      perfield_mesh_image(0, extent, origin, spacing);
      perfield_field(0, "f", PERFIELD_POINTS, perfield_array_of(values, PERFIELD_FLOAT64, 1, 8));
      usleep(350000);
    """,
        env=EVERY,
        real_time=True,
    )
    assert len(run) >= 2
    assert run.fields(0, run.frame(-1).index) == {}
    assert len(run.mesh(0, 1)) == 1


def test_forking_program_without_finalize_ends_cleanly(measured):
    run, result = measured(
        """
      perfield_initialize();
      for (int i = 0; i < 20; ++i) {
        pid_t child = fork();
        if (child == 0) { usleep(1000); exit(0); }
        waitpid(child, 0, 0);
        usleep(10000);
      }
      exit(3);
    """,
        before="#include <sys/wait.h>",
        env={"PERFIELD_STEP_SECONDS": "0.005"},
        real_time=True,
        check=False,
    )
    assert result.returncode == 3
    assert run.state == "finished"
    assert run.ends[0]["reason"] == "exit"
    assert len(run) > 10
    assert not run.damage


def test_clock_thread_takes_no_signals_of_the_program(measured):
    run, result = measured(
        """
      perfield_initialize();
      mine = pthread_self();
      signal(SIGUSR1, caught);
      for (int i = 0; i < 200; ++i) { kill(getpid(), SIGUSR1); usleep(1000); }
      printf("%d\\n", strange);
    """,
        before="""
      #include <pthread.h>
      #include <signal.h>
      static pthread_t mine;
      static volatile int strange = 0;
      static void caught(int n) { (void)n; strange += !pthread_equal(pthread_self(), mine); }
    """,
        flags=["-pthread"],
        env={"PERFIELD_STEP_SECONDS": "0.002"},
        real_time=True,
    )
    assert result.stdout == "0\n"
    assert len(run) > 20
