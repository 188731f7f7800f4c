# SPDX-License-Identifier: BSD-3-Clause
"""What repeated runs of several methods say: what each hid, its regimes, and what it gained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from perfield.studies.hiding.model.errors import HidingError
from perfield.studies.hiding.model.gains import gain, hidden_share
from perfield.studies.regimes.model import REGIME, TIME, UNKNOWN, RegimeError, classify, fit_pooled, largest
from perfield.studies.regimes.model.bootstrap import interval
from perfield.studies.regimes.model.cumulative import combined, fastest

N_COMBINED = 3  # runs, as in the paper
N_REGIMES, N_REGIMES_OF_LONGEST = 3, 2  # as in the paper
FAST = 0
NOWHERE = (float("nan"), float("nan"))


@dataclass(frozen=True)
class Outcome:
    """What one method did. Shares are 0 to 1, gains in percent of the first method's time, NaN for itself.

    hidden_share : of MatVecs (rank, step) of all repeats, both of whose waits stayed within eps. Its interval
    is of the mean over repeats. fast_share : of steps (rank, step) of its fastest repeat in the fast regime
    of a fit of its own, as in the paper; fast_share_pooled : of one fit of all methods, so that only these
    are comparable. median_s : of a MatVec. longest_s : mean of T_k^max of the combined repeats. chosen : the
    repeats that are combined, from 0, the fastest first. gain_half : of the sum of the fastest half of their
    T_k^max; gain_all : of all; gain_fast : of the mean T_k^max of steps in the fast regime of each method's
    own fit. gain_half_interval : of the mean over repeats, each against the first method's of the same
    number. alpha : the mean.
    """

    method: str
    hidden_share: float
    hidden_interval: tuple[float, float]
    fast_share: float
    fast_share_pooled: float
    median_s: float
    longest_s: float
    chosen: tuple[int, ...]
    gain_half: float
    gain_half_interval: tuple[float, float]
    gain_all: float
    gain_fast: float
    alpha: float


@dataclass(frozen=True)
class Comparison:
    """What a study says. outcomes : of each method. longest : T_k^max of the combined repeats of each method,
    classified by a fit of its own where one was possible. times : the fastest repeat of each, classified by
    one fit of all. eps_s : s. notes : sentences that a reader must know."""

    outcomes: dict[str, Outcome]
    longest: dict[str, xr.Dataset]
    times: dict[str, xr.Dataset]
    eps_s: float
    notes: tuple[str, ...]


def compare(
    studies: Mapping[str, Sequence[xr.Dataset]],
    *,
    eps_s: float | None = None,
    n_combined: int = N_COMBINED,
    with_regimes: bool = True,
    seed: int = 0,
    **options: Any,
) -> Comparison:
    """Compares repeats of methods with those of the first one.

    studies : for each method its repeats: `time_s`, `w_in`, `w_out`, `alpha` (rank, step). eps_s : s, else
    the attribute of that name. n_combined : how many repeats, the fastest of each method, are combined.
    with_regimes : False leaves out the fits, which take longest. options : of
    `perfield.studies.regimes.model.fit`. Raises HidingError.
    """
    if not studies or not all(studies.values()):
        raise HidingError("a method has no repeat, so nothing can be compared; run each at least once.")
    fewest = min(map(len, studies.values()))
    if not 1 <= n_combined <= fewest:
        raise HidingError(
            f"{n_combined} repeats cannot be combined: a method has only {fewest}; run more, or combine "
            "fewer."
        )
    base = next(iter(studies))
    eps = float(studies[base][0].attrs["eps_s"]) if eps_s is None else eps_s
    of_repeats = {name: [largest(each) for each in repeats] for name, repeats in studies.items()}
    chosen = {name: tuple(fastest(series, n_combined)) for name, series in of_repeats.items()}
    longest = {name: combined([of_repeats[name][i] for i in chosen[name]]) for name in studies}
    times = {name: studies[name][chosen[name][0]] for name in studies}
    notes: list[str] = []
    own = dict.fromkeys(studies, float("nan"))
    if with_regimes:
        for name, each in times.items():
            own[name] = _fast_share(_classified({name: each}, N_REGIMES, notes, options)[name])
        times = _classified(times, N_REGIMES, notes, options)
        for name, each in longest.items():
            longest[name] = _classified({name: each}, N_REGIMES_OF_LONGEST, notes, options)[name]
    random = np.random.default_rng(seed)
    outcomes = {}
    for name, repeats in studies.items():
        hidden = np.array([hidden_share(each, eps) for each in repeats])
        pairs = zip(of_repeats[base], of_repeats[name])
        each_gain = np.array([gain(first[TIME].values, other[TIME].values, 0.5) for first, other in pairs])
        series, first = longest[name], longest[base]
        is_base = name == base
        outcomes[name] = Outcome(
            method=name,
            hidden_share=float(hidden.mean()),
            hidden_interval=_of_mean(hidden, random),
            fast_share=own[name],
            fast_share_pooled=_fast_share(times[name]),
            median_s=float(np.nanmedian([each[TIME].median() for each in repeats])),
            longest_s=float(series[TIME].mean()),
            chosen=chosen[name],
            gain_half=np.nan if is_base else gain(first[TIME].values, series[TIME].values, 0.5),
            gain_half_interval=NOWHERE if is_base else _of_mean(each_gain, random),
            gain_all=np.nan if is_base else gain(first[TIME].values, series[TIME].values),
            gain_fast=np.nan if is_base else _gain_of_fast(first, series),
            alpha=float(np.nanmean([each["alpha"].mean() for each in repeats])),
        )
    return Comparison(outcomes, longest, times, eps, tuple(notes))


def _of_mean(values: np.ndarray, random: np.random.Generator) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean over repeats; unknown for fewer than 3."""
    if len(values) < 3:
        return NOWHERE
    means = values[random.integers(len(values), size=(2000, len(values)))].mean(axis=1)
    low, high = interval(means)
    return float(low), float(high)


def _classified(
    each: dict[str, xr.Dataset], n: int, notes: list[str], options: Mapping[str, Any]
) -> dict[str, xr.Dataset]:
    """The timings with the regimes of one fit of them all. Where no fit succeeds: unchanged, and a note."""
    what = f"{'T_max' if n == N_REGIMES_OF_LONGEST else 'times'} of {' + '.join(each)}"
    try:
        fitted = fit_pooled(list(each.values()), n, **options)
    except RegimeError as error:
        notes.append(f"{what}: no regimes: {error}")
        return each
    notes += [f"{what}: {sentence}" for sentence in fitted.notes]
    found = {}
    for name, times in each.items():
        regimes = classify(times, fitted.model)
        found[name] = times.assign({key: regimes[key] for key in regimes.data_vars if key not in times})
        found[name].attrs["model"] = fitted.model.to_json()
    return found


def _fast_share(times: xr.Dataset) -> float:
    if REGIME not in times:
        return float("nan")
    regime = times[REGIME].values
    known = regime != UNKNOWN
    return float((regime[known] == FAST).mean()) if known.any() else float("nan")


def _gain_of_fast(first: xr.Dataset, other: xr.Dataset) -> float:
    if REGIME not in first or REGIME not in other:
        return float("nan")
    means = [float(each[TIME].where(each[REGIME] == FAST).mean()) for each in (first, other)]
    return 100 * (means[0] - means[1]) / means[0]
