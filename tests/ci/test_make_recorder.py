# SPDX-License-Identifier: BSD-3-Clause
"""`make recorder` builds the measured side without Python; an installed perfield draws its runs elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from compiled.c_programs import mpi_program

import perfield

REPOSITORY = Path(__file__).resolve().parents[2]
NEEDED = ("Makefile", "CMakeLists.txt", ".ci", "bridge")
TOOLS = """
    make cmake bash sh env sed grep cat ls mkdir rm sort find nproc tail cmp dirname uname
    gcc g++ cc c++ as ld ar ranlib nm objcopy strip mpicc.openmpi mpicc.mpich
"""
PROGRAM = mpi_program(
    """
  int in;
  int64_t extent[6] = {2 * rank, 2 * rank + 2, 0, 2, 0, 2};
  double origin[3] = {0}, spacing[3] = {1, 1, 1};
  perfield_mesh_image(0, extent, origin, spacing);
  perfield_initialize();
  for (int step = 0; step < 5; ++step) {
    MPI_Sendrecv(&step, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    perfield_step(step, step);
  }
""",
    after='if (rank == 0) puts("the answer is 42");',
)


def copy_sources(to: Path) -> Path:
    """Copies the repository's files that the measured side is built from."""
    to.mkdir()
    for name in NEEDED:
        source = REPOSITORY / name
        shutil.copytree(source, to / name) if source.is_dir() else shutil.copy(source, to / name)
    return to


def check_and_draw(run: Path, perfield_cli) -> None:
    """Checks the counts of PROGRAM on two ranks, and draws them with the installed perfield."""
    found = perfield.open(run)
    assert [frame.values["sendrecv_count"].tolist() for frame in found.frames()] == [[1, 1]] * 5
    assert found.damage == []
    pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")
    drawn = perfield_cli("render", run)
    assert drawn.returncode == 0, drawn.stderr
    assert (run / "pictures/geometry.pvd").exists() and (run / "pictures/topology.pvd").exists()


# Session scope: pytest interleaves tests of both MPIs with those of other files.
@pytest.fixture(scope="session")
def make(tmp_path_factory):
    """make(*words): runs `make recorder` in a copy of the sources, with a PATH without Python."""
    folder = tmp_path_factory.mktemp("recorder")
    (folder / "bin").mkdir()
    for tool in TOOLS.split():
        if path := shutil.which(tool):
            (folder / "bin" / tool).symlink_to(path)
    quick = folder / "bin/quick-c++"  # what is built here need not be fast
    quick.write_text('#!/bin/sh\nexec g++ "$@" -O0\n')
    quick.chmod(0o755)
    sources = copy_sources(folder / "sources")

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [folder / "bin/make", "recorder", *words],
            env={"PATH": str(folder / "bin"), "HOME": str(folder)},
            cwd=sources,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    return call


@pytest.fixture(scope="session")
def prefix(make, tmp_path_factory) -> Path:
    """The folder of the measured side, installed for both MPIs."""
    prefix = tmp_path_factory.mktemp("prefix")
    result = make("MPICC=mpicc.openmpi mpicc.mpich", f"PREFIX={prefix}", "CXX=quick-c++")
    assert result.returncode == 0, result.stderr
    assert f"mpirun -n 8 {prefix}/bin/perfield-exec ./solver" in result.stdout
    return prefix


@pytest.mark.long
def test_headers_and_files_for_builds_are_installed(prefix):
    for name in ("perfield.h", "perfield.hpp", "perfield.f90"):
        assert (prefix / "include" / name).exists()
    result = subprocess.run(
        ["pkg-config", "--cflags", "perfield"],
        env={**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")},
        capture_output=True,
        text=True,
        check=True,
    )
    folder = Path(result.stdout.split()[0].removeprefix("-I")).resolve()
    assert folder == (prefix / "include").resolve()


@pytest.mark.long
def test_recorder_measures_and_installed_perfield_draws(prefix, mpi, perfield_cli, tmp_path):
    (tmp_path / "solver.c").write_text(PROGRAM)
    compile_it = [mpi.cc, "solver.c", f"-I{prefix}/include", "-o", "solver"]
    subprocess.run(compile_it, cwd=tmp_path, check=True)
    result = mpi.run(2, prefix / "bin/perfield-exec", "./solver", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "the answer is 42\n"), result.stderr
    check_and_draw(tmp_path / "perfield-run", perfield_cli)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["MPICC=nowhere/mpicc"], "MPICC names nowhere/mpicc, which is not there"),
        (["MPICC=gcc"], "MPICC names gcc, which is not an MPI compiler: it finds no mpi.h"),
        (["CXX=false"], "false does not compile C++17"),
        (["PREFIX=here"], "PREFIX is 'here', expected a whole path"),
    ],
)
def test_impossible_settings_are_refused_with_a_reason(make, words, sentence):
    result = make(*words)
    assert result.returncode == 2
    assert f"perfield: {sentence}" in result.stderr


