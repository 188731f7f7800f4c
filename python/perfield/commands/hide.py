# SPDX-License-Identifier: BSD-3-Clause
"""perfield hide: what splitting a matrix-free product gains, by a model and by runs of a solver."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.owned_folder import OwnedFolder, check_new_file
from perfield.commands import CommandError, words
from perfield.commands._chosen import read_saved
from perfield.commands._datasets import check_target, write_dataset
from perfield.text import counted, in_seconds, print_table
from perfield.text.as_json import plain
from perfield.text.streams import draw_line

if TYPE_CHECKING:
    import xarray as xr

    from perfield.analysis.hiding.model import Program
    from perfield.analysis.hiding.study import Judged
    from perfield.analysis.hiding.words import Case

HELP = "study how a matrix-free solver hides its messages: by a model, or by runs of the solver"
DESCRIPTION = """\
A matrix-free product (MatVec) hides its messages behind elements that need none:
the first part of them while input comes, the second while output comes. This
study compares three methods to divide them: fixed (in halves), dynamic (alpha
follows the waits) and test (MPI_Testall tells when the input is there).

  perfield hide                              a discrete-event model, 64 ranks
  perfield hide --model theta-100-no-cap     another setting of it
  perfield hide --model all                  a table of all settings
  perfield hide --elements 4680,18720,74880 --ranks 8,64    a sweep
  perfield hide --solver poisson/poisson --ranks 2 --records study
  perfield hide --from study --html study.html

It prints two shares and keeps them apart: the hidden share, of MatVecs whose two
waits stayed within eps, and the share of steps in the fast regime, by a hidden
Markov model of their times. Gains are of T_max, the longest time of any rank in a
step, over the runs that it names. The model's latencies are drawn, and those of
`perfield inject` are injected: neither says what a machine gains.

The solver is testcase/poisson, built by you. Methods run in turn, repeat by
repeat, so that a machine's slow hours meet all of them."""

