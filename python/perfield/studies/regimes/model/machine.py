# SPDX-License-Identifier: BSD-3-Clause
"""The latency pattern of a machine: a fitted model, with where, when and on what it was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import xarray as xr

from perfield.studies.regimes.model.errors import RegimeError
from perfield.studies.regimes.model.model import Model, is_list_of_texts
from perfield.studies.regimes.model.statistics import statistics
from perfield.studies.regimes.model.timings import REGIME, TIME
from perfield.text import counted, in_list, in_number, in_percent, in_seconds
from perfield.text.as_json import plain

KEY = "machine"
FEWEST_TIMES = 50  # in a regime, from which their median is known
FAR_BEYOND = 3.0  # times the slow regime's mean, where hardly a step is in another one
NEARLY_ALL = 0.99
APART = 1.1  # times as long; means that are nearer count as alike
POINTS_APART = 0.05  # shares that are nearer count as alike


@dataclass(frozen=True)
class Machine:
    """How the steps of a machine split into regimes, and a model that makes such steps.

    hosts : names of the nodes. measured : when, an ISO 8601 date with its time; "" if unknown.
    command : what ran. field : what was timed, as --field names it. reduced : "max" for the longest time of
    all ranks, else "". n_ranks, n_steps : how much was measured.
    mean_s, sd_s, share, dwell_steps : (n_regimes), from the fastest: mean and standard deviation of a step in
    s, share of all steps, mean length of a stay in steps.
    """

    model: Model
    hosts: tuple[str, ...]
    measured: str
    command: str
    field: str
    reduced: str
    n_ranks: int
    n_steps: int
    mean_s: np.ndarray
    sd_s: np.ndarray
    share: np.ndarray
    dwell_steps: np.ndarray

    def __post_init__(self) -> None:
        """Makes arrays of lists, and checks them. Raises RegimeError."""
        for name, is_right in (
            *(
                (name, isinstance(getattr(self, name), str))
                for name in ("measured", "command", "field", "reduced")
            ),
            *((name, type(getattr(self, name)) is int) for name in ("n_ranks", "n_steps")),
            ("hosts", is_list_of_texts(self.hosts)),
        ):
            if not is_right:
                raise RegimeError(
                    f"this pattern of a machine has {name} {getattr(self, name)!r:.40}, expected texts for "
                    "hosts, measured, command, field and reduced, and whole numbers of ranks and steps; "
                    "save it again."
                )
        object.__setattr__(self, "hosts", tuple(self.hosts))
        for name in ("mean_s", "sd_s", "share", "dwell_steps"):
            try:
                given = [np.inf if each is None else float(each) for each in getattr(self, name)]
                is_sound = np.isfinite(given).all() or (name == "dwell_steps" and not np.isnan(given).any())
            except (OverflowError, TypeError, ValueError):
                is_sound = False
            if not is_sound:
                raise RegimeError(
                    f"this pattern of a machine has no list of numbers of {name}; save it again."
                )
            object.__setattr__(self, name, np.asarray(given, dtype=np.float64))
            if len(given) != self.model.n_regimes:
                raise RegimeError(
                    f"this pattern of a machine has {len(given)} numbers of {name}, but its model has "
                    f"{counted(self.model.n_regimes, 'regime')}; save it again."
                )

    @property
    def dwell_s(self) -> np.ndarray:
        """(n_regimes) s, the mean length of a stay: steps times their mean time."""
        return self.dwell_steps * self.mean_s

    @property
    def name(self) -> str:
        """The hosts and the date in words."""
        day = self.measured.partition("T")[0]
        return f"{in_list(self.hosts) if self.hosts else 'unknown hosts'}{f', {day}' if day else ''}"

    def to_json(self) -> str:
        """One JSON object: the model's, which `Model.from_json` also reads, with a part "machine"."""
        return json.dumps({**json.loads(self.model.to_json()), KEY: self.about}, indent=1, allow_nan=False)

    @property
    def about(self) -> dict[str, Any]:
        """All but the model, as JSON has it; a stay that never ended is null."""
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "model"}
        return plain({**found, "dwell_s": self.dwell_s})

    @classmethod
    def from_json(cls, text: str) -> Machine:
        """The pattern of such an object. Raises RegimeError if it is none, or of another version."""
        model = Model.from_json(text)
        about = json.loads(text).get(KEY)
        names = [field.name for field in fields(cls) if field.name != "model"]
        if not isinstance(about, Mapping) or any(name not in about for name in names):
            raise RegimeError(
                "this is a model of regimes, but no pattern of a machine: it does not say where and when "
                "it was measured; `perfield lab regimes RUN --save FILE` writes one."
            )
        return cls(model, **{name: about[name] for name in names})


