# SPDX-License-Identifier: BSD-3-Clause
"""perfield lab regimes: separates the levels that the timings of a shared machine mix."""

from __future__ import annotations

import argparse
import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.catalyst_scripts.owned_folder import check_new_file, new_file
from perfield.commands import STEPS_HELP, CommandError
from perfield.commands._chosen import RANKS_HELP, chosen_ranks, first_to_last, row_number
from perfield.commands._datasets import check_target, write_dataset
from perfield.commands._newest import run_path
from perfield.studies.regimes.chosen import AUTO, number_of_regimes, read_saved
from perfield.studies.regimes.timing_files import ENDINGS, is_file_of_timings, read_timings
from perfield.text import counted, in_percent, in_ranks, print_table
from perfield.text.as_json import plain

if TYPE_CHECKING:
    import xarray as xr

    from perfield.derived.run import Run
    from perfield.studies.regimes.model import Fit, Follower, Model
    from perfield.studies.regimes.model.machine import Machine
    from perfield.topology import Placement

HELP = "separate the machine's slow phases from the program: regimes of its timings"
DESCRIPTION = """\
Timings on a shared machine are a mixture of levels: the same step takes 1.8 ms
for a while, then 2.9 ms while others use the network. A hidden Markov model
separates these regimes, and says how long a step takes in each, how many steps
it has, how long it lasts and which one follows.

  perfield lab regimes perfield-run
  perfield lab regimes perfield-run --field waiting_time_s --reduce max
  perfield lab regimes perfield-run --regimes 2 --ranks 0-7 --steps 100:2000
  perfield lab regimes timings.npy                     timings of another tool
  perfield lab regimes perfield-run --save machine.json      keep its pattern
  perfield lab regimes perfield-run --against machine.json   compare with that
  perfield lab regimes perfield-run --follow machine.json    while it runs

Regimes are counted from the fastest. Steps that write output are left out. A
number in brackets is a 95 % confidence interval; it respects that a slow step is
often followed by another one.

Files: .npy and .npz with (rank, step); .csv and .parquet with the columns rank,
step and one of times, or with one column of times per rank. Times are in seconds,
or in the unit that the column's name ends in: _ms, _us, _ns."""

