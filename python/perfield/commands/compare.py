# SPDX-License-Identifier: BSD-3-Clause
"""perfield compare: what changed between two runs, or between two steps of one, and whether by chance."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import perfield
from perfield.analysis.comparing import compare
from perfield.analysis.comparing.words import as_json, in_words
from perfield.commands import CommandError
from perfield.commands._chosen import short_names
from perfield.commands._comparison_pictures import Pictured, draw_comparison
from perfield.commands._looks import check_places
from perfield.commands._mesh import add_mesh_options
from perfield.studies import given, loaded
from perfield.text import first_of
from perfield.text.as_json import plain

if TYPE_CHECKING:
    from perfield.analysis.comparing import Measured
    from perfield.derived.run import Run

HELP = "what changed between two runs, or two steps of one, and whether it may be chance"
DESCRIPTION = """\
Compares two runs, before and after a change, or an ordinary step with an output
step of one run. Prints what changed, and how sure that is.

  perfield compare before after
  perfield compare before after --steps 10:200       these steps of both
  perfield compare perfield-run --steps 120 121      two steps of one run
  perfield compare perfield-run --steps 0:50 50:100  its first and second half
  perfield compare before after --images             pictures of both and of the change
  perfield compare before after --regimes            within the same regimes of the machine

Steps that write output are left out and compared apart."""

IMAGES_HELP = """\
also draw a field before, after and as difference, on the mesh and on the machine, and the messages
between ranks; with .pvd files of the same for ParaView"""
FIELD_HELP = "what pictures show (compute_time_s), or what --regimes compares (the time of the step)"
COST = "compute_time_s"
STEPS_HELP = """\
of two runs, the steps to compare; of one run, the steps before and the steps after: numbers and
ranges without their ends (120, 10:200, 0:100:5)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the runs and the steps."""
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", help="two run directories, or one and --steps")
    add("--steps", metavar="STEPS", nargs="+", help=STEPS_HELP)
    add("--anyway", action="store_true", help="compare runs of different programs, regions or steps, too")
    add("--images", action="store_true", help=IMAGES_HELP)
    add("--field", metavar="NAME", help=FIELD_HELP)
    for place in given("COMPARISONS").values():
        loaded(place).add_arguments(parser)
    add_mesh_options(parser)
    add("-o", "--output", metavar="DIR", help="where to write them (pictures/compared-with-NAME of the run)")
    add("--json", action="store_true", help="print everything as one JSON object")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the comparison, and writes its pictures."""
    for name, place in given("COMPARISONS").items():
        if getattr(arguments, name) is not None:
            return loaded(place).execute(arguments)
    if arguments.images:
        check_places(_place(arguments), None if arguments.output else arguments.runs[-1])
    runs, (before, after), notes = _sides(arguments)
    comparison = compare(before, after)
    notes += [*before.left_out, *(note for note in after.left_out if note not in before.left_out)]
    if not arguments.json:
        print("\n".join(in_words(comparison, notes)), flush=True)  # drawing takes a while
    pictured = Pictured([], [])
    if arguments.images:
        pictured = draw_comparison(
            runs, (before, after), arguments.field or COST, _place(arguments), arguments
        )
    if arguments.json:
        found = as_json(comparison, notes + pictured.notes) | {"files": list(map(str, pictured.files))}
        print(json.dumps(plain(found), indent=1, allow_nan=False))
    else:
        print("".join(f"note: {note}\n" for note in pictured.notes), end="")
        print("".join(f"  {file}\n" for file in pictured.files), end="")
    return 0


def _place(arguments: argparse.Namespace) -> Path:
    """Where pictures go."""
    if arguments.output:
        return Path(arguments.output)
    run = Path(arguments.runs[-1])
    other = Path(arguments.runs[0]).resolve().name if len(arguments.runs) == 2 else "-".join(arguments.steps)
    name = re.sub(r"[^\w.-]", "_", f"compared-with-{other}" if len(arguments.runs) == 2 else f"steps-{other}")
    return run / "pictures" / name[:100]


