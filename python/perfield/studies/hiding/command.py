# SPDX-License-Identifier: BSD-3-Clause
"""perfield lab hide: what splitting a matrix-free product gains, by a model and by runs of a solver."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.owned_folder import OwnedFolder, check_new_file
from perfield.commands import CommandError, words
from perfield.commands._datasets import check_target, write_dataset
from perfield.studies.regimes.chosen import read_saved
from perfield.text import print_table
from perfield.text.as_json import plain
from perfield.text.streams import draw_line

if TYPE_CHECKING:
    from perfield.studies.hiding.cases import Case
    from perfield.studies.hiding.model.study import Comparison

HELP = "study how a matrix-free solver hides its messages: by a model, or by runs of the solver"
DESCRIPTION = """\
A matrix-free product (MatVec) hides its messages behind elements that need none:
the first part of them while input comes, the second while output comes. This
study compares three methods to divide them: fixed (in halves), dynamic (alpha
follows the waits) and test (MPI_Testall reports when the input is there).

  perfield lab hide                              a discrete-event model, 64 ranks
  perfield lab hide --setting theta-100-no-cap   another setting of it
  perfield lab hide --setting all                a table of all settings
  perfield lab hide --elements 4680,18720,74880 -n 8,64    a sweep
  perfield lab hide --solver poisson/poisson -n 2 --records study
  perfield lab hide --from study --html study.html

It prints two shares and keeps them apart: the hidden share, of MatVecs whose two
waits stayed within eps, and the share of steps in the fast regime, by a hidden
Markov model of their times. Gains are of T_max, the longest time of any rank in a
step, over the runs that it names. The model's latencies are drawn, and those of
`perfield lab inject` are injected: neither shows what a real machine would gain.

The solver is testcase/poisson, built by you. Methods run in turn, repeat by
repeat, so that slow hours of the machine affect all alike."""

PAPER_ELEMENTS = 18_720
KEPT = ("time_s", "t_in", "t_out", "w_in", "w_out", "alpha", "regime", "probability")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what is studied, how much of it, and what to print or write."""
    source = parser.add_argument_group("what is studied").add_mutually_exclusive_group()
    source.add_argument(
        "--setting", metavar="NAME", help='a setting of the model, or "all" (often-congested; --settings)'
    )
    source.add_argument("--solver", metavar="PROGRAM", type=Path, help="run this solver, testcase/poisson")
    source.add_argument(
        "--from", dest="records_of", metavar="DIR", type=Path, help="compare the records of an earlier study"
    )
    source.add_argument("--settings", action="store_true", help="list the settings of the model, and stop")
    much = parser.add_argument_group("how much of it")
    much.add_argument(
        "-n",
        dest="ranks",
        metavar="N,...",
        help="how many ranks; several make a sweep (model: 64, solver: 2)",
    )
    much.add_argument(
        "--elements",
        metavar="N,...",
        help="elements of each rank, as 18720 or 26x24x30; several make a sweep (the paper's 18720)",
    )
    much.add_argument("--matvecs", metavar="N", type=int, default=8192, help="MatVecs of each run (8192)")
    much.add_argument("--repeats", metavar="N", type=int, default=10, help="runs of each method (10)")
    much.add_argument("--combine", metavar="N", type=int, default=3, help="the fastest runs to combine (3)")
    much.add_argument(
        "--methods", metavar="NAME,...", default="fixed,dynamic,test", help="the first is the base"
    )
    much.add_argument("--eps", metavar="S", type=float, help="s: waits up to it count as hidden")
    much.add_argument("--theta", metavar="SHARE", type=float, help="how fast dynamic alpha moves")
    much.add_argument(
        "--no-regimes", action="store_true", help="leave out the fits of regimes, which take longest"
    )
    much.add_argument("--seed", metavar="N", type=int, default=0, help="of the model's latencies (0)")
    runs = parser.add_argument_group("how the solver runs")
    runs.add_argument(
        "--records", metavar="DIR", type=Path, default=Path("perfield-hide"), help="where (perfield-hide)"
    )
    runs.add_argument(
        "--launcher", metavar="COMMAND", default="mpirun --bind-to core", help="(mpirun --bind-to core)"
    )
    runs.add_argument(
        "--solver-options", metavar="WORDS", default="", help="further options of the solver, in quotes"
    )
    runs.add_argument(
        "--inject",
        metavar="FILE",
        type=Path,
        help="inject latencies drawn from this model of regimes, as perfield lab inject does",
    )
    add = parser.add_argument
    add("--json", action="store_true", help="print everything as one JSON object")
    add("--html", metavar="FILE", type=Path, help="write a page with the numbers and plots")
    add("--plots", metavar="DIR", type=Path, help="draw plots there, as .png")
    add("-o", "--output", metavar="FILE", help="save the fastest run of each method: .nc or .zarr")