RUN_HELP = "a run directory (default: the newest one here), or a file of timings"
FIELD_HELP = """\
what is timed: a field in seconds (waiting_time_s), or a region for its time; of a file, the
array or column (default: the time of a step)"""
REDUCE_HELP = "one series: the longest time of all ranks in each step (default: a series per rank)"
REGIMES_HELP = "how many, or auto: the number with the smallest BIC (auto)"
EMISSION_HELP = """\
how times scatter in a regime: student-t or log-gaussian of their logarithm, which bear outliers,
or gaussian, as in the paper (student-t)"""
SAVE_HELP = "keep the model with hosts, date, regimes and their lengths, as JSON"
AGAINST_HELP = "use the saved model instead of a new one, and report what differs from its machine"
FOLLOW_HELP = "classify steps of a running run with a saved model as they arrive, until it ends"
JSON_HELP = "print everything as one JSON object; with --follow, one per step"
EVENTS_HELP = "the events of the slow regime that cost most: steps, cost, ranks, nodes"
BY_HELP = "the share of slow steps of each rank, or of each part of the machine"
ROWS = 10
LEVELS = ("switch", "node", "package")
OUTPUT_HELP = "save the regime of each rank and step as a Dataset: .nc (netCDF) or .zarr"
EVERY_S = 1.0  # --follow looks for new steps
EMISSIONS = ("student-t", "log-gaussian", "gaussian")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the timings, how they are fitted, and what to print or write."""
    add = parser.add_argument
    add("run", metavar="RUN", nargs="?", help=RUN_HELP)
    add("--field", metavar="NAME", help=FIELD_HELP)
    add("--ranks", metavar="RANKS", help=RANKS_HELP)
    add("--steps", metavar="STEPS", help=f"from the first to the last of these: {STEPS_HELP}")
    add("--reduce", choices=("max",), help=REDUCE_HELP)
    add("--regimes", metavar="N", default=AUTO, help=REGIMES_HELP)
    add("--emission", choices=EMISSIONS, help=EMISSION_HELP)
    add("--save", metavar="FILE", type=Path, help=SAVE_HELP)
    saved = parser.add_mutually_exclusive_group()
    saved.add_argument("--against", metavar="FILE", type=Path, help=AGAINST_HELP)
    saved.add_argument("--follow", metavar="FILE", type=Path, help=FOLLOW_HELP)
    add("--events", action="store_true", help=EVENTS_HELP)
    add("--rows", metavar="N", type=row_number, default=ROWS, help=f"at most N rows of --events ({ROWS})")
    add("--by", choices=("rank", *LEVELS), help=BY_HELP)
    add("--json", action="store_true", help=JSON_HELP)
    add("-o", "--output", metavar="FILE", type=Path, help=OUTPUT_HELP)


def execute(arguments: argparse.Namespace) -> int:
    """Prints sentences and a table, or JSON; writes the Dataset and the machine's pattern."""
    from perfield.studies.regimes.model import classify
    from perfield.studies.regimes.model.machine import Machine, compared, machine_of, misfit
    from perfield.studies.regimes.model.statistics import statistics
    from perfield.studies.regimes.model.struck import Places
    from perfield.studies.regimes.model.words import (
        CHOICE_HEAD,
        as_json,
        choice_rows,
        sentences,
        tables,
    )

    check_target(arguments.output)
    check_new_file(arguments.save)
    _check_save(arguments.save)
    n_regimes = number_of_regimes(arguments.regimes)
    file = arguments.against or arguments.follow
    saved = None if file is None else read_saved(file, Machine.from_json)
    if arguments.follow and saved is not None:
        return _follow(arguments, saved)
    times, about = _timings(arguments, saved)
    if saved is None:
        fitted = _fitted(times, n_regimes, arguments.emission or EMISSIONS[0])
        model, choice, notes = fitted.model, fitted.choice, list(fitted.notes)
    else:
        model, choice, notes = saved.model, None, []
    found = classify(times, model).assign_attrs({**times.attrs, "model": model.to_json()})
    if saved is not None and (why := misfit(found, saved)):
        raise CommandError(why)
    numbers = statistics(found)
    now = machine_of(found, model, **about)
    placement = _placement(found)
    if arguments.by in LEVELS and (placement is None or found["rank"].values[0] < 0):
        why = "the longest times of all ranks have" if placement is not None else f"{arguments.run} has"
        raise CommandError(f"--by {arguments.by}: {why} no place in the machine; use a run, rank by rank.")
    places = Places(found, placement)
    lines = [*sentences(found, numbers, model), *places.sentences()]
    notes += filter(None, times.attrs.get("left_out", "").split("\n"))
    against = [] if saved is None else list(compared(now, saved))
    if arguments.json:
        body = {
            "source": str(times.attrs.get("run", arguments.run)),
            "field": now.field,
            **as_json(numbers, model),
            **places.as_json(),
            "machine": now.about,
            "choice": None if choice is None else choice.to_dict("records"),
            "sentences": lines,
            "against": None if saved is None else {"machine": saved.about, "sentences": against},
            "notes": notes,
            "model": json.loads(model.to_json()),
        }
        print(json.dumps(plain(body), indent=1, allow_nan=False))
    else:
        print("\n".join(lines))
        for table in tables(numbers):
            print("\n" + f"{table.folded}:\n" * bool(table.folded), end="")
            print_table(table)
        if arguments.events and places.is_slow:
            print()
            print_table(places.event_rows(arguments.rows))
        if arguments.by is not None:
            print()
            print_table(places.share_rows(arguments.by))
        if saved is not None:
            print(f"\nCompared with {saved.name}:")
            print("\n".join(f"  {line}" for line in against))
        elif n_regimes is None and choice is not None and len(choice):
            print(f"\n{CHOICE_HEAD}")
            print_table(choice_rows(choice))
        print("".join(f"note: {note}\n" for note in notes), end="")
    files = []
    if arguments.save:
        with new_file(arguments.save) as place:
            place.write_text(now.to_json() + "\n", encoding="utf-8")
        files.append(arguments.save)
    if arguments.output:
        write_dataset(found, arguments.output)
        files.append(arguments.output)
    print("" if arguments.json else "".join(f"  {file}\n" for file in files), end="")
    return 0


def _placement(found: xr.Dataset) -> Placement | None:
    """Where the ranks of a run sat; None for timings from a file."""
    import perfield
    from perfield.topology import placement_of

    return placement_of(perfield.open(found.attrs["run"])) if "run" in found.attrs else None


def _check_save(path: Path | None) -> None:
    if path is None:
        return
    if path.exists():
        raise CommandError(f"{path} exists already and was left as it is; remove it, or name another.")
    if not path.absolute().parent.is_dir():
        raise CommandError(f"{path.parent} is not a directory; make it first.")


def _fitted(times: xr.Dataset, n_regimes: int | None, emission: str) -> Fit:
    from perfield.studies.regimes.model import fit

    return fit(times, n_regimes, emission=emission)


