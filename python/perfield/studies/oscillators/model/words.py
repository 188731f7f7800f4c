# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment with oscillators says: numbers, sentences, and the keys of its configuration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.studies.oscillators.model import max_plus
from perfield.studies.oscillators.model.configured import KEYS
from perfield.studies.oscillators.model.front import LEVELS, front, is_uniform, perturbed_ranks
from perfield.studies.oscillators.model.stability import stability
from perfield.studies.rhythm.model import (
    crossing_time,
    order_parameter,
    settling_time,
    spread,
    state,
    wavefront,
)
from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.state import FIT, NUMBER
from perfield.text import counted, in_list, in_number, in_seconds, start
from perfield.text.as_json import plain

if TYPE_CHECKING:
    import xarray as xr

    from perfield.studies.oscillators.model.configured import Experiment


def keys() -> str:
    """All keys of the config as a Markdown table."""
    rows = ["| table | key | type | meaning (default) |", "| --- | --- | --- | --- |"]
    for table, those in KEYS.items():
        name = "" if not table else "`[[stops]]`" if table == "stops" else f"`[{table}]`"
        for key, (kind, meaning) in those.items():
            rows.append(f"| {name} | `{key}` | {kind} | {meaning} |")
            name = ""
    return "\n".join(rows) + "\n"


def outcome(of: Experiment, found: xr.Dataset) -> dict[str, Any]:
    """Numbers of a result, None where unknown: its state at the end, how it settled, what travelled."""
    phase = found["phase"]
    edges = of.model.topology
    order, apart = order_parameter(phase), spread(phase)
    last = state(phase.isel(time=[-1]), edges).isel(time=0)
    line = wavefront(phase.isel(time=[-1])).isel(time=0)
    order_of, slope, fit = NUMBER, float(line["slope"]), float(line["fit"])
    if not fit >= FIT:  # only along the topology, if at all
        order_of, slope, fit = str(last["order"].values), float(last["slope"]), float(last["fit"])
    largest = float(apart.max())
    about: dict[str, Any] = {
        "title": of.title,
        "oscillators": edges.n,
        "edges": edges.n_edges,
        "state": str(last["state"].values),
        "spread_periods": float(apart[-1]),
        "order_parameter": float(order[-1]),
        "order": order_of,
        "slope_periods": slope,
        "slope_fit": fit,
        "groups": int(last["groups"]),
        "least_order_parameter": float(order.min()),
        "least_at_s": float(phase["time"].values[order.values.argmin()]),
        "settled_99_s": settling_time(phase, 0.99),
        "largest_spread_periods": largest,
        "spread_below_5_percent_s": crossing_time(apart, 0.05 * largest, rising=False) if largest else np.nan,
        "noise": of.model.noise is not None,
        "seed": of.seed,
    }
    fronts = []
    sources = perturbed_ranks(of.initial)
    if len(sources):
        rest = np.delete(of.initial, sources)[0]
        without = None
        if not is_uniform(of.model):
            without = replace(of, initial=np.full(edges.n, rest)).run()["phase"]
        for level in LEVELS:
            one = front(phase, of.model, level, unperturbed=without)
            fronts.append(
                {
                    "level": level,
                    "reached": one.reached,
                    "speed_per_s": one.speed,
                    "exponent": one.exponent,
                    "predicted_per_s": predicted_speed(of),
                }
            )
    about["fronts"] = fronts
    try:
        locked = stability(of.model, phase[:, -1].values, time=float(of.times[-1]))
        scale = float(np.abs(of.model.edge_strength_at(float(of.times[-1]))).max())
        about["locked"] = bool(locked.drift <= 1e-3 * scale)
        about["zero_modes"], about["slowest_per_s"] = locked.zero_modes, locked.slowest
    except ModelError:
        about["locked"] = None
    return plain(about)


def predicted_speed(of: Experiment) -> float:
    """c V'(0), oscillators/s: the speed of a front's head where each follows one other alone; else NaN.

    c is what V is multiplied by (reference: linear cascade of a one-directional chain).
    """
    model = of.model
    slope = float(np.ravel(model.potential.slope(np.zeros(model.topology.n_edges)))[0])
    strength = model.edge_strength_at(float(of.times[0]))
    if model.topology.degree.max() > 1 or np.ptp(strength) > 0 or slope <= 0:
        return float("nan")
    return float(strength[0]) * slope


def beside(of: Experiment, protocol: str) -> dict[str, Any]:
    """What the max-plus recursion says of the same start: spread at the end, and who was reached when."""
    program = max_plus.like(of.model, of.initial, protocol)
    period = float(np.mean(program.t_comp))
    n_steps = max(int((of.times[-1] - of.times[0]) / period), 1)
    steps = max_plus.march(program, n_steps)
    late = max((delay.time_s for delay in program.delays), default=0.0)
    waits = steps["waiting_time_s"].values > 0.5 * late if late else np.zeros((1, 1), bool)
    hit = waits.any(axis=0)
    return plain(
        {
            "protocol": protocol,
            "steps": n_steps,
            "spread_periods": float(np.ptp(steps["end_s"].values[-1]) / period),
            "waiting_ranks": int(hit.sum()),
            "last_hit_step": int(waits.argmax(axis=0)[hit].max()) if hit.any() else None,
            "left_out": [
                name
                for name, there in (
                    ("noise", of.model.noise is not None),
                    ("delays of messages", np.any(of.model.delay != 0.0)),
                )
                if there
            ],
        }
    )


