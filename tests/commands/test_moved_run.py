# SPDX-License-Identifier: BSD-3-Clause
"""A run directory that was packed and unpacked at another, read-only place."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from compiled.c_programs import mpi_program

import perfield

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

PROGRAM = mpi_program("""
  int in;
  int64_t e[6] = {2 * rank, 2 * rank + 2, 0, 2, 0, 2};
  double o[3] = {0}, d[3] = {1, 1, 1}, values[27] = {0};
  perfield_mesh_image(0, e, o, d);
  perfield_field(0, "temperature", PERFIELD_POINTS, perfield_array_of(values, PERFIELD_FLOAT64, 1, 27));
  perfield_initialize();
  for (int step = 0; step < 3; ++step) {
    MPI_Sendrecv(&step, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    perfield_step(step, step);
  }
""")


def files(folder: Path) -> dict[str, bytes]:
    """Name -> contents of all files below a folder, but for pictures.json, which names the run, and the list
    of files with its hash."""
    left = ("pictures.json", ".perfield-files")
    found = [file for file in folder.rglob("*") if file.is_file() and file.name not in left]
    return {str(file.relative_to(folder)): file.read_bytes() for file in found}


def test_moved_read_only_run_gives_the_same_pictures(build_c, mpirun, bin_dir, perfield_cli, tmp_path):
    here, elsewhere = tmp_path / "here", tmp_path / "another place"
    here.mkdir()
    elsewhere.mkdir()
    assert mpirun(2, bin_dir / "perfield-exec", build_c(PROGRAM), cwd=here).returncode == 0
    assert perfield_cli("render", here / "perfield-run", "-o", tmp_path / "before").returncode == 0
    with tarfile.open(tmp_path / "run.tar", "w") as archive:
        archive.add(here / "perfield-run", "run of yesterday")
    shutil.rmtree(here)
    with tarfile.open(tmp_path / "run.tar") as archive:
        archive.extractall(elsewhere)
    moved = elsewhere / "run of yesterday"

    render = [str(word) for word in (bin_dir / "perfield", "render", moved, "-o", tmp_path / "after")]
    # Root ignores permissions, but not a read-only mount.
    for path in (moved, *moved.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)
    mount = ["unshare", "--mount", "sh", "-ec"]
    if subprocess.run([*mount, "true"], capture_output=True, check=False).returncode == 0:
        script = 'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"; exec "$@"'
        render = [*mount, script, str(moved), *render]
    result = subprocess.run(render, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert files(tmp_path / "after") == files(tmp_path / "before")

    run = perfield.open(moved)
    assert (run.state, len(run), run.damage) == ("finished", 3, [])
    assert sorted(path.name for path in moved.iterdir() if path.name != "analysis") == [
        "machine",
        "mesh",
        "run.json",
        "stream",
    ]
