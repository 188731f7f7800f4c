# SPDX-License-Identifier: BSD-3-Clause
"""`perfield compare --regimes`: two runs, or two parts of one, within the same regimes of the machine."""

from __future__ import annotations

import argparse
import json

import perfield
from perfield.commands import CommandError
from perfield.commands._chosen import first_to_last, short_names
from perfield.studies.regimes.chosen import AUTO, number_of_regimes
from perfield.text.as_json import plain

REGIMES_HELP = """\
compare the longest time of all ranks in each step, regime by regime: how many regimes, or auto
(auto); see perfield lab regimes"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --regimes."""
    parser.add_argument("--regimes", metavar="N", nargs="?", const=AUTO, help=REGIMES_HELP)


def execute(arguments: argparse.Namespace) -> int:
    """Prints how much faster the second side is in each regime."""
    from perfield.derived.matching import check, differences
    from perfield.studies.regimes.model.comparing import compare_regimes
    from perfield.studies.regimes.model.comparing_words import as_json, in_words, left_out, other_ranks
    from perfield.studies.regimes.of_run import timings_of_run

    n_regimes = number_of_regimes(arguments.regimes)
    if arguments.images:
        raise CommandError("--regimes prints numbers, no pictures; leave out --images.")
    steps = arguments.steps or []
    runs = [perfield.open(path) for path in arguments.runs]
    if len(runs) == 1 and len(steps) == 2:
        names = [f"part {text}" for text in steps]
        runs, notes = runs * 2, []
    elif len(runs) == 2 and len(steps) < 2:
        names = short_names(arguments.runs)
        check(*runs, names, arguments.anyway)
        notes = list(differences(*runs, names))
        steps = [steps[0] if steps else None] * 2
    else:
        raise CommandError(
            "--regimes compares two runs, or two parts of one: perfield compare before after --regimes, or "
            "perfield compare perfield-run --regimes --steps 0:1000 1000:2000"
        )
    times = [
        timings_of_run(run, arguments.field, None, first_to_last(run, some), "max")
        for run, some in zip(runs, steps)
    ]
    n_ranks = [run.n_ranks for run in runs]
    found = compare_regimes(*times, names, n_regimes)
    notes = [*found.notes, *notes, *other_ranks(n_ranks, names), *left_out(times, names)]
    if arguments.json:
        print(json.dumps(plain(as_json(found, notes)), indent=1, allow_nan=False))
    else:
        print("\n".join(in_words(found, times[0].attrs["field"], n_ranks, notes)))
    return 0
