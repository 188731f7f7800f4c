# SPDX-License-Identifier: BSD-3-Clause
"""perfield stays out of the program's own files and streams, and no failed write ends the program."""

from __future__ import annotations

import os
import subprocess

import pytest
from compiled.c_programs import c_program
from conftest import clean_environment

import perfield

STEPS = 'for (int s = 0; s < 5; ++s) { perfield_begin("work"); perfield_end("work"); perfield_step(s, s); }'


@pytest.fixture
def shell(build_c, bin_dir, tmp_path):
    """shell(body, line): runs `line` in a shell with $PROGRAM, a measured program with that body."""

    def run(body: str, line: str, before: str = "") -> subprocess.CompletedProcess:
        program = build_c(c_program(f"{body}\nreturn 7;", before), mpi=False)
        return subprocess.run(
            ["sh", "-c", line],
            env=clean_environment({"PROGRAM": f"{bin_dir}/perfield-exec {program}"}),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def counts(tmp_path):
    """How often `work` was entered, frame by frame."""
    run = perfield.open(tmp_path / "perfield-run")
    assert not run.damage
    return [frame.values["work_count"][0] for frame in run.frames()]


def test_closing_all_descriptors_keeps_perfield_out_of_program_files(shell, tmp_path):
    result = shell(
        f"""
      int64_t e[6] = {{0, 1, 0, 0, 0, 0}}; double o[3] = {{0}}, d[3] = {{1, 1, 1}};
      perfield_initialize();
      perfield_mesh_image(0, e, o, d);
      {STEPS}
      for (int fd = 3; fd < 256; ++fd) close(fd);
      FILE* files[20];
      for (int i = 0; i < 20; ++i) {{ files[i] = fopen("result.txt", "a"); }}
      fputs("the answer is 42\\n", files[0]);
      perfield_mesh_changed();
      perfield_mesh_image(0, e, o, d);
      {STEPS}
    """,
        "$PROGRAM",
    )
    assert result.returncode == 7, result.stderr
    assert (tmp_path / "result.txt").read_text() == "the answer is 42\n"
    assert counts(tmp_path) == [1] * 10
    run = perfield.open(tmp_path / "perfield-run")
    assert len(run.mesh(0, 1)) == len(run.mesh(0, 2)) == 1


def test_perfield_does_not_write_to_the_first_file_without_stderr(shell, tmp_path):
    result = shell(
        f"""
      FILE* file = fopen("result.txt", "w");
      if (fileno(file) != 2) return 8;
      perfield_initialize();
      perfield_end("stray");
      {STEPS}
      fputs("the answer is 42\\n", file);
    """,
        "$PROGRAM 2>&-",
    )
    assert result.returncode == 7
    assert (tmp_path / "result.txt").read_text() == "the answer is 42\n"
    assert counts(tmp_path) == [1] * 5


def test_perfield_does_not_write_to_the_file_that_takes_the_place_of_stderr(shell, tmp_path):
    result = shell(
        f"""
      perfield_initialize();
      fclose(stderr);
      FILE* file = fopen("result.txt", "w");
      if (fileno(file) != 2) return 8;
      perfield_end("stray");
      {STEPS}
      fputs("the answer is 42\\n", file);
    """,
        "$PROGRAM",
    )
    assert result.returncode == 7
    assert (tmp_path / "result.txt").read_text() == "the answer is 42\n"
    assert counts(tmp_path) == [1] * 5


def test_perfield_does_not_use_closed_standard_streams(shell, tmp_path):
    result = shell(
        f"""
      perfield_initialize();
      {STEPS}
      puts("into the void"); fflush(stdout);
      fputs("into the void", stderr);
      {STEPS}
    """,
        "$PROGRAM <&- >&- 2>&-",
    )
    assert result.returncode == 7
    assert counts(tmp_path) == [1] * 10


def test_closed_stderr_pipe_does_not_end_the_program(shell, tmp_path):
    (tmp_path / "perfield-run").mkdir()  # so that perfield-exec has something to print, too
    result = shell(
        f"""
      perfield_initialize();
      perfield_end("stray");
      {STEPS}
      puts("the answer is 42");
    """,
        "mkfifo pipe; (exec < pipe) & exec 9> pipe; wait; $PROGRAM 2>&9; echo $?",
    )
    assert result.stdout == "the answer is 42\n7\n"
    assert len(perfield.open(tmp_path / "perfield-run-2")) == 5


@pytest.mark.parametrize("limit", [3, 4, 5])
def test_program_without_free_descriptors_is_not_said_to_have_left_nothing(shell, tmp_path, limit):
    result = shell(
        f"""
      perfield_initialize();
      {STEPS}
      struct rlimit none = {{{limit}, {limit}}};
      if (setrlimit(RLIMIT_NOFILE, &none)) return 8;
      {STEPS}
    """,
        "$PROGRAM",
        "#include <sys/resource.h>\n",
    )
    assert result.returncode == 7, result.stderr
    assert counts(tmp_path) == [1] * 10
    assert "nothing was recorded" not in result.stderr
    has_summary = "steps      10 on 1 rank" in result.stderr
    says_why = "cannot be read here (Too many open files), so there is no summary" in result.stderr
    assert has_summary != says_why, result.stderr


def test_program_that_starts_without_free_descriptors_says_why_it_is_not_measured(shell, tmp_path):
    result = shell(
        f"""
      struct rlimit none = {{3, 3}};
      if (setrlimit(RLIMIT_NOFILE, &none)) return 8;
      perfield_initialize();
      {STEPS}
    """,
        "$PROGRAM",
        "#include <sys/resource.h>\n",
    )
    assert result.returncode == 7, result.stderr
    assert "Too many open files" in result.stderr
    assert not list((tmp_path / "perfield-run/stream").glob("*.pf"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the root directory")
def test_program_in_another_root_directory_is_not_said_to_have_left_nothing(shell, tmp_path):
    result = shell(
        f"""
      perfield_initialize();
      {STEPS}
      if (mkdir("jail", 0755) || chroot("jail") || chdir("/")) return 8;
      {STEPS}
    """,
        "$PROGRAM",
        "#include <sys/stat.h>\n",
    )
    assert result.returncode == 7, result.stderr
    assert counts(tmp_path) == [1] * 10
    assert "nothing was recorded" not in result.stderr
    assert "is not there: it was deleted, moved, or hidden by a change of the root" in result.stderr
    assert not list((tmp_path / "jail").iterdir())


def test_file_size_limit_costs_entries_not_the_program(shell, tmp_path):
    result = shell(
        """
      perfield_initialize();
      for (int s = 0; s < 20000; ++s) { perfield_begin("work"); perfield_end("work"); perfield_step(s, s); }
      puts("the answer is 42");
    """,
        "ulimit -f 100; $PROGRAM",  # steps of more than the megabyte up to which slow writes are gathered
    )
    assert (result.returncode, result.stdout) == (7, "the answer is 42\n")
    assert "File too large); perfield tries again" in result.stderr
    assert "entries of rank 0 are missing in" in result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert 10 < len(run) < 20000


def test_resident_memory_is_known_after_the_program_closed_all_descriptors(measured):
    """Its own files have the numbers of perfield's then."""
    run, _ = measured("""
      static volatile char big[50000000];
      perfield_initialize();
      work(20); perfield_step(0, 0);
      for (int fd = 3; fd < 64; ++fd) close(fd);
      for (int i = 0; i < 20; ++i) fputs("7 7 7", fopen("result.txt", "a"));
      for (size_t i = 0; i < sizeof big; i += 4096) big[i] = 1;
      work(20); perfield_step(1, 1);
    """)
    before, after = (frame.values["resident_bytes"][0] for frame in run.frames())
    assert 0 < before < after - 40e6
