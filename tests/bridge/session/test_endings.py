# SPDX-License-Identifier: BSD-3-Clause
"""However a program ends, perfield does not change it, and its earlier frames can be read."""

from __future__ import annotations

import subprocess
import time

import numpy as np
import pytest
from compiled.c_programs import c_program, mpi_program
from conftest import clean_environment

import perfield

STEPS = """
  perfield_initialize();
  for (int s = 0; s < 10; ++s) {
    perfield_begin("work"); work(1); perfield_end("work");
    MPI_Barrier(MPI_COMM_WORLD);
    perfield_step(s, s);
  }
"""


def test_killed_rank_leaves_all_earlier_frames(measured):
    run, result = measured(
        STEPS.replace(
            "perfield_step(s, s);",
            """perfield_step(s, s);
          if (s == 6) MPI_Barrier(MPI_COMM_WORLD);
          if (s == 6 && rank == 1) raise(9);""",
        ),
        n=3,
        env={"PERFIELD_FLUSH_SECONDS": "0"},  # else entries wait for others while a busy disk is slow
        before="#include <signal.h>",
        check=False,
        mpi=True,
    )
    assert result.returncode != 0
    deadline = time.monotonic() + 60
    while run.state == "running" and time.monotonic() < deadline:
        time.sleep(0.1)  # mpirun returns before the ranks that it kills have ended
        run.refresh()
    assert run.state == "killed"
    assert len(run) >= 7
    for i in range(7):
        assert run.frame(i).present.all()
        assert (run.frame(i).values["work_count"] == 1).all()


def test_mpi_abort_keeps_steps_and_exit_code(measured):
    abort = "MPI_Barrier(MPI_COMM_WORLD); if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 7); sleep(30);"
    run, result = measured(STEPS + abort, n=2, check=False, mpi=True)
    assert result.returncode == 7
    assert len(run) == 10
    assert run.frame(9).present.all()


def test_missing_finalize_writes_the_last_steps_at_exit(measured):
    run, _ = measured("""
      perfield_initialize();
      for (int s = 0; s < 10; ++s) { perfield_begin("work"); perfield_end("work"); perfield_step(s, s); }
      exit(0);
    """)
    assert len(run) == 10
    assert run.state == "finished"


def test_unmeasured_neighbour_program_does_not_hang(build_c, bin_dir, mpirun, tmp_path):
    other = build_c(mpi_program("for (int s = 0; s < 10; ++s) MPI_Barrier(MPI_COMM_WORLD);"))
    program = build_c(mpi_program(STEPS))
    result = mpirun(1, bin_dir / "perfield-exec", program, ":", "-n", 2, other, cwd=tmp_path, timeout=60)
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert len(run) == 10
    assert run.frame(0).present.sum() == 1