PAPER_ELEMENTS = 18_720
ALL = "all"
KEPT = ("time_s", "t_in", "t_out", "w_in", "w_out", "alpha", "regime", "probability")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what is studied, how much of it, and what to print or write."""
    source = parser.add_argument_group("what is studied").add_mutually_exclusive_group()
    source.add_argument(
        "--model", metavar="SETTING", help='a setting of the model, or "all" (often-congested; --settings)'
    )
    source.add_argument("--solver", metavar="PROGRAM", type=Path, help="run this solver, testcase/poisson")
    source.add_argument(
        "--from", dest="records_of", metavar="DIR", type=Path, help="judge the records of an earlier study"
    )
    source.add_argument("--settings", action="store_true", help="list the settings of the model, and stop")
    much = parser.add_argument_group("how much of it")
    much.add_argument("--ranks", metavar="N,...", help="ranks; several make a sweep (model: 64, solver: 2)")
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
        metavar="MODEL",
        type=Path,
        help="inject latencies drawn from this model, as perfield inject does",
    )
    add = parser.add_argument
    add("--json", action="store_true", help="print everything as one JSON object")
    add("--html", metavar="FILE", type=Path, help="write a page with the numbers and plots")
    add("--plots", metavar="DIR", type=Path, help="draw plots there, as .png")
    add("-o", "--output", metavar="FILE", help="save the fastest run of each method: .nc or .zarr")


def execute(arguments: argparse.Namespace) -> int:
    """Runs or reads the cases, judges them, and prints sentences and a table, or JSON."""
    from perfield.analysis.hiding.presets import PRESETS
    from perfield.analysis.hiding.study import judge
    from perfield.analysis.hiding.words import as_json, notes

    if arguments.settings:
        print_table([{"setting": name, "what": of.about} for name, of in PRESETS.items()])
        return 0
    check_target(arguments.output)
    _check(arguments)
    found: list[tuple[Case, Judged]] = []
    for case in _cases(arguments):
        told = list(notes(case))
        _tell("" if arguments.no_regimes else f"{case.name}: fitting regimes, which takes longest")
        judged = judge(
            case.studies,
            eps_s=case.eps_s,
            n_combined=arguments.combine,
            with_regimes=not arguments.no_regimes,
        )
        _tell("")
        found.append((_without_times(case), replace(judged, told=(*told, *judged.told))))
    if len({case.name for case, _ in found}) < len(found):
        found = [(replace(case, name=case.full_name), judged) for case, judged in found]
    if arguments.json:
        told = [as_json(case, judged) for case, judged in found]
        print(json.dumps(plain(told[0] if len(told) == 1 else told), indent=1, allow_nan=False))
    else:
        _print(found)
    for path in _written(arguments, found):
        print("" if arguments.json else f"  {path}\n", end="")
    return 0


def _written(arguments: argparse.Namespace, found: Sequence[tuple[Case, Judged]]) -> Iterator[Path]:
    """Writes what --plots, --html and --output ask for."""
    from perfield.analysis.hiding.words import (
        COLUMNS,
        ORIGIN,
        sentences,
        source_of,
        table,
    )

    if arguments.plots:
        from perfield.plots.hiding import figures

        folder = OwnedFolder(arguments.plots)
        for case, judged in found:
            for name, _, draw in figures(judged):
                file = f"{case.name}/{name}.png" if len(found) > 1 else f"{name}.png"
                with folder.writing(file) as place:
                    draw().savefig(place)
                yield folder.path / file
    if arguments.html:
        from perfield.report.hiding import Part, images_of, page
        from perfield.report.page import write

        parts = [
            Part(
                case.name,
                list(sentences(case, judged)),
                table([(case, judged)]),
                judged.told,
                images_of(judged),
                COLUMNS,
            )
            for case, judged in found
        ]
        write(arguments.html, page("Communication hiding", ORIGIN[source_of(found[0][0])], parts))
        yield arguments.html
    if arguments.output:
        import xarray as xr

        judged = found[0][1]
        names = list(judged.times)
        joined = xr.concat([_bare(each) for each in judged.times.values()], "splitting")
        write_dataset(joined.assign_coords(splitting=names), arguments.output)
        yield Path(arguments.output)


def _without_times(case: Case) -> Case:
    """The case with the sizes and attributes of its repeats alone: all times of a sweep would fill memory."""
    bare = {name: [each.drop_vars(each.data_vars) for each in of] for name, of in case.studies.items()}
    return replace(case, studies=bare)


def _bare(times: xr.Dataset) -> xr.Dataset:
    return times[[name for name in KEPT if name in times]]


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
        raise CommandError(f"--eps {arguments.eps:g} is no time; give one above 0, in s.")
    for path in (arguments.html, arguments.plots):
        if path is not None and not path.absolute().parent.is_dir():
            raise CommandError(f"{path.parent} is no directory; make it first.")
    check_new_file(arguments.html)
    if arguments.plots is not None:
        OwnedFolder(arguments.plots)


def _cases(arguments: argparse.Namespace) -> Iterator[Case]:
    if arguments.records_of:
        yield from _recorded(arguments.records_of, arguments.eps)
    elif arguments.solver:
        yield from _run(arguments)
    else:
        yield from _modelled(arguments)


# the model


def _modelled(arguments: argparse.Namespace) -> Iterator[Case]:
    from perfield.analysis.hiding.model import simulate
    from perfield.analysis.hiding.presets import DEFAULT, PRESETS, preset
    from perfield.analysis.hiding.scaled import in_words, scaled
    from perfield.analysis.hiding.words import Case

    methods = _methods(arguments.methods)
    names = list(PRESETS) if arguments.model == ALL else [arguments.model or DEFAULT]
    for name in names:
        of = preset(name)
        for n_ranks in _numbers("--ranks", arguments.ranks) or [of.program.n_ranks]:
            for n_elements in _boxes(arguments.elements) or [of.program.n_elements]:
                n = n_elements if isinstance(n_elements, int) else int(np.prod(n_elements))
                program = scaled(of.program, n_ranks, n)
                program = _changed(program, arguments.eps, arguments.theta)
                repeats = []
                for i in range(arguments.repeats):
                    _tell(f"model {name}, {counted(n_ranks, 'rank')}: run {i + 1} of {arguments.repeats}")
                    repeats.append(
                        simulate(program, arguments.matvecs, methods=methods, seed=arguments.seed + i)
                    )
                _tell("")
                studies = {
                    method: [each.sel(splitting=method, drop=True) for each in repeats] for method in methods
                }
                yield Case(
                    name=name,
                    sentence=f"Model, {of.title[0].lower()}{of.title[1:]}: {in_words(program)}",
                    studies=studies,
                    eps_s=program.splitting.eps,
                    parameters={"setting": name, "seed": arguments.seed, **program.described()},
                    full_name=f"{name}-{n_ranks}-ranks-{n}-elements",
                )


def _tell(words: str) -> None:
    """Shows at a terminal what is under way, in place of what was shown before; "" clears it."""
    if sys.stderr.isatty():
        draw_line(words)


def _changed(program: Program, eps_s: float | None, theta: float | None) -> Program:
    given = {name: value for name, value in (("eps", eps_s), ("theta", theta)) if value is not None}
    return replace(program, splitting=replace(program.splitting, **given))


# runs of the solver


def _run(arguments: argparse.Namespace) -> Iterator[Case]:
    from perfield.analysis.hiding.scaled import nearly_a_cube
    from perfield.analysis.regimes import Model
    from perfield.commands import _solver

    if arguments.inject is not None:
        read_saved(arguments.inject, Model.from_json)  # each run reads it again
    methods = _methods(arguments.methods)
    more = arguments.solver_options.split()
    for name in ("eps", "theta"):
        if (value := getattr(arguments, name)) is not None:
            more += [f"--{name}", repr(value)]
    solver = _solver.check_solver(arguments.solver)
    boxes = _boxes(arguments.elements) or [PAPER_ELEMENTS]
    for n_ranks in _numbers("--ranks", arguments.ranks) or [2]:
        for box in boxes:
            setting = _solver.Setting(
                solver=solver,
                launcher=arguments.launcher,
                n_ranks=n_ranks,
                box=nearly_a_cube(box) if isinstance(box, int) else box,
                n_matvecs=arguments.matvecs,
                more=tuple(more),
                model=arguments.inject,
            )
            records: dict[str, list[Path]] = {method: [] for method in methods}
            for method, _, record in _solver.run_all(setting, methods, arguments.repeats, arguments.records):
                records[method].append(record)
            yield _case_of(setting.name, records, arguments.eps)


def _recorded(folder: Path, eps_s: float | None) -> Iterator[Case]:
    from perfield.analysis.hiding.words import PAPER
    from perfield.commands._solver import records_in

    for name, records in records_in(folder).items():
        known = [method for method in PAPER if method in records]
        ordered = {method: records[method] for method in [*known, *(m for m in records if m not in known)]}
        yield _case_of(name, ordered, eps_s)


def _case_of(name: str, records: Mapping[str, Sequence[Path]], eps_s: float | None) -> Case:
    from perfield.analysis.hiding.words import Case, eps_of
    from perfield.derived.matvecs import finest, read_study

    studies = {method: [finest(read_study(path)) for path in paths] for method, paths in records.items()}
    first = next(iter(studies.values()))[0]
    eps = eps_s if eps_s is not None else eps_of(first, name)
    injected = first.attrs.get("injected")
    what = "Measured, with latencies injected" if injected else "Measured"
    n_inner = int(first["n_inner1"][0, 0] + first["n_inner2"][0, 0])
    sentence = (
        f"{what}: {counted(first.sizes['rank'], 'rank')} with {n_inner:,} inner elements on rank 0, eps = "
        f"{in_seconds(eps)}"
    )
    if injected:
        sentence += f" ({injected})"
    return Case(name, sentence, studies, eps, {"setting": name, **first.attrs}, name)


# what comes out


def _print(found: Sequence[tuple[Case, Judged]]) -> None:

    from perfield.analysis.hiding.words import (
        COLUMNS,
        sentences,
        table,
    )

    if len(found) == 1:
        print("\n".join(sentences(*found[0])), end="\n\n")
    print_table(table(found))
    if len(found) == 1:
        print(f"\n{COLUMNS}")
    for note in dict.fromkeys(note for _, judged in found for note in judged.told):
        print(f"note: {note}")


# words of the command line


def _methods(text: str) -> list[str]:
    methods = list(dict.fromkeys(words(text)))
    if not methods:
        raise CommandError("--methods names none; give some of fixed, dynamic and test.")
    return methods


def _numbers(option: str, text: str | None) -> list[int]:
    found = []
    for word in words(text or ""):
        if not word.isdigit() or int(word) < 1:
            raise CommandError(f"{option} {text}: '{word}' is no number of them; expected 2 or 8,27,64.")
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
