# SPDX-License-Identifier: BSD-3-Clause
"""perfield rhythm: says whether the ranks of a run march in step."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.catalyst_scripts.owned_folder import check_new_file, new_file
from perfield.commands import STEPS_HELP, CommandError
from perfield.commands._chosen import chosen_ranks, first_to_last
from perfield.commands._datasets import check_target, write_dataset
from perfield.commands._newest import add_run, run_path
from perfield.text import (
    Table,
    counted,
    in_number,
    in_percent,
    in_ranks,
    in_seconds,
    plain,
    print_table,
    start,
)

if TYPE_CHECKING:
    import xarray as xr

    from perfield.analysis.observed import Observed
    from perfield.analysis.rhythm import Course, Drift
    from perfield.analysis.rhythm.blocks import Edges
    from perfield.run import RunDirectory

HELP = "say whether ranks march in step, form a wavefront or drift apart"
DESCRIPTION = """\
Says whether the ranks of a run march in step, since when, and how far they are
apart, in steps. The phase of a rank is the number of steps that it completed,
with the fraction of its current step, on one clock for all ranks.

  perfield rhythm perfield-run
  perfield rhythm perfield-run --ranks 0-7 --steps 100:2000
  perfield rhythm perfield-run --plot rhythm.png      as in the paper's figures
  perfield rhythm perfield-run --model --plot both.png    a model beside it
  perfield rhythm perfield-run --output rhythm.nc

  synchronised  all ranks are within a fifth of a step
  wavefront     each rank is as far behind the one before it as that is itself
  clusters      a few groups of ranks, each in step with itself
  disordered    none of these

The table: time since the first rank's start; step, of the middle rank; spread,
from the rank furthest behind to the one furthest ahead, in steps; R, 1 if all
ranks are at the same point of a step, near 0 if they are anywhere in it. R does
not see whole steps: ranks exactly one step apart have R = 1. Judge by the spread.

The run may be finished, killed, imported or still running."""

MODEL_HELP = """\
say beside it what coupled oscillators with the run's messages and times would do; --plot then
draws both"""
OUTPUT_HELP = "save phases and metrics as a Dataset: .nc (netCDF) or .zarr"
FORMATS = (".png", ".svg")
ROWS = 10
MOST_SAMPLES, LEAST_SAMPLES, MOST_NUMBERS = 10_000, 500, 2**26
WORTH_TELLING = 0.01  # of a step, or of the phases


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run, which ranks and steps, and what to print or write."""
    add_run(parser)
    add = parser.add_argument
    add("--ranks", metavar="RANKS", help="only these: 0-7,12")
    add("--steps", metavar="STEPS", help=f"from the first to the last of these: {STEPS_HELP}")
    add("--rows", metavar="N", type=int, default=ROWS, help=f"rows of the table ({ROWS})")
    add("--json", action="store_true", help="print everything as one JSON object")
    add("--model", action="store_true", help=MODEL_HELP)
    add("--plot", metavar="FILE", type=Path, help="draw all metrics on one page: .png or .svg")
    add("-o", "--output", metavar="FILE", type=Path, help=OUTPUT_HELP)


