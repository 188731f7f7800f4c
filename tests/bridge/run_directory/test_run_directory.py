# SPDX-License-Identifier: BSD-3-Clause
"""How perfield claims a run directory, how a job's ranks join it, and how failures are reported."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

# Lets another rank claim the directory just after this one has seen that it is not there.
OVERTAKEN = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
int open(const char* path, int flags, ...) {
  int (*real)(const char*, int, ...) = dlsym(RTLD_NEXT, "open");
  const int file = real(path, flags, 0666);  // a mode that only O_CREAT reads
  const char *name = strrchr(path, '/'), *other = getenv("OTHER_RANK");
  if (file >= 0 || !name || strcmp(name, "/perfield-run") || !other) return file;
  unsetenv("LD_PRELOAD");
  unsetenv("OTHER_RANK");
  if (system(other)) abort();
  errno = ENOENT;
  return file;
}
"""


@pytest.fixture
def claim(execute):
    """claim(*command, **environment): the process that claimed a directory for `command` (true)."""

    def run(*command: str, **environment: str):
        return execute("perfield-exec", *(command or ["true"]), env=environment)

    return run


def runs(folder: Path) -> dict[str, dict]:
    """The run.json of each run directory in a folder, by name; fails if the folder has anything else."""
    entries = sorted(path for path in folder.iterdir() if path.name != "perfield.toml")
    assert all((path / "run.json").is_file() for path in entries), [path.name for path in entries]
    return {path.name: json.loads((path / "run.json").read_text()) for path in entries}


def test_claimed_directory_is_complete(claim, tmp_path):
    command = ["sh", "-c", "exit 3", "a b\u00e9"]
    result = claim(*command, PERFIELD_RUN_DIRECTORY="runs/first", PERFIELD_SKIP_STEPS="4")
    assert (result.returncode, result.stderr) == (3, "")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["first"]
    directory = tmp_path / "runs/first"
    assert {path.name for path in directory.iterdir()} == {"run.json", "stream", "mesh", "machine"}
    facts = json.loads((directory / "run.json").read_text())
    assert int(facts["run_id"], 16) > 0
    assert len(facts["run_id"]) == 16
    assert facts["command"] == command
    assert (directory / facts["working_directory"]).resolve() == tmp_path.resolve()
    assert not Path(facts["working_directory"]).is_absolute()
    assert facts["configuration"]["skip_steps"] == 4
    assert facts["configuration"]["regions"] == ["*"]
    assert facts["size"] is None
    assert abs(facts["start_ns"] - directory.stat().st_mtime_ns) < 60e9
    assert facts["start"].endswith("Z")


def test_existing_directory_is_kept_and_next_name_used(claim, tmp_path):
    (tmp_path / "perfield-run").mkdir()  # empty, and not ours
    (tmp_path / "perfield-run-2").write_text("a file\n")
    result = claim()
    assert result.stderr == "perfield: perfield-run exists; using perfield-run-3\n"
    assert list((tmp_path / "perfield-run").iterdir()) == []
    assert (tmp_path / "perfield-run-2").read_text() == "a file\n"
    assert (tmp_path / "perfield-run-3/run.json").exists()
    assert len(list(tmp_path.iterdir())) == 3


def test_processes_with_equal_run_id_share_a_directory(claim, tmp_path):
    for _ in range(3):
        assert claim(PERFIELD_RUN_ID="00000000000000ab").stderr == ""
    found = runs(tmp_path)
    assert list(found) == ["perfield-run"]
    assert found["perfield-run"]["run_id"] == "00000000000000ab"


def test_processes_without_a_job_get_separate_directories(claim, tmp_path):
    claim()
    claim()
    found = runs(tmp_path)
    assert list(found) == ["perfield-run", "perfield-run-2"]
    assert found["perfield-run"]["run_id"] != found["perfield-run-2"]["run_id"]


@pytest.mark.parametrize(
    ("one_job", "another_job"),
    [
        ({"PMIX_NAMESPACE": "7", "OMPI_MCA_orte_hnp_uri": "1.0;tcp"}, {"PMIX_NAMESPACE": "7"}),
        ({"SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0"}, {"SLURM_JOB_ID": "5", "SLURM_STEP_ID": "1"}),
        # mpirun inside a Slurm job: Open MPI's identity wins
        (
            {"PMIX_NAMESPACE": "7", "SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0"},
            {"PMIX_NAMESPACE": "8", "SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0"},
        ),
    ],
)
def test_only_ranks_of_one_job_share_a_directory(claim, tmp_path, one_job, another_job):
    claim(**one_job)
    claim(**one_job)
    assert list(runs(tmp_path)) == ["perfield-run"]
    claim(**another_job)
    claim(**one_job)
    assert list(runs(tmp_path)) == ["perfield-run", "perfield-run-2"]


