# SPDX-License-Identifier: BSD-3-Clause
"""Whether slow steps come back after a fixed number of steps: then the program makes them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from perfield.studies.regimes.model.events import stretches
from perfield.studies.regimes.model.statistics import n_regimes_of
from perfield.studies.regimes.model.timings import REGIME

FEWEST = 5  # equal distances that count
PART = 0.8  # of all distances, that must be equal


def recurs_every(classified: xr.Dataset) -> int | None:
    """After how many steps the slowest regime begins anew, if nearly always after the same number; else None.

    A step counts as slow where half of the ranks or more are. Steps without a time are passed over, so that
    regular output does not divide a long slow phase. A machine's slow phases begin at random, and hardly ever
    so regularly. Raises RegimeError for timings without regimes.
    """
    slow = n_regimes_of(classified) - 1
    regime = classified[REGIME].transpose("rank", "step").values
    n_known = (regime >= 0).sum(axis=0)
    known = np.flatnonzero(n_known)
    is_slow = 2 * (regime == slow).sum(axis=0)[known] >= n_known[known]
    if slow == 0:
        return None
    _, begin, _ = stretches(is_slow[np.newaxis])
    apart = np.diff(classified["step"].values[known[begin]])
    if len(apart) < FEWEST:
        return None
    lengths, counts = np.unique(apart, return_counts=True)
    most = counts.argmax()
    is_regular = counts[most] >= max(FEWEST, PART * len(apart)) and lengths[most] > 1
    return int(lengths[most]) if is_regular else None
