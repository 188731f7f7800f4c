# SPDX-License-Identifier: BSD-3-Clause
"""Run directories where other users can write: theirs are left alone, and links in ours are not followed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from compiled.c_programs import c_program

import perfield

STRANGER = 12345
JOB = {"PERFIELD_RUN_ID": "one job"}

# As a network file system that squashes root does: what root makes belongs to another user.
SQUASH = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
int mkdir(const char* path, mode_t mode) {
  int (*real)(const char*, mode_t) = dlsym(RTLD_NEXT, "mkdir");
  const int result = real(path, mode);
  return result ? result : lchown(path, 65534, 65534);
}
int mkdirat(int at, const char* path, mode_t mode) {
  int (*real)(int, const char*, mode_t) = dlsym(RTLD_NEXT, "mkdirat");
  const int result = real(at, path, mode);
  return result ? result : fchownat(at, path, 65534, 65534, AT_SYMLINK_NOFOLLOW);
}
"""

PROGRAM = c_program(
    """
  int64_t e[6] = {0, 2, 0, 2, 0, 2};
  double o[3] = {0}, d[3] = {1, 1, 1};
  perfield_initialize();
  if (getenv("SWAP_FOR")) {
    if (rename("perfield-run", "moved") || rename(getenv("SWAP_FOR"), "perfield-run")) return 9;
  }
  perfield_mesh_image(0, e, o, d);
  perfield_begin("work");
  perfield_end("work");
  perfield_step(0, 0);
""",
    "#include <stdio.h>\n#include <stdlib.h>\n",
)

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")


@pytest.fixture
def claim(execute):
    """claim(*command, **environment): the process that claimed a directory for `command` (true)."""

    def run(*command: object, **environment: str):
        return execute("perfield-exec", *(command or ["true"]), env={**JOB, **environment})

    return run


@pytest.fixture
def program(build_c, perfield_flags) -> Path:
    return build_c(PROGRAM, *perfield_flags("--libs"), mpi=False)


def give_away(folder: Path, owner: int = STRANGER) -> None:
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, owner, owner, follow_symlinks=False)


