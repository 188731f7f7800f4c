# SPDX-License-Identifier: BSD-3-Clause
"""perfield doctor says what works here, each with a remedy; it fails where perfield run cannot work."""

from __future__ import annotations

import errno
import json
import os

import pytest

from perfield.commands import doctor, main


def checked(capsys) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code, and the last check of each name."""
    code = main(["doctor", "--json"])
    made = json.loads(capsys.readouterr().out)
    assert made["works"] == (code == 0)
    return code, {check["name"]: check for check in made["checks"]}


def program(folder, name: str, version: str) -> None:
    """A fake program in a folder, which prints its version."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder that is all of PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    return tmp_path


def test_each_line_has_a_state_and_what_lacks_has_words(capsys):
    main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} <= {"ok", "lacks", "fails"}
    assert {line.split()[1] for line in lines} >= {"perfield", "launcher", "disk", "memory", "hwloc", "vtk"}
    assert all(len(line) > 18 for line in lines)


def test_no_launcher_fails_and_names_the_remedy(path, capsys):
    code, found = checked(capsys)
    assert code == 1
    assert found["launcher"]["state"] == "fails"
    assert "openmpi-bin" in found["launcher"]["remedy"]
    assert found["films"] == {
        **{"name": "films", "state": "lacks", "found": "no ffmpeg in PATH"},
        "remedy": "install the Debian package ffmpeg",
    }


@pytest.mark.parametrize(
    "version, mpi, words",
    [
        ("mpirun (Open MPI) 4.1.4", "openmpi", "Open MPI 4.1.4"),
        ("HYDRA Version: 4.0.2", "mpich", "MPICH 4.0.2"),
    ],
)
def test_launcher_is_shown_with_its_wrappers(path, tmp_path, monkeypatch, capsys, version, mpi, words):
    program(path, "mpirun", version)
    (tmp_path / "lib").mkdir()
    monkeypatch.setattr(doctor, "package_root", lambda: tmp_path)
    code, found = checked(capsys)
    assert code == 1 and found["launcher"]["state"] == "fails", "this perfield has no wrappers"
    (tmp_path / f"lib/libperfield_{mpi}.so").touch()
    code, found = checked(capsys)
    assert code == 0
    wanted = f"mpirun ({words}), for which perfield has wrappers (libperfield_{mpi}.so)"
    assert found["launcher"]["found"] == wanted


def test_launcher_of_no_known_mpi_is_no_failure(path, capsys):
    program(path, "mpirun", "something else")
    code, found = checked(capsys)
    assert code == 0 and found["launcher"]["state"] == "lacks"


def test_folder_that_may_not_be_written_fails(monkeypatch, capsys):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    code, found = checked(capsys)
    assert code == 1 and found["disk"]["state"] == "fails"
    assert "--run-directory" in found["disk"]["remedy"]


@pytest.mark.parametrize("level, remedy", [("4", "perf_event_paranoid=2"), ("2", "allow perf_event_open")])
def test_forbidden_samples_name_who_forbids_them(monkeypatch, level, remedy):
    monkeypatch.setattr(doctor, "perf_error", lambda *event: errno.EACCES)
    monkeypatch.setattr(doctor, "text_of", lambda path: level)
    (found,) = doctor.counters()
    assert found.state == "lacks" and remedy in found.remedy
