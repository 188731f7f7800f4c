# SPDX-License-Identifier: BSD-3-Clause
"""Chooses how an image shows the mesh so that no rank hides: plain, exploded, or the highest ranks opaque.

Opaque pieces are moved towards the camera: in parallel projection they stay in place on the screen, and
nothing veils their colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mesh_values import MeshValues
from outliers import outliers
from palette import is_waiting

if TYPE_CHECKING:
    from hidden import Sight

FACTORS = (0.5, 1.0)  # tried in this order
MESHES = 3  # so many meshes of a run whose mesh changes are looked at: the first, the middle one, the last


@dataclass(frozen=True)
class MeshView:
    """A way to show the mesh.

    kind : "plain", "exploded" (the pieces apart from one another) or "highest" (the highest ranks opaque in
    front of the others, which are translucent). factor : of an exploded view; 1 doubles the distances
    between the middles of the pieces. words : for the title, empty if there is nothing to say.
    """

    kind: str = "plain"
    factor: float = 0.0
    words: str = ""


class Chooser:
    """Chooses for each field. times : of the steps that images show; they are looked at when it matters."""

    def __init__(self, pictures: Any, values: MeshValues, times: Sequence[float], sight: Sight):
        self._pictures, self._values, self._times, self._sight = pictures, values, times, sight

    def choose(self, field: str) -> MeshView:
        """The way to show a field, as `perfield render --view` and --explode ask for it."""
        settings = self._pictures.description
        wanted, factor = settings["view"], settings["explode"]
        of_run = field not in settings["own_fields"]
        if wanted == "exploded" or (wanted == "auto" and factor):
            return MeshView("exploded", factor or FACTORS[0], "exploded")
        if wanted == "highest":
            return MeshView("highest", words=_opaque(field)) if of_run else MeshView()
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

    def hidden(self, factor: float) -> set[int]:
        """The ranks that the camera does not see, in any of some steps, in the mesh exploded by a factor."""
        return set().union(*(self._sight.hidden(time, factor) for time in self._mesh_times()))

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
