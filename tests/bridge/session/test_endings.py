# SPDX-License-Identifier: BSD-3-Clause
"""However a program ends or is started, it runs on unchanged and its earlier frames can be read."""

from __future__ import annotations

import perfield

STEPS = """
  MPI_Init(&argc, &argv);
  int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  perfield_initialize();
  for (int s = 0; s < 10; ++s) {
    perfield_begin("work"); work(1); perfield_end("work");
    MPI_Barrier(MPI_COMM_WORLD);
    perfield_run(s, s);
  }
"""


def test_a_rank_killed_in_mid_run_leaves_all_earlier_frames(measured):
    run, result = measured(
        STEPS.replace(
            "perfield_run(s, s);",
            """perfield_run(s, s);
          if (s == 6 && rank == 1) { sleep(1); raise(9); }""",
        ),
        n=3,
        before="#include <signal.h>",
        check=False,
    )
    assert result.returncode != 0
    assert run.state == "killed"
    assert len(run) >= 7
    for i in range(7):
        assert run.frame(i).present.all()
        assert (run.frame(i).values["work_count"] == 1).all()


def test_mpi_abort_keeps_every_step_and_the_programs_exit_code(measured):
    run, result = measured(
        STEPS + "if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 7); sleep(30);", n=2, check=False
    )
    assert result.returncode == 7
    assert len(run) == 10
    assert run.frame(9).present.all()


def test_finalize_never_called_writes_the_last_steps_at_exit(measured):
    run, _ = measured("""
      perfield_initialize();
      for (int s = 0; s < 10; ++s) { perfield_begin("work"); perfield_end("work"); perfield_run(s, s); }
      exit(0);
    """)
    assert len(run) == 10
    assert run.state == "finished"


def test_beside_an_uninstrumented_program_nothing_hangs(measured, build_c, bin_dir, mpirun, tmp_path):
    other = build_c("""
      #include <mpi.h>
      int main(int argc, char** argv) {
        MPI_Init(&argc, &argv);
        for (int s = 0; s < 10; ++s) MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
      }
    """)
    main = f"int main(int argc, char** argv) {{{STEPS}\nMPI_Finalize(); return 0; }}"
    program = build_c(f"#include <mpi.h>\n#define REAL_TIME\n{measured.prologue}{main}")
    result = mpirun(1, bin_dir / "perfield-exec", program, ":", "-n", 2, other, cwd=tmp_path, timeout=60)
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert len(run) == 10
    assert run.frame(0).present.sum() == 1


def test_a_child_process_of_a_rank_is_not_taken_for_a_rank(measured):
    run, result = measured("""
      MPI_Init(&argc, &argv);
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        if (system("echo preload is [$LD_PRELOAD] run is [$PERFIELD_RUN]")) return 1;
        perfield_run(s, s);
      }
      MPI_Finalize();
    """)
    assert result.stdout.count("preload is [] run is []") == 3
    assert len([rank for rank in run.ranks if rank]) == 1
    assert len(run) == 3


def test_a_forked_child_that_goes_on_measures_nothing(measured):
    run, _ = measured(
        """
      perfield_initialize();
      perfield_run(0, 0.0);
      pid_t child = fork();
      if (child == 0) { for (int s = 0; s < 50; ++s) perfield_run(s, s); exit(0); }
      waitpid(child, 0, 0);
      perfield_run(1, 1.0);
    """,
        before="#include <sys/wait.h>",
    )
    assert [f.label for f in run.frames()] == [0, 1]
    assert not run.damage


def test_measuring_twice_in_one_folder_takes_the_next_free_name(measured, tmp_path):
    body = 'perfield_initialize(); printf("42\\n"); perfield_run(0, 0.0);'
    _, one = measured(body)
    _, two = measured(body)
    assert one.stdout == two.stdout == "42\n"
    assert (tmp_path / "perfield-run-2").is_dir()
    assert len(perfield.open(tmp_path / "perfield-run-2")) == 1
    assert "perfield-run-2" in two.stderr


def test_full_disk_ends_measuring_not_the_program(measured, tmp_path, bin_dir, build_c, mpirun):
    """RLIMIT_FSIZE stands for a full disk: writes come back short or fail, as on ENOSPC."""
    run, result = measured(
        """
      signal(SIGXFSZ, SIG_IGN);
      perfield_initialize();
      struct rlimit limit = {40000, 40000};
      setrlimit(RLIMIT_FSIZE, &limit);
      for (int s = 0; s < 2000; ++s) { perfield_begin("work"); perfield_end("work"); perfield_run(s, s); }
      printf("the answer is 42\\n");
    """,
        before="#include <signal.h>\n#include <sys/resource.h>",
    )
    assert result.stdout == "the answer is 42\n"
    assert result.stderr.count("measuring ends here") == 1
    assert 10 < len(run) < 2000
    assert run.frame(5).values["work_count"][0] == 1


def test_wrong_configuration_is_told_and_the_program_runs(measured, bin_dir, build_c, mpirun, tmp_path):
    program = build_c(
        '#include "perfield.h"\nint main() { perfield_initialize(); perfield_run(0, 0.0); return 3; }'
    )
    result = mpirun(1, bin_dir / "perfield-exec", program, env={"PERFIELD_REGION": "x"}, cwd=tmp_path)
    assert result.returncode == 3
    assert "did you mean PERFIELD_REGIONS?" in result.stderr
    assert not (tmp_path / "perfield-run").exists()


def test_sigterm_during_a_step_keeps_the_steps_before(measured):
    run, _ = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 5; ++s) { work(2); perfield_run(s, s); }
      sleep(2);
      raise(SIGTERM);
    """,
        before="#include <signal.h>",
        check=False,
    )
    assert len(run) == 5