def execute(arguments: argparse.Namespace) -> int:
    """Prints sentences and a table, or JSON, for each group of ranks; writes the Dataset."""
    import perfield
    from perfield.analysis.findings import idle_wave
    from perfield.analysis.rhythm import course
    from perfield.derived.rhythm import phases_of_run

    check_target(arguments.output)
    check_new_file(arguments.plot)
    if arguments.plot and arguments.plot.suffix.lower() not in FORMATS:
        raise CommandError(f"--plot {arguments.plot} is no picture; end it in .png or .svg.")
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
    told = []
    for number, (name, ranks) in enumerate(groups.items()):
        samples = _samples(run, len(ranks))
        found = phases_of_run(run, ranks, steps, samples)
        edges = edges_of(found)
        judged = course(found, edges, max(arguments.rows, 1), idle_wave.waves(observed) if observed else ())
        closed = int(run.steps_closed[ranks].max(initial=0)) if steps is None else 0
        lines = list(sentences(judged, run, closed))
        told.append({"group": name, **as_json(judged), "sentences": lines})
        if not arguments.json:
            print(("\n" if number else "") + (f"{name}:\n" if len(groups) > 1 else "") + "\n".join(lines))
            if judged.n_ranks > 1:
                print()
                print_table(_table(judged))
        if arguments.output:
            write_dataset(with_metrics(found, edges), arguments.output)
    model = beside(run, steps) if arguments.model else []
    if arguments.json:
        about = {"run": str(run.path), "state": run.state, "groups": told, "idle_waves": waves}
        print(json.dumps(about | ({"model": model} if arguments.model else {}), indent=1, allow_nan=False))
    else:
        print("".join(f"\n{line}" for line in [*waves, *model]) + "\n" * bool([*waves, *model]), end="")
    if arguments.plot:
        from perfield.plots.rhythm.of_run import of_run, run_and_model

        draw = run_and_model if arguments.model else of_run
        with new_file(arguments.plot) as place:
            draw(run, steps).savefig(place)
    files = [file for file in (arguments.plot, arguments.output) if file and not arguments.json]
    print("".join(f"\n  {file}" for file in files) + "\n" * bool(files), end="")
    return 0


def observed_waves(run: RunDirectory) -> Observed | None:
    """What tells of delays that travelled through ranks; None for a single rank or step."""
    from perfield.analysis.findings import idle_wave
    from perfield.derived.observe import observe

    if run.n_ranks < 2 or len(run) < 2:
        return None
    return observe(run, (*idle_wave.NEEDS, *idle_wave.LIKES))


def travelled(run: RunDirectory, observed: Observed) -> list[str]:
    """The longest delay that travelled through ranks, if any did, and what the model says of its speed."""
    from perfield.analysis.findings import idle_wave

    told = [found.words for found in idle_wave.find(observed)]
    return told + expected_speed(run) if told else []


def expected_speed(run: RunDirectory) -> list[str]:
    """A sentence on the speed that the model's formula gives an idle wave, if the run tells what it needs."""
    from perfield.analysis.oscillators import ModelError
    from perfield.derived.oscillators import parameters_of

    try:
        found = parameters_of(run)
    except ModelError:
        return []
    per_step = found.beta.value * found.kappa.value
    unit = "rank" if per_step == 1 else "ranks"
    words = (
        f"The model's formula beta kappa / (t_comp + t_comm) gives {in_number(per_step)} {unit} per step, "
        f"{in_number(float(found.coupling.value))} ranks per s."
    )
    if per_step > 1:
        words += (
            " It overstates speeds measured with rendezvous messages in both directions, and with single "
            "waits: see docs/model-of-a-run.md."
        )
    return [words]


def beside(run: RunDirectory, steps: slice | None) -> list[str]:
    """What the model of the run has from it, and what it predicts from the measured start on."""
    from perfield.analysis.rhythm import order_parameter, spread
    from perfield.derived.oscillators import measured_model
    from perfield.plots.rhythm.of_run import measured, predicted

    phases, _ = measured(run, steps)
    model, taken = measured_model(run, steps)
    found = predicted(phases, model)
    known = phases["time"].values[np.isfinite(phases["phase"].values).all(axis=0)]
    ends = found["time"].values[0], max(known[-1], found["time"].values[0])  # at which all ranks have phases
    (begin, end), (apart, r), (apart_then, r_then) = (
        ends,
        *(
            (spread(phase).values.tolist(), order_parameter(phase).values.tolist())
            for phase in (each["phase"].sel(time=list(ends), method="nearest") for each in (phases, found))
        ),
    )
    return [
        "A model of coupled oscillators takes from this run:",
        *(f"  {sentence}" for sentence in taken.sentences),
        f"It starts at {in_seconds(begin)} from the measured phases, {_steps_apart(apart[0])} steps apart. "
        f"At {in_seconds(end)} it has the ranks {_steps_apart(apart_then[1])} steps apart (R "
        f"{r_then[1]:.2f}); measured are {_steps_apart(apart[1])} (R {r[1]:.2f}).",
    ]