def sentences(of: Experiment, found: xr.Dataset, about: dict[str, Any]) -> Iterator[str]:
    """What came out, the most important first."""
    yield _model(of)
    yield _state(about)
    yield _course(of, about)
    yield from _fronts(about)
    yield from _stability(about)
    if about.get("max_plus"):
        yield _beside(about["max_plus"])
    if found.attrs.get("remarks"):
        yield start(found.attrs["remarks"])


def _model(of: Experiment) -> str:
    model = of.model
    kept = model.parameters()
    force = kept["potential"]
    parameters = ", ".join(
        f"{key} = {in_number(v)}" for key, v in force.items() if isinstance(v, (int, float))
    )
    v_p = kept["coupling"]
    pull = "v_p changes with time" if isinstance(v_p, dict) else f"v_p = {in_number(v_p)} rad/s"
    divided = {"ranks": ", divided by their number", "degree": ", divided by each one's partners", "none": ""}
    answered = model.topology.answered
    way = "both ways" if answered.all() else "some one way" if answered.any() else "one way"
    return (
        f"{counted(model.topology.n, 'oscillator')} with {counted(model.topology.n_edges, 'edge')} ({way}), "
        f"V = {force['name'].replace('_', ' ')}{f' ({parameters})' if parameters else ''}, "
        f"{pull}{divided[model.normalisation]}; "
        f"{in_number(of.times[0])} to {in_number(of.times[-1])} s{_noise(of)}."
    )


def _noise(of: Experiment) -> str:
    noise = of.model.noise
    if noise is None:
        return ""
    return f", {noise.kind.replace('_', ' ')} noise of {noise.size:g}, seed {of.seed}"


def _state(about: dict[str, Any]) -> str:
    name = {"wavefront": "as a wavefront", "clusters": "in clusters"}.get(about["state"], about["state"])
    text = (
        f"They end {name}: {about['spread_periods']:.3f} periods lie between the last and the first "
        f"(R = {about['order_parameter']:.3f})"
    )
    if about["state"] == "wavefront":
        text += (
            f"; each is {about['slope_periods']:+.4f} periods from the one before it, by {about['order']} "
            f"(R^2 of the line: {about['slope_fit']:.3f})"
        )
    if about["state"] == "clusters":
        text += f", in {about['groups']} groups"
    return f"{text}."


def _course(of: Experiment, about: dict[str, Any]) -> str:
    low = f"R is least, {about['least_order_parameter']:.3f}, at {in_number(about['least_at_s'])} s"
    mean = float(np.mean(of.model.frequency_at(0.0)))
    unit = f" (a period is {in_seconds(2 * np.pi / mean)})" if mean > 1e-9 else ""
    settled = about["settled_99_s"]
    if settled is None:
        text = f"{low}, and below 0.99 at the end"
    else:
        text = f"{low}, and above 0.99 for good from {in_number(settled)} s"
    narrow = about["spread_below_5_percent_s"]
    if narrow is not None:
        text += f"; the spread stays below 5 % of its largest from {in_number(narrow)} s"
    return f"{text}{unit}."


def _fronts(about: dict[str, Any]) -> Iterator[str]:
    for one in about["fronts"]:
        share = f"{100 * one['level']:g} % of the perturbation"
        if not one["reached"]:
            yield f"{share} reaches no other oscillator."
            continue
        text = f"{share} comes as far as {counted(one['reached'], 'message')}"
        if one["speed_per_s"] is not None:
            text += f", at {one['speed_per_s']:.3g} oscillators/s"
            if one["predicted_per_s"] is not None and one is about["fronts"][-1]:
                text += f" (c V'(0) = {one['predicted_per_s']:.3g} is the speed of its head)"
            exponent = one["exponent"]
            if exponent is not None and exponent > 1.5:
                text += f"; it slows down like diffusion (time ~ distance^{exponent:.1f})"
        yield f"{text}."


def _stability(about: dict[str, Any]) -> Iterator[str]:
    if about["locked"] is None or about["noise"]:
        return
    if not about["locked"]:
        yield "They are not locked at the end: their rates still differ."
        return
    n_free = about["zero_modes"]
    free = f"{counted(n_free, 'shift')} of the phases {'is' if n_free == 1 else 'are'} free"
    slowest = about["slowest_per_s"]
    if slowest is None:
        return
    if slowest < 0:
        yield f"They are locked, and stably so: {free}, other deviations die at {-slowest:.3g}/s or faster."
    else:
        yield f"They are locked, but not stably: {free}, and a deviation grows at {slowest:.3g}/s."


def _beside(about: dict[str, Any]) -> str:
    text = (
        f"Messages alone (max-plus, {about['protocol']}) would leave {about['spread_periods']:.3f} periods "
        f"between the last and the first after {about['steps']:,} steps"
    )
    if about["waiting_ranks"]:
        text += (
            f"; {counted(about['waiting_ranks'], 'rank')} would wait for the delay, the last one in step "
            f"{about['last_hit_step']:,}"
        )
    if about["left_out"]:
        text += f" (without {in_list(about['left_out'])})"
    return f"{text}."
