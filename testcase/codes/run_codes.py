# SPDX-License-Identifier: BSD-3-Clause
"""Runs codes as Debian has them under perfield, and prints and draws what was seen.

`python run_codes.py FOLDER [CODE ...]`: by default all of CODES. Each gets a folder in FOLDER, which every
call makes anew. Nothing of a code is changed or compiled, and its input knows nothing of perfield.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASE_OF_SATURNE = HERE.parents[1] / "tests/pictures/real_codes"
# The perfield of this Python, if it has one.
PERFIELD = shutil.which("perfield", path=Path(sys.executable).parent) or "perfield"
ENVIRONMENT = {
    **os.environ,
    "USER": "user",  # code_saturne's script needs one
    "OMPI_MCA_mpi_yield_when_idle": "1",  # where cores are fewer than ranks
    "PYTHONWARNINGS": "ignore",
}


@dataclass(frozen=True)
class Code:
    """A code and its input.

    command : what the ranks run. step_call : the call that perfield proposes for Debian 12's package.
    prepare : makes the input, returns the folder to run in. needs : programs, or "import " and a module.
    """

    command: tuple[str, ...]
    step_call: str
    prepare: Callable[[Path], Path]
    needs: tuple[str, ...]
    ranks: int = 4

    @property
    def missing(self) -> str:
        """What is not installed; "" if all is."""
        for need in self.needs:
            words = ["/usr/bin/python3", "-c", need]
            is_module = need.startswith("import ")
            if subprocess.run(words, capture_output=True).returncode if is_module else not shutil.which(need):
                return need
        return ""


def run_in(folder: Path, *words: object) -> None:
    """Runs a command that must succeed. Raises RuntimeError with its output."""
    command = [*map(str, words)]
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} in {folder} failed:\n{done.stdout}\n{done.stderr}")


def copied(*names: str) -> Callable[[Path], Path]:
    """Prepares a folder by copying files of this one."""

    def prepare(folder: Path) -> Path:
        for name in names:
            shutil.copy(HERE / name, folder)
        return folder

    return prepare


def water(folder: Path) -> Path:
    """GROMACS: a box of 1,054 molecules of water."""
    copied("water.mdp", "water.top")(folder)
    run_in(folder, "gmx", "solvate", "-cs", "spc216", "-box", 3.2, 3.2, 3.2, "-o", "water.gro")
    run_in(
        folder, "gmx", "grompp", *["-f", "water.mdp", "-c", "water.gro", "-p", "water.top", "-o", "water.tpr"]
    )
    return folder


def duct(folder: Path) -> Path:
    """code_saturne: turbulent flow in a duct, finer and longer than in the tests."""
    setup = (CASE_OF_SATURNE / "duct.xml").read_text()
    geometry = (CASE_OF_SATURNE / "duct.geo").read_text()
    (folder / "duct.geo").write_text(geometry.replace("MeshSizeMax = 0.3", "MeshSizeMax = 0.15"))
    setup = setup.replace("<iterations>6<", "<iterations>30<").replace('time_step">2<', 'time_step">10<')
    run_in(folder, "code_saturne", "create", "--study=S", "--case=C")
    run_in(folder, *["gmsh", "-3", "duct.geo", "-format", "msh2", "-o", "S/MESH/duct.msh"])
    data = folder / "S/C/DATA"
    (data / "setup.xml").write_text(setup)
    run_in(
        data, "code_saturne", *["run", "--param", "setup.xml", "--nprocs", "2", "--id", "1", "--initialize"]
    )
    return folder / "S/C/RESU/1"


CODES = {
    "fenicsx": Code(
        ("/usr/bin/python3", "bed.py"), "Wait@bed-b67c", copied("bed.py"), ("import dolfinx, petsc4py",)
    ),
    "lammps": Code(("lmp", "-in", "in.drop"), "Wait@CommBrick::exchange-a3e4/2", copied("in.drop"), ("lmp",)),
    "gromacs": Code(
        ("gmx_mpi", "mdrun", "-s", "water.tpr", "-ntomp", "1"),
        "Sendrecv@gmx_sum_qgrid_dd-48c5",
        water,
        ("gmx_mpi", "gmx"),
    ),
    "code_saturne": Code(
        ("./cs_solver", "--mpi"), "Bcast@cs_control_check_file-5653", duct, ("code_saturne", "gmsh"), ranks=2
    ),
    "freefem": Code(
        ("FreeFem++-mpi", "-nw", "strips.edp"),
        "Allreduce@Quad_Op::operator-6a5a",
        copied("strips.edp"),
        ("FreeFem++-mpi",),
    ),
}


def measure(name: str, folder: Path) -> Path:
    """Runs one code in a folder under perfield; returns its run directory. Raises RuntimeError on failure."""
    code = CODES[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    place = code.prepare(folder)
    settings = ("--set", f"step_call={code.step_call}")
    run_in(
        place,
        PERFIELD,
        "run",
        "--oversubscribe",
        "--sample",
        *settings,
        "-n",
        code.ranks,
        "--",
        *code.command,
    )
    return place / "perfield-run"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="folder for the runs")
    parser.add_argument("codes", nargs="*", metavar="code", help=f"of {', '.join(CODES)}; default: all")
    arguments = parser.parse_args()
    for name in arguments.codes or CODES:
        if missing := CODES[name].missing:
            print(f"{name}: left out, as this is not installed: {missing}")
            continue
        run = measure(name, arguments.folder.resolve() / name)
        print(f"\n== {name}: {run}", flush=True)
        for words in (["info", "--functions", "--waits"], ["report", "--text"], ["render", "--images"]):
            subprocess.run([PERFIELD, words[0], run, *words[1:]], env=ENVIRONMENT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