def sentences(course: Course, run: RunDirectory | None = None, n_closed: int = 0) -> Iterator[str]:
    """What a course says, the most important first. run : adds what its clocks and damage mean for it.
    n_closed : the steps that its ranks closed, where all of these were asked for."""
    steps = [moment.step for moment in course.moments if np.isfinite(moment.step)]
    n_steps = round(steps[-1] - steps[0]) if steps else 0
    all_steps = f" (of {n_closed:,}: those in which most ranks have a phase)" if n_steps < n_closed else ""
    yield (
        f"{counted(course.n_ranks, 'rank')}, {counted(n_steps, 'step')} of {in_seconds(course.period_s)}"
        f"{all_steps}, from {in_seconds(course.begin_s)} to {in_seconds(course.end_s)}."
    )
    if course.n_ranks < 2:
        yield "A single rank has no rhythm with others; measure two or more."
        return
    if course.drift is not None:
        yield _drift(course.drift)
    yield course.words
    if course.drift is None:
        yield from _history(course)
        yield from _warnings(course)
    yield from _neighbours(course)
    yield from _limits(course, run)


def _drift(found: Drift) -> str:
    return (
        f"The ranks drift apart: from {in_seconds(found.begin_s)} to {in_seconds(found.end_s)} rank "
        f"{found.fast} steadily gained {_steps_apart(found.gain)} steps on rank {found.slow}, "
        f"{in_percent(found.share)} of its steps. {_why_drift(found)}"
    )


def _why_drift(found: Drift) -> str:
    if found.linked is None:
        return "No messages between these ranks are known that could make the fast ones wait."
    if not found.linked:
        return (
            f"No messages lead from rank {found.slow} to rank {found.fast}, so this one need not wait for it."
        )
    return f"Messages lead from rank {found.slow} to rank {found.fast}, yet did not hold it back."


def _history(course: Course) -> Iterator[str]:
    widest = course.widest
    if widest.spread >= 2 * course.end.spread and widest.spread - course.end.spread >= 10 * WORTH_TELLING:
        yield (
            f"They were furthest apart at {in_seconds(widest.time_s)} (step {widest.step:,.0f}): "
            f"{_steps_apart(widest.spread)} steps."
        )


def _neighbours(course: Course) -> Iterator[str]:
    at_end, most = course.apart
    if np.isfinite(most):
        yield (
            f"Ranks that exchange messages are at most {_steps_apart(at_end)} steps apart at the end, "
            f"and were never more than {_steps_apart(most)} apart."
        )


def _warnings(course: Course) -> Iterator[str]:
    fall = course.fall
    if fall is None:
        return
    how = f"R fell from {fall.before:.2f} to {fall.after:.2f}"
    took = in_seconds(fall.end_s - fall.begin_s)
    when = f"within {took}, at {in_seconds(fall.begin_s)} (step {fall.step:,.0f})"
    moved = f"{_steps_apart(abs(fall.moved))} steps {'ahead' if fall.moved > 0 else 'behind'}"
    what = f"while rank {fall.rank} went {moved}"
    if fall.delay_s:
        what = f"as a delay of {in_seconds(fall.delay_s)} that began on rank {fall.rank} travelled"
    yield f"{'Early warning: ' if fall.recent else ''}{how} {when}, {what}."