def test_repeated_job_number_after_an_hour_is_another_job(claim, tmp_path):
    job = {"PMIX_NAMESPACE": "7"}
    claim(**job)
    file = tmp_path / "perfield-run/run.json"
    start = json.loads(file.read_text())["start_ns"]
    text = file.read_text()
    for age_s, names in ((3500, ["perfield-run"]), (3700, ["perfield-run", "perfield-run-2"])):
        file.write_text(text.replace(str(start), str(start - age_s * 10**9)))
        claim(**job)
        assert list(runs(tmp_path)) == names


def test_run_id_does_not_expire(claim, tmp_path):
    claim(PERFIELD_RUN_ID="my job")
    file = tmp_path / "perfield-run/run.json"
    start = json.loads(file.read_text())["start_ns"]
    file.write_text(file.read_text().replace(str(start), str(start - 7200 * 10**9)))
    claim(PERFIELD_RUN_ID="my job")
    assert list(runs(tmp_path)) == ["perfield-run"]


def test_racing_ranks_of_two_jobs_make_two_directories(plain_environment, tmp_path):
    jobs = ["00000000000000aa", "00000000000000bb"]
    started = [
        subprocess.Popen(
            ["perfield-exec", "sh", "-c", "echo $PERFIELD_RUN $PERFIELD_RUN_ID"],
            env={**plain_environment, "PERFIELD_RUN_ID": jobs[n % 2]},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(24)
    ]
    results = [process.communicate(timeout=120) for process in started]
    found = runs(tmp_path)
    assert len(found) == 2
    assert {facts["run_id"] for facts in found.values()} == set(jobs)
    for n, (out, _) in enumerate(results):
        path, run_id = out.split()
        assert run_id == jobs[n % 2]
        assert found[Path(path).name]["run_id"] == run_id
    reported = [err for _, err in results if err]
    assert reported == ["perfield: perfield-run exists; using perfield-run-2\n"]


def test_rank_that_is_overtaken_while_it_looks_joins_the_other(claim, build_c, tmp_path):
    library = build_c(OVERTAKEN, "-shared", "-fPIC", "-ldl", mpi=False)
    other = "echo first >seen; perfield-exec true"
    result = claim(PERFIELD_RUN_ID="one job", LD_PRELOAD=str(library), OTHER_RANK=other)
    assert (result.returncode, result.stderr) == (0, "")
    (tmp_path / "seen").unlink()  # the other rank did run
    assert list(runs(tmp_path)) == ["perfield-run"]


def test_ranks_of_mpirun_share_a_directory_with_their_number(mpirun, bin_dir, tmp_path):
    result = mpirun(4, bin_dir / "perfield-exec", "true", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    found = runs(tmp_path)
    assert list(found) == ["perfield-run"]
    assert found["perfield-run"]["size"] == 4


def test_directory_claimed_by_perfield_exec_is_joined(claim, tmp_path):
    claim()
    result = claim(PERFIELD_RUN=str(tmp_path / "perfield-run"))
    assert result.stderr == ""
    assert list(runs(tmp_path)) == ["perfield-run"]


def test_perfield_run_without_run_json_is_reported(claim, tmp_path):
    result = claim("echo", "hello", PERFIELD_RUN=str(tmp_path))
    assert (result.returncode, result.stdout) == (0, "hello\n")
    assert f"PERFIELD_RUN is {tmp_path}, which holds no run.json of perfield" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_read_only_place_leaves_the_program_unmeasured(privately):
    result = privately("mount -t tmpfs -o ro none /mnt; cd /mnt; perfield-exec echo hello; ls -A")
    assert (result.returncode, result.stdout) == (0, "hello\n")
    assert result.stderr == (
        "perfield: cannot make the run directory /mnt/perfield-run: Read-only file system; set run_directory "
        "(or PERFIELD_RUN_DIRECTORY) to a place that can be written; the program runs unmeasured\n"
    )


def test_full_disk_is_reported_and_left_clean(privately):
    result = privately(
        "mount -t tmpfs -o size=64k none /mnt; cd /mnt; cat /dev/zero > filler 2> /dev/null || true;"
        "perfield-exec echo hello; ls -A"
    )
    assert (result.returncode, result.stdout) == (0, "hello\nfiller\n")
    assert (
        "perfield: cannot make the run directory /mnt/perfield-run: No space left on device; "
        in result.stderr
    )
    assert "free some space there, or set run_directory to another place" in result.stderr
    assert result.stderr.count("\n") == 1


def test_disk_without_inodes_is_reported(privately):
    result = privately("mount -t tmpfs -o nr_inodes=3 none /mnt; cd /mnt; perfield-exec echo hello; ls -A")
    assert (result.returncode, result.stdout) == (0, "hello\n")
    assert "No space left on device" in result.stderr


def test_parent_that_cannot_be_made_is_reported(claim):
    result = claim("echo", "hello", PERFIELD_RUN_DIRECTORY="/proc/nowhere/run")
    assert (result.returncode, result.stdout) == (0, "hello\n")
    assert "cannot make the run directory /proc/nowhere/run: " in result.stderr