def test_child_process_is_no_rank(measured):
    run, result = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        if (system("echo preload is [$LD_PRELOAD] run is [$PERFIELD_RUN]")) return 1;
        perfield_step(s, s);
      }
    """,
        mpi=True,
        env={"LD_PRELOAD": None},
    )
    assert result.stdout.count("preload is [] run is []") == 3
    assert len([rank for rank in run.rank_entries if rank]) == 1
    assert len(run) == 3


def test_forked_child_measures_nothing(measured):
    run, _ = measured(
        """
      perfield_initialize();
      perfield_step(0, 0.0);
      pid_t child = fork();
      if (child == 0) { for (int s = 0; s < 50; ++s) perfield_step(s, s); exit(0); }
      waitpid(child, 0, 0);
      perfield_step(1, 1.0);
    """,
        before="#include <sys/wait.h>",
    )
    assert [f.label for f in run.frames()] == [0, 1]
    assert not run.damage


def test_second_run_takes_the_next_free_name(measured, tmp_path):
    body = 'perfield_initialize(); printf("42\\n"); perfield_step(0, 0.0);'
    _, one = measured(body)
    _, two = measured(body)
    assert one.stdout == two.stdout == "42\n"
    assert (tmp_path / "perfield-run-2").is_dir()
    assert len(perfield.open(tmp_path / "perfield-run-2")) == 1
    assert "perfield-run-2" in two.stderr


def test_full_disk_costs_entries_not_the_program(measured, tmp_path, bin_dir, build_c, mpirun):
    """RLIMIT_FSIZE simulates a full disk: writes are short or fail, as with ENOSPC."""
    run, result = measured(
        """
      signal(SIGXFSZ, SIG_IGN);
      perfield_initialize();
      struct rlimit limit = {40000, 40000};
      setrlimit(RLIMIT_FSIZE, &limit);
      for (int s = 0; s < 2000; ++s) { perfield_begin("work"); perfield_end("work"); perfield_step(s, s); }
      printf("the answer is 42\\n");
    """,
        before="#include <signal.h>\n#include <sys/resource.h>",
    )
    assert result.stdout == "the answer is 42\n"
    assert result.stderr.count("perfield tries again") == 1
    assert result.stderr.count("entries of rank 0 are missing in") == 1
    assert 10 < len(run) < 2000
    assert run.frame(5).values["work_count"][0] == 1


def test_wrong_configuration_warns_and_the_program_runs(bin_dir, build_c, mpirun, tmp_path):
    program = build_c(c_program("perfield_initialize(); perfield_step(0, 0.0); return 3;"))
    result = mpirun(1, bin_dir / "perfield-exec", program, env={"PERFIELD_REGION": "x"}, cwd=tmp_path)
    assert result.returncode == 3
    assert "did you mean PERFIELD_REGIONS?" in result.stderr
    assert not (tmp_path / "perfield-run").exists()


def test_sigterm_during_a_step_keeps_the_steps_before(measured):
    run, _ = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 5; ++s) { work(2); perfield_step(s, s); }
      sleep(2);
      raise(SIGTERM);
    """,
        before="#include <signal.h>",
        check=False,
    )
    assert len(run) == 5


# A linked program that a rank starts sees the launcher's variables of that rank.
CHILD = """
  perfield_initialize();
  for (int s = 0; s < 5; ++s) { perfield_begin("child"); perfield_end("child"); perfield_step(100 + s, s); }
  perfield_finalize();
"""


@pytest.mark.parametrize("start", ["{child}", "perfield-exec {child}", "perfield-exec true"])
def test_child_with_perfield_linked_does_not_join_as_the_rank(
    measured, build_c, perfield_flags, bin_dir, tmp_path, start
):
    child = build_c(c_program(CHILD), *perfield_flags("--libs"), mpi=False)
    run, result = measured(
        f"""
      perfield_initialize();
      for (int s = 0; s < 2; ++s) {{
        if (system("{start.format(child=child)}")) return 4;
        perfield_step(s, s);
      }}
    """,
        mpi=True,
        n=2,
    )
    assert [frame.label for frame in run.frames()] == [0, 1]
    assert all(frame.present.all() for frame in run.frames())
    assert "child_count" not in run.frame(0).values
    assert not run.damage
    assert [path.name for path in tmp_path.iterdir()] == ["perfield-run"]
    assert result.stderr.count("perfield report") == 1


