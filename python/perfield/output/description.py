# SPDX-License-Identifier: BSD-3-Clause
"""Describes a run and its pictures for pictures.json: titles, ranges, and what to look at first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.derived.matching import date_in_titles, name_in_titles
from perfield.output.scales import round_end, scale_of
from perfield.output.titles import region_titles, title
from perfield.pictures.machine_values import ADDED_UP_ON_DEVICES
from perfield.text import counted
from perfield.topology import Placement, unbound

if TYPE_CHECKING:
    from perfield.analysis.steps import StepKinds
    from perfield.output.arrays import Arrays
    from perfield.output.survey import OverSteps, Survey
    from perfield.run import AnyRun, Frame


def describe(
    run: AnyRun,
    survey: Survey,
    placement: Placement,
    arrays: Mapping[str, Arrays],
    own: Mapping[str, str],
) -> dict[str, Any]:
    """The part of pictures.json that describes the whole run.

    survey, placement : of the run. arrays : the written arrays by layer: "geometry", "messages", ... .
    own : array -> the simulation's name of its own field; the description has those that vary most first.
    """
    variation = arrays["geometry"].variation if "geometry" in arrays else lambda name: 0.0
    titles = region_titles(run.known_regions)
    meanings = run.meanings
    layers: dict[str, Any] = {}
    for layer, noted in arrays.items():
        described = noted.description()
        name_and_scale(described, titles, own, survey.over_steps)
        for name, about in described.items():
            if name in meanings:
                about["names"] = {str(value): words for value, words in meanings[name].items()}
        layers[layer] = {"bounds": noted.bounds, "spread": noted.spread, "arrays": described}
    _reach_devices(layers)
    for layer, noted in arrays.items():
        for name, about in layers[layer]["arrays"].items():
            about["beyond"] = _beyond(noted, name, about)
    return {
        "run": name_of(run),
        "n_ranks": run.n_ranks,
        "places": places(run, placement),
        "regions": survey.regions,
        "over_steps": {name: [over.base, over.kind] for name, over in survey.over_steps.items()},
        "typical": survey.kinds.typical,
        "slowest": survey.kinds.slowest,
        "highlights": list(run.highlights),
        "own_fields": {name: own[name] for name in sorted(own, key=lambda name: (-variation(name), name))},
        "layers": layers,
    }


def name_of(run: AnyRun) -> str:
    """A run in titles: "heat3d, 8 ranks, 2026-11-29"."""
    return ", ".join(filter(None, [name_in_titles(run), counted(run.n_ranks, "rank"), date_in_titles(run)]))


def places(run: AnyRun, placement: Placement) -> dict[str, list[str]]:
    """Where each rank ran, in words; "" where that is not known.

    host : of the rank. core : "core 3", or "unbound" if nothing ties the rank to a core.
    """
    hosts = [(entry or {}).get("host", "") for entry in run.rank_entries]
    free = unbound(placement)
    cores = [
        f"core {core:.0f}" if np.isfinite(core) else "unbound" if free[rank] else ""
        for rank, core in enumerate(placement.core_id)
    ]
    return {"host": hosts, "core": cores}


def name_and_scale(
    arrays: Mapping[str, dict[str, Any]],
    titles: Mapping[str, str],
    own: Mapping[str, str],
    over_steps: Mapping[str, OverSteps],
) -> None:
    """Adds title, unit and scale to the descriptions of a layer's arrays.

    scale : both ends of the colours; None if they are those of the range.
    titles : from `region_titles`. over_steps : as in `Survey`.
    """
    for name, about in arrays.items():
        over = over_steps.get(name)
        about["title"], about["unit"] = title(over.base if over else name, titles, own)
        if over:
            about["title"] += f": {over.words}"
            about["unit"] = about["unit"] if over.kind != "imbalance" else ""
        about["scale"] = scale_of(name, about, own)


def step_title(
    frame: Frame,
    number: int,
    time: float | None,
    kinds: StepKinds | None = None,
    injected: bool = False,
) -> str:
    """A frame's step in words, by the program's own number.

    number : the frame's place in the run. time : the program's; None if it gave none. kinds : of
    all frames; None if unknown.
    injected : latencies were injected into the run.
    """
    if frame.kind == "whole":
        return "from start to end" + ", latencies injected" * injected
    words = [f"step {int(frame.label)}"]
    if frame.span > 1:
        words.append(f"mean of {frame.span} steps" if frame.is_mean else f"{frame.span} steps added up")
    if time is not None:
        words.append(f"time {time:.6g}")
    words += ["ranks may be in different steps"] * bool(frame.uneven)
    if kinds is not None and len(kinds.is_output) > 1:
        words += ["writes output"] * bool(kinds.is_output[number])
        words += ["a typical step"] * (number == kinds.typical)
        words += ["the slowest to compute"] * (number == kinds.slowest)
    words += ["latencies injected"] * injected
    return ", ".join(words)


def _reach_devices(layers: Mapping[str, Any]) -> None:
    """Lets a rank's colours reach as far as those of devices, which hold the sums of several ranks."""
    of_ranks, of_devices = (
        layers.get(f"topology/{layer}", {}).get("arrays", {}) for layer in ("measurements", "devices")
    )
    for name in ADDED_UP_ON_DEVICES & of_ranks.keys() & of_devices.keys():
        scale = max(of_ranks[name]["scale"], of_devices[name]["scale"])
        of_ranks[name]["scale"] = of_devices[name]["scale"] = scale


def _beyond(noted: Arrays, name: str, about: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What to say of each step that goes beyond the array's scale.

    peak : its largest value. scale : its own, if all of its values lie beyond, so that they differ in colour;
    else None.
    """
    if not about["scale"]:
        return {}
    _, end = about["scale"]
    return {
        step: {"peak": peak, "scale": (min(low, 0.0), round_end(peak)) if low > end else None}
        for step, (low, peak) in noted.beyond(name, end).items()
    }


def ages(frame: Frame, number: int, survey: Survey, fields_index: int | None) -> tuple[str, str]:
    """What is older than the step, for its title: "mesh of step 10" and "fields of step 0"; else "".

    number : the frame's place in the run. fields_index : index of the step in which the simulation's newest
    fields were stored; None if there are none, or if it is unknown.
    """
    mesh = fields = ""
    since = survey.mesh_since[number]
    if survey.mesh_since.any() and since < number:
        mesh = f"mesh of step {survey.labels[since]}"
    if fields_index is not None and fields_index < frame.index:
        earlier = np.searchsorted(survey.indexes, fields_index, side="right") - 1
        fields = f"fields of step {survey.labels[earlier]}" if earlier >= 0 else "fields of set-up"
    return mesh, fields


def written_at(what: str, time: float | None) -> str:
    """What is older than the step, by the simulation's time: "mesh of time 0.02"; "" if `time` is None."""
    return "" if time is None else f"{what} of time {time:g}"
