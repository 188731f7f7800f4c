# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the first run says of programs that know nothing of perfield.

python testcase/textbook/first_runs.py 1-40

Each seed draws a program of this folder, the number of its steps, and a slow rank or none. It runs under
`perfield run` without a setting. Checked are the number of steps, the rank of the first finding,
and that nothing is found where nothing is planted. Prints a table and the score; exit code 1 below 95 %.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import perfield
from perfield.analysis.findings import Finding
from perfield.report import report

HERE = Path(__file__).resolve().parent
TARGET = 0.95
TIMEOUT_S = 300
RANKS = 4
COMPILERS = {".c": ["mpicc"], ".cpp": ["mpicxx"], ".f": ["mpif90"], ".f90": ["mpif90"]}
OF_THE_MACHINE = {"shared cores", "taken PUs"}  # true of these runs, where ranks outnumber cores
WITHOUT_STEPS = {"master", "farm"}  # their ranks have none in common, nor a slow rank: it is given less
BY_WINDOWS = {"sweep"}  # its ranks call MPI at different places


@dataclass(frozen=True)
class Drawn:
    """What a seed draws. slow : the slow rank, -1 for none. times : as long as the others it works."""

    seed: int
    program: str
    n_steps: int
    slow: int
    times: float

    @property
    def words(self) -> list[str]:
        """The program's arguments."""
        return [str(self.n_steps), *([str(self.slow), f"{self.times:.2f}"] if self.slow >= 0 else [])]


@dataclass(frozen=True)
class Answer:
    """What the first run said. wrong : sentences on what is wrong with it; none if all is right."""

    drawn: Drawn
    steps: str
    first: str
    wrong: list[str]


def programs() -> list[str]:
    """The names of the programs of this folder."""
    return sorted(
        path.stem for path in HERE.iterdir() if path.suffix in (*COMPILERS, ".py") and path != Path(__file__)
    )


def drawn(seed: int, program: str = "") -> Drawn:
    """The same for the same seed. program : this one, "" for any."""
    chance = random.Random(seed)
    program = program or chance.choice(programs())
    n_steps, slow = chance.randint(40, 120), chance.choice([-1, chance.randrange(RANKS)])
    return Drawn(seed, program, n_steps, -1 if program in WITHOUT_STEPS else slow, chance.uniform(1.3, 3))


def built(folder: Path) -> Path:
    """Compiles the programs into `folder`; returns it. Raises CalledProcessError."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in HERE.iterdir():
        if source.suffix in COMPILERS:
            words = [*COMPILERS[source.suffix], "-O1", "-g", "-o", folder / source.stem, source]
            # in the folder, where Fortran's modules go
            subprocess.run([str(word) for word in words], check=True, cwd=folder)
    return folder


def measure(one: Drawn, programs: Path, folder: Path) -> None:
    """Runs what was drawn under perfield in `folder`. Raises CalledProcessError."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    script = HERE / f"{one.program}.py"
    program = ["/usr/bin/python3", script] if script.exists() else [programs / one.program]
    start = [Path(sys.executable).parent / "perfield", "run", "--oversubscribe", "-n", RANKS, "--"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PERFIELD_")}
    environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    subprocess.run(
        [str(word) for word in (*start, *program, *one.words)],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "printed.txt").open("w"),
        check=True,
        timeout=TIMEOUT_S,
    )


def answer(one: Drawn, folder: Path) -> Answer:
    """What the run in `folder` says, and what is wrong with it."""
    run = perfield.open(folder / "perfield-run")
    findings = [found for found in report(run).findings if found.kind not in OF_THE_MACHINE]
    body = next((body for _, body in sorted(run.sites.items()) if body.get("found")), {})
    before, closed = body.get("found_in_setup", 0), int(run.steps_closed.max(initial=0))
    steps = f"{before} + {closed}" if body else f"{closed} windows" if run.has_windows else "none"
    wrong = []
    may_be_windows = one.program in WITHOUT_STEPS | BY_WINDOWS
    if not (may_be_windows and not body) and (not body or abs(before + closed - one.n_steps) > 1):
        wrong.append(f"{steps} steps of {one.n_steps}")
    wrong += _wrong_finding(one, findings)
    return Answer(one, steps, findings[0].words if findings else "", wrong)


def _wrong_finding(one: Drawn, findings: Sequence[Finding]) -> list[str]:
    if one.program in WITHOUT_STEPS:
        kinds = [found.kind for found in findings]
        return [] if "master rank" in kinds else [f"says {kinds}, not master rank"]
    if one.slow < 0:
        return [f"says {findings[0].kind}, but nothing is planted"] if findings else []
    if not findings:
        return [f"does not find rank {one.slow}"]
    ranks = sorted(findings[0].ranks.tolist())
    return [] if ranks == [one.slow] else [f"says {findings[0].kind} of ranks {ranks}, not {one.slow}"]


def table(answers: Sequence[Answer]) -> Table:
    """What was drawn, what was said, and what is wrong with that."""
    shown = Table(show_lines=True)
    for name in ("seed", "program", "steps", "first finding", "right"):
        shown.add_column(name, overflow="fold")
    for each in answers:
        one = each.drawn
        planted = f", rank {one.slow} works {one.times:.2f} times as long" if one.slow >= 0 else ""
        right = "wrong: " + "; ".join(each.wrong) if each.wrong else "right"
        program = f"{one.program}, {one.n_steps} steps{planted}"
        shown.add_row(str(one.seed), program, each.steps, each.first or "nothing", right)
    return shown


def main() -> int:
    """Checks the seeds of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", help="3 or 1-40")
    parser.add_argument("--program", choices=programs(), default="", help="run this one")
    parser.add_argument("--kept", action="store_true", help="check the runs that are there")
    parser.add_argument("--folder", type=Path, default=Path("build/first-runs"), help="for programs and runs")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    compiled = built(folder / "programs")
    first, _, last = arguments.seeds.partition("-")
    answers = []
    for seed in range(int(first), int(last or first) + 1):
        one = drawn(seed, arguments.program)
        if not arguments.kept:
            measure(one, compiled, folder / f"run-{seed}")
        answers.append(answer(one, folder / f"run-{seed}"))
        sentence = "; ".join(answers[-1].wrong) or "right"
        print(f"seed {seed}: {one.program} {' '.join(one.words)}: {sentence}", file=sys.stderr, flush=True)
    Console(width=None if sys.stdout.isatty() else 160).print(table(answers))
    n_right = sum(not each.wrong for each in answers)
    print(f"{n_right} of {len(answers)} right; the target is {TARGET:.0%}")
    return 0 if n_right >= TARGET * len(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
