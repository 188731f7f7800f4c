# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the first run says of programs that know nothing of perfield.

python testcase/textbook/first_runs.py 1-40

Each seed draws a program of this folder, the number of its steps, and a problem of one rank or none. It runs
under `perfield run` without a setting. Checked are the number of steps, kind and rank of the first finding,
the line of the summary that comes first, and that nothing is found where nothing is planted. Prints a table
and the score; exit code 1 below 95 %. A wrong run beside other work on this machine is made again, and at
last not judged; more than a tenth of these is an exit code of 1, too.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import perfield
from perfield.analysis.findings import Finding
from perfield.report import report
from perfield.text import in_list

HERE = Path(__file__).resolve().parent
TARGET = 0.95
TIMEOUT_S = 300
RANKS = 4
COMPILERS = {".c": ["mpicc"], ".cpp": ["mpicxx"], ".f": ["mpif90"], ".f90": ["mpif90"]}
OF_THE_MACHINE = {"shared cores", "taken PUs"}  # true of these runs, where ranks outnumber cores
WITHOUT_STEPS = {"master", "farm"}  # their ranks have none in common, nor a slow rank: it is given less
BY_WINDOWS = {"sweep"}  # its ranks call MPI at different places
UNITS = 20  # of work in a step, as textbook.h counts them
LOADED = 0.1  # of all cores, which others used: more may make a run wrong
TRIES = 3  # of a run on a loaded machine


class Problem(NamedTuple):
    """text : of a table. kinds : of the first finding. lines : of the summary, one of which comes first."""

    text: str
    kinds: set[str]
    lines: str


PROBLEMS = {
    "none": Problem("", set(), "imbalance +1\\.[01].*no rank|imbalance +1\\.[01]"),
    "slow": Problem(
        ", rank {slow} works {times:.2f} times as long", {"imbalance"}, "imbalance .*rank {slow} "
    ),
    "moves": Problem(
        ", rank {slow} works {times:.2f} times as long, then the next",
        {"imbalance that moves"},
        "imbalance .*the slowest rank changes",
    ),
    "log": Problem(", rank {slow} writes a log", {"file calls of few ranks"}, "files .*rank {slow} "),
    "master": Problem("", {"master rank"}, "imbalance .*rank 0 computes"),
}


@dataclass(frozen=True)
class Drawn:
    """What a seed draws. problem : of PROBLEMS. slow : its rank, -1 for none. times : as long as the others
    it works. turn : for so many units of work, if it moves."""

    seed: int
    program: str
    n_steps: int
    problem: str
    slow: int
    times: float
    turn: int

    @property
    def words(self) -> list[str]:
        """The program's arguments."""
        rank = [str(self.slow), f"{self.times:.2f}"] if self.slow >= 0 else []
        how = {"moves": [str(self.turn)], "log": ["log"]}.get(self.problem, [])
        return [str(self.n_steps), *rank, *how]

    @property
    def text(self) -> str:
        """What is planted."""
        return PROBLEMS[self.problem].text.format(slow=self.slow, times=self.times)


@dataclass(frozen=True)
class Answer:
    """What the first run said. wrong : sentences on what is wrong with it; none if all is right. is_timed :
    whether times decide all of that: the number of steps follows from the order of calls. others : as
    `measure` returns."""

    drawn: Drawn
    steps: str
    first: str
    wrong: list[str]
    is_timed: bool
    others: float

    @property
    def is_judged(self) -> bool:
        """Whether others did not make it wrong."""
        return not self.wrong or not self.is_timed or self.others <= LOADED

    @property
    def verdict(self) -> str:
        """In words."""
        load = "" if self.is_judged else f"not judged, as others used {self.others:.0%} of the cores; "
        return load + ("wrong: " + "; ".join(self.wrong) if self.wrong else "right")


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
    times, turn = chance.uniform(1.3, 3), UNITS * chance.randint(12, 25)
    problem = chance.choice(["slow", "slow", "moves", "log"])
    if program in WITHOUT_STEPS:
        return Drawn(seed, program, n_steps, "master", -1, times, turn)
    if slow < 0:
        return Drawn(seed, program, n_steps, "none", -1, times, turn)
    with_all = {path.stem for path in HERE.glob("*.c*")} - BY_WINDOWS  # the work of textbook.h, and steps
    return Drawn(seed, program, n_steps, problem if program in with_all else "slow", slow, times, turn)


