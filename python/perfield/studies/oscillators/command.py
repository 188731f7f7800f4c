# SPDX-License-Identifier: BSD-3-Clause
"""perfield lab oscillate: lets a program's ranks move as coupled oscillators, and says what comes of it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.catalyst_scripts.owned_folder import check_new_file, new_file
from perfield.commands import STEPS_HELP, CommandError, words
from perfield.commands._datasets import check_target, write_dataset
from perfield.studies.oscillators import model_files
from perfield.text import counted, print_table, start
from perfield.text.as_json import plain

if TYPE_CHECKING:
    import xarray as xr

    from perfield.studies.oscillators.model.configured import Experiment

HELP = "predict how ranks fall in and out of step, by a model of coupled oscillators"
DESCRIPTION = """\
Integrates a model of a program's ranks as coupled oscillators, and says in which
state they end, when they settle, and how fast a delay travels.

  perfield lab oscillate --preset figure-5              a figure of the paper
  perfield lab oscillate --preset figure-5 --show-config > model.toml
  perfield lab oscillate --config model.toml            a model of your own
  perfield lab oscillate --config model.toml --set potential.steepness=5 --set seed=3
  perfield lab oscillate --from-run perfield-run        with a run's messages and times
  perfield lab oscillate --config model.toml --output result.nc
  perfield lab oscillate --config result.nc             the same again, from its result
  perfield lab oscillate --preset figure-9 --scan potential.sigma=0.5:3:6

presets: figure-5, figure-6, figure-7, figure-8, figure-9, wavefront, mexican-hat,
kuramoto.
The config is TOML with the tables topology, potential, program, coupling, noise,
delay, initial, stops, times and solver; --keys lists their keys. A result (.nc,
.zarr) holds all parameters and the seed. Task-based, hybrid and GPU programs are
beyond this model."""

MOST_PERIODS = 2000  # of a run's model, unless times are given


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds where the model comes from, what changes it, and what to do with the result."""
    add = parser.add_argument
    source = parser.add_argument_group("the model")
    source.add_argument(
        "--config", metavar="FILE", type=Path, help="a .toml file, or a result (.nc, .zarr) to repeat"
    )
    source.add_argument("--preset", metavar="NAME", help="begin with a preset; --config changes it")
    source.add_argument(
        "--from-run", metavar="RUN", help="topology, frequencies and coupling of a measured run"
    )
    source.add_argument("--steps", metavar="STEPS", help=f"of the run: {STEPS_HELP}")
    source.add_argument(
        "--stages", action="store_true", help="of the run: parameters that follow the stages of the program"
    )
    source.add_argument(
        "--weight",
        choices=("none", "messages", "bytes"),
        default="none",
        help="of the run: what weighs an edge (none)",
    )
    source.add_argument(
        "--by-place",
        metavar="LEVEL=FACTOR,...",
        help="of the run: what weighs an edge, by what joins its ranks: package=1,node=0.5,network=0.1",
    )
    source.add_argument(
        "--eager-limit", metavar="BYTES", type=float, help="longer messages are rendezvous (by the run's MPI)"
    )
    source.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change a key, such as noise.size=0.1 or initial.kind=delayed; may come again",
    )
    add("--scan", metavar="KEY=VALUES", action="append", default=[], help="repeat for 1,2,5 or FROM:TO:COUNT")
    add(
        "--max-plus",
        nargs="?",
        const="eager",
        choices=("eager", "rendezvous"),
        help="also print what messages alone would do, by the max-plus recursion (eager)",
    )
    add("-o", "--output", metavar="FILE", help="save the result: .nc or .zarr")
    add("--plot", metavar="FILE", type=Path, help="draw the page of the paper's figures: .png or .svg")
    add("--json", action="store_true", help="print numbers as one JSON object")
    add("--show-config", action="store_true", help="print the config in force as TOML, and stop")
    add("--keys", action="store_true", help="print all keys of the config as a Markdown table, and stop")


def execute(arguments: argparse.Namespace) -> int:
    """Integrates, and prints sentences, a table or JSON."""
    from perfield.studies.oscillators.model.configured import experiment
    from perfield.studies.oscillators.model.words import (
        beside,
        keys,
        outcome,
        sentences,
    )

    if arguments.keys:
        print(keys(), end="")
        return 0
    check_target(arguments.output)
    check_new_file(arguments.plot)
    if arguments.plot and arguments.plot.suffix not in (".png", ".svg"):
        raise CommandError(f"--plot {arguments.plot} is not a picture; end it in .png or .svg.")
    tables, notes = _tables(arguments)
    if arguments.show_config:
        print(model_files.toml(tables), end="")
        return 0
    if arguments.scan:
        return _scan(arguments, tables)
    of = experiment(tables)
    found = of.run()
    about = outcome(of, found)
    if arguments.max_plus:
        about["max_plus"] = beside(of, arguments.max_plus)
    if arguments.json:
        print(json.dumps(about, indent=1, allow_nan=False))
    else:
        if of.title:
            print(f"{start(of.title)}.")
        for sentence in (*notes, *sentences(of, found, about)):
            print(sentence)
    _keep(arguments, of, found)
    return 0


