# SPDX-License-Identifier: BSD-3-Clause
"""Cumulative sums of sorted times, and how much less time another method needs for as many fast steps.

Heldman, Rudi, Bessac, sections 4.3 and 4.4. The formula printed there is garbled; here
improvement(K) = 100 (S_K of the first - S_K of the other) / S_K of the first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from perfield.studies.regimes.model.errors import RegimeError
from perfield.studies.regimes.model.timings import REGIME, TIME, known_points, timings


def known_times(times: xr.Dataset, regime: int | None = None) -> np.ndarray:
    """All known times in s, (n_known); of one regime, if its number is given.

    Raises RegimeError if a regime is given and the timings are not classified.
    """
    return times[TIME].values[known_points(times, regime)]


def cumulative_sums(times_s: np.ndarray) -> np.ndarray:
    """S_K, the sum of the K fastest times, for K = 1 to n, in s. times_s : (n) s; NaN does not count."""
    values = np.asarray(times_s, dtype=np.float64).ravel()
    return np.cumsum(np.sort(values[np.isfinite(values)]))


def improvement(base_s: np.ndarray, other_s: np.ndarray) -> np.ndarray:
    """By how many per cent S_K of the other is below S_K of the base, for K = 1 to the fewer of both.

    base_s, other_s : (n) and (m) s, in any order; unknown ones are left out. Above 0 the other is better. NaN
    where S_K of the base is not above 0.
    """
    base, other = cumulative_sums(base_s), cumulative_sums(other_s)
    n = min(len(base), len(other))
    base, other = base[:n], other[:n]
    return 100 * np.divide(base - other, base, np.full(n, np.nan), where=base > 0)


def fastest(repeats: Sequence[xr.Dataset], n: int = 3) -> list[int]:
    """Positions of the n repeats whose times add up to the least, the fastest first.

    repeats : timings of one series each, such as those of `largest`. Each counts by as many of its fastest
    steps as the shortest one knows.
    """
    sums = [cumulative_sums(known_times(each)) for each in repeats]
    shortest = min(map(len, sums), default=0)
    if not shortest:
        raise RegimeError("a repeat has no known time; leave it out.")
    order = np.argsort([each[shortest - 1] for each in sums], kind="stable")
    return [int(position) for position in order[:n]]


def combined(repeats: Sequence[xr.Dataset]) -> xr.Dataset:
    """Repeats of one series one after the other, as one series: what the paper calls combining runs.

    The steps are numbered anew from 0. Regimes stay where all repeats are classified.
    """
    values = np.concatenate([each[TIME].values for each in repeats], axis=1)
    name = repeats[0][TIME].attrs.get("long_name", "time")
    joined = timings(values, repeats[0]["rank"].values, name=name)
    if all(REGIME in each for each in repeats):
        regime = np.concatenate([each[REGIME].values for each in repeats], axis=1)
        joined = joined.assign({REGIME: (("rank", "step"), regime)})
    return joined