def test_posix_spawn_and_vfork_change_nothing(measured):
    run, result = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        char* words[] = {"sh", "-c", "echo child [$LD_PRELOAD]", 0};
        pid_t child;
        perfield_begin("spawning");
        if (posix_spawnp(&child, "sh", 0, 0, words, environ)) return 5;
        waitpid(child, 0, 0);
        if ((child = vfork()) == 0) { execvp("sh", words); _exit(6); }
        waitpid(child, 0, 0);
        perfield_end("spawning");
        perfield_step(s, s);
      }
    """,
        mpi=True,
        env={"LD_PRELOAD": None},
        before="#include <spawn.h>\n#include <sys/wait.h>\nextern char** environ;",
    )
    assert result.stdout == "child []\n" * 6
    assert [frame.values["spawning_count"][0] for frame in run.frames()] == [1, 1, 1]
    assert run.state == "finished" and not run.damage


def test_fork_during_a_write_does_not_hang(measured):
    run, result = measured(
        """
      perfield_initialize();
      pthread_t t;
      pthread_create(&t, 0, steps, 0);
      for (int i = 0; i < 200; ++i) {
        pid_t child = fork();
        if (child == 0) {
          alarm(10);
          perfield_initialize(); perfield_step(-1, 0.0); perfield_finalize();
          exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status) { printf("child ended with %d\\n", status); break; }
      }
      done = 1;
      pthread_join(t, 0);
      puts("end");
    """,
        before="""
      #include <pthread.h>
      #include <sys/wait.h>
      static volatile int done;
      static void* steps(void* unused) {
        for (int s = 0; !done; ++s) {
          perfield_step(s, s);
          if (s > 2000) usleep(500); /* a busy machine takes long to fork */
        }
        return unused;
      }
    """,
        flags=["-pthread"],
        real_time=True,
    )
    assert result.stdout == "end\n"
    assert min(frame.label for frame in run.frames()) == 0


def test_info_and_render_show_frames_before_the_disk_filled(build_c, bin_dir, privately, execute, tmp_path):
    program = build_c(mpi_program(FILLING, after=ANSWER))
    run_ranks = f"mpirun --allow-run-as-root --oversubscribe -n 2 {bin_dir}/perfield-exec {program}"
    result = privately(
        "mount -t tmpfs -o size=300k none /mnt; cd /mnt;"
        f"{run_ranks} > {tmp_path}/output; df --output=avail /mnt | tail -1 > {tmp_path}/left;"
        f"cp -r perfield-run {tmp_path}/kept; perfield info; "
        f"perfield render perfield-run --topology -o {tmp_path}/pictures > {tmp_path}/rendered",
        env={name: "1" for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")},
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "output").read_text() == "the answer is 42\n"
    assert result.stderr.count("No space left on device); perfield tries again") == 1
    assert "what was written can be read, the program runs on" in result.stderr
    assert result.stderr.count("as they could not be written (No space left on device)") == 1
    assert "steps" in result.stdout
    run = perfield.open(tmp_path / "kept")
    assert 10 < len(run) < 3000
    # The rank whose batch did not fit any more leaves the rest of the disk to the other one.
    present = np.array([run.frame(i).present for i in range(len(run))])
    both = int(present.all(axis=1).sum())
    assert both > 100
    for i in range(both):
        assert run.frame(i).present.all()
        assert (run.frame(i).values["work_count"] == 1).all()
    assert (tmp_path / "pictures/topology.pvd").is_file()


ANSWER = 'if (rank == 0) puts("the answer is 42");'
# Steps of more than the megabyte up to which slow writes are gathered, so that they fill the disk in time.
FILLING = """
  perfield_initialize();
  for (int s = 0; s < 20000; ++s) {
    perfield_begin("work"); perfield_end("work");
    MPI_Barrier(MPI_COMM_WORLD);
    perfield_step(s, s);
  }
"""


def test_simultaneous_runs_get_separate_directories(build_c, bin_dir, tmp_path):
    steps = STEPS.replace("s < 10", "s < atoi(argv[1])")
    program = build_c(mpi_program(steps, after="if (!rank) puts(argv[1]);"))
    numbers = ("7", "11")
    running = [
        subprocess.Popen(
            ["mpirun", "--oversubscribe", "-n", "2", bin_dir / "perfield-exec", program, number],
            env=clean_environment(),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in numbers
    ]
    for process, number in zip(running, numbers):
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, f"{number}\n"), err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["perfield-run", "perfield-run-2"]
    runs = [perfield.open(path) for path in tmp_path.iterdir()]
    assert sorted(len(run) for run in runs) == [7, 11]
    for run in runs:
        assert not run.damage and run.state == "finished"
        assert all(frame.present.all() for frame in run.frames())


def test_killed_rank_loses_what_was_gathered_at_most(measured):
    """Each write takes 3 ms of the test's clock, so perfield gathers entries for 0.6 s."""
    run, _ = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 200; ++s) { work(20); perfield_step(s, s); }
      raise(SIGKILL);
    """,
        before="""
      #include <signal.h>
      #include <sys/syscall.h>
      ssize_t write(int fd, const void* data, size_t n) {
        if (fd > 2) work(3);
        return syscall(SYS_write, fd, data, n);
      }
    """,
        check=False,
    )
    assert run.state == "killed" and not run.damage
    assert 200 - 0.6 / 0.02 - 1 <= len(run) < 200
    assert [frame.label for frame in run.frames()] == list(range(len(run)))
