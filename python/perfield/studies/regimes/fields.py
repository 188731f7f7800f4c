# SPDX-License-Identifier: BSD-3-Clause
"""The regime of each rank in each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from perfield.derived.providers import Provider
from perfield.fields.table import Field
from perfield.run.run_directory import RunDirectory
from perfield.text import in_seconds

if TYPE_CHECKING:
    import xarray as xr

    from perfield.studies.regimes.model import Fit

SHADE, SHARE, NUMBER, CERTAINTY = "regime_shade", "slow_share", "regime", "regime_probability"
REGIMES = (SHADE, SHARE, NUMBER, CERTAINTY)
SURE = 0.9  # probability of the regime; below, it is drawn pale
_MEANINGS = {  # with title and colours
    SHADE: (
        "the regime and its certainty in one number, for colours: twice the regime, and one more where "
        "its probability is 0.9 or more",
        *("regime of the step, pale where uncertain", "category"),
    ),
    SHARE: (
        "share of the rank's steps in the slowest regime, the same in all steps; 0 if there is only one",
        *("share of steps in the slow regime", "share"),
    ),
    NUMBER: (
        "regime of the rank in the step, as a hidden Markov model of the times of steps finds it; 0 is "
        "the fastest",
        *("regime of the step, 0 is the fastest", "category"),
    ),
    CERTAINTY: ("probability of that regime", "probability of the regime", "share"),
}


class Regimes(Provider):
    """Fits the regimes of a run when a field is read. NaN for ranks and steps without a regime.

    The highlight is the frame in which most ranks are slow.
    """

    whole = True
    drawn = REGIMES[:2]
    gives = tuple(
        Field(
            name,
            "1",
            meaning,
            direction="" if name == CERTAINTY else "lower",
            over_steps="none",
            in_runs="it has enough steps to fit regimes",
            absent="the rank has no regime in the step",
            title=title,
            colours=colours,
            is_lasting=name == SHARE,
        )
        for name, (meaning, title, colours) in _MEANINGS.items()
    )

    def __init__(
        self,
        run: RunDirectory,
        of: str | None = None,
        classified: xr.Dataset | None = None,
        n_regimes: int | None = None,
    ):
        """of : what is timed, as for `regimes_of_run`; None: the steps. classified : the run's timings by
        world rank and step index with their regimes, where these are known already. Of the longest time of
        all ranks (rank -1), each rank has the regime. n_regimes : None for the number that fits best."""
        super().__init__(run)
        self._of, self._given, self._n_regimes = of, classified, n_regimes

    def fields(self) -> Iterable[Field]:
        """None of a run of one frame."""
        return self.gives if len(self.run) > 1 else ()

    def compute(self, names: Sequence[str], positions: np.ndarray) -> Mapping[str, np.ndarray]:
        """Raises RegimeError where the timings cannot be fitted."""
        return {name: self._values[name][positions] for name in names}

    def in_words(self, name: str) -> Mapping[int, str]:
        """The shades."""
        from perfield.studies.regimes.model import REGIME, TIME, n_regimes_of
        from perfield.studies.regimes.model.machine import regime_name

        if name != SHADE:
            return {}
        time_s, regime = (self._classified[of].transpose("rank", "step").values for of in (TIME, REGIME))
        words, n = {}, n_regimes_of(self._classified)
        for one in range(n):
            here = time_s[regime == one]
            mean = f": mean {in_seconds(float(here.mean()))}" if len(here) else ""
            words |= {2 * one: f"{regime_name(one, n)}, uncertain", 2 * one + 1: regime_name(one, n) + mean}
        return words

    def highlights(self) -> Sequence[int]:
        """One frame, if any rank is slow."""
        is_slow, sure, rows = self._slow, self._certainty, self._frames
        return [int(rows[np.where(is_slow, sure, 0).sum(axis=0).argmax()])] if is_slow.any() else []

    @property
    def notes(self) -> Sequence[str]:
        """Sentences on the fit."""
        return self._fit[1].notes

    @cached_property
    def _fit(self) -> tuple[xr.Dataset, Fit]:
        from perfield.studies.regimes.of_run import regimes_of_run  # importing xarray is slow

        return regimes_of_run(self.run, self._of, n_regimes=self._n_regimes)

    @property
    def _classified(self) -> xr.Dataset:
        return self._fit[0] if self._given is None else self._given

    @cached_property
    def _slow(self) -> np.ndarray:
        from perfield.studies.regimes.model import slow_points

        return slow_points(self._classified)

    @cached_property
    def _certainty(self) -> np.ndarray:
        """(n_ranks, n_steps), 1 where no probabilities are known."""
        from perfield.studies.regimes.model import PROBABILITY, REGIME

        if PROBABILITY in self._classified:
            return self._classified[PROBABILITY].transpose("rank", "step").values
        return np.ones([self._classified[REGIME].sizes[dim] for dim in ("rank", "step")])

    @cached_property
    def _frames(self) -> np.ndarray:
        """(n_steps,) positions of the frames of the timings."""
        return np.searchsorted(self.run.step_indexes, self._classified["step"].values)

    @cached_property
    def _values(self) -> dict[str, np.ndarray]:
        """(n_frames, n_ranks) by name."""
        from perfield.studies.regimes.model import REGIME, UNKNOWN

        run, rows, is_slow, sure = self.run, self._frames, self._slow, self._certainty
        regime = self._classified[REGIME].transpose("rank", "step").values
        known = regime != UNKNOWN
        spans = run.spans[rows].astype(float)
        n_known = known @ spans
        share = np.divide(is_slow @ spans, n_known, out=np.full(len(n_known), np.nan), where=n_known > 0)
        found = {SHADE: 2.0 * regime + (sure >= SURE), NUMBER: regime.astype(float), CERTAINTY: sure}
        ranks = self._classified["rank"].values
        columns = np.arange(run.n_ranks) if len(ranks) == 1 and ranks[0] < 0 else ranks
        values = {name: np.full((len(run), run.n_ranks), np.nan) for name in REGIMES}
        for name, table in found.items():
            values[name][np.ix_(rows, columns)] = np.where(known, table, np.nan).T
        values[SHARE][:, columns] = share
        return values


PROVIDER = Regimes