def test_old_cmake_is_refused_with_a_reason(make, tmp_path):
    (tmp_path / "cmake").write_text("#!/bin/sh\necho cmake version 3.16.3\n")
    (tmp_path / "cmake").chmod(0o755)
    result = make(f"PATH={tmp_path}:/bin:/usr/bin")
    assert result.returncode == 2
    assert f"perfield: {tmp_path}/cmake is CMake 3.16; 3.22 or newer is needed" in result.stderr


@pytest.mark.long
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "packages"),
    [("openmpi", "libopenmpi-dev openmpi-bin"), ("mpich", "libmpich-dev mpich")],
)
def test_bare_debian_with_one_mpi_builds_the_recorder(tmp_path, perfield_cli, name, packages):
    """The program runs without Python, without network and not as root."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("needs root and debootstrap to make a fresh Debian")
    root = tmp_path / "root"
    fill = """
        debootstrap --variant=minbase bookworm "$1" "$2"
        cp /etc/resolv.conf "$1/etc/"
        chroot "$1" sh -ec 'apt-get -qq update; apt-get -qq install -y --no-install-recommends $*' sh $3
    """
    made = subprocess.run(
        ["sh", "-ec", fill, "sh", root, mirror(), f"g++ cmake make {packages}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"debootstrap failed, perhaps without a network: {made.stderr[-500:]}")
    assert not list((root / "usr/bin").glob("python3*"))
    home = root / "home/user"
    home.mkdir()
    copy_sources(home / "perfield-sources")
    (home / "solver.c").write_text(PROGRAM)
    script = f"""
        cd /home/user/perfield-sources
        make recorder MPICC=/usr/bin/mpicc PREFIX=/home/user/perfield
        cd ..
        mpicc solver.c -Iperfield/include -o solver
        mpirun {"--oversubscribe " if name == "openmpi" else ""}-n 2 perfield/bin/perfield-exec ./solver
    """
    subprocess.run(["chroot", root, "chown", "-R", "1000:1000", "/home/user"], check=True)
    inside = """
        ip link set lo up
        mount -t proc proc "$1/proc"
        mount --rbind /sys "$1/sys"
        mkdir -p "$1/dev/shm"
        mount -t tmpfs none "$1/dev/shm"
        exec chroot "$1" setpriv --reuid=1000 --regid=1000 --clear-groups sh -ec "$2"
    """
    apart = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]
    result = subprocess.run(
        [*apart, "sh", "-ec", inside, "sh", root, script],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/home/user", "USER": "user"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "the answer is 42" in result.stdout
    shutil.copytree(home / "perfield-run", tmp_path / "perfield-run")
    shutil.rmtree(root)
    check_and_draw(tmp_path / "perfield-run", perfield_cli)


def mirror() -> str:
    """The Debian mirror that this machine uses."""
    words = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = [line for line in result.stdout.split() if "security" not in line]
    return lines[0] if lines else "http://deb.debian.org/debian"
