# SPDX-License-Identifier: BSD-3-Clause
"""Fits a hidden Markov model to timings, and says what its user must know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr

from perfield.studies.regimes.model import checks, sampling, states
from perfield.studies.regimes.model.bootstrap import FEWEST_STEPS
from perfield.studies.regimes.model.errors import RegimeError
from perfield.studies.regimes.model.model import EMISSIONS, Model
from perfield.studies.regimes.model.timings import TIME, timings

MAX_CHOICE = 6  # states, when their number is chosen
MORE_STATES = 3  # than regimes, to give a regime of another form the states that shape it


@dataclass(frozen=True)
class Fit:
    """A fitted model, and how it came about.

    model : of the sampled ranks. choice : one row per number of states that was tried: n_regimes, n_states,
    log_likelihood (of times in seconds), aic, bic (the smallest is the best) and is_chosen.
    notes : sentences that a user must know. ranks : (n_sampled) those that the model was fitted to.
    """

    model: Model
    choice: pd.DataFrame
    notes: tuple[str, ...]
    ranks: np.ndarray


def fit(
    times: xr.Dataset,
    n_regimes: int | None = None,
    *,
    emission: str = "student-t",
    dof: float = 2.0,
    n_sampled: int = 20,
    n_starts: int = 10,
    seed: int = 0,
    memory: bool = True,
    merge: bool = True,
) -> Fit:
    """One hidden Markov model of sampled ranks (the paper's Algorithm 1).

    times : `timings`, `time_s` (rank, step) in seconds. n_regimes : how many levels; None: as many as
    the states of smallest BIC form. emission : of EMISSIONS. dof : of Student's t; not fitted.
    memory : False for a mixture, in which each step forgets the one before. merge : whether a regime
    may need several states; False, with emission "gaussian": the paper's fit.
    Raises RegimeError for times that cannot carry that many regimes, and for unknown arguments.
    """
    ranks, values, notes = sampling.sampled(times, n_sampled)
    name = times[TIME].attrs.get("long_name", "time")
    _check(n_regimes, emission, dof, n_sampled, n_starts)
    if sampling.is_constant(values) and sampling.longest_row(values) >= FEWEST_STEPS:
        return _constant(values, emission, dof, name, notes, ranks)
    sampling.check_enough(values, n_regimes or 2)
    least, has_ticks = sampling.resolution(values if emission == "gaussian" else np.log(values))
    start = states.Start(
        values, emission, dof if emission == "student-t" else None, n_starts, seed, memory, least, has_ticks
    )
    search = _chosen(start) if n_regimes is None else _asked(start, n_regimes, merge)
    notes = (*notes, *search.notes, *checks.doubts(start, search.found, search.regime))
    model = states.model_of(start, search.found, search.regime, name, notes)
    return Fit(model, _table(start, search), notes, ranks)


@dataclass(frozen=True)
class _Search:
    """What was tried, and which of it was taken."""

    tried: tuple[states.States, ...]
    found: states.States
    regime: np.ndarray
    notes: tuple[str, ...] = ()


def _check(n_regimes: int | None, emission: str, dof: float, n_sampled: int, n_starts: int) -> None:
    """Raises RegimeError for arguments that cannot be."""
    if emission not in EMISSIONS:
        raise RegimeError(f"emission {emission!r} is unknown; expected one of {', '.join(EMISSIONS)}.")
    if n_regimes is not None and not 1 <= n_regimes <= states.MAX_STATES:
        raise RegimeError(f"{n_regimes} regimes; expected 1 to {states.MAX_STATES}.")
    if not dof > 0:
        raise RegimeError(f"dof is {dof}; expected degrees of freedom above 0.")
    if n_sampled < 1 or n_starts < 1:
        raise RegimeError(f"{n_sampled} sampled ranks and {n_starts} starts; expected at least 1 of each.")


def _asked(start: states.Start, n_regimes: int, merge: bool) -> _Search:
    """As many states as regimes, or some more if a state shapes another's tail instead of lasting."""
    tried, why = [states.fitted(start, n_regimes)], ""
    while tried[-1].n > 1:
        first, fewer = tried[-1], None
        reason = checks.degenerate(start, first)
        if merge and not reason:
            fewer = states.fitted(start, first.n - 1)
            if _criteria(start, fewer)["bic"] <= _criteria(start, first)["bic"]:
                reason = f"{first.n} states have a larger BIC than {fewer.n}"
        if not reason:
            tried += [fewer] if fewer else []
            break
        why = reason
        tried.append(fewer or states.fitted(start, first.n - 1))
    else:
        first = tried[-1]
    search = _Search(tuple(tried), first, np.arange(first.n))
    if merge and start.has_memory and first.n > 1:
        search = _shaped(start, search)
    n_found = int(search.regime.max()) + 1
    if n_found == n_regimes:
        return search
    why = why if n_found == first.n else "further states overlap and do not last, so they are one regime"
    return replace(
        search, notes=(f"{n_regimes} regimes were requested, but the times carry only {n_found}: {why}.",)
    )


def _shaped(start: states.Start, search: _Search) -> _Search:
    """More states where one only shapes another's tail; fewer regimes if that does not help."""
    first, tried = search.found, list(search.tried)
    found = first
    while states.merged(found.hidden, found.share).max() + 1 < first.n:
        more = states.fitted(start, found.n + 1) if found.n < states.MAX_STATES else None
        if more:
            tried.append(more)
        if (
            more is None
            or more.n > first.n + MORE_STATES
            or checks.degenerate(start, more)
            or _criteria(start, more)["bic"] >= _criteria(start, found)["bic"]
        ):
            return _Search(tuple(tried), first, checks.levels(start, first))
        found = more
    return _Search(tuple(tried), found, states.merged(found.hidden, found.share, first.n))


def _chosen(start: states.Start) -> _Search:
    """The number of states of smallest BIC, and the regimes that they form."""
    tried = [states.fitted(start, n) for n in range(1, MAX_CHOICE + 1)]
    sound = [one for one in tried if not checks.degenerate(start, one)]
    found = min(sound, key=lambda one: _criteria(start, one)["bic"])
    regime = states.merged(found.hidden, found.share)
    if regime.max() == 0:  # no memory anywhere: levels are separated by their distance alone
        regime = checks.levels(start, found)
    return _Search(tuple(tried), found, regime)


def _criteria(start: states.Start, found: states.States) -> dict[str, float]:
    """A row of the table of choice; the paper's section 2.2, with one location and scale per state."""
    n, count = found.n, int(np.isfinite(start.values).sum())
    parameters = n * n + 2 * n - 1 if start.has_memory else 3 * n - 1
    return {
        "n_regimes": int(states.merged(found.hidden, found.share).max()) + 1,
        "n_states": n,
        "log_likelihood": found.log_likelihood,
        "aic": -2 * found.log_likelihood + 2 * parameters,
        "bic": -2 * found.log_likelihood + parameters * np.log(count),
    }


def _table(start: states.Start, search: _Search) -> pd.DataFrame:
    """What was tried, by the number of states."""
    rows = [{**_criteria(start, one), "is_chosen": one is search.found} for one in search.tried]
    return pd.DataFrame(rows).sort_values("n_states", ignore_index=True)


def _constant(
    values: np.ndarray, emission: str, dof: float, name: str, notes: tuple[str, ...], ranks: np.ndarray
) -> Fit:
    """One regime, without a fit."""
    median = float(np.nanmedian(values))
    location = median if emission == "gaussian" else np.log(median)
    scale = sampling.ALIKE * (median if emission == "gaussian" else 1.0)
    notes = (*notes, f"all sampled values of {name} are {median:.6g} s: one regime, and nothing was fitted.")
    model = Model(
        emission,
        [location],
        [scale],
        dof if emission == "student-t" else None,
        [1.0],
        [[1.0]],
        [0],
        name,
        notes,
    )
    columns = ["n_regimes", "n_states", "log_likelihood", "aic", "bic", "is_chosen"]
    return Fit(model, pd.DataFrame(columns=columns), notes, ranks)


def fit_pooled(all_times: Sequence[xr.Dataset], n_regimes: int | None = None, **options: object) -> Fit:
    """One model of several methods' timings: only then are their shares of steps comparable.

    Each gives as many sampled ranks as the others. options : as for `fit`.
    """
    n_sampled = int(options.pop("n_sampled", 20))
    chosen = [sampling.sampled(times, n_sampled) for times in all_times]
    n_steps = max(values.shape[1] for _, values, _ in chosen)
    padded = [
        np.pad(values, ((0, 0), (0, n_steps - values.shape[1])), constant_values=np.nan)
        for _, values, _ in chosen
    ]
    rows = np.vstack(padded)
    pooled = timings(rows, name=all_times[0][TIME].attrs.get("long_name", "time"))
    found = fit(pooled, n_regimes, n_sampled=len(rows), **options)
    of_padding = sampling.of_unknown(rows)  # a shorter series lacks no time
    found_notes = [line for line in found.notes if line not in of_padding]
    notes = tuple(dict.fromkeys([*(line for _, _, lines in chosen for line in lines), *found_notes]))
    ranks = np.concatenate([ranks for ranks, _, _ in chosen])
    return replace(found, notes=notes, ranks=ranks, model=replace(found.model, notes=notes))
