# SPDX-License-Identifier: BSD-3-Clause
"""perfield hide: what splitting a matrix-free product gains, by a model and by runs of a solver."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.catalyst_scripts.owned_folder import OwnedFolder, check_new_file
from perfield.commands import CommandError, words
from perfield.commands._chosen import read_saved
from perfield.commands._datasets import check_target, write_dataset
from perfield.text import counted, in_list, in_percent, in_seconds, plain, print_table
from perfield.text.streams import draw_line

if TYPE_CHECKING:
    import xarray as xr

    from perfield.analysis.hiding.model import Program
    from perfield.analysis.hiding.study import Judged

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

PAPER = {"fixed": 0.47, "dynamic": 0.71, "test": 0.75}  # section 4.1: steps in the fast regime, on Anvil
PAPER_ELEMENTS = 18_720
ALL = "all"
DISTURBED = 0.05  # of the MatVecs, from which it is told
COLUMNS = """\
hidden: share of MatVecs; fast: share of steps in the fast regime, by a fit of each method;
fast_pooled: the same by one fit of all;
T_max: the longest T_in + T_out of any rank in a step, mean over steps;
gain: time saved against the first method, in the fastest half of the steps, in all,
and in the fast regime."""
KEPT = ("time_s", "t_in", "t_out", "w_in", "w_out", "alpha", "regime", "probability")
ORIGIN = {
    "model": "A discrete-event model under drawn latencies. Nothing here was measured.",
    "measured": "Measured runs of the solver.",
    "injected": "Measured runs of the solver under injected latencies: no network took these times.",
}


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


@dataclass(frozen=True)
class Case:
    """One setting of a study. name : for tables. sentence : what it is. studies : the repeats of each method.
    parameters : as JSON holds them. full_name : that of a case in a sweep, with its size."""

    name: str
    sentence: str
    studies: Mapping[str, Sequence[xr.Dataset]]
    eps_s: float
    parameters: Mapping[str, Any]
    full_name: str


def execute(arguments: argparse.Namespace) -> int:
    """Runs or reads the cases, judges them, and prints sentences and a table, or JSON."""
    from perfield.analysis.hiding.presets import PRESETS
    from perfield.analysis.hiding.study import judge

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
        write(arguments.html, page("Communication hiding", ORIGIN[_source(found[0][0])], parts))
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


def _source(case: Case) -> str:
    first = next(iter(case.studies.values()))[0]
    if first.attrs.get("injected"):
        return "injected"
    return str(first.attrs.get("source", "measured"))


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
                    sentence=f"Model, {of.title[0].lower()}{of.title[1:]}: {_in_words(program)}",
                    studies=studies,
                    eps_s=program.splitting.eps,
                    parameters={"setting": name, "seed": arguments.seed, **program.described()},
                    full_name=f"{name}-{n_ranks}-ranks-{n}-elements",
                )


def _tell(words: str) -> None:
    """Shows at a terminal what is under way, in place of what was shown before; "" clears it."""
    if sys.stderr.isatty():
        draw_line(words)


def scaled(program: Program, n_ranks: int, n_elements: int) -> Program:
    """The program on so many ranks, in a grid that is nearly a cube, with so many inner elements on each.

    C and eps grow with the elements, M with the area around them; latencies stay.
    """
    more = n_elements / program.n_elements
    return replace(
        program,
        shape=nearly_a_cube(n_ranks),
        n_elements=n_elements,
        n_polls=min(program.n_polls, n_elements),
        compute_s=program.compute_s * more,
        mirror_s=program.mirror_s * more ** (2 / 3),
        splitting=replace(program.splitting, eps=program.splitting.eps * more),
    )


def nearly_a_cube(n: int) -> tuple[int, int, int]:
    """The three factors of n with the least surface, ascending: 18,720 is 24 x 26 x 30."""
    best = (1, 1, n)
    for x in range(1, round(n ** (1 / 3)) + 1):
        if n % x:
            continue
        rest = n // x
        y = next(y for y in range(int(rest**0.5), 0, -1) if rest % y == 0)
        best = min(
            best, (x, y, rest // y), key=lambda box: box[0] * box[1] + box[0] * box[2] + box[1] * box[2]
        )
    return best


def _changed(program: Program, eps_s: float | None, theta: float | None) -> Program:
    given = {name: value for name, value in (("eps", eps_s), ("theta", theta)) if value is not None}
    return replace(program, splitting=replace(program.splitting, **given))


def _in_words(program: Program) -> str:
    x, y, z = program.shape
    compute, eps = float(program.compute_s), program.splitting.eps
    return (
        f"{counted(program.n_ranks, 'rank')} ({x} x {y} x {z}) with {program.n_elements:,} inner elements "
        f"each, C = {in_seconds(compute)}, eps = {in_seconds(eps)}, latencies drawn"
    )


# runs of the solver


def _run(arguments: argparse.Namespace) -> Iterator[Case]:
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
    from perfield.commands._solver import records_in

    for name, records in records_in(folder).items():
        known = [method for method in PAPER if method in records]
        ordered = {method: records[method] for method in [*known, *(m for m in records if m not in known)]}
        yield _case_of(name, ordered, eps_s)


def _case_of(name: str, records: Mapping[str, Sequence[Path]], eps_s: float | None) -> Case:
    from perfield.derived.matvecs import finest, read_study

    studies = {method: [finest(read_study(path)) for path in paths] for method, paths in records.items()}
    first = next(iter(studies.values()))[0]
    eps = eps_s if eps_s is not None else _told_eps(first, name)
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


def _told_eps(study: xr.Dataset, name: str) -> float:
    told = study.attrs.get("eps_s", study.attrs.get("eps"))
    if not isinstance(told, (int, float)) or not told > 0:
        raise CommandError(f"the records of {name} tell no eps; give --eps, in s.")
    return float(told)


# what comes out


def as_json(case: Case, judged: Judged) -> dict[str, Any]:
    """A case and its outcomes as JSON objects; docs/hiding.md lists the names."""
    first = next(iter(case.studies.values()))
    return {
        "setting": case.name,
        "source": first[0].attrs.get("source"),
        "injected": first[0].attrs.get("injected"),
        "ranks": first[0].sizes["rank"],
        "matvecs": first[0].sizes["step"],
        "repeats": len(first),
        "eps_s": judged.eps_s,
        "parameters": dict(case.parameters),
        "methods": {name: plain(outcome) for name, outcome in judged.outcomes.items()},
        "sentences": list(sentences(case, judged)),
        "notes": list(judged.told),
    }


def sentences(case: Case, judged: Judged) -> Iterator[str]:
    """What a case says, the most important first."""
    outcomes = list(judged.outcomes.values())
    first = next(iter(case.studies.values()))
    n = counted(first[0].sizes["step"], "MatVec")
    yield f"{case.sentence}; {counted(len(first), 'run')} of {n} with each method."
    shares = in_list([f"{in_percent(one.hidden_share)} ({one.method})" for one in outcomes], 9)
    yield f"Hidden share, of MatVecs whose two waits stayed within {in_seconds(judged.eps_s)}: {shares}."
    has_regimes = np.isfinite([one.fast_share for one in outcomes]).any()
    if has_regimes:
        own = in_list([f"{_percent(one.fast_share)} ({one.method})" for one in outcomes], 9)
        pooled = in_list([f"{_percent(one.fast_share_pooled)}" for one in outcomes], 9)
        yield (
            f"Share of steps in the fast regime, by a fit of each method: {own}; by one fit of all, which "
            f"alone can be compared: {pooled}."
        )
    known = [name for name in judged.outcomes if name in PAPER]
    if has_regimes and known:
        paper = in_list([f"{in_percent(PAPER[name])} ({name})" for name in known], 9)
        yield (
            "The paper's shares of steps in the fast regime (Heldman, Rudi and Bessac, ICS '25), on 7,168 "
            f"cores of Anvil, are {paper}."
        )
    for one in outcomes[1:]:
        fast = f"; {_less(one.gain_fast)} for a step of the fast regime" if np.isfinite(one.gain_fast) else ""
        yield (
            f"{one.method} takes {_less(one.gain_half)} than {outcomes[0].method} for the fastest half of "
            f"steps{_interval(one.gain_half_interval)}, and {_less(one.gain_all)} for all{fast}."
        )
    runs = "; ".join(f"{one.method} {', '.join(str(i + 1) for i in one.chosen)}" for one in outcomes)
    yield (
        f"For the gains, the {counted(len(outcomes[0].chosen), 'run')} of each method with the smallest sum "
        f"of T_max are combined, of {len(first)} ({runs}): one after the other, then sorted."
    )


def notes(case: Case) -> Iterator[str]:
    """What makes measured times of a case doubtful, as sentences."""
    from perfield.analysis.hiding.measured import STEADY, unsteady_share

    if _source(case) == "model":
        return
    share = float(np.mean([unsteady_share(each) for repeats in case.studies.values() for each in repeats]))
    if share > DISTURBED:
        yield (
            f"{in_percent(share)} of the MatVecs computed more than {STEADY} times as long as usual: other "
            "programs used the cores, or ranks share them, so these times say little about messages."
        )


def _percent(share: float) -> str:
    return in_percent(share) if np.isfinite(share) else "unknown"


def _less(percent: float) -> str:
    return f"{in_percent(abs(percent) / 100)} {'less' if percent >= 0 else 'more'} time"


def _interval(ends: tuple[float, float]) -> str:
    if not np.isfinite(ends).all():
        return ""
    low, high = (f"{end:+.{2 if abs(end) < 99.5 else 0}{'g' if abs(end) < 99.5 else 'f'}}" for end in ends)
    return f" (mean gain over all runs: {low} to {high} %, 95 % interval)"


def rows(case: Case, judged: Judged) -> list[dict[str, Any]]:
    """A row for each method, for the table."""
    first = next(iter(case.studies.values()))[0]
    return [
        {
            "setting": case.name,
            "ranks": first.sizes["rank"],
            "method": one.method,
            "hidden_%": 100 * one.hidden_share,
            "fast_%": 100 * one.fast_share,
            "fast_pooled_%": 100 * one.fast_share_pooled,
            "alpha": one.alpha,
            "median_ms": 1e3 * one.median_s,
            "T_max_ms": 1e3 * one.longest_s,
            "gain_half_%": one.gain_half,
            "gain_all_%": one.gain_all,
            "gain_fast_%": one.gain_fast,
        }
        for one in judged.outcomes.values()
    ]


def _print(found: Sequence[tuple[Case, Judged]]) -> None:

    if len(found) == 1:
        print("\n".join(sentences(*found[0])), end="\n\n")
    print_table(table(found))
    if len(found) == 1:
        print(f"\n{COLUMNS}")
    for note in dict.fromkeys(note for _, judged in found for note in judged.told):
        print(f"note: {note}")


def table(found: Sequence[tuple[Case, Judged]]) -> list[dict[str, Any]]:
    """The rows of all cases, with three digits, without what is unknown or, of one case, the same in all."""
    whole = [
        {name: plain(_short(v)) for name, v in row.items()} for case, own in found for row in rows(case, own)
    ]
    left_out = {name for name in whole[0] if all(row[name] is None for row in whole)}
    left_out |= {"setting", "ranks"} if len(found) == 1 else set()
    return [{name: value for name, value in row.items() if name not in left_out} for row in whole]


def _short(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) and np.isfinite(value) else value


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
