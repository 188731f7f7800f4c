# SPDX-License-Identifier: BSD-3-Clause
"""perfield lab rhythm: says whether the ranks of a run march in step."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from perfield.catalyst_scripts.owned_folder import check_new_file, new_file
from perfield.commands import STEPS_HELP, CommandError
from perfield.commands._chosen import RANKS_HELP, chosen_ranks, first_to_last, row_number
from perfield.commands._datasets import check_target, write_dataset
from perfield.commands._newest import add_run, run_path
from perfield.studies import given, loaded
from perfield.text import print_table

if TYPE_CHECKING:
    from perfield.analysis.observed import Observed
    from perfield.derived.run import Run

HELP = "check whether ranks march in step, form a wavefront or drift apart"
DESCRIPTION = """\
Prints whether the ranks of a run march in step, since when, and how far they are
apart, in steps. The phase of a rank is the number of steps that it completed,
with the fraction of its current step, on one clock for all ranks.

  perfield lab rhythm perfield-run
  perfield lab rhythm perfield-run --ranks 0-7 --steps 100:2000
  perfield lab rhythm perfield-run --plot rhythm.png      as in the paper's figures
  perfield lab rhythm perfield-run --oscillators --plot both.png    and a model
  perfield lab rhythm perfield-run --output rhythm.nc

  synchronised  all ranks are within a fifth of a step
  wavefront     each rank is as far behind the one before it as that is itself
  clusters      a few groups of ranks, each in step with itself
  disordered    none of these

The table: time since the first rank's start; step, of the middle rank; spread,
from the rank furthest behind to the one furthest ahead, in steps; R, 1 if all
ranks are at the same point of a step, near 0 if they are anywhere in it. R does
not see whole steps: ranks exactly one step apart have R = 1. Use the spread.

The run may be finished, killed, imported or still running."""

MODEL_HELP = """\
also print what coupled oscillators with the run's messages and times would do; --plot then
draws both"""
OUTPUT_HELP = "save phases and metrics as a Dataset: .nc (netCDF) or .zarr"
FORMATS = (".png", ".svg")
ROWS = 10
MOST_SAMPLES, LEAST_SAMPLES, MOST_NUMBERS = 10_000, 500, 2**26


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, which ranks and steps, and what to print or write."""
    add_run(parser)
    add = parser.add_argument
    add("--ranks", metavar="RANKS", help=RANKS_HELP)
    add("--steps", metavar="STEPS", help=f"from the first to the last of these: {STEPS_HELP}")
    add("--rows", metavar="N", type=row_number, default=ROWS, help=f"at most N rows of the table ({ROWS})")
    add("--json", action="store_true", help="print everything as one JSON object")
    if given("RHYTHM_MODELS"):
        add("--oscillators", action="store_true", help=MODEL_HELP)
    else:
        parser.set_defaults(oscillators=False)
    add("--plot", metavar="FILE", type=Path, help="draw all metrics on one page: .png or .svg")
    add("-o", "--output", metavar="FILE", type=Path, help=OUTPUT_HELP)


def execute(arguments: argparse.Namespace) -> int:
    """Prints sentences and a table, or JSON, for each group of ranks; writes the Dataset."""
    import perfield
    from perfield.analysis.findings import idle_wave
    from perfield.studies.rhythm.model import course
    from perfield.studies.rhythm.of_run import phases_of_run
    from perfield.studies.rhythm.words import as_json, edges_of, sentences, table, with_metrics

    check_target(arguments.output)
    check_new_file(arguments.plot)
    if arguments.plot and arguments.plot.suffix.lower() not in FORMATS:
        raise CommandError(f"--plot {arguments.plot} is not a picture; end it in .png or .svg.")
    run = perfield.open(run_path(arguments.run))
    steps = first_to_last(run, arguments.steps)
    groups = _groups(run, arguments.ranks)
    if arguments.output and len(groups) > 1:
        raise CommandError(
            f"--output holds ranks that step together, but {run.path} has {len(groups)} groups of ranks; "
            "choose one with --ranks."
        )
    observed = observed_waves(run) if arguments.steps is None and arguments.ranks is None else None
    waves = travelled(run, observed) if observed else []
    groups_found = []
    for number, (name, ranks) in enumerate(groups.items()):
        samples = _samples(run, len(ranks))
        found = phases_of_run(run, ranks, steps, samples)
        edges = edges_of(found)
        summary = course(found, edges, arguments.rows, idle_wave.waves(observed) if observed else ())
        closed = int(run.steps_closed[ranks].max(initial=0)) if steps is None else 0
        lines = list(sentences(summary, run, closed))
        groups_found.append({"group": name, **as_json(summary), "sentences": lines})
        if not arguments.json:
            print(("\n" if number else "") + (f"{name}:\n" if len(groups) > 1 else "") + "\n".join(lines))
            if summary.n_ranks > 1:
                print()
                print_table(table(summary))
        if arguments.output:
            write_dataset(with_metrics(found, edges), arguments.output)
    model = _model().sentences(run, steps) if arguments.oscillators else []
    if arguments.json:
        about = {"run": str(run.path), "state": run.state, "groups": groups_found, "idle_waves": waves}
        print(
            json.dumps(about | ({"model": model} if arguments.oscillators else {}), indent=1, allow_nan=False)
        )
    else:
        print("".join(f"\n{line}" for line in [*waves, *model]) + "\n" * bool([*waves, *model]), end="")
    if arguments.plot:
        from perfield.studies.rhythm.plots import of_run

        draw = _model().draw if arguments.oscillators else of_run
        with new_file(arguments.plot) as place:
            draw(run, steps).savefig(place)
    files = [file for file in (arguments.plot, arguments.output) if file and not arguments.json]
    print("".join(f"\n  {file}" for file in files) + "\n" * bool(files), end="")
    return 0


def observed_waves(run: Run) -> Observed | None:
    """The fields in which idle waves show; None for a single rank or step."""
    from perfield.analysis.findings import idle_wave
    from perfield.derived.observe import observe

    if run.n_ranks < 2 or len(run) < 2:
        return None
    return observe(run, (*idle_wave.NEEDS, *idle_wave.LIKES))


def travelled(run: Run, observed: Observed) -> list[str]:
    """The longest delay that travelled through ranks, if any did, and what the model says of its speed."""
    from perfield.analysis.findings import idle_wave

    found = [found.words for found in idle_wave.find(observed)]
    model = _model() if found else None
    return [*found, *(model.expected_speed(run) if model else [])]


def _model() -> ModuleType | None:
    """The study that models the rhythm; None if it is not there."""
    place = next(iter(given("RHYTHM_MODELS").values()), None)
    return place and loaded(place)


def _samples(run: Run, n_ranks: int) -> int:
    """At how many times phases are taken: one for each step, within limits of sense and memory."""
    wanted = min(max(int(run.steps_closed.max(initial=0)), LEAST_SAMPLES), MOST_SAMPLES)
    return max(100, min(wanted, MOST_NUMBERS // max(n_ranks, 1)))


def _groups(run: Run, text: str | None) -> dict[str, list[int]]:
    """Ranks that are evaluated together: those chosen, else each group of the run."""
    chosen = chosen_ranks(text)
    return run.groups if chosen is None else {"chosen ranks": chosen}
