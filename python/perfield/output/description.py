# SPDX-License-Identifier: BSD-3-Clause
"""What pictures.json says of a run and its pictures: titles, ranges, and what is worth looking at first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perfield.output.arrays import Arrays
from perfield.output.titles import region_titles, title

FAMILIAR = ("temperature", "t", "p", "pressure", "alpha")  # starts of fields that people look at first


def describe(
    run: Any, steps: Sequence[int], arrays: Mapping[str, Arrays], own: Mapping[str, str]
) -> dict[str, Any]:
    """The part of pictures.json that is about the whole run.

    steps : numbers of the frames written. arrays : what was written, by layer: "geometry", "messages",
    "topology/machine", ... own : array -> name of an own field of the simulation.
    """
    titles = region_titles(run.regions)
    layers: dict[str, Any] = {}
    for layer, noted in arrays.items():
        described = noted.description()
        for name, about in described.items():
            about["title"], about["unit"] = title(name, titles, own)
        layers[layer] = {"bounds": noted.bounds, "arrays": described}
    return {
        "run": Path(run.path).resolve().name,
        "n_ranks": run.n_ranks,
        "regions": uneven_regions(run, steps),
        "own_fields": {name: own[name] for name in sorted(own, key=_familiar)},
        "layers": layers,
    }


def uneven_regions(run: Any, steps: Sequence[int]) -> list[str]:
    """Regions by name of field, first the one in which the ranks differ most.

    By the seconds that the slowest rank needs beyond the mean, over the steps shown: what all ranks would
    gain at most if the region were balanced. Each region's worst step does not count: it is often the first
    one, which says little about the others.
    """
    lost: dict[str, list[float]] = {region.field: [] for region in run.regions}
    for number in steps:
        values = run.frame(number).values
        for name, seconds in lost.items():
            times = values.get(f"{name}_self_time_s", np.zeros(0))
            times = times[np.isfinite(times)]
            seconds.append(float(times.max() - times.mean()) if len(times) else 0.0)
    counted = max(len(steps) - 1, 1)
    return sorted(lost, key=lambda name: -sum(sorted(lost[name])[:counted]))


def step_title(frame: Any, number: int, time: float | None) -> str:
    """Which step a frame is, by the program's own number, with the frame's (its place in the run) if that is
    another one. time : the program's, None if it gave none.
    """
    if frame.kind == "whole":
        return "from start to end"
    place = f" (frame {number})" if number != frame.label else ""
    return f"step {int(frame.label)}{place}" + ("" if time is None else f", time {time:.6g}")


class Meshes:
    """Numbers the meshes that frames are shown on: 0, and one more after each change on any rank."""

    def __init__(self) -> None:
        self._number = 0
        self._versions: np.ndarray | None = None

    def number(self, versions: np.ndarray) -> int:
        """The number of a frame's mesh. versions : (n_ranks,); where it is 0, the one before still holds."""
        before = versions if self._versions is None else self._versions
        self._versions = np.where(versions > 0, versions, before)
        self._number += int((self._versions != before).any())
        return self._number


def _familiar(name: str) -> tuple[int, str]:
    """Sorts own fields: those that people look at first come first."""
    start = name.lower().partition("_")[0]
    return FAMILIAR.index(start) if start in FAMILIAR else len(FAMILIAR), name