def execute(arguments: argparse.Namespace) -> int:
    """Runs or reads the cases, compares them, and prints sentences and a table, or JSON."""
    from perfield.studies.hiding.model.presets import PRESETS
    from perfield.studies.hiding.model.study import compare
    from perfield.studies.hiding.words import as_json, notes

    if arguments.settings:
        print_table([{"setting": name, "what": of.about} for name, of in PRESETS.items()])
        return 0
    check_target(arguments.output)
    _check(arguments)
    found: list[tuple[Case, Comparison]] = []
    for case in _cases(arguments):
        _show("" if arguments.no_regimes else f"{case.name}: fitting regimes, which takes longest")
        compared = compare(
            case.studies,
            eps_s=case.eps_s,
            n_combined=arguments.combine,
            with_regimes=not arguments.no_regimes,
        )
        _show("")
        compared = replace(compared, notes=(*notes(case), *compared.notes))
        found.append((case.without_times(), compared))
    if len({case.name for case, _ in found}) < len(found):
        found = [(replace(case, name=case.full_name), compared) for case, compared in found]
    if arguments.json:
        objects = [as_json(case, compared) for case, compared in found]
        print(json.dumps(plain(objects[0] if len(objects) == 1 else objects), indent=1, allow_nan=False))
    else:
        _print(found)
    for path in _written(arguments, found):
        print("" if arguments.json else f"  {path}\n", end="")
    return 0


def _cases(arguments: argparse.Namespace) -> Iterator[Case]:
    from perfield.studies.hiding import cases
    from perfield.studies.hiding.model.presets import DEFAULT
    from perfield.studies.hiding.model.scaled import nearly_a_cube
    from perfield.studies.hiding.solver import Setting, check_solver

    if arguments.records_of:
        return cases.recorded(arguments.records_of, arguments.eps)
    methods = _methods(arguments.methods)
    ranks, elements = _numbers("-n", arguments.ranks), _boxes(arguments.elements)
    given = {name: getattr(arguments, name) for name in ("eps", "theta")}
    given = {name: value for name, value in given.items() if value is not None}
    if not arguments.solver:
        much = arguments.matvecs, arguments.repeats
        options = {"methods": methods, "changed": given, "seed": arguments.seed, "progress": _show}
        return cases.modelled(arguments.setting or DEFAULT, ranks, elements, *much, **options)
    if arguments.inject is not None:
        from perfield.studies.regimes.model import Model

        read_saved(arguments.inject, Model.from_json)  # each run reads it again
    more = arguments.solver_options.split()
    more += [word for name, value in given.items() for word in (f"--{name}", repr(value))]
    solver = check_solver(arguments.solver)
    settings = [
        Setting(
            solver=solver,
            launcher=arguments.launcher,
            n_matvecs=arguments.matvecs,
            n_ranks=n_ranks,
            box=nearly_a_cube(n) if isinstance(n, int) else n,
            more=tuple(more),
            model=arguments.inject,
        )
        for n_ranks in ranks or [2]
        for n in elements or [PAPER_ELEMENTS]
    ]
    options = {"methods": methods, "folder": arguments.records, "eps_s": arguments.eps}
    return cases.run(settings, arguments.repeats, **options)