def _sides(
    arguments: argparse.Namespace,
) -> tuple[tuple[Run, Run], tuple[Measured, Measured], list[str]]:
    """The runs of both sides, what of them is compared, and what else differs.

    Raises CommandError, RunError or StepsError.
    """
    from perfield.derived.comparing import measured
    from perfield.derived.matching import check, differences

    steps = arguments.steps or []
    if len(arguments.runs) > 2:
        raise CommandError(f"expected one run or two, but found {len(arguments.runs)}.")
    runs = [perfield.open(path) for path in arguments.runs]
    if len(runs) == 1:
        if len(steps) != 2:
            raise CommandError(
                f"{runs[0].path} alone can be compared only with itself; name a second run, or two steps of "
                f"this one: perfield compare {runs[0].path} --steps 120 121"
            )
        sides = _steps_of(runs[0], steps)
        return (runs[0], runs[0]), sides, list(_about_steps(*sides))
    if len(steps) > 1:
        raise CommandError(
            f"--steps {' '.join(steps)}: two runs are compared over the same steps; give one expression: "
            f"--steps {steps[0]}"
        )
    names = short_names(arguments.runs)
    _check_alike(runs, names)
    check(*runs, names, arguments.anyway)
    before, after = (measured(run, name) for run, name in zip(runs, names))
    if steps:
        before, after = (
            _only(run, side, _positions(run, steps[0]), side.name) for run, side in zip(runs, (before, after))
        )
    return (runs[0], runs[1]), (before, after), list(differences(*runs, names))


def _check_alike(runs: list[Run], names: list[str]) -> None:
    """Raises CommandError if one run closed steps and the other none: the time of a whole run, setup
    included, is not a time of a step."""
    whole = [run.is_whole for run in runs]
    if whole[0] == whole[1]:
        return
    without, other = (names[whole.index(is_whole)] for is_whole in (True, False))
    raise CommandError(
        f"{without} closed no steps and {other} did, so they have no time in common: that of a whole run is "
        "no time of a step. Compare two runs with steps (`perfield steps` says how to close them) or two "
        "without, as a whole."
    )


def _steps_of(run: Run, steps: list[str]) -> tuple[Measured, Measured]:
    from perfield.derived.comparing import measured

    chosen = [_positions(run, text) for text in steps]
    if chosen[0] == chosen[1]:
        raise CommandError(f"--steps {' '.join(steps)} names the same steps twice; choose others.")
    whole = measured(run, "")
    before, after = (_only(run, whole, some, _step_name(run, some)) for some in chosen)
    return before, after


def _about_steps(before: Measured, after: Measured) -> Iterable[str]:
    """Sentences on two sides of one run: which single step writes output, and what is on both sides."""
    for side in (before, after):
        if side.is_single and side.is_output[side.chosen].any():
            yield f"{side.name} writes output"
    if (before.chosen & after.chosen).any():
        yield f"{int((before.chosen & after.chosen).sum())} steps are on both sides"


def _positions(run: Run, text: str) -> list[int]:
    from perfield.output.steps import choose_steps

    return choose_steps(run, text)


def _only(run: Run, side: Measured, positions: list[int], name: str) -> Measured:
    found = side.of(name or side.name, positions)
    if not found.chosen.any():
        steps = first_of(run.frame_headers(positions)["label"].tolist(), 5)
        raise CommandError(
            f"not all ranks did the same in steps {steps}; choose others, or see `perfield info --steps`."
        )
    return found


def _step_name(run: Run, positions: list[int]) -> str:
    """A step, or several, in words, by the program's own numbers."""
    first, last = run.frame_headers([positions[0], positions[-1]])["label"].tolist()
    return f"step {first}" if len(positions) == 1 else f"steps {first} to {last}"
