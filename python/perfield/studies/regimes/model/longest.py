# SPDX-License-Identifier: BSD-3-Clause
"""The regimes of the longest time of all ranks in each step (the paper's remark 1)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.regimes.model.decode import classify
from perfield.studies.regimes.model.errors import RegimeError
from perfield.studies.regimes.model.fit import fit
from perfield.studies.regimes.model.statistics import n_regimes_of
from perfield.studies.regimes.model.timings import REGIME, TIME, UNKNOWN, largest

MOST_REGIMES = 2  # as in the paper


def longest_classified(times: xr.Dataset) -> xr.Dataset:
    """The longest time of all ranks in each step, classified, as timings of one row (rank -1).

    times : classified timings. The regimes are those of a fit to the series: two as in the paper, or one if
    `times` has one. Where steps are too few for that, a step has the regime of its longest rank.
    Raises RegimeError for timings without regimes.
    """
    n = n_regimes_of(times)
    series = largest(times)
    try:
        return classify(series, fit(series, min(n, MOST_REGIMES)).model)
    except RegimeError:
        values = times[TIME].values
        row = np.where(np.isfinite(values), values, -np.inf).argmax(axis=0)
        regime = np.where(
            np.isfinite(series[TIME].values[0]),
            times[REGIME].values[row, np.arange(values.shape[1])],
            UNKNOWN,
        )
        found = series.assign({REGIME: (("rank", "step"), regime[np.newaxis].astype(np.int8))})
        return found.assign_attrs({"model": times.attrs["model"]} if "model" in times.attrs else {})