def built(folder: Path) -> Path:
    """Compiles the programs into `folder`; returns it. Raises CalledProcessError."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in HERE.iterdir():
        if source.suffix in COMPILERS:
            words = [*COMPILERS[source.suffix], "-O1", "-g", "-o", folder / source.stem, source]
            # in the folder, where Fortran's modules go
            subprocess.run([str(word) for word in words], check=True, cwd=folder)
    return folder


def busy_s() -> float:
    """CPU time of all processes of this machine so far, without those that this one started, in s."""
    user, nice, system, _, _, *interrupts = Path("/proc/stat").read_text().split("\n")[0].split()[1:8]
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = sum(map(int, [user, nice, system, *interrupts]))
    return ticks / os.sysconf("SC_CLK_TCK") - own.ru_utime - own.ru_stime


def measure(one: Drawn, programs: Path, folder: Path) -> float:
    """Runs what was drawn under perfield in `folder`. Returns the share of all cores that others used
    meanwhile. Raises CalledProcessError."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    script = HERE / f"{one.program}.py"
    program = ["/usr/bin/python3", script] if script.exists() else [programs / one.program]
    start = [Path(sys.executable).parent / "perfield", "run", "--oversubscribe", "-n", RANKS, "--"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PERFIELD_")}
    environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    begin_s, busy_before_s = time.monotonic(), busy_s()
    subprocess.run(
        [str(word) for word in (*start, *program, *one.words)],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "printed.txt").open("w"),
        check=True,
        timeout=TIMEOUT_S,
    )
    return (busy_s() - busy_before_s) / (time.monotonic() - begin_s) / (os.cpu_count() or 1)


def answer(one: Drawn, folder: Path, others: float) -> Answer:
    """What the run in `folder` says, and what is wrong with it. others : as `measure` returns."""
    run = perfield.open(folder / "perfield-run")
    findings = [found for found in report(run).findings if found.kind not in OF_THE_MACHINE]
    body = next((body for _, body in sorted(run.sites.items()) if body.get("found")), {})
    before, closed = body.get("found_in_setup", 0), int(run.steps_closed.max(initial=0))
    steps = f"{before} + {closed}" if body else f"{closed} windows" if run.has_windows else "none"
    wrong = []
    may_be_windows = one.program in WITHOUT_STEPS | BY_WINDOWS
    if not (may_be_windows and not body) and (not body or abs(before + closed - one.n_steps) > 1):
        wrong.append(f"{steps} steps of {one.n_steps}")
    is_timed = not wrong or one.program in BY_WINDOWS | WITHOUT_STEPS
    wrong += _wrong_finding(one, findings)
    wrong += _wrong_line(one, (folder / "printed.txt").read_text().splitlines())
    return Answer(one, steps, findings[0].words if findings else "", wrong, is_timed, others)


def _wrong_finding(one: Drawn, findings: Sequence[Finding]) -> list[str]:
    kinds = PROBLEMS[one.problem].kinds
    if not kinds:
        return [f"says {findings[0].kind}, but nothing is planted"] if findings else []
    if not findings:
        return [f"finds no {in_list(sorted(kinds))}"]
    if findings[0].kind not in kinds:
        return [f"says {findings[0].kind} first, not {in_list(sorted(kinds))}"]
    ranks, rank = findings[0].ranks.tolist(), max(one.slow, 0)
    right = rank in ranks or not ranks if one.problem == "moves" else ranks == [rank]
    return [] if right else [f"says ranks {sorted(ranks)}, not {rank}"]


def _wrong_line(one: Drawn, printed: Sequence[str]) -> list[str]:
    """What is wrong with the line that comes first of those on what costs time."""
    first = next((line for line in printed if re.match("imbalance|files|output", line)), "")
    wanted = PROBLEMS[one.problem].lines.format(slow=one.slow)
    return [] if re.match(wanted, first) else [f"begins with '{first}'"]


def table(answers: Sequence[Answer]) -> Table:
    """What was drawn, what was said, and what is wrong with that."""
    shown = Table(show_lines=True)
    for name in ("seed", "program", "steps", "first finding", "right"):
        shown.add_column(name, overflow="fold")
    for each in answers:
        one = each.drawn
        program = f"{one.program}, {one.n_steps} steps{one.text}"
        shown.add_row(str(one.seed), program, each.steps, each.first or "nothing", each.verdict)
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
        for _ in range(1 if arguments.kept else TRIES):
            run = folder / f"run-{seed}"
            said = answer(one, run, 0.0 if arguments.kept else measure(one, compiled, run))
            if not said.wrong or said.is_judged:
                break
        answers.append(said)
        words = " ".join([one.program, *one.words])
        print(f"seed {seed}: {words}: {said.verdict}", file=sys.stderr, flush=True)
    Console(width=None if sys.stdout.isatty() else 160).print(table(answers))
    judged = [each for each in answers if each.is_judged]
    n_right, n_not = sum(not each.wrong for each in judged), len(answers) - len(judged)
    load = f"; {n_not} more were not judged, as the machine was loaded" if n_not else ""
    print(f"{n_right} of {len(judged)} right; the target is {TARGET:.0%}{load}")
    return 0 if n_right >= TARGET * len(judged) and n_not <= len(answers) / 10 else 1


if __name__ == "__main__":
    sys.exit(main())
