# SPDX-License-Identifier: BSD-3-Clause
"""Compares two versions of a program within the same regimes of the machine, instead of by luck.

One model is fitted to both versions together: only then do regimes mean the same on both sides, and their
shares can be compared. Heldman, Rudi, Bessac, ICS '25, section 4. Steps are not independent, so intervals
come from a block bootstrap of each side; a plain test of such series finds differences between identical
ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from perfield.studies.regimes.model import (
    REGIME,
    TIME,
    Model,
    RegimeError,
    block_length,
    classify,
    fit,
    fit_pooled,
    resampled_sums,
    stretches,
    timings,
)
from perfield.studies.regimes.model.machine import regime_name
from perfield.text import counted, in_percent, in_seconds

LEAST_SHARE, LEAST_STEPS = 0.01, 20  # of a regime on each side, else it is not there
FEW_VISITS = 10  # of a regime: with fewer, its share is uncertain
LEVELS_APART = 1.5  # times as much between two regimes of one version as of the other: they do not match
LONGER, FEWEST_BLOCKS = 2, 8  # blocks are twice as long as is best for the mean: intervals hold what they say
FROM_SHARES = "if only the shares had changed"
N_RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Improvement:
    """By how much times shrank. before, after : mean s. share : 1 - after / before; low, high : the interval
    that holds the true one with 95 % probability."""

    words: str
    before: float
    after: float
    share: float
    low: float
    high: float

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval leaves out "no change"."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Share:
    """A regime's share of the steps on both sides; low, high : the 95 % interval of after - before."""

    words: str
    before: float
    after: float
    low: float
    high: float


@dataclass(frozen=True)
class RegimeComparison:
    """Two versions within the same regimes.

    verdict : in a few sentences. names : of both sides. n_steps : of both. model : of both together.
    is_aligned : the model is of times over, or beyond, those of each side's fast regime, since the versions
    differ by more than a regime scatters. regimes : within each regime, from the fastest. overall : over
    all steps. shares : of the steps in each regime. from_shares : the part of `overall.share` that comes from
    how often each regime struck: the machine's part, unless the change itself moves steps between regimes.
    notes : what makes this less sure.
    """

    verdict: str
    names: tuple[str, str]
    n_steps: tuple[int, int]
    model: Model
    is_aligned: bool
    regimes: tuple[Improvement, ...]
    overall: Improvement
    shares: tuple[Share, ...]
    from_shares: Improvement
    notes: tuple[str, ...]

    @property
    def fast(self) -> Improvement:
        """Within the fast regime: what a quiet machine would show."""
        return self.regimes[0]