def _tables(arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """The tables in force, and sentences on where they come from."""
    from perfield.studies.oscillators.model.configured import merged, preset_of, with_preset

    notes: list[str] = []
    if not (arguments.config or arguments.preset or arguments.from_run):
        raise CommandError(
            "no model is named; give --config model.toml, --preset figure-5 or --from-run perfield-run."
        )
    for option, asked, does in (
        ("--steps", arguments.steps, "chooses steps"),
        ("--stages", arguments.stages, "takes stages"),
        ("--weight", arguments.weight != "none", "weighs edges"),
        ("--by-place", arguments.by_place, "weighs edges"),
        ("--eager-limit", arguments.eager_limit is not None, "evaluates messages"),
    ):
        if asked and not arguments.from_run:
            raise CommandError(f"{option} {does} of a run; name the run with --from-run.")
    for option, asked in (("--weight", arguments.weight != "none"), ("--by-place", arguments.by_place)):
        if arguments.stages and asked:
            raise CommandError(f"--stages has weights of its own, 0 or 1 in each stage; leave out {option}.")
    given: dict[str, Any] = {}
    if arguments.from_run:
        given, notes = _from_run(arguments, bool(arguments.preset))
    if arguments.config:
        given = merged(given, model_files.read_tables(arguments.config))
    for text in arguments.set:
        given = merged(given, _assigned(text))
    if arguments.preset:
        given["preset"] = arguments.preset
    tables = with_preset(given)
    if "preset" in given:
        notes.insert(0, preset_of(given["preset"]).about)
    return tables, notes


def _assigned(text: str) -> dict[str, Any]:
    """The tables of one --set KEY=VALUE."""
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"--set {text} lacks a value; write KEY=VALUE, such as noise.size=0.1.")
    table, dot, key = name.strip().rpartition(".")
    read = model_files.read_value(value.strip())
    return {table: {key: read}} if dot else {key: read}


def _factors(text: str) -> dict[str, float]:
    """The numbers of LEVEL=FACTOR,... by level."""
    found = {}
    for word in words(text):
        level, _, factor = word.partition("=")
        try:
            found[level] = float(factor)
        except ValueError:
            raise CommandError(
                f"--by-place {text}: '{word}' is no factor; expected such as package=1,node=0.5,network=0.1."
            ) from None
    return found


def _from_run(arguments: argparse.Namespace, preset: bool) -> tuple[dict[str, Any], list[str]]:
    """The tables of a run, and where its parameters come from; potential and start are a preset's, if any."""
    import perfield
    from perfield.output.steps import choose_steps
    from perfield.studies.oscillators.model import initial
    from perfield.studies.oscillators.model.configured import Experiment, tables_of
    from perfield.studies.oscillators.of_run import measured_model, measured_stages

    run = perfield.open(arguments.from_run)
    steps = arguments.steps
    chosen = None if steps is None else run.step_indexes[choose_steps(run, steps)].tolist()
    sources: list[str] = []
    if arguments.stages:
        model, kinds = measured_stages(run, chosen, eager_limit=arguments.eager_limit)
        for which, *parameters in (kind.sentences for kind in kinds):
            sources += [which, *(f"  {sentence}" for sentence in parameters)]
    else:
        places = _factors(arguments.by_place) if arguments.by_place else None
        model, taken = measured_model(
            run, chosen, weight=arguments.weight, by_place=places, eager_limit=arguments.eager_limit
        )
        sources += taken.sentences
    n, period = model.topology.n, 2 * np.pi / float(np.mean(model.frequency_at(0.0)))
    # One period passes from rank to rank in 2 pi n / beta kappa periods where V is divided by n.
    n_periods = min(12 * n, MOST_PERIODS)
    start_at, times = initial.delayed(n, periods=1.0), np.linspace(0.0, n_periods * period, 601)
    made = tables_of(Experiment(model, start_at, times, title=f"model of {run.path}"))
    if preset:
        made = {name: made[name] for name in ("title", "topology", "program", "coupling")}
        made["times"] = {"start_s": 0.0, "end_s": float(times[-1]), "count": 601}
    if not preset:
        sources.append(
            f"The model starts with rank 0 late by a period; set initial and times for another start "
            f"({counted(n, 'rank')}, {n_periods:,} periods)."
        )
    return made, sources


def _scan(arguments: argparse.Namespace, tables: dict[str, Any]) -> int:
    from perfield.studies.oscillators.model.scans import scan

    if arguments.plot:
        raise CommandError("--plot draws one result; leave out --scan.")
    axes = {}
    for text in arguments.scan:
        key, equals, values = text.partition("=")
        if not equals:
            raise CommandError(f"--scan {text} lacks values; write KEY=1,2,5 or KEY=FROM:TO:COUNT.")
        axes[key.strip()] = _values(text, values)
    found = scan(tables, axes)
    rows = found.to_dataframe().reset_index()
    if arguments.json:
        print(json.dumps(plain(rows.to_dict("records")), indent=1, allow_nan=False))
    else:
        print_table(plain(rows.to_dict("records")))
    if arguments.output:
        write_dataset(found, arguments.output)
        if not arguments.json:
            print(f"\n  {arguments.output}")
    return 0


def _values(text: str, values: str) -> list[Any]:
    try:
        if ":" in values:
            first, last, count = values.split(":")
            return np.linspace(float(first), float(last), int(count)).tolist()
    except ValueError as error:
        raise CommandError(
            f"--scan {text} has no numbers to scan; write KEY=1,2,5 or FROM:TO:COUNT."
        ) from error
    return [model_files.read_value(value) for value in values.split(",")]


def _keep(arguments: argparse.Namespace, of: Experiment, found: xr.Dataset) -> None:
    """Draws and saves the result."""
    if arguments.plot:
        from perfield.studies.rhythm.plots import page

        with new_file(arguments.plot) as place:
            page(found, potential=of.model.potential, words=of.title).savefig(place)
        if not arguments.json:
            print(f"  {arguments.plot}")
    if arguments.output:
        write_dataset(found, arguments.output)
        if not arguments.json:
            print(f"  {arguments.output}; again: perfield lab oscillate --config {arguments.output}")
