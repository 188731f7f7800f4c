# SPDX-License-Identifier: BSD-3-Clause
"""What classified timings say: sentences, tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.studies.regimes.model import TIME
from perfield.studies.regimes.model.machine import regime_name
from perfield.studies.regimes.model.recurring import recurs_every
from perfield.studies.regimes.model.timings import STEP_TIME
from perfield.text import Table, counted, in_list, in_number, in_percent, in_seconds, start

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from perfield.studies.regimes.model import Model


STATISTICS = ("regime", ">mean", ">sd", ">share of steps", ">lasts, in steps", ">lasts, in time")
NOTE = "in brackets: 95 % confidence, by a bootstrap of blocks of steps"
FOLLOWS = "The next step's regime, by probability"
CHOICE_HEAD = """\
How many regimes: tried were models with 1, 2, ... states; the one with the smallest BIC is taken.
A state that does not last belongs to the regime of a neighbour."""


def sentences(found: xr.Dataset, numbers: xr.Dataset, model: Model) -> Iterator[str]:
    """What classified timings say, the most important first.

    found : of `classify`. numbers : of `statistics`.
    """
    what = found[TIME].attrs.get("long_name", "time")
    n_ranks = int(found.attrs.get("n_ranks", found.sizes["rank"]))
    ranks = counted(n_ranks, "rank") if n_ranks > 1 or found["rank"].values[0] >= 0 else "one series"
    field = str(found.attrs.get("field", ""))
    of_steps = "run" not in found.attrs or field == STEP_TIME
    per_step, takes, would = (
        ("", "A step takes", "they would take") if of_steps else (" per step", f"{field} is", "it would be")
    )
    yield f"{start(ranks)}, {counted(found.sizes['step'], 'step')}: {what}{per_step}."
    n = model.n_regimes
    mean, share = numbers["mean_s"].values, numbers["share"].values
    if n == 1:
        yield (
            f"All steps are of one regime; {'they take' if of_steps else takes} {in_seconds(mean[0, 0])} on "
            "average."
        )
        return
    held = np.flatnonzero(share[:, 0] > 0).tolist()
    fastest, slowest = held[0], held[-1]
    lacks = [regime_name(one, n) for one in range(n) if one not in held]
    if lacks:
        ones = "one" if len(lacks) == 1 else "ones"
        yield f"The model has {n} regimes, but no step is in the {in_list(lacks)} {ones}."
    name, quick = regime_name(slowest, n), regime_name(fastest, n)
    if fastest == slowest:
        they = "they take" if of_steps else takes
        yield f"All steps are in the {name} regime; {they} {in_seconds(mean[slowest, 0])} on average."
        return
    yield (
        f"{in_percent(share[slowest, 0])} of the steps are in the {name} regime{_percents(share[slowest])}. "
        f"{takes} {in_seconds(mean[slowest, 0])} there, "
        f"{in_number(mean[slowest, 0] / mean[fastest, 0])} times as long as in the {quick} one "
        f"({in_seconds(mean[fastest, 0])})."
    )
    if share[slowest, 0] > 0.5:
        yield f"So the {name} regime is the normal state of this run; {quick} steps are the exception."
    overall = float(np.nansum(mean[:, 0] * share[:, 0]))
    yield (
        f"If all steps were as fast as those of the {quick} regime, {would} {in_seconds(mean[fastest, 0])} "
        f"instead of {in_seconds(overall)} on average: {in_percent(1 - mean[fastest, 0] / overall)} less."
    )
    if slowest == n - 1 and (every := recurs_every(found)):
        yield (
            f"The {name} regime begins every {every} steps: that is the program's own rhythm rather than the "
            "machine's."
        )
    dwell = numbers["dwell_steps"].values[slowest]
    if np.isfinite(dwell[0]):
        yield (
            f"The {name} regime lasts {in_number(dwell[0])} steps on average, "
            f"{in_seconds(dwell[0] * mean[slowest, 0])}."
        )


def tables(numbers: xr.Dataset) -> tuple[Table, ...]:
    """Statistics as tables: a row per regime; with several, which one follows which."""
    n = numbers.sizes["regime"]
    names = [regime_name(one, n) for one in range(n)]
    rows, follow = [], []
    for one, name in enumerate(names):
        mean, sd, share, dwell = (
            numbers[key].values[one] for key in ("mean_s", "sd_s", "share", "dwell_steps")
        )
        rows.append(
            (
                name,
                f"{_time(mean[0])}{_times(mean)}",
                _time(sd[0]),
                f"{in_percent(share[0], 3)}{_percents(share)}",
                _lasts(dwell),
                _time(dwell[0] * mean[0]),
            )
        )
        follow.append((name, *(_cell(chance) for chance in numbers["transition"].values[one, :, 0])))
    regimes = Table(STATISTICS, tuple(rows), NOTE)
    if n == 1:
        return (regimes,)
    return regimes, Table(("from", *(f">to {name}" for name in names)), tuple(follow), "", FOLLOWS)


def as_json(numbers: xr.Dataset, model: Model) -> dict[str, Any]:
    """Statistics as JSON objects; docs/regimes.md lists their names."""

    regimes = []
    for one in range(numbers.sizes["regime"]):
        row: dict[str, Any] = {"name": regime_name(one, model.n_regimes)}
        for key in ("mean_s", "sd_s", "share", "dwell_steps"):
            value, *ends = numbers[key].values[one]
            row[key] = value
            row[f"{key}_interval"] = ends
        regimes.append(row)
    return {
        "n_regimes": model.n_regimes,
        "regimes": regimes,
        "transition": numbers["transition"].values[..., 0],
        "block_length": numbers.attrs["block_length"],
    }


def choice_rows(choice: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of the table by which the number of regimes was chosen."""
    rows = [
        {
            "regimes": int(row["n_regimes"]),
            "states": int(row["n_states"]),
            "log-likelihood": f"{row['log_likelihood']:,.0f}",
            "AIC": f"{row['aic']:,.0f}",
            "BIC": f"{row['bic']:,.0f}",
            "": "chosen" if row["is_chosen"] else "",
        }
        for row in choice.to_dict("records")
    ]
    return rows


def _time(seconds: float) -> str:
    return in_seconds(seconds) if np.isfinite(seconds) else "-"


def _times(bounds: np.ndarray) -> str:
    """The ends of an interval in the unit of its middle: " (867 to 872)"."""
    if not np.isfinite(bounds[1:]).all():
        return ""
    unit = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[in_seconds(bounds[0]).rpartition(" ")[2]]
    return f" ({in_number(bounds[1] / unit)} to {in_number(bounds[2] / unit)})"


def _percents(bounds: np.ndarray) -> str:
    if not np.isfinite(bounds[1:]).all():
        return ""
    return f" ({100 * bounds[1] + 0.0:.3g} to {in_percent(bounds[2], 3)})"


def _lasts(steps: np.ndarray) -> str:
    if not np.isfinite(steps[0]):
        return "to the end" if steps[0] > 0 else "-"
    return f"{in_number(steps[0])}{_numbers(steps)}"


def _numbers(bounds: np.ndarray) -> str:
    if not np.isfinite(bounds[1]) or np.isnan(bounds[2]):
        return ""
    return f" ({in_number(bounds[1])} to {in_number(bounds[2]) if np.isfinite(bounds[2]) else 'the end'})"


def _cell(probability: float) -> str:
    return f"{probability:.3f}" if np.isfinite(probability) else "-"