def _print(found: Sequence[tuple[Case, Comparison]]) -> None:
    from perfield.studies.hiding.words import COLUMNS, sentences, table

    if len(found) == 1:
        print("\n".join(sentences(*found[0])), end="\n\n")
    print_table(table(found))
    if len(found) == 1:
        print(f"\n{COLUMNS}")
    for note in dict.fromkeys(note for _, compared in found for note in compared.notes):
        print(f"note: {note}")


def _written(arguments: argparse.Namespace, found: Sequence[tuple[Case, Comparison]]) -> Iterator[Path]:
    """Writes the files of --plots, --html and --output."""
    from perfield.studies.hiding.words import COLUMNS, ORIGIN, sentences, table

    if arguments.plots:
        from perfield.studies.hiding.plots import figures

        folder = OwnedFolder(arguments.plots)
        for case, compared in found:
            for name, _, draw in figures(compared):
                file = f"{case.name}/{name}.png" if len(found) > 1 else f"{name}.png"
                with folder.writing(file) as place:
                    draw().savefig(place)
                yield folder.path / file
    if arguments.html:
        from perfield.report.page import write
        from perfield.studies.hiding.page import Part, images_of, page

        parts = [
            Part(
                case.name,
                list(sentences(case, compared)),
                table([(case, compared)]),
                compared.notes,
                images_of(compared),
                COLUMNS,
            )
            for case, compared in found
        ]
        write(arguments.html, page("Communication hiding", ORIGIN[found[0][0].source], parts))
        yield arguments.html
    if arguments.output:
        import xarray as xr

        times = found[0][1].times
        kept = [each[[name for name in KEPT if name in each]] for each in times.values()]
        joined = xr.concat(kept, "splitting")
        write_dataset(joined.assign_coords(splitting=list(times)), arguments.output)
        yield Path(arguments.output)


def _show(words: str) -> None:
    """Shows at a terminal what is under way, in place of what was shown before; "" clears it."""
    if sys.stderr.isatty():
        draw_line(words)


def _check(arguments: argparse.Namespace) -> None:
    for name in ("matvecs", "repeats", "combine"):
        if getattr(arguments, name) < 1:
            raise CommandError(f"--{name} {getattr(arguments, name)} is nothing to run; give 1 or more.")
    if arguments.inject is not None and arguments.solver is None:
        raise CommandError("--inject needs a program; name the solver with --solver.")
    if arguments.combine > arguments.repeats and not arguments.records_of:
        raise CommandError(
            f"--combine {arguments.combine} needs as many repeats, but --repeats is {arguments.repeats}."
        )
    if arguments.eps is not None and not 0 < arguments.eps < np.inf:
        raise CommandError(f"--eps {arguments.eps:g} is not a time; give one above 0, in s.")
    for path in (arguments.html, arguments.plots):
        if path is not None and not path.absolute().parent.is_dir():
            raise CommandError(f"{path.parent} is not a directory; make it first.")
    check_new_file(arguments.html)
    if arguments.plots is not None:
        OwnedFolder(arguments.plots)


def _methods(text: str) -> list[str]:
    methods = list(dict.fromkeys(words(text)))
    if not methods:
        raise CommandError("--methods names none; give some of fixed, dynamic and test.")
    return methods


def _numbers(option: str, text: str | None) -> list[int]:
    found = []
    for word in words(text or ""):
        if not word.isdigit() or int(word) < 1:
            raise CommandError(f"{option} {text}: '{word}' is not a number of them; expected 2 or 8,27,64.")
        found.append(int(word))
    return found


def _boxes(text: str | None) -> list[int | tuple[int, int, int]]:
    found: list[int | tuple[int, int, int]] = []
    for word in words(text or ""):
        parts = word.split("x")
        if not all(part.isdigit() and int(part) for part in parts) or len(parts) not in (1, 3):
            raise CommandError(f"--elements {text}: '{word}' is no block; expected 18720 or 26x24x30.")
        sizes = [int(part) for part in parts]
        found.append(sizes[0] if len(sizes) == 1 else (sizes[0], sizes[1], sizes[2]))
    return found
