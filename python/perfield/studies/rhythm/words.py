# SPDX-License-Identifier: BSD-3-Clause
"""What the course of a run's rhythm says: sentences, a table, and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.text import Table, counted, in_number, in_percent, in_ranks, in_seconds, start, unit_of_time
from perfield.text.as_json import plain
from perfield.topology import placement_of, sharing

if TYPE_CHECKING:
    import xarray as xr

    from perfield.run import RunDirectory
    from perfield.studies.rhythm.model import Course, Drift
    from perfield.studies.rhythm.model.blocks import Edges


LEAST_SAID = 0.01  # of a step, or of the phases


def sentences(course: Course, run: RunDirectory | None = None, n_closed: int = 0) -> Iterator[str]:
    """What a course says, the most important first. run : adds what its clocks and damage mean for it.
    n_closed : the steps that its ranks closed, where no steps were chosen."""
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
        f"{found.fast} steadily gained {steps_apart(found.gain)} steps on rank {found.slow}, "
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
    if widest.spread >= 2 * course.end.spread and widest.spread - course.end.spread >= 10 * LEAST_SAID:
        yield (
            f"They were furthest apart at {in_seconds(widest.time_s)} (step {widest.step:,.0f}): "
            f"{steps_apart(widest.spread)} steps."
        )


def _neighbours(course: Course) -> Iterator[str]:
    at_end, most = course.apart
    if np.isfinite(most):
        yield (
            f"Of ranks that exchange messages, the furthest two are typically {steps_apart(at_end)} steps "
            f"apart at the end, and were at most {steps_apart(most)} apart."
        )


def _warnings(course: Course) -> Iterator[str]:
    fall = course.fall
    if fall is None:
        return
    how = f"R fell from {fall.before:.2f} to {fall.after:.2f}"
    took = in_seconds(fall.end_s - fall.begin_s)
    when = f"within {took}, at {in_seconds(fall.begin_s)} (step {fall.step:,.0f})"
    moved = f"{steps_apart(abs(fall.moved))} steps {'ahead' if fall.moved > 0 else 'behind'}"
    what = f"while rank {fall.rank} went {moved}"
    if fall.delay_s:
        what = f"as a delay of {in_seconds(fall.delay_s)} that began on rank {fall.rank} travelled"
    yield f"{'Early warning: ' if fall.recent else ''}{how} {when}, {what}."


def _limits(course: Course, run: RunDirectory | None) -> Iterator[str]:
    """What makes these numbers less sure."""
    for absent, verb in ((course.late, "began late"), (course.early, "ended early")):
        if absent:
            ranks = np.array([each.rank for each in absent])
            where = ""
            if len(absent) == 1 and verb == "ended early":
                where = f" (at {in_seconds(absent[0].end_s)}, after {absent[0].steps:,.0f} steps)"
            elif len(absent) == 1 and np.isfinite(absent[0].begin_s):
                where = f" (at {in_seconds(absent[0].begin_s)})"
            count = "it counts" if len(absent) == 1 else "they count"
            when = "until then" if verb == "ended early" else "from then on"
            yield f"{start(in_ranks(ranks))} {verb}{where}; {count} only {when}."
    if run is not None and (shared := sharing(placement_of(run)).words):
        yield f"{start(shared)}, and so do phases."
    if course.unknown >= LEAST_SAID:
        yield (f"{in_percent(course.unknown)} of the phases are unknown, since entries of steps are missing.")
    if course.uncertainty >= LEAST_SAID:
        yield (
            f"Clocks of nodes make phases uncertain by up to {in_number(course.uncertainty)} steps; "
            "distances below that mean nothing."
        )
    elif run is not None and np.isnan(course.uncertainty) and len({*run.clocks["host"]}) > 1:
        yield (
            "How well the clocks of the nodes agree is unknown, so distances between ranks of "
            "different nodes may be wrong."
        )


def steps_apart(steps: float) -> str:
    """A distance in steps: hundredths, three digits from 1 on."""
    return f"{steps:.2f}" if steps < 1 else in_number(steps)


def as_json(course: Course) -> dict[str, Any]:
    """A course as JSON objects; docs/rhythm.md lists its names. Unknown numbers are null."""
    made = plain(course)
    return made | {"apart": dict(zip(("at_end", "largest"), made["apart"]))}


def with_metrics(phases: xr.Dataset, edges: Edges | None = None) -> xr.Dataset:
    """Phases with their metrics of dimension time, and with the phase gradient where `edges` are known."""
    from perfield.studies.rhythm.model import (
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


def table(course: Course) -> Table:
    """The moments of a course as a table."""
    size, unit = unit_of_time(course.end_s)
    headings = (f">time in {unit}", ">step", ">spread", ">R", ">ranks", "state")
    rows = (
        (
            *(_cell(each.time_s / size, 2), _cell(each.step, 0), _cell(each.spread, 2)),
            *(_cell(each.order_parameter, 2), _cell(each.known, 0), each.state),
        )
        for each in course.moments
    )
    return Table(headings, tuple(rows))


def _cell(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}" if np.isfinite(value) else "-"
