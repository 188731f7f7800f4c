# SPDX-License-Identifier: BSD-3-Clause
"""Chooses how an image shows the mesh: plain, exploded, or with the highest ranks opaque, so that no rank
hides; and the simulation's own fields on a cut.

Opaque pieces are moved towards the camera: in parallel projection they stay in place on the screen, and
nothing veils their colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from cuts import Plane, axis_of_least_change, has_inside, plane_at
from mesh_values import MeshValues
from outliers import outliers
from palette import is_waiting
from pipeline_options import CAMERAS

if TYPE_CHECKING:
    from hidden import Sight

FACTORS = (0.5, 1.0)  # tried in this order
MESHES = 3  # so many meshes of a run whose mesh changes are looked at: the first, the middle one, the last


@dataclass(frozen=True)
class MeshView:
    """A way to show the mesh.

    kind : "plain", "exploded" (the pieces apart from one another), "highest" (the highest ranks opaque in
    front of the others, which are translucent) or "cut". factor : of an exploded view; 1 doubles the
    distances between the middles of the pieces. words : for the title, empty if there is nothing to say.
    plane : of a cut. rank : the one through whose piece the plane goes, and which carries its name; None: the
    plane is in the middle of the mesh.
    """

    kind: str = "plain"
    factor: float = 0.0
    words: str = ""
    plane: Plane | None = None
    rank: int | None = None


class Chooser:
    """Chooses for each field. times : of the steps that images show; they are looked at when it matters.
    measured : the field whose slowest rank a cut goes through."""

    def __init__(
        self,
        pictures: Any,
        values: MeshValues,
        times: Sequence[float],
        sight: Sight,
        measured: str = "compute_time_s",
    ):
        self._pictures, self._values, self._times, self._sight = pictures, values, times, sight
        self._measured = measured
        self._cuts: dict[str, MeshView | None] = {}

    def choose(self, field: str) -> MeshView:
        """The way to show a field, as `perfield render --view` and --explode ask for it."""
        settings = self._pictures.description
        wanted, factor = settings["view"], settings["explode"]
        of_run = field not in settings["own_fields"]
        if wanted == "exploded" or (wanted == "auto" and factor):
            return MeshView("exploded", factor or FACTORS[0], "exploded")
        if wanted == "cut" or (not of_run and wanted != "plain"):
            cut = self._cut(field)
            if cut is not None or not of_run:
                return cut or MeshView()
        if wanted == "highest" and of_run:
            return MeshView("highest", words=_opaque(field))
        hidden = self.hidden(0.0) if of_run else set()
        if not hidden:
            return MeshView()
        if wanted == "plain":
            return MeshView(words=f"{_ranks(hidden)} {'is' if len(hidden) == 1 else 'are'} hidden")
        reason = f"as {_ranks(hidden)} would be hidden"
        moments = [self._values.at(time).values[field] for time in self._times]
        stand_out = {rank for values in moments for rank in outliers(values, field)}
        if field != "rank" and stand_out:
            return MeshView("highest", words=f"{_opaque(field)}, {reason}")
        return self.exploded()

    def exploded(self) -> MeshView:
        """The view with the least factor that shows all ranks, or with the one that shows the most."""
        factor = next((factor for factor in FACTORS if not self.hidden(factor)), None)
        if factor is None:
            factor = min(FACTORS, key=lambda factor: len(self.hidden(factor)))
        left, hidden = self.hidden(factor), self.hidden(0.0)
        reason = f"{_ranks(left)} still hidden" if left else f"as {_ranks(hidden)} would be hidden"
        return MeshView("exploded", factor, f"exploded, {reason}")

    def _cut(self, field: str) -> MeshView | None:
        """A cut through the piece of the rank that stands out in all steps, else through the middle of the
        mesh; None where the mesh has no inside, or is here as surfaces alone."""
        if field not in self._cuts:
            data, bounds = self._values.data(self._times[0]), self._pictures.bounds("geometry")
            self._cuts[field] = self._cut_of(data, field, bounds) if has_inside(data, bounds) else None
        return self._cuts[field]

    def _cut_of(self, data: Any, field: str, bounds: Sequence[float]) -> MeshView:
        looks = self._direction()
        axis = axis_of_least_change(data, field, bounds) if looks is None else int(np.abs(looks).argmax())
        moments = [self._values.at(time) for time in self._times]
        of_times = [moment.values.get(self._measured, {}) for moment in moments]
        found = {tuple(outliers(values, self._measured)[:1]) for values in of_times}
        first = found.pop() if len(found) == 1 else ()
        ends = moments[0].boxes[first[0]] if first else bounds
        plane = plane_at(axis, ends[2 * axis : 2 * axis + 2], bounds)
        slowest = ", the slowest" if "compute_time" in self._measured else ""
        where = f"through rank {first[0]}{slowest}" if first else "the middle"
        lines = "; thick lines: pieces of ranks" if field in self._pictures.description["own_fields"] else ""
        return MeshView("cut", 0.0, f"{plane.words}, {where}{lines}", plane, *first)

    def _direction(self) -> Any:
        """Where the camera looks that was asked for; None if none was."""
        camera = self._pictures.options.camera("geometry")
        if camera.place is not None:
            return np.subtract(camera.place[1], camera.place[0])
        return CAMERAS[camera.word]["geometry"][0] if camera.word in CAMERAS else None

    def hidden(self, factor: float) -> set[int]:
        """The ranks that the camera does not see, in any of some steps, in the mesh exploded by a factor."""
        way = MeshView("exploded", factor)
        return set().union(*(self._sight.hidden(time, way) for time in self._mesh_times()))

    def _mesh_times(self) -> list[float]:
        """The first time of each mesh, of at most MESHES meshes."""
        first: dict[int, float] = {}
        for time in self._times:
            first.setdefault(self._values.at(time).shape, time)
        times = list(first.values())
        return [times[0], times[len(times) // 2], times[-1]] if len(times) > MESHES else times


def _ranks(ranks: set[int]) -> str:
    return "1 rank" if len(ranks) == 1 else f"{len(ranks)} ranks"


def _opaque(field: str) -> str:
    """What a view of the highest ranks shows of a field: few fields are cost."""
    if is_waiting(field):
        return "ranks that wait least opaque"
    return "overloaded ranks opaque" if "compute_time" in field else "highest ranks opaque"
