# SPDX-License-Identifier: BSD-3-Clause
"""What regimes are like: how long steps take in each, how many steps, how long it lasts, what follows.

Each number has a confidence interval of a block bootstrap over steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr
from scipy.sparse import csr_matrix

from perfield.studies.regimes.model.bootstrap import (
    LEVEL,
    N_RESAMPLES,
    block_length,
    interval,
    resampled_sums,
)
from perfield.studies.regimes.model.errors import RegimeError
from perfield.studies.regimes.model.model import Model
from perfield.studies.regimes.model.places import places
from perfield.studies.regimes.model.timings import REGIME, TIME

if TYPE_CHECKING:
    from perfield.topology import Placement

BOUNDS = ("estimate", "low", "high")
SAMPLED_PLACES = 20  # from which the length of blocks comes
PLACES_AT_ONCE = 512


def n_regimes_of(classified: xr.Dataset) -> int:
    """How many regimes the model of classified timings has; without one, how many are there.

    Raises RegimeError if they are not classified.
    """
    if REGIME not in classified:
        raise RegimeError("these timings have no regimes yet; call `classify` with a fitted model first.")
    found = int(classified[REGIME].max()) + 1 if classified[REGIME].size else 0
    if found < 1:
        raise RegimeError("no point of these timings has a regime; all their times are unknown.")
    return Model.from_json(classified.attrs["model"]).n_regimes if "model" in classified.attrs else found


def slow_points(classified: xr.Dataset) -> np.ndarray:
    """Which points are in the slowest regime: bool (n_ranks, n_steps). None is, where there is one regime.

    Raises RegimeError for timings without regimes.
    """
    n = n_regimes_of(classified)
    return (classified[REGIME].transpose("rank", "step").values == n - 1) & (n > 1)


def statistics(
    classified: xr.Dataset, *, n_resamples: int = N_RESAMPLES, level: float = LEVEL, seed: int = 0
) -> xr.Dataset:
    """Statistics of each regime, over all ranks and steps, with confidence intervals.

    classified : timings with `regime` (rank, step). Returns, over `regime` and `bound` ("estimate", "low",
    "high"): `mean_s` and `sd_s` of a step's time, s; `share`, of all steps of all ranks; `dwell_steps`, for
    how many steps it lasts, 1 / (1 - Pi_ii), infinite where it is never left; and `transition` (regime, to,
    bound), Pi of the paper. Attributes: `block_length` (steps), `level`, `n_resamples`.
    Regimes of neighbouring steps count as a transition if both are known. Raises RegimeError for timings
    without regimes, or fewer than 8 steps.
    """
    n = n_regimes_of(classified)
    time_s = classified[TIME].transpose("rank", "step").values
    regime = classified[REGIME].transpose("rank", "step").values
    per_step, middle = _sums(time_s, regime, n)
    logarithm = np.log(np.where(time_s > 0, time_s, np.nan))
    length = max(block_length(_mean(values)) for values in (logarithm, _known(regime)))
    drawn = resampled_sums(per_step, length, n_resamples, seed)
    estimate = _of_sums(per_step.sum(axis=0)[np.newaxis], n, middle)
    over = _of_sums(drawn, n, middle)
    made = {}
    for name, (values, unit, meaning) in estimate.items():
        low, high = interval(over[name][0], level)
        dims = ("regime", "to", "bound") if name == "transition" else ("regime", "bound")
        made[name] = (dims, np.stack([values[0], low, high], axis=-1), {"units": unit, "long_name": meaning})
    number = np.arange(n)
    return xr.Dataset(
        made,
        {"regime": number, "to": number, "bound": list(BOUNDS)},
        {"block_length": length, "level": level, "n_resamples": n_resamples},
    )


def shares(
    classified: xr.Dataset,
    placement: Placement | None = None,
    level: str = "rank",
    *,
    n_resamples: int = N_RESAMPLES,
    confidence: float = LEVEL,
    seed: int = 0,
) -> pd.DataFrame:
    """How much of each rank, package, node or switch lies in the slowest regime.

    level : "rank", or one of `LEVELS`, which needs the placement. Returns one row for each place, by name:
    n_ranks; share_of_steps, with low and high, the ends of its confidence interval; and share_of_time, the
    seconds in the slow regime over all. Ranks without such a place are left out. Raises RegimeError for
    timings without regimes, an unknown level, or without a placement.
    """
    is_slow = slow_points(classified)
    ranks = classified["rank"].values
    if level == "rank":
        number, names = np.arange(len(ranks)), [f"rank {rank}" if rank >= 0 else "longest" for rank in ranks]
    else:
        number, names = places(placement, ranks, level)
    time_s = classified[TIME].transpose("rank", "step").values
    regime = classified[REGIME].transpose("rank", "step").values
    known = regime >= 0
    counts = np.stack([_by_place(table, number, len(names)) for table in (is_slow, known)])
    some = np.unique(np.linspace(0, len(names) - 1, SAMPLED_PLACES).round().astype(int))
    length = max((block_length(_ratio(*counts[:, place])) for place in some if len(names)), default=1)
    total = counts.sum(axis=2)
    in_s = np.where(known, np.nan_to_num(time_s), 0.0)
    spent = [_by_place(table, number, len(names)).sum(axis=1) for table in (in_s * is_slow, in_s)]
    bounds = [np.zeros((2, 0))]
    for begin in range(0, len(names), PLACES_AT_ONCE):
        here = counts[:, begin : begin + PLACES_AT_ONCE]
        drawn = resampled_sums(np.concatenate(here).T, length, n_resamples, seed)
        bounds.append(np.stack(interval(_ratio(*np.split(drawn, 2, axis=1)), confidence)))
    low, high = np.concatenate(bounds, axis=1)
    return pd.DataFrame(
        {
            "n_ranks": np.bincount(number[number >= 0], minlength=len(names)),
            "share_of_steps": _ratio(*total),
            "low": low,
            "high": high,
            "share_of_time": _ratio(*spent),
        },
        index=pd.Index(names, name=level),
    )


def _by_place(table: np.ndarray, number: np.ndarray, n_places: int) -> np.ndarray:
    """Sums of (rank, step) over the ranks of each place: float64 (n_places, n_steps)."""
    placed = np.flatnonzero(number >= 0)
    member = csr_matrix((np.ones(len(placed)), (number[placed], placed)), (n_places, len(number)))
    return member @ table.astype(np.float64)


def _sums(time_s: np.ndarray, regime: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """What each step adds to the sums that statistics need: counts, times and their squares, by regime, and
    transitions into the next step; and the mean time of each, from which its times count."""
    columns, middle = [], np.zeros(n)
    for one in range(n):
        here = regime == one
        middle[one] = time_s[here].mean() if here.any() else np.nan
        apart = np.where(here, time_s - middle[one], 0.0)
        columns += [here.sum(axis=0), apart.sum(axis=0), (apart**2).sum(axis=0)]
    last = np.zeros(1, np.int64)
    for one in range(n):
        leaves = regime[:, :-1] == one
        for other in range(n):
            columns.append(np.append((leaves & (regime[:, 1:] == other)).sum(axis=0), last))
    return np.stack(columns, axis=1).astype(np.float64), middle


def _of_sums(sums: np.ndarray, n: int, middle: np.ndarray) -> dict[str, tuple[np.ndarray, str, str]]:
    """Statistics of rows of sums: values, unit and meaning by name."""
    of_regime = sums[:, : 3 * n].reshape(-1, n, 3)
    count, total, squares = of_regime[..., 0], of_regime[..., 1], of_regime[..., 2]
    # A resample may lack a regime; rounding leaves less than half a step.
    count = np.rint(count)
    mean = _ratio(total, count)
    pairs = np.rint(sums[:, 3 * n :]).reshape(-1, n, n)
    transition = _ratio(pairs, pairs.sum(axis=2, keepdims=True))
    stay = np.diagonal(transition, axis1=1, axis2=2)
    with np.errstate(divide="ignore"):
        dwell = 1 / (1 - stay)
    return {
        "mean_s": (mean + middle, "s", "mean time of a step"),
        "sd_s": (np.sqrt(np.maximum(_ratio(squares, count) - mean**2, 0)), "s", "standard deviation"),
        "share": (_ratio(count, count.sum(axis=1, keepdims=True)), "1", "share of steps"),
        "dwell_steps": (dwell, "1", "steps until it is left"),
        "transition": (transition, "1", "probability of the next step's regime"),
    }


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """above / below, NaN where below is not above 0."""
    above, below = np.asarray(above, float), np.asarray(below, float)
    return np.divide(above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below > 0)


def _mean(values: np.ndarray) -> np.ndarray:
    """The mean over ranks of what is known, NaN where nothing is."""
    return _ratio(np.nansum(values, axis=0), np.isfinite(values).sum(axis=0))


def _known(regime: np.ndarray) -> np.ndarray:
    """Regimes as numbers, NaN where unknown."""
    return np.where(regime >= 0, regime, np.nan)
