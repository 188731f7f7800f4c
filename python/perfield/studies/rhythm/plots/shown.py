# SPDX-License-Identifier: BSD-3-Clause
"""The phases that plots show, and what follows from them; each is computed when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import PALETTE
from perfield.plots.style import PlotError, scaled
from perfield.studies.rhythm import model as rhythm
from perfield.studies.rhythm.model.dataset import MODEL, TURN
from perfield.studies.rhythm.model.topology import Topology, topology
from perfield.text import counted

if TYPE_CHECKING:
    import xarray as xr


MOST_TIMES = 2000  # points of a line; more are thinned
MOST_IN_PAIRS = 512  # oscillators whose pairs all count in a histogram or a heat map
COLOURS = {MODEL: PALETTE[1], "": PALETTE[0]}


@dataclass(frozen=True)
class Shown:
    """Phases as plots show them.

    phases : in the form of `perfield.studies.rhythm.model.dataset`. potential : V of eq. 14; without it or
    without a communication topology in the phases, there is no V(t). at : s, when snapshots are; None: the
    end. span : s, begin and end of the axis of time; None: those of the phases.
    places, order_words : where `arranged` took the oscillators from, and that in words.
    Raises PlotError if there are no two moments or no two oscillators with phases.
    """

    phases: xr.Dataset
    potential: Callable[[np.ndarray], np.ndarray] | None = None
    at: float | None = None
    span: tuple[float, float] | None = None
    places: np.ndarray | None = None
    order_words: str = "in the order of ranks"

    def __post_init__(self) -> None:
        known = np.isfinite(self.phases["phase"].values)
        n_ranks, n_moments = (int(known.any(axis=axis).sum()) for axis in (1, 0))
        if n_ranks < 2 or n_moments < 2:
            found = f"{counted(n_ranks, 'rank')} at {counted(n_moments, 'moment')}"
            raise PlotError(
                "there is no rhythm to plot: it needs phases of at least 2 ranks at 2 moments, and here are "
                f"those of {found}; take more {'ranks' if n_ranks < 2 else 'steps'}."
            )

    def arranged(self, order: np.ndarray | str | None) -> Shown:
        """The same with the oscillators in another order.

        order : "phase" (by the phase at the moment of the snapshots), the name of a coordinate along
        `oscillator`, such as "node_name", or positions (n,); None: by rank. Raises PlotError for others.
        """
        if order is None:
            return self
        if isinstance(order, str) and order == "phase":
            places, words = (
                np.argsort(self.snapshot.values, kind="stable"),
                "ranks in the order of their phase",
            )
        elif isinstance(order, str):
            places, words = np.argsort(self._coordinate(order), kind="stable"), f"ranks by {order}"
        else:
            places, words = np.asarray(order), "ranks in a given order"
            if sorted(places.tolist()) != list(range(self.n)):
                raise PlotError(f"order must name each of the positions 0 to {self.n - 1} once.")
        moved = self.phases.isel(oscillator=places)
        if "receiver" in moved:
            new = np.argsort(places)
            ends = {name: (moved[name].dims, new[moved[name].values]) for name in ("receiver", "sender")}
            moved = moved.assign(ends)
        return replace(self, phases=moved, places=places, order_words=words)

    def _coordinate(self, name: str) -> np.ndarray:
        along = self.phases["oscillator"].dims
        if name not in self.phases.coords or self.phases[name].dims != along:
            known = [each for each in self.phases.coords if self.phases[each].dims == along]
            raise PlotError(
                f"order = {name!r} is unknown here; expected 'phase' or one of {', '.join(known)}."
            )
        return self.phases[name].values

    @property
    def axis_words(self) -> str:
        """What an axis of oscillators counts: ranks, or their places in another order."""
        return self.word if self.places is None else f"place of {self.word}"

    @cached_property
    def phase(self) -> xr.DataArray:
        """Phases at not more than 2,000 moments, (oscillator, time) rad."""
        return self.phases["phase"].isel(time=some(self.phases.sizes["time"], MOST_TIMES))

    @property
    def n(self) -> int:
        """Number of oscillators."""
        return self.phase.sizes["oscillator"]

    @property
    def is_model(self) -> bool:
        """Whether a model gave the phases."""
        return self.phases.attrs.get("source") == MODEL

    @property
    def word(self) -> str:
        """What has a phase: "oscillator" of a model, "rank" of a run."""
        return "oscillator" if self.is_model else "rank"

    @property
    def rgb(self) -> tuple[float, float, float]:
        """The colour of lines: one of models, one of runs."""
        return COLOURS[MODEL if self.is_model else ""]

    @cached_property
    def zero(self) -> float:
        """What the axis of time counts from, s."""
        return float(self.phases["time"][0]) if self.span is None else self.span[0]

    @property
    def last(self) -> float:
        """The end of that axis, s from `zero` on."""
        return float(self.time[-1]) if self.span is None else self.span[1] - self.span[0]

    @cached_property
    def time(self) -> np.ndarray:
        """s, from `zero` on."""
        return self.phase["time"].values - self.zero

    @cached_property
    def _scaled(self) -> tuple[float, str]:
        return scaled("s", self.last)

    @property
    def factor(self) -> float:
        """What seconds are multiplied by on axes."""
        return self._scaled[0]

    @property
    def unit(self) -> str:
        """Of time on axes."""
        return self._scaled[1]

    @cached_property
    def moment(self) -> int:
        """Which moment snapshots show: the one next to `at`, or the last one at which all that ever have a
        phase still have one."""
        if self.at is not None:
            return int(np.abs(self.time - (self.at - self.zero)).argmin())
        known = np.isfinite(self.phase.values).sum(axis=0)
        return int(np.flatnonzero(known == known.max())[-1])

    def clock(self, moment: int) -> str:
        """The time of a moment in words: "2.5 ms"."""
        return f"{self.time[moment] * self.factor:.4g} {self.unit}"

    @cached_property
    def snapshot(self) -> xr.DataArray:
        """The phases at that moment, (oscillator,) rad."""
        return self.phase.isel(time=self.moment)

    @cached_property
    def behind(self) -> np.ndarray:
        """How many periods each oscillator is behind the foremost one, (oscillator, time); NaN: unknown."""
        values = self.phase.values
        return (np.fmax.reduce(values, axis=0) - values) / TURN

    @cached_property
    def topology(self) -> Topology | None:
        """The communication topology, if the phases hold it."""
        if "receiver" not in self.phases:
            return None
        of = self.phases
        return topology(self.n, of["receiver"].values, of["sender"].values, of["weight"].values)

    @cached_property
    def order_parameter(self) -> np.ndarray:
        """R (time,), where half of the oscillators have a phase."""
        return self._of_half(rhythm.order_parameter(self.phase))

    @cached_property
    def order_rate(self) -> np.ndarray:
        """dR/dt (time,) in 1/s, where half of the oscillators have a phase, and as many as just before and
        after: R changes, too, where an oscillator begins or ends."""
        count = np.isfinite(self.phase.values).sum(axis=0)
        changes = np.diff(count) != 0
        values = self._of_half(rhythm.order_parameter_rate(self.phase))
        return np.where(np.append(False, changes) | np.append(changes, False), np.nan, values)

    @cached_property
    def warnings(self) -> np.ndarray:
        """Begin and end in s of early warnings (warning, 2): losses of a common rhythm."""
        found = rhythm.losses_of_rhythm(self.phase)
        return np.stack([found["begin"].values, found["end"].values], axis=1)

    @cached_property
    def entropy(self) -> np.ndarray:
        """S (time,), where half of the oscillators have a phase."""
        return self._of_half(rhythm.entropy(self.phase))

    @cached_property
    def entropy_of_fixed_bins(self) -> np.ndarray:
        """S (time,) of fixed bins, where half of the oscillators have a phase."""
        return self._of_half(rhythm.entropy(self.phase, bins=rhythm.CIRCLE_BINS))

    @cached_property
    def spread(self) -> np.ndarray:
        """Periods from the last to the first oscillator (time,), where half of them have a phase."""
        return self._of_half(rhythm.spread(self.phase))

    def _of_half(self, values: xr.DataArray) -> np.ndarray:
        """NaN at the moments at which few have begun or not ended, which would look synchronous."""
        known = np.isfinite(self.phase.values).sum(axis=0)
        return np.where(2 * known >= self.n, values.values, np.nan)

    @cached_property
    def gradient(self) -> np.ndarray | None:
        """g_i (oscillator, time) rad; None without a communication topology."""
        return None if self.topology is None else rhythm.phase_gradient(self.phase, self.topology).values

    @cached_property
    def energy(self) -> np.ndarray | None:
        """V(t) (time,); None without a communication topology or a potential."""
        if self.topology is None or self.potential is None:
            return None
        return rhythm.potential(self.phase, self.topology, self.potential).values

    @cached_property
    def paired(self) -> np.ndarray:
        """The oscillators whose pairs all count: all, or 512 of more, evenly chosen."""
        return some(self.n, MOST_IN_PAIRS)


def some(n: int, most: int) -> np.ndarray:
    """At most so many of 0 to n - 1, evenly chosen, the first and the last one among them."""
    return np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(int))


def largest(values: np.ndarray, least: float = 0.0) -> float:
    """The largest absolute value, without NaN, or `least` if that is larger."""
    return float(np.nanmax(np.append(np.abs(values), least)))
