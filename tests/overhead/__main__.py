# SPDX-License-Identifier: BSD-3-Clause
"""Prints what perfield costs, in the tables of the thesis (Tables 6.1 to 6.8), and draws them.

`make overhead` runs heat3d in C++ and Fortran, OpenFOAM's icoFoam, and MG and BT of the NAS Parallel
Benchmarks where `make overhead NPB=/path/to/NPB3.x-MPI` names them. They run in alternation: bare, with
Score-P where `scorep` is on PATH, and with perfield, one feature and one mode at a time.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from bench.report import REPOSITORY, circumstances, table
from overhead import charts, tables
from overhead.runs import Case, Run, alternate, build_and_prepare, measurer, run_once
from overhead.subjects import Benchmark, BlockTridiagonal, Heat3d, Heat3dFortran, IcoFoam
from overhead.ways import BARE, FEATURES, ways_of

PROGRAMS = ("MG", "BT", "icoFoam", "heat3d", "heat3d_fortran")
SERIES = "heat3d"
QUICKLY_LEFT_OUT = ("heat3d_fortran", "fields", "io", "functions", "counters")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="make overhead OVERHEAD_ARGS=...", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--programs",
        nargs="+",
        choices=PROGRAMS,
        metavar="NAME",
        help=f"which of {', '.join(PROGRAMS)}; all by default",
    )
    parser.add_argument(
        "--features",
        nargs="+",
        choices=FEATURES,
        metavar="NAME",
        help=f"which of {', '.join(FEATURES)}; all by default, without pictures if --short. "
        "pictures: made inside the program by ParaView; all: what perfield measures by default",
    )
    parser.add_argument("--rounds", type=int, default=5, help="runs of each kind, 5 by default")
    parser.add_argument(
        "--ranks",
        type=int,
        nargs="+",
        metavar="N",
        help=f"numbers of ranks on which {SERIES} runs, the first one for all programs; by default "
        "as many as cores, then the powers of two up to four per core",
    )
    parser.add_argument("--steps", type=int, help="time steps of each run; each program has its own default")
    parser.add_argument(
        "--npb", type=Path, metavar="FOLDER", help="NPB3.x-MPI, with the folders MG, BT and config"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="about eight minutes on two cores: half the steps, one number of ranks, and without "
        + ", ".join(QUICKLY_LEFT_OUT),
    )
    parser.add_argument(
        "--short", action="store_true", help="tiny programs and two rounds: seconds, no figures"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where the results go, overhead-results/<date>-<commit> by default",
    )
    given = parser.parse_args()
    if (
        given.rounds < 1
        or (given.steps is not None and given.steps < 1)
        or any(n < 1 for n in given.ranks or ())
    ):
        parser.error("--rounds, --steps and --ranks take numbers from 1 on")
    left_out = ("pictures",) if given.short else QUICKLY_LEFT_OUT if given.quick else ()
    given.features = given.features or [name for name in FEATURES if name not in left_out]
    given.programs = given.programs or [name for name in PROGRAMS if name not in left_out]
    if given.short:
        given.rounds = min(given.rounds, 2)
        given.ranks = given.ranks or [2, 1]
    if given.quick:
        given.ranks = given.ranks or default_ranks()[:1]
    return given


def default_ranks() -> list[int]:
    """As many ranks as cores, as a power of two, then the other powers up to four times that."""
    cores = 2 ** (len(os.sched_getaffinity(0)).bit_length() - 1)
    n = max(cores, 2)
    return [n, *(2**power for power in range((4 * n).bit_length()) if 2**power != n)]


def subjects(given: argparse.Namespace, reported: list[str]) -> list[Heat3d]:
    """The chosen programs. reported : gets a sentence for each that is missing."""
    npb = [
        Benchmark(given.short, sources=given.npb or Path()),
        BlockTridiagonal(given.short, sources=given.npb or Path()),
    ]
    everything = [*npb, IcoFoam(given.short), Heat3d(given.short), Heat3dFortran(given.short)]
    chosen = [subject for subject in everything if subject.name in given.programs]
    if given.npb is None and any(isinstance(subject, Benchmark) for subject in chosen):
        reported.append("MG and BT are left out: no path to the NAS Parallel Benchmarks was given (NPB=).")
        chosen = [subject for subject in chosen if not isinstance(subject, Benchmark)]
    return chosen


def plan(given: argparse.Namespace, reported: list[str]) -> list[Case]:
    """All cases: each program, then the first program of the series on other numbers of ranks."""
    scorep = shutil.which("scorep") is not None
    if not scorep:
        reported.append("Score-P is left out: scorep is not on PATH.")
    counts = given.ranks or default_ranks()
    cases = []
    for subject in subjects(given, reported):
        steps = given.steps or max(subject.steps // (2 if given.quick else 1), 1)
        if scorep and subject.no_scorep:
            reported.append(f"{subject.name} is not run with Score-P: {subject.no_scorep}.")
        ways = ways_of(subject, steps, given.features, scorep)
        cases.append(Case(subject, subject.ranks(counts[0]), steps, ways, subject.name))
        if subject.name == SERIES:
            if not given.quick:
                cases.append(Case(subject, counts[0], 1, ways, f"{SERIES}, 1 step"))
            of_tables = [
                way
                for way in ways
                if way == BARE or way.name.startswith(("regions", "communication", "Score-P", "plug-in"))
            ]
            cases += [Case(subject, n, steps, of_tables, SERIES) for n in counts[1:]]
    return cases


def run_row(run: Run) -> tuple[object, ...]:
    """A run as a row of numbers; those of the ranks are in one cell, apart by blanks."""
    ranks = (" ".join(f"{value:.6g}" for value in part) for part in (run.rank_s, run.cpu_s, run.peak_mb))
    return (run.program, run.ranks, run.way, run.number, run.wall_s, run.load, *ranks, run.failure)


def write(
    folder: Path, runs: list[Run], found: dict, shown: list, programs: list, words: str, taken: dict
) -> None:
    """Writes text, CSV files and charts."""
    folder.mkdir(parents=True, exist_ok=True)

    def rows_to(name: str, rows: list) -> None:
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)

    (folder / "tables.md").write_text(words + "\n")
    (folder / "circumstances.json").write_text(json.dumps(taken, indent=1) + "\n")
    rows_to("costs.csv", tables.cost_rows(found))
    heading = ("program", "ranks", "way", "round", "wall_s", "load", "rank_s", "cpu_s", "peak_mb", "failure")
    rows_to("runs.csv", [heading, *(run_row(run) for run in runs)])
    for one in shown:
        rows_to(f"table-{one.number}.csv", tables.table_rows(one, found))
        charts.draw_table(one, found, folder / f"table-{one.number}.png")
    charts.draw_features(found, [row for row in programs if "1 step" not in row[0]], folder / "features.png")


def main() -> int:
    """Runs everything; returns 1 if a run failed."""
    given = arguments()
    reported: list[str] = []

    def report(line: str) -> None:
        print(f"perfield overhead: {line}", file=sys.stderr, flush=True)

    begin = time.monotonic()
    taken = circumstances()
    (REPOSITORY / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build") as scratch:
        cases, left_out = build_and_prepare(plan(given, reported), Path(scratch))
        reported += left_out
        for sentence in reported:
            report(sentence)
        if not cases:
            report("nothing to run; see above what is missing.")
            return 1
        program = measurer()
        runs = alternate(
            cases, given.rounds, lambda case, way, number: run_once(case, way, number, program), report
        )
    if not runs:
        return 1
    taken["load_at_end"] = os.getloadavg()[0]
    taken["minutes"] = round((time.monotonic() - begin) / 60, 1)
    found = tables.costs(runs)
    rows = [(case.label, case.ranks) for case in cases]
    programs = list(dict(reversed(rows)).items())[::-1]
    series = sorted(row for row in rows if row[0] == SERIES)
    of_thesis = [row for row in programs if "1 step" not in row[0]]
    shown = tables.tables(found, of_thesis, series)
    failed = [f"{run.program} on {run.ranks} ranks, {run.way}: {run.failure}" for run in runs if run.failure]
    sizes = [
        f"{case.label} on {case.ranks} rank{'s' * (case.ranks > 1)}: {case.subject.size(case.steps)}"
        for case in cases
    ]
    words = "\n\n".join(
        [
            "\n".join(f"{key}: {value}" for key, value in taken.items()),
            "\n".join([*sizes, *reported, *(f"FAILED: {line}" for line in failed)]),
            f"mean of {1 + max(run.number for run in runs)} alternating runs ± 1 relative standard deviation;"
            " in brackets what is added to the bare mean, and the median of the ratios within rounds",
            tables.text(found, shown, programs),
            table(tables.summary_rows(found, of_thesis)),
        ]
    )
    name = f"{taken['date'][:19]}-{taken['commit'].split()[0]}".replace(":", "")
    folder = given.output or REPOSITORY / "overhead-results" / name
    write(folder, runs, found, shown, programs, words, taken)
    print(words)
    print(f"\nwritten: {os.path.relpath(folder, REPOSITORY)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