def machine_of(
    classified: xr.Dataset, model: Model, hosts: Sequence[str] = (), measured: str = "", command: str = ""
) -> Machine:
    """The pattern that classified timings show; their attribute `field` names what was timed.

    hosts, measured, command : as in Machine. Raises RegimeError where `statistics` does.
    """
    found = statistics(classified, n_resamples=1).sel(bound="estimate")
    mean, sd, share, dwell = (
        _for_all(found[name].values, model.n_regimes) for name in ("mean_s", "sd_s", "share", "dwell_steps")
    )
    return Machine(
        model=model,
        hosts=tuple(hosts),
        measured=measured,
        command=command,
        field=str(classified.attrs.get("field", "")),
        reduced="max" if classified["rank"].values.tolist() == [-1] else "",
        n_ranks=int(classified.attrs.get("n_ranks", classified.sizes["rank"])),
        n_steps=classified.sizes["step"],
        mean_s=mean,
        sd_s=sd,
        share=share,
        dwell_steps=dwell,
    )


def _for_all(values: np.ndarray, n_regimes: int) -> np.ndarray:
    """Values of the regimes that occurred, 0 for the slower ones that did not."""
    return np.nan_to_num(np.pad(values, (0, n_regimes - len(values))), nan=0.0, posinf=np.inf)


def misfit(classified: xr.Dataset, saved: Machine) -> str:
    """Why timings that were classified with a saved pattern do not fit it, as a sentence; "" if they do.

    A time far below the fast regime is unlikely in all regimes, and the widest one takes it: the slow one. So
    the median time in each regime must lie between the saved means of its neighbours. Nor may nearly all
    times lie far beyond the slow regime.
    """
    time_s, regime = classified[TIME].values, classified[REGIME].values
    n = saved.model.n_regimes
    for one in range(n):
        here = time_s[regime == one]
        if len(here) < FEWEST_TIMES:
            continue
        median = float(np.median(here))
        for other, is_beyond in ((one - 1, np.less_equal), (one + 1, np.greater_equal)):
            if 0 <= other < n and saved.share[other] > 0 and is_beyond(median, saved.mean_s[other]):
                return (
                    f"these times do not fit the pattern of {saved.name}: in its {regime_name(one, n)} "
                    f"regime a step takes {in_seconds(median)} here, but {in_seconds(saved.mean_s[other])} "
                    f"in its {regime_name(other, n)} regime when it was saved; a pattern is of one program "
                    "on one machine, so save one of this program with `perfield lab regimes RUN --save FILE`."
                )
    slowest = time_s[regime == n - 1]
    if n > 1 and len(slowest) >= max(FEWEST_TIMES, NEARLY_ALL * (regime >= 0).sum()):
        median = float(np.median(slowest))
        if median > FAR_BEYOND * saved.mean_s[-1] > 0:
            return (
                f"these times do not fit the pattern of {saved.name}: nearly all are in its slow regime, and "
                f"a step takes {in_seconds(median)} here, but {in_seconds(saved.mean_s[-1])} when saved; "
                "a pattern is of one program on one machine, so save one of this program with `perfield "
                "regimes RUN --save FILE`."
            )
    return ""


def compared(now: Machine, before: Machine) -> Iterator[str]:
    """Sentences on how a machine's pattern differs from a saved one.

    now : classified with the model of `before`, so that regimes mean the same and shares are comparable.
    """
    for one in range(before.model.n_regimes):
        name = regime_name(one, before.model.n_regimes)
        share, saved = now.share[one], before.share[one]
        if abs(share - saved) < POINTS_APART:
            what = f"as often as before ({in_percent(saved)} of the steps, now {in_percent(share)})"
        else:
            word = "more" if share > saved else "less"
            what = f"{word} often: in {in_percent(share)} of the steps, before in {in_percent(saved)}"
        yield f"The {name} regime occurs {what}."
        if share > 0 and saved > 0:
            yield from _lengths(name, now, before, one)


def _lengths(name: str, now: Machine, before: Machine, one: int) -> Iterator[str]:
    for what, here, there, said in (
        ("A step there", now.mean_s[one], before.mean_s[one], "takes"),
        ("A stay there", now.dwell_s[one], before.dwell_s[one], "lasts"),
    ):
        if not (0 < here < np.inf and 0 < there < np.inf) or 1 / APART < here / there < APART:
            continue
        factor = here / there
        times = f"{in_number(factor)} times" if factor > 1 else f"{in_percent(factor)} of"
        how = f"{times} as long" if factor > 1 else f"{times} the time"
        yield f"{what} {said} {how} ({in_seconds(here)}, before {in_seconds(there)})."


def regime_name(regime: int, n_regimes: int) -> str:
    """A regime in words: "fast" and "slow" at the ends; between them "middle", or "2nd", "3rd" and so on."""
    if n_regimes == 1:
        return "only"
    if regime in (0, n_regimes - 1):
        return "slow" if regime else "fast"
    return "middle" if n_regimes == 3 else {1: "2nd", 2: "3rd"}.get(regime, f"{regime + 1}th")