def compare_regimes(
    before: xr.Dataset,
    after: xr.Dataset,
    names: Sequence[str],
    n_regimes: int | None = None,
    *,
    emission: str = "student-t",
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> RegimeComparison:
    """Compares the timings of two versions regime by regime.

    before, after : as `timings` makes them; best the longest time of all ranks in each step. names : of both,
    for sentences. n_regimes : None chooses by BIC. Raises RegimeError where regimes do not match: one occurs
    on one side only, or both sides have one only, so nothing separates the machine from the program.
    """
    sides = (before, after)
    model, classified, is_aligned, notes = _pooled(sides, names, n_regimes, emission)
    n = model.n_regimes
    sums = [_Sums(side, n, n_resamples, seed + number) for number, side in enumerate(classified)]
    labels = [regime_name(one, n) for one in range(n)]
    regimes = tuple(
        _improvement(f"in the {label} regime", sums, [side.mean(one) for side in sums])
        for one, label in enumerate(labels)
    )
    overall = _improvement("over all steps", sums, [side.overall() for side in sums])
    shares = tuple(_share(label, sums, one) for one, label in enumerate(labels))
    from_shares = _from_shares(sums, n)
    notes = [*notes, *_few_visits(classified, names, labels)]
    return RegimeComparison(
        verdict=" ".join(_verdict(names, regimes, overall, from_shares, shares)),
        names=(names[0], names[1]),
        n_steps=(before.sizes["step"], after.sizes["step"]),
        model=model,
        is_aligned=is_aligned,
        regimes=regimes,
        overall=overall,
        shares=shares,
        from_shares=from_shares,
        notes=tuple(notes),
    )


class _Sums:
    """Means and shares of one side, and of resampled ones; index 0 is the side itself."""

    def __init__(self, classified: xr.Dataset, n: int, n_resamples: int, seed: int):
        time_s = classified[TIME].transpose("rank", "step").values
        regime = classified[REGIME].transpose("rank", "step").values
        columns = []
        for one in range(n):
            here = regime == one
            columns += [here.sum(axis=0), np.where(here, time_s, 0.0).sum(axis=0)]
        per_step = np.stack(columns, axis=1).astype(np.float64)
        is_known = regime >= 0
        known = is_known.any(axis=0)
        series = (np.where(is_known, regime, np.nan), np.log(np.where(is_known, time_s, np.nan)))
        length = max(block_length(np.nanmean(each[:, known], axis=0)) for each in series)
        n_steps = len(per_step)
        length = max(1, min(LONGER * length, n_steps // FEWEST_BLOCKS))
        self.n_blocks = n_steps / length
        drawn = resampled_sums(per_step, length, n_resamples, seed)
        both = np.concatenate([per_step.sum(axis=0)[np.newaxis], drawn]).reshape(-1, n, 2)
        self.count, self.total = np.rint(both[..., 0]), both[..., 1]

    def mean(self, regime: int) -> np.ndarray:
        """Mean time in a regime, s; NaN in resamples that lack it."""
        return _ratio(self.total[:, regime], self.count[:, regime])

    def overall(self) -> np.ndarray:
        """Mean time of all steps, s."""
        return _ratio(self.total.sum(axis=1), self.count.sum(axis=1))

    def share(self, regime: int) -> np.ndarray:
        """Share of the steps in a regime."""
        return _ratio(self.count[:, regime], self.count.sum(axis=1))


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def _ends(resampled: np.ndarray, n_blocks: float) -> tuple[float, float]:
    """The interval of a number. The first is the value, the others are resampled: Student's t
    with as many degrees of freedom as there are blocks, since few blocks scatter less than the steps do."""
    from scipy.stats import t

    error = float(np.nanstd(resampled[1:])) * np.sqrt(n_blocks / (n_blocks - 1))
    reach = float(t.ppf((1 + CONFIDENCE) / 2, n_blocks - 1)) * error
    return float(resampled[0]) - reach, float(resampled[0]) + reach


def _n_blocks(sides: Sequence[_Sums]) -> float:
    return min(side.n_blocks for side in sides)


def _improvement(words: str, sides: Sequence[_Sums], values: Sequence[np.ndarray]) -> Improvement:
    before, after = values
    share = 1 - after / before
    ends = _ends(share, _n_blocks(sides))
    return Improvement(words, float(before[0]), float(after[0]), float(share[0]), *ends)


def _share(words: str, sides: Sequence[_Sums], regime: int) -> Share:
    before, after = (side.share(regime) for side in sides)
    return Share(words, float(before[0]), float(after[0]), *_ends(after - before, _n_blocks(sides)))


def _from_shares(sides: Sequence[_Sums], n: int) -> Improvement:
    """What the shares alone would change: the mean of both sides' times, with the shares of each."""
    before, after = sides
    levels = [np.nanmean([before.mean(one), after.mean(one)], axis=0) for one in range(n)]
    with_shares = [
        np.sum([np.nan_to_num(level * side.share(one)) for one, level in enumerate(levels)], axis=0)
        for side in sides
    ]
    share = (with_shares[0] - with_shares[1]) / before.overall()
    ends = _ends(share, _n_blocks(sides))
    return Improvement(FROM_SHARES, *(float(each[0]) for each in (*with_shares, share)), *ends)


def _pooled(
    sides: Sequence[xr.Dataset], names: Sequence[str], n_regimes: int | None, emission: str
) -> tuple[Model, list[xr.Dataset], bool, list[str]]:
    """One model for both sides and both classified by it; whether times were aligned first; what to
    report."""
    pooled = fit_pooled(list(sides), n_regimes, emission=emission)
    classified = [classify(side, pooled.model) for side in sides]
    missing = list(_missing(classified, pooled.model.n_regimes, names))
    if pooled.model.n_regimes > 1 and not missing:
        return pooled.model, classified, False, list(pooled.notes)
    # Regimes of one side only: either the versions differ by more than a regime scatters, or the machine did.
    own = [fit(side, n_regimes, emission=emission) for side in sides]
    levels = [_levels(classify(side, each.model), each.model) for side, each in zip(sides, own)]
    numbers = [len(each) for each in levels]
    if max(numbers) == 1:
        raise RegimeError(
            f"{names[0]} and {names[1]} have one regime each ({_amounts(levels)}), so nothing separates the "
            "machine's state from the program's change; `perfield compare` without --regimes compares their "
            "steps. Measure both in turn, several times, to see whether the difference stays."
        )
    if numbers[0] != numbers[1]:
        if n_regimes is None:
            return _with_two(sides, names, numbers, emission)
        raise RegimeError(_do_not_match(names, levels, "they differ in number"))
    aligned, how = _aligned(sides, levels)
    if aligned is None:
        if n_regimes is None and numbers[0] > 2:
            return _with_two(sides, names, numbers, emission)
        raise RegimeError(_do_not_match(names, levels, "the slow ones are not as much slower"))
    pooled = fit_pooled(aligned, numbers[0], emission=emission)
    relative = [classify(side, pooled.model) for side in aligned]
    if pooled.model.n_regimes < 2 or list(_missing(relative, pooled.model.n_regimes, names)):
        raise RegimeError(_do_not_match(names, levels, missing[0] if missing else "no model fits both"))
    classified = [side.assign({REGIME: each[REGIME]}) for side, each in zip(sides, relative)]
    note = (
        f"the versions differ by more than a regime scatters ({_amounts(levels)}), so regimes are those of "
        f"{how}; a machine that was that much faster throughout one of the runs would look the same: measure "
        "both in turn"
    )
    return pooled.model, classified, True, [note, *pooled.notes]


def _with_two(
    sides: Sequence[xr.Dataset], names: Sequence[str], numbers: Sequence[int], emission: str
) -> tuple[Model, list[xr.Dataset], bool, list[str]]:
    """The same with a fast and a slow regime, as the paper fits such series (remark 1)."""
    model, classified, is_aligned, notes = _pooled(sides, names, 2, emission)
    note = (
        f"by BIC {names[0]} has {counted(numbers[0], 'regime')} and {names[1]} {numbers[1]}, which do not "
        "match, so perfield compares two, a fast and a slow one"
    )
    return model, classified, is_aligned, [note, *notes]


def _aligned(
    sides: Sequence[xr.Dataset], levels: Sequence[np.ndarray]
) -> tuple[list[xr.Dataset] | None, str]:
    """The timings with equal fast regimes, and what they are in words; None if the slow ones do not fit.

    The machine multiplies times, as a slower clock does, or adds to them, as a late message does: whichever
    makes the slow regimes of both sides alike.
    """
    times_as_long = _apart(*(each[1:] / each[0] for each in levels))
    added = _apart(*(each[1:] - each[0] for each in levels))
    if min(times_as_long, added) > np.log(LEVELS_APART):
        return None, ""
    fastest = min(each[0] for each in levels)
    aligned = []
    for side, each in zip(sides, levels):
        time_s = side[TIME].values
        moved = time_s / each[0] * fastest if times_as_long <= added else time_s - each[0] + fastest
        aligned.append(timings(np.where(moved > 0, moved, np.nan), side["rank"].values, side["step"].values))
    over = "times over" if times_as_long <= added else "times beyond"
    return aligned, f"{over} the fast regime of each version"


def _apart(before: np.ndarray, after: np.ndarray) -> float:
    """The largest logarithm of how many times as much one of two rows of positive numbers is."""
    return float(np.abs(np.log(after / before)).max(initial=0))


def _missing(classified: Sequence[xr.Dataset], n: int, names: Sequence[str]) -> Iterator[str]:
    """Regimes that one side lacks, in words."""
    for side, name in zip(classified, names):
        regime = side[REGIME].values
        n_known = max(int((regime >= 0).sum()), 1)
        for one in range(n):
            count = int((regime == one).sum())
            if count < max(LEAST_SHARE * n_known, LEAST_STEPS):
                yield (
                    f"{name} has {in_percent(count / n_known)} of its steps in the {regime_name(one, n)} "
                    f"regime of both"
                )


def _levels(classified: xr.Dataset, model: Model) -> np.ndarray:
    """Mean time in each regime that occurs, s, ascending."""
    time_s, regime = classified[TIME].values, classified[REGIME].values
    return np.array([time_s[regime == one].mean() for one in range(model.n_regimes) if (regime == one).any()])


def _amounts(levels: Sequence[np.ndarray]) -> str:
    return " against ".join(" and ".join(in_seconds(level) for level in each) for each in levels)


def _do_not_match(names: Sequence[str], levels: Sequence[np.ndarray], why: str) -> str:
    described = "; ".join(
        f"{name} has {counted(len(each), 'regime')} ({', '.join(in_seconds(level) for level in each)})"
        for name, each in zip(names, levels)
    )
    return (
        f"the regimes of {names[0]} and {names[1]} do not match, so nothing compares them: {why}. "
        f"{described}. Measure both in turn on the same nodes, for longer, or give the number of "
        "regimes with --regimes N."
    )


def _few_visits(
    classified: Sequence[xr.Dataset], names: Sequence[str], labels: Sequence[str]
) -> Iterator[str]:
    for side, name in zip(classified, names):
        regime = side[REGIME].transpose("rank", "step").values
        regime = regime[:, (regime >= 0).any(axis=0)]  # a step without a time ends no visit
        for one, label in enumerate(labels):
            row, _, _ = stretches(regime == one)
            visits = len(row) / side.sizes["rank"]
            if visits < FEW_VISITS:
                yield (
                    f"{name} was in the {label} regime only {visits:.3g} times, so its share is uncertain "
                    "beyond the interval; measure more steps"
                )


def _verdict(
    names: Sequence[str],
    regimes: Sequence[Improvement],
    overall: Improvement,
    from_shares: Improvement,
    shares: Sequence[Share],
) -> Iterator[str]:
    fast = regimes[0]
    before, after = names
    yield (
        f"In the fast regime {after} {_takes(fast)} per step than {before} ({_range(fast)})."
        if fast.beyond_chance
        else f"In the fast regime {before} and {after} do not differ by more than chance ({_range(fast)})."
    )
    if overall.beyond_chance:
        yield f"Over all steps {after} {_takes(overall)} ({_range(overall)})."
    elif fast.beyond_chance:
        yield f"Over all steps the difference may be chance ({_range(overall)})."
    slow = shares[-1]
    if from_shares.beyond_chance and abs(from_shares.share) >= abs(overall.share) / 4:
        yield (
            f"If only the shares of the regimes had changed, a step would take "
            f"{in_percent(abs(from_shares.share))} {'less' if from_shares.share > 0 else 'more'}: the "
            f"{slow.words} regime had {in_percent(slow.before)} of the steps, then {in_percent(slow.after)}. "
            "That is the machine, unless the change itself makes slow steps rarer or more frequent."
        )


def _takes(change: Improvement) -> str:
    word = "less" if change.share > 0 else "more"
    return f"takes {in_percent(abs(change.share), 3)} {word}"


def _range(change: Improvement) -> str:
    """The interval of the change of time: negative is less."""
    return f"{_signed(-change.high)} to {_signed(-change.low)} %"


def _signed(share: float) -> str:
    text = f"{100 * share:+,.0f}" if abs(share) >= 1 else f"{100 * share:+.3g}"
    return "0" if float(text.replace(",", "")) == 0 else text
