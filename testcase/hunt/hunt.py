# SPDX-License-Identifier: BSD-3-Clause
"""Hunts for findings that are wrong: plants problems in programs and looks whether the report names them.

python testcase/hunt/hunt.py 1-60                     one problem per seed, or none
python testcase/hunt/hunt.py 1-20 --problem none      runs in which there is nothing to find

Each seed plants one of ten problems, or none, at random strength and place in one of three programs, runs
it under perfield and makes the report's findings. The first one must name kind and place of the problem.
Prints a table and the score; exit code 1 below 95 % right.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from plant import PROBLEMS, REGIONS, Plant, drawn
from rich.console import Console
from rich.table import Table
from verdict import Verdict, verdict_of

import perfield
from perfield.report import report

HERE = Path(__file__).resolve().parent
TARGET = 0.95  # 57 of 60, and 19 of 20 runs with nothing to find
TIMEOUT_S = 300
PRINTED = "printed.txt"  # what the program printed
LATE = 0.1  # of the time that ranks mean to sleep: later than the largest noise planted, the plant is spoilt
TRIES = 6  # of a spoilt run


@dataclass(frozen=True)
class Hunted:
    """A seed's plant and what the report says of it. late : its `lateness`."""

    plant: Plant
    verdict: Verdict
    late: float


def commands() -> Path:
    """The folder of the commands `perfield` and mates that belong to this Python."""
    return Path(sys.executable).parent


def built(folder: Path) -> Path:
    """Builds the programs in `folder`; returns it. Raises RuntimeError with the compiler's words."""
    include = [commands() / "perfield", "setup", "paths", "--include"]
    path = subprocess.run(include, capture_output=True, text=True, check=True).stdout.strip()
    configure = ["cmake", "-S", HERE, "-B", folder, "-G", "Ninja", f"-DPERFIELD_INCLUDE={path}"]
    for words in (configure, ["cmake", "--build", folder]):
        made = subprocess.run(words, capture_output=True, text=True, check=False)
        if made.returncode:
            raise RuntimeError(f"the hunt's programs cannot be built:\n{made.stdout}{made.stderr}")
    return folder


def measure(plant: Plant, programs: Path, folder: Path) -> None:
    """Runs a plant's program under perfield in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program = [sys.executable, HERE / "plate.py"] if plant.program == "plate" else [programs / plant.program]
    start = [commands() / "perfield", "run", "--oversubscribe", "-n", plant.n_ranks, "--"]
    # A run inside another, in a test, must not take its settings.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PERFIELD_")}
    environment |= {"LD_PRELOAD": str(programs / "libmachine.so"), "OMPI_MCA_mpi_yield_when_idle": "1"}
    ran = subprocess.run(
        [str(word) for word in start + program + plant.words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    if ran.returncode:
        raise RuntimeError(f"seed {plant.seed}: {plant.program} failed:\n{ran.stderr}")
    (folder / PRINTED).write_text(ran.stdout)


def lateness(folder: Path) -> float:
    """How late the machine woke the ranks, as a share of the time that they meant to sleep.

    That is noise of the machine, which is not planted.
    """
    lines = (folder / PRINTED).read_text().splitlines()
    return float(next(line for line in lines if line.startswith("late ")).split()[1])


def hunted(plant: Plant, programs: Path, folder: Path, tries: int = TRIES) -> Hunted:
    """Runs one plant and checks the report. A run that a busy machine spoils is made again.

    tries : of a run; 0: check the one that is there.
    """
    for _ in range(tries):
        measure(plant, programs, folder)
        if lateness(folder) <= LATE:
            break
    findings = report(perfield.open(folder / "perfield-run")).findings
    return Hunted(plant, verdict_of(plant, findings), lateness(folder))


def table(all_hunted: Iterable[Hunted]) -> Table:
    """What was planted, what was found, and whether that is right."""
    shown = Table(show_lines=True)
    for name in ("seed", "program", "planted", "first finding", "right"):
        shown.add_column(name, overflow="fold")
    for one in all_hunted:
        plant, verdict = one.plant, one.verdict
        where = f"{plant.program}, {plant.n_ranks} ranks, {plant.steps} steps, noise {plant.noise:.0%}"
        where += f", late {one.late:.0%}"
        right = "right" if verdict.is_right else f"wrong: {verdict.why}"
        shown.add_row(str(plant.seed), where, plant.text, verdict.first or "nothing", right)
    return shown


def seeds_of(text: str) -> list[int]:
    """The seeds of "3", "1-60" or "1,5,7-9". Raises ValueError."""
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def main() -> int:
    """Hunts the seeds of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", type=seeds_of, help="3, 1-60 or 1,5,7-9")
    parser.add_argument("--problem", choices=[*PROBLEMS, "none"], default="", help="plant this one")
    parser.add_argument("--program", choices=sorted(REGIONS), default="", help="in this program")
    parser.add_argument("--kept", action="store_true", help="check the runs of an earlier hunt")
    parser.add_argument("--folder", type=Path, default=Path("build/hunt"), help="for programs and runs")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    programs = built(folder / "programs")
    all_hunted = []
    for seed in arguments.seeds:
        plant = drawn(seed, arguments.problem, arguments.program)
        run_folder = folder / f"{plant.program}-{plant.problem}-{seed}"
        all_hunted.append(hunted(plant, programs, run_folder, 0 if arguments.kept else TRIES))
        right = "right" if all_hunted[-1].verdict.is_right else "WRONG"
        sentence = (
            f"seed {seed}: {plant.problem} in {plant.program}: {right} (late {all_hunted[-1].late:.0%})"
        )
        print(sentence, file=sys.stderr, flush=True)
    Console(width=None if sys.stdout.isatty() else 160).print(table(all_hunted))
    n_right = sum(one.verdict.is_right for one in all_hunted)
    print(f"{n_right} of {len(all_hunted)} right; the target is {TARGET:.0%}")
    return 0 if n_right >= TARGET * len(all_hunted) else 1


if __name__ == "__main__":
    sys.exit(main())