def _timings(arguments: argparse.Namespace, saved: Machine | None) -> tuple[xr.Dataset, dict[str, Any]]:
    """The timings that the options name, and where, when and how they were measured."""
    import perfield
    from perfield.studies.regimes.model import largest
    from perfield.studies.regimes.of_run import timings_of_run
    from perfield.topology import placement_of, sharing

    field, reduce = _what(arguments, saved)
    if arguments.run is not None and is_file_of_timings(Path(arguments.run)):
        path = Path(arguments.run)
        times = read_timings(path, arguments.field)
        times.attrs.update(field=field or str(times["time_s"].attrs.get("long_name", "time")))
        times = _some(times, path, arguments)
        times.attrs["n_ranks"] = times.sizes["rank"]
        return (largest(times).assign_attrs(times.attrs) if reduce else times), {}
    run = perfield.open(_run_path(arguments.run))
    times = timings_of_run(
        run, field, chosen_ranks(arguments.ranks), first_to_last(run, arguments.steps), reduce
    )
    if shared := sharing(placement_of(run)).words:
        note = f"{shared}, and so do regimes"
        times.attrs["left_out"] = "\n".join(filter(None, [times.attrs["left_out"], note]))
    return times, where_and_when(run)


def where_and_when(run: Run) -> dict[str, Any]:
    """The hosts of a run, when it began, and what ran: as a saved pattern holds it."""
    hosts = sorted({entry.get("host", "") for entry in run.rank_entries if entry is not None} - {""})
    start_ns = run.info.get("start_ns", 0)
    measured = ""
    if start_ns > 0:
        measured = datetime.fromtimestamp(start_ns / 1e9, timezone.utc).isoformat(timespec="seconds")
    command = " ".join(run.info.get("command", []))
    return {"hosts": hosts, "measured": measured, "command": command}


def _run_path(named: str | None) -> Path:
    path = run_path(named)
    if path.is_file():
        raise CommandError(
            f"{path} is neither a run directory nor a file of timings; such a file ends in "
            f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}."
        )
    return path


def _what(arguments: argparse.Namespace, saved: Machine | None) -> tuple[str | None, str | None]:
    """The field and the reduction: those of the saved pattern, if there is one. Raises CommandError if the
    options say something else."""
    if saved is None:
        return arguments.field, arguments.reduce
    reduce = saved.reduced or None
    file = arguments.against or arguments.follow
    for option, given in (("--regimes", arguments.regimes != AUTO), ("--emission", arguments.emission)):
        if given:
            raise CommandError(f"{file} holds a fitted model, so {option} has no meaning; leave it out.")
    if arguments.reduce and not reduce:
        raise CommandError(
            f"{file} is of each rank's times, not of the longest of all ranks; leave out --reduce, or save a "
            "pattern with --reduce max."
        )
    is_file = arguments.run is not None and is_file_of_timings(Path(arguments.run))
    if is_file:
        return arguments.field, reduce
    if arguments.field not in (None, saved.field):
        raise CommandError(
            f"{file} is a pattern of '{saved.field}', so steps are not classified by '{arguments.field}'; "
            "leave out --field, or save a pattern of that field."
        )
    return saved.field or None, reduce


def _some(times: xr.Dataset, path: Path, arguments: argparse.Namespace) -> xr.Dataset:
    """The ranks and steps of a file that the options choose."""
    ranks = chosen_ranks(arguments.ranks)
    if ranks is not None:
        absent = sorted(set(ranks) - set(times["rank"].values.tolist()))
        if absent:
            raise CommandError(
                f"--ranks: {path} has no rank {absent[0]}; it has {counted(times.sizes['rank'], 'rank')}, "
                f"{times['rank'].values[0]} to {times['rank'].values[-1]}."
            )
        times = times.sel(rank=ranks)
    if arguments.steps is not None:
        chosen = _positions(arguments.steps, times.sizes["step"], path)
        times = times.isel(step=chosen)
    return times


def _positions(text: str, n_steps: int, path: Path) -> slice:
    """The steps of a file from the first to the last that --steps names, by place."""
    first, colon, rest = text.partition(":")
    last = rest.partition(":")[0]
    if not (first or "0").isdigit() or not (last or "0").isdigit() or (not colon and not first):
        raise CommandError(f"--steps {text}: expected steps such as 100:2000.")
    begin = int(first or 0)
    end = int(last or n_steps) if colon else begin + 1
    if begin >= min(end, n_steps):
        raise CommandError(f"--steps {text}: {path} has the steps 0 to {n_steps - 1}.")
    return slice(begin, end)


