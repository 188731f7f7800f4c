# SPDX-License-Identifier: BSD-3-Clause
"""`perfield compare --regimes`: two runs, or two parts of one, within the same regimes of the machine."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.commands import CommandError
from perfield.commands._chosen import first_to_last, number_of_regimes, short_names
from perfield.text import counted, format_table, in_change, in_percent, in_seconds, plain

if TYPE_CHECKING:
    from perfield.analysis.comparing.regimes import Improvement, RegimeComparison, Share
    from perfield.run import RunDirectory

YES = "yes: the 95 % interval leaves out no change"


def compare_by_regimes(arguments: argparse.Namespace) -> int:
    """Prints how much faster the second side is in each regime."""
    import perfield
    from perfield.analysis.comparing.regimes import compare_regimes
    from perfield.derived.matching import check, differences
    from perfield.derived.regimes import timings_of_run

    n_regimes = number_of_regimes(arguments.regimes)
    if arguments.images:
        raise CommandError("--regimes prints numbers, no pictures; leave out --images.")
    steps = arguments.steps or []
    runs = [perfield.open(path) for path in arguments.runs]
    if len(runs) == 1 and len(steps) == 2:
        names = [f"part {text}" for text in steps]
        runs, notes = runs * 2, []
    elif len(runs) == 2 and len(steps) < 2:
        names = short_names(arguments.runs)
        check(*runs, names, arguments.anyway)
        notes = list(differences(*runs, names))
        steps = [steps[0] if steps else None] * 2
    else:
        raise CommandError(
            "--regimes compares two runs, or two parts of one: perfield compare before after --regimes, or "
            "perfield compare perfield-run --regimes --steps 0:1000 1000:2000"
        )
    times = [
        timings_of_run(run, arguments.field, None, first_to_last(run, some), "max")
        for run, some in zip(runs, steps)
    ]
    found = compare_regimes(*times, names, n_regimes)
    notes = [*found.notes, *notes, *_other_ranks(runs, names), *_left_out(times, names)]
    if arguments.json:
        print(json.dumps(plain(as_json(found, notes)), indent=1, allow_nan=False))
    else:
        print("\n".join(in_words(found, times[0].attrs["field"], runs, notes)))
    return 0


def _other_ranks(runs: list[RunDirectory], names: list[str]) -> Iterator[str]:
    """What another number of ranks does to the longest time of all."""
    if runs[0].n_ranks != runs[1].n_ranks:
        told = [counted(run.n_ranks, "rank") for run in runs]
        yield (
            f"{names[0]} has {told[0]} and {names[1]} {told[1]}: the longest time of more ranks is slow more "
            "often on the same machine, so means and shares of steps say little; measure on as many ranks"
        )


def in_words(found: RegimeComparison, field: str, runs: list[RunDirectory], notes: list[str]) -> list[str]:
    """The comparison as lines of text."""

    lines = [found.verdict, ""]
    for what, name, run, n_steps in zip(("before", "after"), found.names, runs, found.n_steps):
        lines.append(f"{what + ':':8}{name}, {counted(run.n_ranks, 'rank')}, {counted(n_steps, 'step')}")
    rows = [_improvement_row(one) for one in (found.overall, *found.regimes, found.from_shares)]
    rows += [_share_row(one) for one in found.shares]
    lines += ["", format_table(rows), ""]
    lines += [f"times: {field}, the longest of all ranks in each step; {YES}"]
    return lines + [f"note: {note}" for note in notes]


def as_json(found: RegimeComparison, notes: list[str]) -> dict[str, Any]:
    """The comparison as plain values; docs/regimes.md explains them."""
    told = {
        name: getattr(found, name)
        for name in (
            "verdict",
            "names",
            "n_steps",
            "is_aligned",
            "overall",
            "regimes",
            "shares",
            "from_shares",
        )
    }
    return {**told, "notes": notes, "model": json.loads(found.model.to_json())}


def _improvement_row(one: Improvement) -> dict[str, str]:
    return {
        "": one.words,
        "before": in_seconds(one.before),
        "after": in_seconds(one.after),
        "change": f"{in_change(-100 * one.share)} %",
        "95 % interval": _between(-one.high, -one.low),
        "beyond chance": "yes" if one.beyond_chance else "no",
    }


def _share_row(one: Share) -> dict[str, str]:
    return {
        "": f"share of steps in the {one.words} regime",
        "before": in_percent(one.before, 3),
        "after": in_percent(one.after, 3),
        "change": f"{in_change(100 * (one.after - one.before))} points",
        "95 % interval": _between(one.low, one.high, " points"),
        "beyond chance": "yes" if one.low > 0 or one.high < 0 else "no",
    }


def _between(low: float, high: float, unit: str = " %") -> str:
    if not np.isfinite([low, high]).all():
        return ""
    return f"{in_change(100 * low)} to {in_change(100 * high)}{unit}"


def _left_out(times: list[Any], names: list[str]) -> list[str]:
    return [
        f"{name}: {clause}"
        for each, name in zip(times, names)
        for clause in each.attrs["left_out"].split("\n")
        if clause
    ]
