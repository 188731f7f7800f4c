# SPDX-License-Identifier: BSD-3-Clause
"""Staging: a node's files go to its own disk first and then into the run directory, without loss."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from compiled.c_programs import c_program, mpi_program
from conftest import clean_environment

import perfield
from perfield.run import RunError
from twins import twin

# Its arguments: steps, and what every rank does after the fifth: "kill", or "wait" for a byte.
PROGRAM = mpi_program(
    """
  int steps = atoi(argv[1]);
  int64_t e[6] = {2 * rank, 2 * rank + 2, 0, 2, 0, 2};
  double o[3] = {0}, d[3] = {1, 1, 1};
  perfield_initialize();
  perfield_mesh_image(0, e, o, d);
  for (int s = 0; s < steps; ++s) {
    perfield_begin("work");
    perfield_end("work");
    MPI_Barrier(MPI_COMM_WORLD);
    perfield_step(s, 0.1 * s);
    if (s == 4 && argc > 2) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (!strcmp(argv[2], "kill")) kill(getpid(), SIGKILL);
      char byte;
      if (rank == 0 && read(0, &byte, 1) < 0) return 1;
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
""",
    before="#include <signal.h>\n#include <string.h>",
    after='if (rank == 0) puts("the answer is 42");',
)


@pytest.fixture
def program(build_c) -> Path:
    return build_c(PROGRAM)


@pytest.fixture
def stage(tmp_path) -> Path:
    """The node's disk."""
    folder = tmp_path / "disk of the node"
    folder.mkdir()
    return folder


@pytest.fixture
def killed(program, stage, mpirun, bin_dir, tmp_path) -> Path:
    """The run directory of three ranks killed after five steps."""
    mpirun(3, bin_dir / "perfield-exec", program, 10, "kill", env={"PERFIELD_STAGE": stage}, cwd=tmp_path)
    return tmp_path / "perfield-run"


@pytest.fixture
def collect(bin_dir):
    """collect(run): exit code and output of `perfield-exec --collect`."""

    def run(path: Path) -> tuple[int, str]:
        words = [bin_dir / "perfield-exec", "--collect", path]
        result = subprocess.run(words, env=clean_environment(), capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr

    return run


def note(run: Path) -> Path:
    """The only note of a run that says where files are staged."""
    (found,) = (run / "stream").glob(".staged-*")
    return found


def is_whole(path: Path, ranks: int, steps: int) -> None:
    """Checks that a run holds all steps of all ranks and their meshes, and nothing damaged."""
    run = perfield.open(path)
    assert run.damage == []
    assert [frame.values["work_count"].tolist() for frame in run.frames()] == [[1] * ranks] * steps
    assert [run.mesh(rank, 1)[0].extent[0] for rank in range(ranks)] == [2 * r for r in range(ranks)]


def test_last_rank_moves_staged_files(stage, mpi, build_c, bin_dir):
    program = build_c(PROGRAM, by=mpi)
    result = mpi.run(3, bin_dir / "perfield-exec", program, 10, env={"PERFIELD_STAGE": stage})
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    run = result.cwd / "perfield-run"
    is_whole(run, 3, 10)
    assert list(stage.iterdir()) == []
    assert [path.name.partition("-staged-")[2] for path in (run / "stream").iterdir()] == ["1.pf"]
    assert "steps      10 on 3 ranks" in result.stderr


def test_command_collects_files_of_killed_ranks(killed, stage, collect):
    with pytest.raises(RunError, match=r"1 stream is still staged on host .* perfield setup collect"):
        perfield.open(killed)
    code, said = collect(killed)
    assert code == 0 and said.startswith("collected  ") and str(stage) in said
    is_whole(killed, 3, 5)
    assert perfield.open(killed).state == "killed"
    assert list(stage.iterdir()) == []
    assert collect(killed) == (0, "nothing is staged\n")


def test_two_collectors_collect_once(killed, bin_dir):
    words = [bin_dir / "perfield-exec", "--collect", killed]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert "".join(said).count("collected  ") == 1
    is_whole(killed, 3, 5)


def test_collector_waits_for_another(killed, bin_dir):
    stream = Path(json.loads(note(killed).read_text())["directory"]) / "stream.pf"
    words = [bin_dir / "perfield-exec", "--collect", killed]
    with stream.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        waiting = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(0.3)
    assert waiting.communicate()[0].startswith("collected  ")


def test_interrupted_collection_is_repeated(killed, stage, collect):
    staged = Path(json.loads(note(killed).read_text())["directory"])
    name = note(killed).name.removeprefix(".staged-")
    (killed / "stream" / f".collecting-{name}").write_text("half of it")
    collect(killed)
    is_whole(killed, 3, 5)
    # Interrupted after the last rename: both copies exist.
    staged.mkdir()
    shutil.copy(killed / "stream" / f"{name}.pf", staged / "stream.pf")
    text = json.dumps({"host": "here", "directory": str(staged)})
    (killed / "stream" / f".staged-{name}").write_text(text)
    assert collect(killed)[0] == 0
    is_whole(killed, 3, 5)
    assert list(stage.iterdir()) == []


def test_collected_stream_does_not_cost_its_mesh(killed, stage, collect):
    staged = Path(json.loads(note(killed).read_text())["directory"])
    name = note(killed).name.removeprefix(".staged-")
    shutil.copy(staged / "stream.pf", killed / "stream" / f"{name}.pf")
    assert collect(killed)[1].startswith("collected  ")
    is_whole(killed, 3, 5)
    assert list(stage.iterdir()) == []


def test_running_ranks_keep_their_staged_files(program, stage, bin_dir, tmp_path, collect):
    process = subprocess.Popen(
        ["mpirun", "--oversubscribe", "-n", "2", bin_dir / "perfield-exec", program, "8", "wait"],
        env=clean_environment({"PERFIELD_STAGE": str(stage)}),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    run = tmp_path / "perfield-run"
    try:
        while process.poll() is None and not list((run / "stream").glob(".staged-*")):
            os.sched_yield()
        code, said = collect(run)
    finally:
        process.communicate(b"x", timeout=60)
    assert code == 1 and "is in use by ranks that still run" in said
    is_whole(run, 2, 8)


def test_full_stage_loses_nothing(privately, program, bin_dir, tmp_path):
    (tmp_path / "small").mkdir()
    result = privately(
        f"mount -t tmpfs -o size=64k none small; "
        f"exec mpirun --oversubscribe -n 2 {bin_dir}/perfield-exec {program} 500",
        env={
            "PERFIELD_STAGE": str(tmp_path / "small"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        },
    )
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    assert result.stderr.count("No space left on device") == 1
    assert "from here on entries are written into the run directory at once" in result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert [frame.values["work_count"].tolist() for frame in run.frames()] == [[1, 1]] * 500
    assert not any("lost" in sentence for sentence in run.damage)


@pytest.mark.parametrize("part", ["n / 2", "n / 9", "200", "0"])
def test_entries_of_a_partial_batch_count_once(measured, stage, part):
    # Each write takes 10 ms, so entries are gathered for 2 s; a part of the first batch reaches the disk.
    # Steps behind it name a full one that is in the staged file only.
    before = """
#include <sys/syscall.h>
static int cut = 0;
ssize_t write(int file, const void* bytes, size_t n) {
  work(10);
  if (n > 15000 && !cut++) n = (PART) / 8 * 8;
  return syscall(SYS_write, file, bytes, n);
}
""".replace("PART", part)
    run, result = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 1500; ++s) {
        perfield_begin("work"); work(10); perfield_end("work");
        perfield_step(s, s);
      }
      perfield_finalize();
      printf("%d", cut);
    """,
        before=before,
        env={"PERFIELD_STAGE": str(stage)},
    )
    assert int(result.stdout) >= 1
    assert "from here on entries are written into the run directory at once" in result.stderr
    assert "steps      1,500 on 1 rank" in result.stderr
    assert [frame.values["work_count"].tolist() for frame in run.frames()] == [[1]] * 1500
    left = [path for path in (run.path / "stream").glob("*.pf") if "staged" not in path.name]
    entries = twin.decode(left[0].read_bytes())[0]
    assert [entry["type"] for entry in entries[:2]] == ["reference", "step"]
    assert not any("lost" in sentence for sentence in run.damage)


def test_full_run_directory_keeps_files_staged(privately, killed, bin_dir, stage):
    """Collecting into it fails, and succeeds once it has room."""
    result = privately(
        "mkdir full; mount -t tmpfs -o size=32k none full; cp -a perfield-run/. full/ 2>/dev/null || true; "
        f"dd if=/dev/zero of=full/fill 2>/dev/null || true; {bin_dir}/perfield-exec --collect full"
    )
    assert result.returncode == 1
    assert "No space left on device" in result.stderr and "perfield setup collect full" in result.stderr
    assert len(list(stage.iterdir())) == 1


@pytest.mark.parametrize("place", ["/nowhere", "/proc"])
def test_unusable_stage_is_reported_and_unchanged(program, mpirun, bin_dir, place):
    result = mpirun(2, bin_dir / "perfield-exec", program, 5, env={"PERFIELD_STAGE": place})
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    assert result.stderr.count(f"perfield: cannot stage in {place} (stage): ") == 1
    is_whole(result.cwd / "perfield-run", 2, 5)


def test_late_ranks_stage_again(build_c, perfield_flags, stage, tmp_path):
    """Programs without MPI, started one after another as ranks of one run."""
    serial = build_c(
        c_program(
            'perfield_initialize(); perfield_begin("work"); perfield_end("work"); perfield_step(1, 1);'
        ),
        *perfield_flags("--libs"),
        mpi=False,
    )
    for rank in range(3):
        ours = {"PERFIELD_STAGE": str(stage), "PERFIELD_RUN_ID": "00000000000000aa"}
        ours |= {"PMI_RANK": str(rank), "PMI_SIZE": "3"}
        subprocess.run([serial], env=clean_environment(ours), cwd=tmp_path, check=True)
    run = perfield.open(tmp_path / "perfield-run")
    assert run.damage == []
    assert run.frame(0).values["work_count"].tolist() == [1, 1, 1]
    assert len(list((tmp_path / "perfield-run/stream").glob("*.pf"))) == 3


# Faults while a rank writes the note that says where a node's files lie.
NOTES = """
#define _GNU_SOURCE
#include "perfield.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int is(const char* what) {
  const char* given = getenv("NOTE");
  return given && !strcmp(given, what);
}
ssize_t write(int file, const void* bytes, size_t n) {
  if (n > 7 && !memcmp(bytes, "{\\"host\\"", 7)) {
    if (is("kills")) kill(getpid(), SIGKILL);
    if (is("full")) return errno = ENOSPC, -1;
  }
  return syscall(SYS_write, file, bytes, n);
}
int link(const char* from, const char* to) {
  if (is("no links")) return errno = EPERM, -1;
  return syscall(SYS_linkat, -100, from, -100, to, 0);
}
int main(void) {
  perfield_initialize();
  perfield_begin("work");
  perfield_end("work");
  perfield_step(1, 1);
  if (getenv("KILLED")) {
    perfield_step(2, 2);
    kill(getpid(), SIGKILL);
  }
  return 0;
}
"""


@pytest.fixture
def noted(build_c, perfield_flags, stage, tmp_path):
    """noted(**env): runs a program of one rank of one run; returns its exit code and messages."""
    flags = ["-rdynamic", "-w", *perfield_flags("--cflags"), *perfield_flags("--libs")]
    program = build_c(NOTES, *flags, mpi=False)

    def run(**env: str) -> tuple[int, str]:
        ours = {"PERFIELD_STAGE": str(stage), "PERFIELD_RUN_ID": "00000000000000aa"}
        ours |= {"PERFIELD_FLUSH_SECONDS": "0"}
        result = subprocess.run(
            [program],
            env=clean_environment(ours | env),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return result.returncode, result.stderr

    return run


def test_rank_killed_during_its_note_does_not_hide_the_next(noted, stage, collect, tmp_path):
    assert noted(NOTE="kills")[0] == -9
    assert not list((tmp_path / "perfield-run/stream").glob(".staged-*"))
    assert noted(KILLED="1")[0] == -9
    code, said = collect(tmp_path / "perfield-run")
    assert code == 0 and said.startswith("collected  ")
    assert list(stage.iterdir()) == []


def test_rank_without_a_note_cleans_its_stage(noted, stage, tmp_path):
    code, said = noted(NOTE="full")
    assert code == 0 and "cannot write " in said and "No space left on device" in said
    assert list(stage.iterdir()) == []
    assert perfield.open(tmp_path / "perfield-run").frame(0).values["work_count"].tolist() == [1]


def test_note_works_without_links(noted, collect, tmp_path):
    code, said = noted(NOTE="no links", KILLED="1")
    assert code == -9 and "cannot stage" not in said
    assert collect(tmp_path / "perfield-run")[0] == 0


def test_missing_staged_file_is_reported(killed, stage, collect):
    shutil.rmtree(stage)
    code, said = collect(killed)
    assert code == 1 and "does not exist any more" in said and "are lost" in said


def copy_elsewhere(staged: Path, killed: Path) -> Path:
    """Lets the note name a copy of the staged files under another name."""
    copy = staged.with_name("perfield-other")
    shutil.copytree(staged, copy)
    note(killed).write_text(json.dumps({"host": "here", "directory": str(copy)}))
    return copy


def link_directory(staged: Path, killed: Path) -> None:
    staged.rename(staged.parent / "real")
    staged.symlink_to("real")


def link_file(staged: Path, killed: Path) -> None:
    (staged / "stream.pf").rename(staged / "real")
    (staged / "stream.pf").symlink_to("real")


def other_run(staged: Path, killed: Path) -> None:
    data = bytearray((staged / "stream.pf").read_bytes())
    data[16] ^= 1  # of the run's id in its first entry
    (staged / "stream.pf").write_bytes(data)


def private_key(staged: Path, killed: Path) -> None:
    (staged / "mesh.pf").write_text("-----BEGIN OPENSSH PRIVATE KEY-----")


def pipe(staged: Path, killed: Path) -> None:
    (staged / "stream.pf").rename(staged / "real")
    os.mkfifo(staged / "stream.pf")


only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (copy_elsewhere, "is not named for this run"),
        (link_directory, "cannot open "),
        (link_file, "cannot read "),
        (other_run, "stream.pf is not a stream of this run and this user"),
        (private_key, "mesh.pf is not a stream of this run and this user"),
        (pipe, "stream.pf is not a stream of this run and this user"),
        (lambda staged, killed: staged.chmod(0o777), "is not a directory that only this user can write"),
        pytest.param(
            lambda staged, killed: os.chown(staged, 12345, 0),
            "is not a directory that only this user can write",
            marks=only_root,
        ),
        pytest.param(
            lambda staged, killed: os.chown(staged / "stream.pf", 12345, 0),
            "stream.pf is not a stream of this run and this user",
            marks=only_root,
        ),
    ],
    ids=[
        "name",
        "link-to-directory",
        "link-to-file",
        "other-run",
        "key",
        "pipe",
        "open",
        "owner",
        "owner-of-file",
    ],
)
def test_what_a_note_names_is_moved_only_if_it_is_this_runs(killed, stage, collect, spoil, why):
    spoil(Path(json.loads(note(killed).read_text())["directory"]), killed)
    before = sorted(path.name for path in stage.rglob("*"))
    code, said = collect(killed)
    assert code == 1 and why in said and "collected" not in said
    assert sorted(path.name for path in stage.rglob("*")) == before
    assert not list(killed.glob("*/*-staged-*.pf"))


def test_collected_files_follow_no_link(killed, stage, collect, tmp_path):
    """Neither a link at the place of a file, nor a link or another name of a file at that of its draft."""
    name = note(killed).name.removeprefix(".staged-")
    victims = [tmp_path / "victim", tmp_path / "second victim"]
    for victim in victims:
        victim.write_text("precious\n")
    (killed / f"mesh/.collecting-{name}").symlink_to(victims[0])
    (killed / f"stream/.collecting-{name}").hardlink_to(victims[1])
    assert collect(killed)[0] == 0
    is_whole(killed, 3, 5)
    assert [victim.read_text() for victim in victims] == ["precious\n"] * 2


def test_room_that_is_a_link_collects_nothing(killed, stage, collect, tmp_path):
    (tmp_path / "outside").mkdir()
    (killed / "mesh").rename(killed / "real mesh")
    (killed / "mesh").symlink_to(tmp_path / "outside")
    code, said = collect(killed)
    assert code == 1 and f"cannot write {killed}/mesh/" in said
    assert not list((tmp_path / "outside").iterdir())
    assert list(stage.rglob("stream.pf")) and list(stage.rglob("mesh.pf"))


@only_root
def test_nothing_is_collected_into_the_run_of_another_user(killed, stage, collect):
    for path in (killed, *killed.rglob("*")):
        os.chown(path, 12345, 12345)
    code, said = collect(killed)
    assert code == 1 and "belongs to another user (number 12345); collect files only into runs of" in said
    assert list(stage.rglob("stream.pf")) and not list(killed.glob("*/*-staged-*.pf"))


def test_files_staged_on_another_host_stay(killed, stage, collect):
    place = json.loads(note(killed).read_text())
    note(killed).write_text(json.dumps({**place, "host": "n7", "directory": "/scratch/of/n7"}))
    assert collect(killed) == (0, "elsewhere  files are still staged on host n7; collect them there\n")


def test_perfield_run_collects_files_of_killed_ranks(program, stage, perfield_cli):
    words = ["run", "--oversubscribe", "-n", 2, "--set", f"stage={stage}", "--", program, 10, "kill"]
    result = perfield_cli(*words)
    assert "steps      5 on 2 ranks" in result.stderr
    is_whole(result.cwd / "perfield-run", 2, 5)
