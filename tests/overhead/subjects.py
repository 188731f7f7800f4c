# SPDX-License-Identifier: BSD-3-Clause
"""The programs whose cost is measured: how each is built, prepared and started.

heat3d in C++ and Fortran come from testcase/, icoFoam from Debian's package, MG and BT from a copy of the NAS
Parallel Benchmarks that the user names. Everything built lies in build/overhead.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.programs import BIN, ENVIRONMENT
from bench.report import REPOSITORY

BUILDS = REPOSITORY / "build/overhead"
TESTCASE = REPOSITORY / "testcase"
MPIRUN = "mpirun.openmpi"
# Small functions of headers and of inner loops get no hooks; docs/functions.md says why.
HOOKS = ["-finstrument-functions", "-finstrument-functions-exclude-file-list=include/,.hpp"]


class MissingError(RuntimeError):
    """A program cannot be built or prepared here; the message says what is missing and what to do."""


def _run(command: list, folder: Path) -> str:
    words = [str(word) for word in command]
    result = subprocess.run(
        words, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if result.returncode:
        errors = [line for line in result.stdout.splitlines() if "rror" in line] or [result.stdout[-200:]]
        raise MissingError(f"{' '.join(words[:3])} ... failed: {errors[0].strip()[:200]}")
    return result.stdout


def _compiler(build: str, compiler: str) -> list[str]:
    """The words that start a compiler for one of the builds plain, functions, scorep and scorep-functions."""
    if not build.startswith("scorep"):
        return [compiler]
    chosen = "--compiler" if build == "scorep-functions" else "--nocompiler"
    return ["scorep", "--mpp=mpi", "--thread=none", chosen, compiler]


def _include() -> str:
    return _run([BIN / "perfield", "setup", "paths", "--include"], REPOSITORY).strip()


def divided(n: int, points: tuple[int, int, int]) -> tuple[int, int, int]:
    """Ranks along x, y and z for n ranks: pieces with the smallest surface.

    Raises MissingError if n ranks cannot divide the points evenly.
    """
    ways = [
        (x, y, n // x // y)
        for x in range(1, n + 1)
        for y in range(1, n + 1)
        if n % (x * y) == 0 and all(count % parts == 0 for count, parts in zip(points, (x, y, n // x // y)))
    ]
    if not ways:
        raise MissingError(f"{n} ranks do not divide {points} points evenly; choose a power of two (--ranks)")

    def surface(way: tuple[int, int, int]) -> float:
        sides = [count / parts for count, parts in zip(points, way)]
        return sides[0] * sides[1] + sides[1] * sides[2] + sides[2] * sides[0]

    return min(ways, key=surface)


@dataclass
class Heat3d:
    """Heat diffusion in a box: it names regions, closes steps and describes its mesh by perfield.h."""

    short: bool = False
    name: str = "heat3d"
    function: str = "Heat::step"
    closes_steps: bool = True  # by perfield_step, which pictures inside the program need
    has_mesh: bool = True
    marks_regions: bool = True
    hooks: bool = True
    no_scorep: str = ""  # why it cannot be built with Score-P

    @property
    def points(self) -> tuple[int, int, int]:
        """Points along x, y and z."""
        return (16, 16, 16) if self.short else (128, 128, 64)

    @property
    def steps(self) -> int:
        """Time steps of a run."""
        return 20 if self.short else 1000

    def ranks(self, n: int) -> int:
        """The number of ranks for about n ranks."""
        return n

    def build(self, build: str) -> None:
        """Compiles the program in one of its builds."""
        folder = self.folder(build)
        folder.mkdir(parents=True, exist_ok=True)
        sources = sorted((TESTCASE / "heat3d").glob("*.cpp"))
        flags = ["-std=c++17", "-O0" if self.short else "-O2", "-ffp-contract=off", f"-I{_include()}"]
        self._compile(build, "mpicxx.openmpi", flags, sources)

    def _compile(self, build: str, compiler: str, flags: list[str], sources: list[Path]) -> None:
        folder = self.folder(build)
        hooks = HOOKS if "functions" in build else []
        objects = []
        for source in sources:
            objects.append(folder / f"{source.stem}.o")
            _run([*_compiler(build, compiler), *flags, *hooks, "-c", source, "-o", objects[-1]], folder)
        _run([*_compiler(build, compiler), *objects, "-o", folder / self.name], folder)

    def folder(self, build: str) -> Path:
        """Where the program of this build lies."""
        return BUILDS / f"{self.name}-{build}"

    def prepare(self, folder: Path, ranks: int, steps: int) -> None:
        """Makes `folder` ready for a run; it exists."""

    def clean(self, folder: Path) -> None:
        """Removes what a run has left in `folder`, so that the next run does the same work."""

    def command(self, build: str, ranks: int, steps: int) -> list[str]:
        """The program with its arguments."""
        minds = divided(ranks, self.points)
        grid = ["--minds", *minds, "--points", *self.points, "--exchange", "isend", "--print-log", 0]
        return [str(word) for word in [self.folder(build) / self.name, *grid, "--steps", steps]]

    def size(self, steps: int) -> str:
        """What a run computes, in words."""
        x, y, z = self.points
        return f"{x} x {y} x {z} points, {steps:,} step{'s' * (steps > 1)}"


@dataclass
class Heat3dFortran(Heat3d):
    """The same in Fortran."""

    name: str = "heat3d_fortran"
    function: str = "advance"
    no_scorep: str = "Score-P 8.4 does not support mpi_f08"

    def build(self, build: str) -> None:
        """Compiles the program in one of its builds."""
        folder = self.folder(build)
        folder.mkdir(parents=True, exist_ok=True)
        parts = ("input", "grid", "heat", "exchange", "hot_spot", "show", "main")  # each uses earlier ones
        sources = [Path(_include()) / "perfield.f90"]
        sources += [TESTCASE / "heat3d_fortran" / f"{part}.f90" for part in parts]
        flags = ["-std=f2008", "-O2", "-ffp-contract=off", "-fwrapv"]
        self._compile(build, "mpif90.openmpi", flags, sources)


@dataclass
class IcoFoam(Heat3d):
    """OpenFOAM's solver of incompressible flow, as Debian has it, in a cavity."""

    name: str = "icoFoam"
    hooks: bool = False
    no_scorep: str = "it comes compiled"

    @property
    def cells(self) -> int:
        """Cells along each side."""
        return 20 if self.short else 60

    @property
    def steps(self) -> int:
        """Time steps of a run."""
        return 10 if self.short else 150

    def ranks(self, n: int) -> int:
        """The number of ranks for about n ranks: two at least, as for `-parallel`."""
        return max(n, 2)

    def build(self, build: str) -> None:
        """Checks that the solver is there."""
        if shutil.which("icoFoam") is None:
            raise MissingError("icoFoam is not on PATH; install Debian's package openfoam")

    def prepare(self, folder: Path, ranks: int, steps: int) -> None:
        """Makes `folder` the case, divided among the ranks; it writes ten times."""
        sys.path.insert(0, str(TESTCASE / "openfoam"))
        import cases

        step_s = 0.05 / self.cells / 2
        cases.N_RANKS = ranks
        try:
            cases.prepare(cases.CASES["icoFoam"], folder)
            blocks = folder / "system/blockMeshDict"
            blocks.write_text(blocks.read_text().replace("(20 20 1)", f"({self.cells} {self.cells} 1)"))
            entries = {
                "deltaT": f"{step_s:.9g}",
                "endTime": f"{steps * step_s:.9g}",
                "writeControl": "timeStep",
                "writeInterval": str(stride(steps)),
            }
            for key, value in entries.items():
                cases.set_entry(folder / "system/controlDict", key, value)
            for tool in (["blockMesh"], ["decomposePar", "-force"]):
                subprocess.run(
                    tool, cwd=folder, env=cases.environment(), check=True, stdout=subprocess.DEVNULL
                )
        except (cases.OpenFoamMissingError, RuntimeError, subprocess.CalledProcessError) as error:
            raise MissingError(str(error)) from error

    def clean(self, folder: Path) -> None:
        """Removes the fields that a run has written."""
        for path in folder.glob("processor*/*"):
            if path.name not in ("0", "constant"):
                shutil.rmtree(path)

    def command(self, build: str, ranks: int, steps: int) -> list[str]:
        """The program with its arguments."""
        return ["icoFoam", "-parallel"]

    def size(self, steps: int) -> str:
        """What a run computes, in words."""
        return f"{self.cells} x {self.cells} cells, {steps:,} step{'s' * (steps > 1)}"


