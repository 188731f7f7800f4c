# SPDX-License-Identifier: BSD-3-Clause
"""Runs the programs in alternation and keeps what each run cost."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.programs import ENVIRONMENT
from overhead.subjects import BUILDS, MPIRUN, Heat3d, MissingError
from overhead.ways import Way

LIMIT_S = 600.0  # a run that takes longer has failed


@dataclass(frozen=True)
class Run:
    """One run of a program, and what each of its ranks cost.

    number : the round. wall_s : time of mpirun with all its ranks.
    rank_s, cpu_s, peak_mb : one value per rank. load : load average before the run. failure : why the run
    does not count; empty if it does.
    """

    program: str
    way: str
    ranks: int
    number: int
    wall_s: float = float("nan")
    rank_s: tuple[float, ...] = ()
    cpu_s: tuple[float, ...] = ()
    peak_mb: tuple[float, ...] = ()
    load: float = float("nan")
    failure: str = ""

    def cost(self, quantity: str) -> float:
        """wall: seconds; cpu: the mean rank's seconds of CPU; memory: MB of the rank that needs most."""
        if quantity == "wall":
            return self.wall_s
        return statistics.fmean(self.cpu_s) if quantity == "cpu" else max(self.peak_mb)


@dataclass
class Case:
    """A program on a number of ranks, with all ways to run it.

    label : its name in the tables.
    """

    subject: Heat3d
    ranks: int
    steps: int
    ways: Sequence[Way]
    label: str
    folder: Path = field(default_factory=Path)


def measurer() -> Path:
    """Compiles rank_cost.c, once; returns the program."""
    program = BUILDS / "rank_cost"
    source = Path(__file__).resolve().parent / "rank_cost.c"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        BUILDS.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-O2", source, "-o", program], check=True)
    return program


def build_and_prepare(cases: list[Case], scratch: Path) -> tuple[list[Case], list[str]]:
    """Builds what the ways need and prepares a folder per case.

    Returns the cases that can run, without ways that cannot, and a sentence for everything left out.
    """
    reported: list[str] = []
    built: dict[tuple[str, str], bool] = {}
    ready = []
    for case in cases:
        name = case.subject.name
        for build in dict.fromkeys(way.build for way in case.ways):
            if (name, build) in built:
                continue
            print(f"perfield overhead: building {name}, {build}", file=sys.stderr, flush=True)
            try:
                case.subject.build(build)
                built[name, build] = True
            except MissingError as error:
                built[name, build] = False
                reported.append(f"{name} ({build}) is left out: {error}.")
        ways = [way for way in case.ways if built[name, way.build]]
        if not built[name, "plain"]:
            continue
        folder = scratch / f"case-{len(ready)}"
        folder.mkdir()
        try:
            case.subject.prepare(folder, case.ranks, case.steps)
            case.subject.command("plain", case.ranks, case.steps)
        except MissingError as error:
            reported.append(f"{case.label} on {case.ranks} ranks is left out: {error}.")
            folder.rename(scratch / f"left-out-{len(reported)}")
            continue
        ready.append(Case(case.subject, case.ranks, case.steps, ways, case.label, folder))
    return ready, reported


def run_once(case: Case, way: Way, number: int, program: Path) -> Run:
    """Runs a case in one way; a failure is reported in the result.

    program : rank_cost, compiled.
    """
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=case.folder.parent) as place:
        costs, run = Path(place) / "costs", Path(place) / "perfield-run"
        costs.mkdir()
        settings = {
            **ENVIRONMENT,
            **way.settings,
            "WM_PROJECT_DIR": "/usr/share/openfoam",
            "PERFIELD_RUN_DIRECTORY": str(run),
            "SCOREP_EXPERIMENT_DIRECTORY": f"{place}/scorep",
        }
        command = [MPIRUN, "-n", str(case.ranks), str(program), str(costs)]
        command += ["perfield-exec"] if way.measured else []
        command += case.subject.command(way.build, case.ranks, case.steps)
        begin = time.monotonic()
        try:
            result = subprocess.run(
                command, cwd=case.folder, env=settings, capture_output=True, text=True, timeout=LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return Run(case.label, way.name, case.ranks, number, failure=f"took longer than {LIMIT_S} s")
        wall_s = time.monotonic() - begin
        rows = [tuple(map(float, path.read_text().split())) for path in costs.iterdir()]
        failure = why_it_does_not_count(case, way, result, len(rows), run)
    case.subject.clean(case.folder)
    if failure:
        return Run(case.label, way.name, case.ranks, number, load=load, failure=failure)
    rank_s, cpu_s, peak_kb = zip(*rows)
    return Run(
        case.label,
        way.name,
        case.ranks,
        number,
        wall_s,
        rank_s,
        cpu_s,
        tuple(kb / 1000 for kb in peak_kb),
        load,
    )


def why_it_does_not_count(
    case: Case, way: Way, result: subprocess.CompletedProcess, n_ranks: int, run: Path
) -> str:
    """A sentence if the program failed, or if perfield did not measure it; else empty."""
    said = next((line.strip() for line in result.stderr.splitlines() if line.strip(" -")), "no message")
    if result.returncode:
        return f"ended with {result.returncode}: {said[:200]}"
    if n_ranks != case.ranks:
        return f"{n_ranks} of {case.ranks} ranks ended well"
    if way.measured and not any(path.stat().st_size for path in run.glob("stream/*.pf")):
        return f"perfield measured nothing: {said[:200]}"
    if way.pictures and not any(run.glob("catalyst/*.series")):
        return f"perfield made no pictures: {said[:200]}"
    return ""


def alternate(
    cases: list[Case], rounds: int, once: Callable[[Case, Way, int], Run], report: Callable[[str], None]
) -> list[Run]:
    """Runs all ways of all cases one after another, `rounds` times: bare, A, B, ..., bare, A, B, ...

    A way that failed is not run again. An interrupt (Ctrl-C) ends the runs; those of complete rounds count.
    once : runs one of them. report : gets a line per case and per failure.
    """
    runs: list[Run] = []
    failed: set[tuple[str, int, str]] = set()
    for number in range(rounds):
        complete = len(runs)
        try:
            for case in cases:
                load = f"load average {os.getloadavg()[0]:.2f}"
                report(f"round {number + 1} of {rounds}, {case.label} on {case.ranks} ranks, {load}")
                for way in case.ways:
                    key = (case.label, case.ranks, way.name)
                    if key in failed:
                        continue
                    runs.append(once(case, way, number))
                    if runs[-1].failure:
                        failed.add(key)
                        report(f"{key[0]} on {key[1]} ranks, {key[2]}: {runs[-1].failure}")
        except KeyboardInterrupt:
            report(f"stopped in round {number + 1}; the {number} before it count")
            return runs[:complete]
    return runs
