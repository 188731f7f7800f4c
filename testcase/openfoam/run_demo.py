# SPDX-License-Identifier: BSD-3-Clause
"""Runs unmodified OpenFOAM solvers under perfield and renders pictures of them.

`python run_demo.py FOLDER [CASE ...]`: by default icoFoam, interFoam, reactingFoam and damBreakWithObstacle.
Each gets a folder in FOLDER, which every call makes anew.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from cases import CASES, N_RANKS, environment, prepare

# The perfield of this Python, if it has one.
PERFIELD = shutil.which("perfield", path=Path(sys.executable).parent) or "perfield"


DEFAULT = ["icoFoam", "interFoam", "reactingFoam", "damBreakWithObstacle"]


def run_measured(name: str, folder: Path) -> None:
    """Runs one case under perfield in `folder` and renders the run. Raises RuntimeError on failure."""
    prepare(CASES[name], folder)
    solver = CASES[name].solver
    log = folder / f"log.{solver}"
    run = ["perfield", "run", "-n", str(N_RANKS), "--", solver, "-parallel"]
    render = ["perfield", "render", "--images", str(folder / "perfield-run")]
    print(f"\n{name}: {' '.join(run)}   (in {folder}; its output: {log.name})", flush=True)
    with log.open("w") as output:
        result = subprocess.run(
            [PERFIELD, *run[1:]],
            cwd=folder,
            env=environment(),
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
        )
    printed = [line for line in result.stderr.splitlines() if not line.startswith("next ")]
    print("\n".join(printed), flush=True)  # render prints how to look, relative to its folder
    if result.returncode == 0:
        result = subprocess.run([PERFIELD, *render[1:]], env=environment())
    if result.returncode != 0:
        raise RuntimeError(f"{solver} in {folder} ended with code {result.returncode}; see {log} and above.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "folder", type=Path, help="folder for the cases; perfield-run/ in each is the measurement"
    )
    parser.add_argument(
        "cases",
        nargs="*",
        metavar="case",
        help=f"one of {', '.join(CASES)}; default: {' '.join(DEFAULT)}",
    )
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no case for {', '.join(unknown)}; choose from {', '.join(CASES)}")
    try:
        for name in arguments.cases or DEFAULT:
            run_measured(name, arguments.folder / name)
    except RuntimeError as error:
        print(f"run_demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