def everything(folder: Path) -> dict[str, tuple]:
    """The files below a folder: owner, and content or target."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_uid,
            path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else "folder",
        )
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize(("private", "mode"), [("true", 0o077), ("false", 0o022)])
def test_private_run_is_its_owners_alone(claim, tmp_path, program, private, mode):
    (tmp_path / "switches").write_text("SwitchName=s1 Nodes=n1\n")
    settings = {"PERFIELD_LOG": "true", "PERFIELD_TOPOLOGY_FILE": "switches", "PERFIELD_PRIVATE_RUN": private}
    before = os.umask(0o022)
    try:
        claim(program, **settings)
    finally:
        os.umask(before)
    run = tmp_path / "perfield-run"
    made = [run, *run.rglob("*")]
    assert {"run.json", "network.txt", "rank-0.log"} <= {path.name for path in made}
    assert len(list(run.glob("*/*.pf"))) == 2
    open_ones = {path.name for path in made if path.lstat().st_mode & 0o077}
    assert not open_ones if mode == 0o077 else run.name in open_ones


@only_root
def test_directory_of_another_user_is_left_alone(claim, tmp_path, program):
    claim()
    planted = tmp_path / "perfield-run"
    give_away(planted)
    before = everything(planted)
    result = claim(program)
    assert result.returncode == 0
    assert f"perfield-run belongs to another user (number {STRANGER}); using perfield-run-2" in result.stderr
    assert everything(planted) == before
    assert len(perfield.open(tmp_path / "perfield-run-2")) == 1


@only_root
def test_rank_that_waits_leaves_it_alone_too(claim, tmp_path):
    rank = {"FLUX_JOB_ID": "f1", "FLUX_JOB_SIZE": "2", "PERFIELD_RUN_ID": ""}
    first = rank | {"FLUX_TASK_RANK": "0", "FLUX_TASK_LOCAL_ID": "0"}
    second = rank | {"FLUX_TASK_RANK": "1", "FLUX_TASK_LOCAL_ID": "1"}
    claim(**first)
    give_away(tmp_path / "perfield-run")
    claim(**first)
    result = claim("sh", "-c", "echo $PERFIELD_RUN", **second)
    assert result.stdout == f"{tmp_path / 'perfield-run-2'}\n"


@only_root
def test_perfield_run_of_another_user_is_refused(claim, tmp_path):
    claim()
    planted = tmp_path / "perfield-run"
    give_away(planted)
    before = everything(planted)
    result = claim("echo", "hello", PERFIELD_RUN=str(planted))
    assert (result.returncode, result.stdout) == (0, "hello\n")
    assert result.stderr == (
        f"perfield: PERFIELD_RUN is {planted}, which belongs to another user (number {STRANGER}) and is left "
        "alone; unset PERFIELD_RUN to make a new run; the program runs unmeasured\n"
    )
    assert everything(planted) == before


@only_root
def test_owner_on_a_squashing_file_system_is_that_of_own_directories(claim, tmp_path, build_c, program):
    shim = build_c(SQUASH, "-shared", "-fPIC", "-ldl", name="squash.c", mpi=False)
    squashed = {"LD_PRELOAD": str(shim)}
    for _ in range(2):
        assert claim(program, **squashed).stderr.count("another user") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["perfield-run"]
    assert (tmp_path / "perfield-run").stat().st_uid == 65534
    assert (tmp_path / "perfield-run/stream").stat().st_uid == 65534
    assert list((tmp_path / "perfield-run/stream").glob("*.pf"))
    give_away(tmp_path / "perfield-run", owner=0)  # the process's own user, but not who it is there
    assert "perfield-run belongs to another user (number 0)" in claim(**squashed).stderr


def test_link_to_a_run_directory_is_left_alone(claim, tmp_path):
    claim()
    (tmp_path / "perfield-run").rename(tmp_path / "elsewhere")
    (tmp_path / "perfield-run").symlink_to("elsewhere")
    assert claim().stderr == "perfield: perfield-run exists; using perfield-run-2\n"
    assert (tmp_path / "perfield-run").is_symlink()


@pytest.mark.parametrize("room", ["stream", "mesh", "machine", "log"])
def test_rooms_that_are_links_are_not_written_through(claim, tmp_path, program, room):
    claim()
    run, outside = tmp_path / "perfield-run", tmp_path / "outside"
    outside.mkdir()
    if (run / room).exists():
        for path in (run / room).iterdir():
            path.unlink()
        (run / room).rmdir()
    (run / room).symlink_to(outside)
    result = claim(program, PERFIELD_LOG="true")
    assert result.returncode == 0
    assert list(outside.iterdir()) == []
    assert f"{run}/{room}" in result.stderr, "it is reported"


@pytest.mark.parametrize("kind", ["stream", "mesh", "log"])
def test_files_that_are_links_are_not_written_through(claim, tmp_path, program, kind):
    claim(program)
    run, victim = tmp_path / "perfield-run", tmp_path / "victim"
    victim.write_text("precious\n")
    (run / "log").mkdir()
    path = run / "log/rank-0.log" if kind == "log" else next((run / kind).glob("*.pf"))
    path.unlink(missing_ok=True)
    path.symlink_to(victim)
    result = claim(program, PERFIELD_LOG="true")
    assert result.returncode == 0
    assert victim.read_text() == "precious\n"


@only_root
@pytest.mark.parametrize("kind", ["stream", "mesh", "log"])
def test_file_of_another_user_gets_no_entries(claim, tmp_path, program, kind):
    claim(program, PERFIELD_LOG="true")
    path = next((tmp_path / "perfield-run" / kind).glob("*.log" if kind == "log" else "*.pf"))
    os.chown(path, STRANGER, STRANGER)
    before = path.read_bytes()
    result = claim(program, PERFIELD_LOG="true")
    assert result.returncode == 0
    assert path.read_bytes() == before
    assert str(path) in result.stderr, "it is reported"


@pytest.mark.parametrize("kind", ["link", "pipe", "owner"])
def test_planted_file_in_the_stage_is_not_written(claim, tmp_path, program, kind):
    claim(program)
    run, victim = tmp_path / "perfield-run", tmp_path / "victim"
    (stream,) = (run / "stream").glob("*.pf")
    run_id = json.loads((run / "run.json").read_text())["run_id"]
    staged = tmp_path / f"stage/perfield-{run_id}-{stream.stem}-staged-1"
    staged.mkdir(mode=0o700, parents=True)
    if kind == "link":
        (staged / "stream.pf").symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(staged / "stream.pf")
    else:
        if os.geteuid() != 0:
            pytest.skip("only root can give a file to another user")
        (staged / "stream.pf").touch()
        os.chown(staged / "stream.pf", STRANGER, STRANGER)
    result = claim(program, PERFIELD_STAGE=str(tmp_path / "stage"))
    assert result.returncode == 0
    assert "cannot stage in" in result.stderr
    assert not victim.exists()
    assert kind != "owner" or (staged / "stream.pf").stat().st_size == 0


def test_pipe_in_place_of_a_stream_does_not_stop_the_program(claim, tmp_path, program):
    claim(program)
    stream = next((tmp_path / "perfield-run/stream").glob("*.pf"))
    stream.unlink()
    os.mkfifo(stream)
    result = claim(program)
    assert result.returncode == 0
    assert "cannot be written" in result.stderr


@only_root
def test_directory_swapped_while_the_program_runs_gets_no_file(claim, tmp_path, program):
    claim(PERFIELD_RUN_ID="another job", PERFIELD_RUN_DIRECTORY="planted")
    give_away(tmp_path / "planted")
    before = everything(tmp_path / "planted")
    result = claim(program, SWAP_FOR="planted")
    assert result.returncode == 0
    assert everything(tmp_path / "perfield-run") == before, "it is the planted one now"
    assert list((tmp_path / "moved/stream").glob("*.pf")), "what was open is written"
    assert list((tmp_path / "moved/mesh").iterdir()) == []
    assert "mesh" in result.stderr


def test_planted_run_json_of_odd_kinds_is_passed_over(claim, tmp_path):
    for n, kind in enumerate(("pipe", "link", "folder", "endless"), 1):
        folder = tmp_path / ("perfield-run" if n == 1 else f"perfield-run-{n}")
        folder.mkdir()
        if kind == "pipe":
            os.mkfifo(folder / "run.json")
        elif kind == "link":
            (folder / "run.json").symlink_to("/dev/zero")
        elif kind == "folder":
            (folder / "run.json").mkdir()
        else:
            with (folder / "run.json").open("wb") as file:
                file.truncate(1 << 40)
    assert claim().stderr == "perfield: perfield-run exists; using perfield-run-5\n"
    assert json.loads((tmp_path / "perfield-run-5/run.json").read_text())["token"] == "one job"
