# SPDX-License-Identifier: BSD-3-Clause
"""Prepares some of OpenFOAM's tutorials, shortened and divided among four ranks.

The tutorials come from Debian's package `openfoam-examples`; this folder has no copies of them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGED = Path("usr/share/doc/openfoam-examples/examples")
N_RANKS = 4

DECOMPOSITION = """FoamFile {{ version 2.0; format ascii; class dictionary; object decomposeParDict; }}
numberOfSubdomains {n};
method simple;
coeffs {{ n ({n} 1 1); delta 0.001; }}
"""


class OpenFoamMissingError(RuntimeError):
    """OpenFOAM or its tutorials are not on this machine; the message says what to install."""


@dataclass(frozen=True)
class Case:
    """A solver and its tutorial.

    changes : file of the case -> entries of that file -> their new values. before : commands that make the
    mesh and the first fields. decompose : the command that divides the case. added : folder of the case -> a
    file of the tutorials that it gets.
    """

    solver: str
    tutorial: str
    changes: dict[str, dict[str, str]]
    before: list[str] = field(default_factory=lambda: ["blockMesh"])
    decompose: str = "decomposePar"
    added: dict[str, str] = field(default_factory=dict)


REGIONS = ("bottomWater", "heater", "leftSolid", "rightSolid", "topAir")
CASES = {
    name: case
    for name, case in (
        (
            "icoFoam",
            Case(
                "icoFoam",
                "incompressible/icoFoam/cavity/cavity",
                {"system/controlDict": {"endTime": "0.2", "writeInterval": "5"}},
            ),
        ),
        (
            "interFoam",
            Case(
                "interFoam",
                "multiphase/interFoam/laminar/damBreak/damBreak",
                {
                    "system/controlDict": {
                        "endTime": "0.15",
                        "writeControl": "timeStep",
                        "writeInterval": "5",
                    },
                    "system/fvSolution": {"nAlphaSubCycles": "3"},
                },
                before=["blockMesh", "setFields"],
            ),
        ),
        (
            "reactingFoam",
            Case(
                "reactingFoam",
                "combustion/reactingFoam/laminar/counterFlowFlame2D",
                {
                    "system/controlDict": {
                        "endTime": "3e-4",
                        "writeControl": "timeStep",
                        "writeInterval": "5",
                    }
                },
            ),
        ),
        (  # the mesh is refined where the water is, so the ranks differ
            "damBreakWithObstacle",
            Case(
                "interFoam",
                "multiphase/interFoam/laminar/damBreakWithObstacle",
                {
                    "system/controlDict": {
                        "endTime": "0.1",
                        "writeControl": "timeStep",
                        "writeInterval": "4",
                    }
                },
                before=["blockMesh", "topoSet", "subsetMesh -overwrite c0 -patch walls", "setFields"],
            ),
        ),
        (  # two fluids and three solids, each with its own mesh
            "multiRegionHeater",
            Case(
                "chtMultiRegionFoam",
                "heatTransfer/chtMultiRegionFoam/multiRegionHeater",
                {"system/controlDict": {"endTime": "0.1", "deltaT": "0.005", "writeInterval": "0.02"}},
                before=[
                    "blockMesh",
                    "topoSet",
                    "splitMeshRegions -cellZones -overwrite",
                    *(f"changeDictionary -region {region}" for region in REGIONS),
                ],
                decompose="decomposePar -allRegions",
            ),
        ),
        (
            "simpleFoam",
            Case(
                "simpleFoam",
                "incompressible/simpleFoam/pitzDaily",
                {"system/controlDict": {"endTime": "60", "writeInterval": "20"}},
            ),
        ),
        (  # cells of twice the tutorial's length, so that two cores make the mesh in minutes
            "motorBike",
            Case(
                "simpleFoam",
                "incompressible/simpleFoam/motorBike",
                {
                    "system/controlDict": {"endTime": "40", "writeInterval": "40"},
                    "system/blockMeshDict": {r"hex \(0 1 2 3 4 5 6 7\)": "(10 4 4) simpleGrading (1 1 1)\n)"},
                },
                before=[
                    "foamDictionary system/controlDict -entry functions -remove",
                    "surfaceFeatureExtract",
                    "blockMesh",
                    "snappyHexMesh -overwrite",
                ],
                added={"constant/triSurface": "resources/geometry/motorBike.obj.gz"},
            ),
        ),
    )
}


def environment() -> dict[str, str]:
    """This process's environment plus what Debian's OpenFOAM and four ranks on few cores need."""
    needed = {
        "WM_PROJECT_DIR": "/usr/share/openfoam",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    if os.geteuid() == 0:
        needed |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return needed | dict(os.environ)


def tutorials() -> Path:
    """The folder of the tutorials.

    Without Debian's package, or without its documentation (containers omit it), downloads the
    package once and unpacks it into build/.
    Raises OpenFoamMissingError if that fails, too.
    """
    unpacked = REPOSITORY / "build" / "openfoam-examples"
    for root in (Path("/"), unpacked):
        if (root / PACKAGED).is_dir():
            return root / PACKAGED
    unpacked.parent.mkdir(parents=True, exist_ok=True)
    try:
        _run(["apt-get", "download", "-qq", "openfoam-examples"], unpacked.parent)
        package = next(unpacked.parent.glob("openfoam-examples_*.deb"))
        _run(["dpkg-deb", "--extract", package, unpacked], unpacked.parent)
    except (OSError, RuntimeError, StopIteration) as error:
        raise OpenFoamMissingError(
            f"OpenFOAM's tutorials are not in /{PACKAGED} and cannot be downloaded ({error}); "
            "install Debian's package openfoam-examples."
        ) from error
    return unpacked / PACKAGED


def prepare(case: Case, folder: Path, n_ranks: int = N_RANKS) -> None:
    """Makes `folder` a fresh copy of the case, meshed and divided among the ranks, along x.

    Deletes what `folder` held before.
    Raises OpenFoamMissingError, or RuntimeError if a tool of OpenFOAM fails.
    """
    if not shutil.which(case.solver):
        raise OpenFoamMissingError(f"{case.solver} was not found in PATH; install Debian's package openfoam.")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tutorials() / case.tutorial, folder)
    for place, name in case.added.items():
        shutil.copy(tutorials() / name, folder / place)
    for name, entries in case.changes.items():
        for key, value in entries.items():
            set_entry(folder / name, key, value)
    if not (folder / "0").is_dir():
        shutil.copytree(folder / "0.orig", folder / "0")
    for system in [folder / "system", *(path for path in (folder / "system").iterdir() if path.is_dir())]:
        (system / "decomposeParDict").write_text(DECOMPOSITION.format(n=n_ranks))
    for command in [*case.before, case.decompose]:
        _run(command.split(), folder)


def set_entry(file: Path, key: str, value: str) -> None:
    """Sets an entry of an OpenFOAM dictionary. Raises RuntimeError if the entry does not exist."""
    text, n = re.subn(rf"(?m)^(\s*{key}\s+)[^;]*;", rf"\g<1>{value};", file.read_text())
    if n == 0:
        raise RuntimeError(f"{file} has no entry {key} to set to {value}.")
    file.write_text(text)


def _run(command: list, folder: Path) -> None:
    result = subprocess.run(
        [str(word) for word in command], cwd=folder, env=environment(), capture_output=True, text=True
    )
    if result.returncode != 0:
        words = " ".join(str(word) for word in command)
        raise RuntimeError(f"{words} failed in {folder}: {(result.stderr or result.stdout)[-2000:]}")
