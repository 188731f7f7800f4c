# SPDX-License-Identifier: BSD-3-Clause
"""What pictures.json says of a run and its pictures: titles, ranges, and what is worth looking at first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.output.arrays import Arrays
from perfield.output.titles import region_titles, title

if TYPE_CHECKING:
    from perfield.run import Frame, Run

FAMILIAR = ("temperature", "t", "p", "pressure", "alpha")  # starts of fields that people look at first


def describe(
    run: Run, uneven: UnevenRegions, arrays: Mapping[str, Arrays], own: Mapping[str, str]
) -> dict[str, Any]:
    """The part of pictures.json that is about the whole run.

    uneven : has noted the frames written. arrays : what was written, by layer: "geometry", "messages",
    "topology/machine", ... own : array -> name of an own field of the simulation.
    """
    titles = region_titles(run.known_regions)
    layers: dict[str, Any] = {}
    for layer, noted in arrays.items():
        described = noted.description()
        for name, about in described.items():
            about["title"], about["unit"] = title(name, titles, own)
        layers[layer] = {"bounds": noted.bounds, "arrays": described}
    return {
        "run": Path(run.path).resolve().name,
        "n_ranks": run.n_ranks,
        "regions": uneven.names(),
        "own_fields": {name: own[name] for name in sorted(own, key=_familiar)},
        "layers": layers,
    }


class UnevenRegions:
    """Orders a run's regions by how much the ranks differ in them, over the frames noted.

    By the seconds that the slowest rank needs beyond the mean: what all ranks would gain at most if the
    region were balanced. Each region's worst frame does not count: it is often the first one, which says
    little about the others.
    """

    def __init__(self, run: Run) -> None:
        self._lost: dict[str, list[float]] = {region.field: [] for region in run.known_regions}

    def note(self, frame: Frame) -> None:
        """Takes the self times of a frame into account."""
        for name, seconds in self._lost.items():
            times = frame.values.get(f"{name}_self_time_s", np.zeros(0))
            times = times[np.isfinite(times)]
            seconds.append(float(times.max() - times.mean()) if len(times) else 0.0)

    def names(self) -> list[str]:
        """The regions by name of field, the most uneven one first."""
        return sorted(self._lost, key=lambda name: -_without_worst(self._lost[name]))


def _without_worst(seconds: Sequence[float]) -> float:
    """The sum of all but the largest; of a single one, that one."""
    return sum(sorted(seconds)[: max(len(seconds) - 1, 1)])


def step_title(frame: Frame, number: int, time: float | None) -> str:
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
