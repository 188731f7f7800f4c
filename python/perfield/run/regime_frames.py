# SPDX-License-Identifier: BSD-3-Clause
"""A run whose frames carry the regime of each rank as fields, for pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.regimes import PROBABILITY, REGIME, TIME, UNKNOWN, n_regimes_of, slow_points
from perfield.analysis.regimes.machine import regime_name
from perfield.run.added_fields import AddedFields
from perfield.text import in_seconds

if TYPE_CHECKING:
    import xarray as xr

    from perfield.run.run_directory import RunDirectory

SHADE, SHARE, NUMBER, CERTAINTY = "regime_shade", "slow_share", "regime", "regime_probability"
REGIMES = (SHADE, SHARE, NUMBER, CERTAINTY)
SURE = 0.9  # probability of the regime; below, it is drawn pale


class RegimeFrames(AddedFields):
    """The run, with four more fields in each frame; everything else is the run's own.

    regime : of the rank in the step, 0 is the fastest. regime_probability : how probable that one is.
    regime_shade : both in one number, for colours: twice the regime, and one more where it is certain (a
    probability of 0.9 or more), so the largest of several is the slowest. slow_share : the share of the
    rank's steps in the slowest regime, the same in all frames; 0 where there is one regime only.
    NaN for ranks and steps without a regime. The telling frame is the one in which most ranks are slow.
    """

    def __init__(self, run: RunDirectory, classified: xr.Dataset):
        """classified : the run's timings by world rank and step index, with their regimes. Of the longest
        time of all ranks (rank -1), each rank has the regime. Raises RegimeError without regimes."""
        is_slow = slow_points(classified)
        time_s = classified[TIME].transpose("rank", "step").values
        regime = classified[REGIME].transpose("rank", "step").values
        known = regime != UNKNOWN
        sure = np.ones(regime.shape)
        if PROBABILITY in classified:
            sure = classified[PROBABILITY].transpose("rank", "step").values
        rows = np.searchsorted(run.step_indexes, classified["step"].values)
        spans = run.spans[rows].astype(float)
        n_known = known @ spans
        share = np.divide(is_slow @ spans, n_known, out=np.full(len(n_known), np.nan), where=n_known > 0)
        found = {SHADE: 2.0 * regime + (sure >= SURE), NUMBER: regime.astype(float), CERTAINTY: sure}
        ranks = classified["rank"].values
        columns = np.arange(run.n_ranks) if len(ranks) == 1 and ranks[0] < 0 else ranks
        values = {name: np.full((len(run), run.n_ranks), np.nan) for name in REGIMES}
        for name, table in found.items():
            values[name][np.ix_(rows, columns)] = np.where(known, table, np.nan).T
        values[SHARE][:, columns] = share
        super().__init__(run, values)
        n = n_regimes_of(classified)
        self.meanings = {SHADE: {}}
        for one in range(n):
            here = time_s[regime == one]
            name = regime_name(one, n) + (f": mean {in_seconds(float(here.mean()))}" if len(here) else "")
            self.meanings[SHADE].update({2 * one: f"{regime_name(one, n)}, uncertain", 2 * one + 1: name})
        self.telling = [int(rows[np.where(is_slow, sure, 0).sum(axis=0).argmax()])] if is_slow.any() else []
