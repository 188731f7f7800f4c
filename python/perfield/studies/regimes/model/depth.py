# SPDX-License-Identifier: BSD-3-Clause
"""Distributions of the times of each rank, and which of them lie in the middle: functional box plots.

Lopez-Pintado, Romo, "On the Concept of Depth for Functional Data", JASA 2009; Sun, Genton, "Functional
Boxplots", JCGS 2011. Distributions are equal at both ends (0 and 1), so that ties must count as such: ranks
that break ties by chance choose another median curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.stats import rankdata

from perfield.studies.regimes.model.errors import RegimeError
from perfield.studies.regimes.model.timings import TIME, known_points

FENCE = 1.5  # times the height of the middle half


@dataclass(frozen=True)
class FunctionalBox:
    """A functional box plot of n curves at m points.

    depth : (n) of each curve. median : position of the deepest. lower, upper : (m) envelope of the deeper
    half. least, most : (m) envelope of all curves that are no outliers. outliers : positions of curves that
    somewhere leave the envelope of the deeper half by more than 1.5 times its height.
    """

    depth: np.ndarray
    median: int
    lower: np.ndarray
    upper: np.ndarray
    least: np.ndarray
    most: np.ndarray
    outliers: np.ndarray


def distributions(
    times: xr.Dataset, grid_s: np.ndarray, regime: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative distribution of the times of each rank: (n_some, len(grid)) shares of steps not longer than
    that, and the ranks (n_some). Ranks without a known time are left out.

    grid_s : ascending, in s. regime : counts only its steps. Raises RegimeError if that is given and the
    timings are not classified.
    """
    values, known = times[TIME].values, known_points(times, regime)
    some = np.flatnonzero(known.any(axis=1))
    curves = np.empty((len(some), len(grid_s)))
    for number, row in enumerate(some):
        ordered = np.sort(values[row, known[row]])
        curves[number] = np.searchsorted(ordered, grid_s, side="right") / len(ordered)
    return curves, times["rank"].values[some]


def band_depth(curves: np.ndarray) -> np.ndarray:
    """Modified band depth with bands of two curves: how often a curve lies between two others, (n) in [0, 1].

    curves : (n, m). A curve that touches the end of a band lies in it. With one curve the depth is 1.
    """
    n = len(curves)
    if n < 2:
        return np.ones(n)
    below = rankdata(curves, method="min", axis=0) - 1
    above = n - rankdata(curves, method="max", axis=0)
    outside = (below * (below - 1) + above * (above - 1)) / (n * (n - 1))
    return 1 - outside.mean(axis=1)


def functional_box(curves: np.ndarray, least: float = 0.0) -> FunctionalBox:
    """The functional box plot of curves, (n, m).

    least : how far a curve must at least leave the envelope of the deeper half to be an outlier; for
    distributions, whose envelope has no height at both ends, where else a single step would do.
    Raises RegimeError without a curve.
    """
    if not len(curves):
        raise RegimeError("there is no curve, so that none lies in the middle; no rank has a known time.")
    depth = band_depth(curves)
    order = np.argsort(-depth, kind="stable")
    middle = curves[order[: -(-len(curves) // 2)]]
    lower, upper = middle.min(axis=0), middle.max(axis=0)
    reach = np.maximum(FENCE * (upper - lower), least)
    outside = ((curves < lower - reach) | (curves > upper + reach)).any(axis=1)
    inside = curves[~outside]
    return FunctionalBox(
        depth, int(order[0]), lower, upper, inside.min(axis=0), inside.max(axis=0), np.flatnonzero(outside)
    )
