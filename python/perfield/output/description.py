# SPDX-License-Identifier: BSD-3-Clause
"""Describes a run and its pictures for pictures.json: titles, ranges, and what to look at first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.output.arrays import Arrays
from perfield.output.titles import region_titles, title
from perfield.topology import place, read_machines

if TYPE_CHECKING:
    from perfield.run import Frame, Run

FAMILIAR = ("temperature", "t", "p", "pressure", "alpha")  # fields whose names start so come first


def describe(
    run: Run, uneven: UnevenRegions, arrays: Mapping[str, Arrays], own: Mapping[str, str]
) -> dict[str, Any]:
    """The part of pictures.json that describes the whole run.

    uneven : has noted the written frames. arrays : the written arrays by layer: "geometry", "messages",
    "topology/machine", ... own : array -> the simulation's name of its own field.
    """
    titles = region_titles(run.known_regions)
    layers: dict[str, Any] = {}
    for layer, noted in arrays.items():
        described = noted.description()
        for name, about in described.items():
            about["title"], about["unit"] = title(name, titles, own)
        layers[layer] = {"bounds": noted.bounds, "spread": noted.spread, "arrays": described}
    return {
        "run": Path(run.path).resolve().name,
        "n_ranks": run.n_ranks,
        "places": places(run),
        "regions": uneven.names(),
        "own_fields": {name: own[name] for name in sorted(own, key=_familiar)},
        "layers": layers,
    }


def places(run: Run) -> dict[str, list[Any]]:
    """Where each rank ran: "host", "" if it never checked in, and "core", None if it is bound to several."""
    placed = place(run.rank_entries, read_machines(Path(run.path, "machine"))[0])
    hosts = [str((entry or {}).get("host") or "") for entry in run.rank_entries]
    return {"host": hosts, "core": [int(core) if np.isfinite(core) else None for core in placed.core_id]}


class UnevenRegions:
    """Orders a run's regions by imbalance over the noted frames.

    Imbalance is the slowest rank's time minus the mean, in seconds: the most that balancing the region
    could gain. Each region's worst frame does not count: often it is the first, which is not typical.
    """

    def __init__(self, run: Run) -> None:
        self._lost: dict[str, list[float]] = {region.field: [] for region in run.known_regions}

    def note(self, frame: Frame) -> None:
        """Takes in the self times of a frame."""
        for name, seconds in self._lost.items():
            times = frame.values.get(f"{name}_self_time_s", np.zeros(0))
            times = times[np.isfinite(times)]
            seconds.append(float(times.max() - times.mean()) if len(times) else 0.0)

    def names(self) -> list[str]:
        """The regions' field names, the most uneven region first."""
        return sorted(self._lost, key=lambda name: -_without_worst(self._lost[name]))


def _without_worst(seconds: Sequence[float]) -> float:
    """The sum of all but the largest value; a single value counts."""
    return sum(sorted(seconds)[: max(len(seconds) - 1, 1)])


def step_title(frame: Frame, number: int, time: float | None) -> str:
    """A frame's step in words: the program's own number, then the frame's place in the run if it differs.

    time : the program's time; None if the program gave none.
    """
    if frame.kind == "whole":
        return "from start to end"
    place = f" (frame {number})" if number != frame.label else ""
    return f"step {int(frame.label)}{place}" + ("" if time is None else f", time {time:.6g}")


class Meshes:
    """Numbers the meshes of the frames: the first is 0, and a change on any rank starts the next."""

    def __init__(self) -> None:
        self._number = 0
        self._versions: np.ndarray | None = None

    def number(self, versions: np.ndarray) -> int:
        """The number of a frame's mesh. versions : (n_ranks,); 0 means that the rank's mesh is unchanged."""
        before = versions if self._versions is None else self._versions
        self._versions = np.where(versions > 0, versions, before)
        self._number += int((self._versions != before).any())
        return self._number


def _familiar(name: str) -> tuple[int, str]:
    """A sort key for the simulation's own fields: familiar ones come first."""
    start = name.lower().partition("_")[0]
    return FAMILIAR.index(start) if start in FAMILIAR else len(FAMILIAR), name