def _limits(course: Course, run: RunDirectory | None) -> Iterator[str]:
    """What makes these numbers less sure."""
    for absent, verb in ((course.late, "began late"), (course.early, "ended early")):
        if absent:
            ranks = np.array([each.rank for each in absent])
            told = ""
            if len(absent) == 1 and verb == "ended early":
                told = f" (at {in_seconds(absent[0].end_s)}, after {absent[0].steps:,.0f} steps)"
            elif len(absent) == 1 and np.isfinite(absent[0].begin_s):
                told = f" (at {in_seconds(absent[0].begin_s)})"
            count = "it counts" if len(absent) == 1 else "they count"
            when = "until then" if verb == "ended early" else "from then on"
            yield f"{start(in_ranks(ranks))} {verb}{told}; {count} only {when}."
    if run is not None and (shared := sharing_of(run)):
        yield f"{start(shared)}, and so do phases."
    if course.unknown >= WORTH_TELLING:
        yield (f"{in_percent(course.unknown)} of the phases are unknown, since entries of steps are missing.")
    if course.uncertainty >= WORTH_TELLING:
        yield (
            f"Clocks of nodes make phases uncertain by up to {in_number(course.uncertainty)} steps; "
            "distances below that mean nothing."
        )
    elif run is not None and np.isnan(course.uncertainty) and len({*run.clocks["host"]}) > 1:
        yield (
            "How well the clocks of the nodes agree is unknown, so distances between ranks of "
            "different nodes may be wrong."
        )


def sharing_of(run: RunDirectory) -> str:
    """Which ranks share CPUs, in words; "" if none do."""
    from perfield.topology import placement_of, sharing

    return sharing(placement_of(run)).words


def _steps_apart(steps: float) -> str:
    """A distance in steps: hundredths, three digits from 1 on."""
    return f"{steps:.2f}" if steps < 1 else in_number(steps)


def as_json(course: Course) -> dict[str, Any]:
    """A course as JSON objects; docs/rhythm.md lists its names. Unknown numbers are null."""
    made = plain(course)
    return made | {"apart": dict(zip(("at_end", "largest"), made["apart"]))}


def with_metrics(phases: xr.Dataset, edges: Edges | None = None) -> xr.Dataset:
    """Phases with their metrics of dimension time, and with the phase gradient where `edges` are known."""
    from perfield.analysis.rhythm import (
        entropy,
        mean_phase,
        order_parameter,
        order_parameter_rate,
        phase_gradient,
        phase_variance,
        spread,
    )

    phase = phases["phase"]
    found = [
        metric(phase)
        for metric in (order_parameter, mean_phase, order_parameter_rate, spread, phase_variance)
    ]
    found.append(entropy(phase, relative=True).drop_vars("bins").rename("entropy"))
    if edges is not None:
        found.append(phase_gradient(phase, edges, mean=True))
    return phases.assign({each.name: each for each in found})


def edges_of(phases: xr.Dataset) -> Edges | None:
    """The communication topology that a Dataset of phases holds, None if it holds none."""
    return phases if "receiver" in phases and phases.sizes.get("edge") else None


def _table(course: Course) -> Table:
    scale, unit = next(
        (scale, unit) for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")) if course.end_s * scale >= 1
    )
    headings = (f">time in {unit}", ">step", ">spread", ">R", ">ranks", "state")
    rows = (
        (
            *(_cell(each.time_s * scale, 2), _cell(each.step, 0), _cell(each.spread, 2)),
            *(_cell(each.order_parameter, 2), _cell(each.known, 0), each.state),
        )
        for each in course.moments
    )
    return Table(headings, tuple(rows))


def _cell(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}" if np.isfinite(value) else "-"


def _samples(run: RunDirectory, n_ranks: int) -> int:
    """At how many times phases are taken: one for each step, within limits of sense and memory."""
    wanted = min(max(int(run.steps_closed.max(initial=0)), LEAST_SAMPLES), MOST_SAMPLES)
    return max(100, min(wanted, MOST_NUMBERS // max(n_ranks, 1)))


def _groups(run: RunDirectory, text: str | None) -> dict[str, list[int]]:
    """Ranks that are judged together: those chosen, else each group of the run."""
    chosen = chosen_ranks(text)
    return run.groups if chosen is None else {"chosen ranks": chosen}