@dataclass
class Benchmark(Heat3d):
    """MG or BT of the NAS Parallel Benchmarks, version 3.3 or 3.4 for MPI.

    sources : the folder that holds MG/, BT/ and config/.
    """

    name: str = "MG"
    function: str = "mg3p"
    closes_steps: bool = False
    has_mesh: bool = False
    marks_regions: bool = False
    sources: Path = Path()
    grid: int = 256
    leaves: str = "power,randlc,vranlc"  # small functions of inner loops, without hooks

    @property
    def points(self) -> tuple[int, int, int]:
        """Points along x, y and z."""
        return (32 if self.short else self.grid,) * 3

    @property
    def steps(self) -> int:
        """Iterations of a run."""
        return 4 if self.short else 10

    def build(self, build: str) -> None:
        """Compiles a copy of the benchmark with a size that its input file can change."""
        if not (self.sources / self.name).is_dir():
            raise MissingError(
                f"{self.sources} has no folder {self.name}; give the path of NPB3.x-MPI (NPB=)"
            )
        folder = self.folder(build)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.sources, folder)
        (folder / "bin").mkdir(exist_ok=True)
        hooks = [HOOKS[0], f"-finstrument-functions-exclude-function-list={self.leaves}"]
        flags = ["-O3", *(hooks if "functions" in build else [])]
        old = ["-fallow-argument-mismatch", "-fallow-invalid-boz"]
        fortran = " ".join([*_compiler(build, "mpif90.openmpi"), *old, *flags])
        c = " ".join([*_compiler(build, "mpicc.openmpi"), *flags])
        (folder / "config/make.def").write_text(
            f"MPIFC = {fortran}\nFLINK = {fortran}\nF77 = {fortran}\nMPIF77 = {fortran}\n"
            f"MPICC = {c}\nCLINK = {c}\nCC = gcc\nBINDIR = ../bin\nRAND = randi8\n"
            "CONVERTFLAG = -DFORTRAN_REC_SIZE=1\nFFLAGS =\nCFLAGS =\nFLINKFLAGS =\nCLINKFLAGS =\n"
        )
        size = "S" if self.short else "A"
        _run(["make", self.name.lower(), f"CLASS={size}", "NPROCS=4"], folder)

    def command(self, build: str, ranks: int, steps: int) -> list[str]:
        """The program with its arguments."""
        return [str(min((self.folder(build) / "bin").glob(f"{self.name.lower()}.*")))]

    def prepare(self, folder: Path, ranks: int, steps: int) -> None:
        """Writes the input file: size and iterations."""
        levels = int(math.log2(self.points[0]))
        size = " ".join(str(count) for count in self.points)
        (folder / "mg.input").write_text(f"{levels}\n{size}\n{steps}\n{'0 ' * 8}\n")

    def size(self, steps: int) -> str:
        """What a run computes, in words."""
        x, y, z = self.points
        return f"{x} x {y} x {z} points, {steps:,} iterations"


@dataclass
class BlockTridiagonal(Benchmark):
    """BT, which needs a square of ranks."""

    name: str = "BT"
    function: str = "adi"
    grid: int = 64
    leaves: str = "matvec_sub,matmul_sub,binvcrhs,binvrhs,exact_solution,lhsabinit"

    @property
    def points(self) -> tuple[int, int, int]:
        """Points along x, y and z."""
        return (12 if self.short else self.grid,) * 3

    @property
    def steps(self) -> int:
        """Iterations of a run."""
        return 4 if self.short else 25

    def ranks(self, n: int) -> int:
        """The number of ranks for about n ranks: a square, four at least."""
        return max(math.isqrt(n), 2) ** 2

    def prepare(self, folder: Path, ranks: int, steps: int) -> None:
        """Writes the input file: size and iterations."""
        size = " ".join(str(count) for count in self.points)
        (folder / "inputbt.data").write_text(f"{steps}\n0.0008d0\n{size}\n5 0\n0 1000000\n")


def stride(steps: int) -> int:
    """A picture is made, and fields are stored, every so many steps: ten times in a run."""
    return max(steps // 10, 1)
