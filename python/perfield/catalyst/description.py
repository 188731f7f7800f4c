# SPDX-License-Identifier: BSD-3-Clause
"""Describes all ranks' arrays for images of a running program: ranges so far, titles, units.

It has the form of pictures.json, which `perfield render` writes once all steps are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkDataSet, vtkMultiBlockDataSet

from perfield.output.arrays import Arrays
from perfield.output.description import name_and_scale
from perfield.output.survey import UnevenRegions
from perfield.output.titles import region_titles
from perfield.pictures.own_fields import own_fields

if TYPE_CHECKING:
    from perfield.run import AnyRun, Frame, Region


class LiveDescription:
    """The arrays of this rank's datasets, over all noted steps."""

    def __init__(self, name: str):
        """name : the run's name."""
        self._name = name
        self._arrays: dict[str, Arrays] = defaultdict(lambda: Arrays(samples=False))
        self._own: dict[str, str] = {}
        self._uneven: UnevenRegions | None = None

    def note(
        self,
        index: int,
        blocks: list[tuple[str, vtkDataSet]],
        picture: vtkMultiBlockDataSet,
        run: AnyRun | None,
        frame: Frame | None,
    ) -> None:
        """Takes in a step.

        blocks : of the geometry, with their names. picture : the topology. run, frame : of all ranks, where
        this one reads them, else None.
        """
        for _, dataset in blocks:
            self._arrays["geometry"].note(index, dataset)
            self._own.update(own_fields(dataset))
        for number in range(picture.GetNumberOfBlocks()):
            if picture.GetBlock(number) is not None:
                layer = picture.GetMetaData(number).Get(vtkCompositeDataSet.NAME())
                self._arrays[f"topology/{layer}"].note(index, picture.GetBlock(number))
        if frame is not None:
            self._uneven = self._uneven or UnevenRegions(run.known_regions)
            self._uneven.note(frame)

    def part(self) -> dict[str, Any]:
        """What this rank knows, for `joined`."""
        layers = {layer: (noted.bounds, noted.description()) for layer, noted in self._arrays.items()}
        return {"layers": layers, "own": self._own, "regions": self._uneven.names() if self._uneven else None}

    def joined(self, parts: Iterable[dict[str, Any]], regions: Iterable[Region]) -> dict[str, Any]:
        """Joins what all ranks know, in the form of pictures.json. regions : the run's regions."""
        titles, own, order = region_titles(regions), {}, []
        layers: dict[str, dict[str, Any]] = {}
        for part in parts:
            own.update(part["own"])
            order = part["regions"] or order
            for layer, (bounds, arrays) in part["layers"].items():
                known = layers.setdefault(layer, {"bounds": None, "arrays": {}})
                known["bounds"] = _around(known["bounds"], bounds)
                for name, about in arrays.items():
                    known["arrays"][name] = _both(known["arrays"].get(name), about)
        for layer in layers.values():
            name_and_scale(layer["arrays"], titles, own, {})
        return {"run": self._name, "regions": order, "own_fields": own, "layers": layers}


def _around(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return one or other
    return tuple((min, max)[end % 2](pair) for end, pair in enumerate(zip(one, other)))


def _both(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    """Joins one array of two ranks."""
    if one is None:
        return other
    low, high = min(one["range"][0], other["range"][0]), max(one["range"][1], other["range"][1])
    return {**other, "range": (low, high), "absent": one["absent"] or other["absent"]}