def _follow(arguments: argparse.Namespace, saved: Machine) -> int:
    """Classifies steps as they arrive, until the run ends."""
    import perfield
    from perfield.studies.regimes.model import Follower
    from perfield.studies.regimes.model.machine import misfit
    from perfield.studies.regimes.of_run import Arriving

    for option in ("steps", "save", "events", "by"):
        if getattr(arguments, option) not in (None, False):
            raise CommandError(f"--follow classifies all steps as they arrive; leave out --{option}.")
    if arguments.run is not None and is_file_of_timings(Path(arguments.run)):
        raise CommandError(f"--follow needs a run, but {arguments.run} is a file; --against classifies it.")
    run = perfield.open(_run_path(arguments.run))
    field, reduce = _what(arguments, saved)
    arriving = Arriving(run, field, chosen_ranks(arguments.ranks), reduce)
    follower = Follower(saved.model, 1 if reduce else len(arriving.ranks))
    parts = []
    while True:
        times = arriving.read()
        if times.sizes["step"]:
            parts.append(_classified(times, follower))
            if why := misfit(parts[-1], saved):
                raise CommandError(why)
            lines_of = _as_lines if arguments.json else _newest
            print("\n".join(lines_of(parts[-1], saved.model)), flush=True)
        if run.state != "running":
            break
        time.sleep(EVERY_S)
    if not parts:
        raise CommandError(f"{run.path} closed no step, so it has no series of times.")
    import xarray as xr

    found = xr.concat(parts, "step").assign_attrs(
        run=str(run.path), state=run.state, field=arriving.field, model=saved.model.to_json()
    )
    if arguments.output:
        write_dataset(found, arguments.output)
    if not arguments.json:
        slow, n_known = _slow(found, saved.model)
        print(
            f"The run {'has finished' if run.state == 'finished' else 'was killed'}: "
            f"{in_percent(slow / max(n_known, 1))} of its steps were in the "
            f"{_slowest(saved.model)} regime; {in_percent(saved.share[-1])} were when the pattern was saved."
        )
        print(f"  {arguments.output}\n" * bool(arguments.output), end="")
    return 0


def _classified(times: xr.Dataset, follower: Follower) -> xr.Dataset:
    from perfield.studies.regimes.model import PROBABILITY, REGIME, TIME

    answers = [follower.add(values) for values in times[TIME].transpose("step", "rank").values]
    regime, probability = (np.stack(each, axis=1) for each in zip(*answers))
    dims = ("rank", "step")
    return times.assign({REGIME: (dims, regime.astype(np.int8)), PROBABILITY: (dims, probability)})


def _newest(found: xr.Dataset, model: Model) -> list[str]:
    """A line about steps that arrived: how many are slow, and who is so now."""
    from perfield.studies.regimes.model import PROBABILITY, REGIME

    slow, n_known = _slow(found, model)
    steps, ranks = found["step"].values, found["rank"].values
    regime, sure = (found[name].isel(step=-1).values for name in (REGIME, PROBABILITY))
    last = model.n_regimes - 1
    now = np.flatnonzero(regime == last)
    where = f"no rank is in the {_slowest(model)} regime"
    if len(now):
        who = "the longest time" if ranks[0] < 0 else in_ranks(ranks[now])
        verb = "is" if len(now) == 1 else "are"
        where = f"{who} {verb} in the {_slowest(model)} regime ({_sure(float(sure[now].min()))})"
    which = f"step {steps[-1]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
    return [f"{which}: {in_percent(slow / max(n_known, 1))} {_slowest(model)}; now {where}"]


def _sure(probability: float) -> str:
    return "at least 99 % sure" if probability >= 0.99 else f"{in_percent(probability)} sure"


def _as_lines(found: xr.Dataset, model: Model) -> list[str]:
    """A JSON object for each step."""
    from perfield.studies.regimes.model import PROBABILITY, REGIME

    lines = []
    for number, step in enumerate(found["step"].values.tolist()):
        here = found.isel(step=number)
        line = {"step": step, "rank": here["rank"].values, "regime": here[REGIME].values}
        lines.append(json.dumps(plain({**line, "probability": here[PROBABILITY].values}), allow_nan=False))
    return lines


def _slow(found: xr.Dataset, model: Model) -> tuple[int, int]:
    """How many points are in the slowest regime, and how many are known."""
    from perfield.studies.regimes.model import REGIME

    regime = found[REGIME].values
    return int((regime == model.n_regimes - 1).sum()), int((regime >= 0).sum())


def _slowest(model: Model) -> str:
    from perfield.studies.regimes.model.machine import regime_name

    return regime_name(model.n_regimes - 1, model.n_regimes)
