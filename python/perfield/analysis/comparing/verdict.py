# SPDX-License-Identifier: BSD-3-Clause
"""What a comparison says first: how the time of a step changed, whether by chance, and where."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfield.analysis.comparing.change import Change
from perfield.analysis.comparing.measured import Measured
from perfield.analysis.comparing.table import EFFICIENCY, OUTPUT_STEP, REGIONS, STEP, Row
from perfield.text import in_change

WORTH_REPORTING = 0.01  # of the time of a step
PROBABLE = 0.05  # a chance below this one leaves zero out of the interval
ALIKE = 0.05  # steps take about as long if the interval reaches no further from zero
MOST = 0.5  # of the change, which the sentence then calls most of it
PARTS = {
    "compute_time_s": "computing",
    "delayed_compute_time_s": "waiting for a PU",
    "waiting_time_s": "waiting in MPI",
    "io_time_s": "files",
}


def verdict(before: Measured, after: Measured, rows: Sequence[Row]) -> str:
    """One or two sentences on the time of a step, and one on steps that write output if these changed.

    rows : of `rows_of`.
    """
    return _of_typical_steps(before, after, rows) + _of_output_steps(rows)


def _of_typical_steps(before: Measured, after: Measured, rows: Sequence[Row]) -> str:
    step = next((row for row in rows if row.key == "step_time_s"), None)
    if step is None:
        return f"Nothing of {after.name} and {before.name} can be compared."
    change = step.change
    if change.chance is None:
        some = "a single run of each does not show" if before.is_whole else "too few steps to say"
        doubt = f"{some} whether that is chance"
        return f"{_longer(before, after, change)}; {doubt}{_where(before, after, change)}."
    if not step.beyond_chance:
        return _no_change(before, after, change) + _other_changes(rows)
    if abs(change.share or 0.0) < WORTH_REPORTING and change.before:
        return f"{_longer(before, after, change)}: hardly a change.{_other_changes(rows)}"
    return f"{_longer(before, after, change)}{_where(before, after, change)}."


def _of_output_steps(rows: Sequence[Row]) -> str:
    row = next((row for row in rows if row.key == OUTPUT_STEP), None)
    if (
        row is None
        or not row.beyond_chance
        or not row.change.share
        or abs(row.change.share) < WORTH_REPORTING
    ):
        return ""
    share = row.change.share
    if share >= 1:
        return f" A step that writes output takes {_times(share)} times as long."
    return f" A step that writes output takes {_bare(abs(share))} % {'more' if share > 0 else 'less'} time."


def _no_change(before: Measured, after: Measured, change: Change) -> str:
    each = "" if before.is_single and after.is_single else " per step"
    if not change.difference:
        return f"{after.name} {_take(after)} exactly as long{each} as {before.name}."
    doubt = f"may be chance (probability {_bare(change.chance or 0.0)} %)"
    low, high = change.share_low, change.share_high
    is_unsure = low is None or high is None or max(abs(low), abs(high)) > ALIKE
    if is_unsure or (change.chance or 0.0) < PROBABLE:
        return f"{_longer(before, after, change)}, but that {doubt}."
    same = f"{after.name} {_take(after)} about as long{each} as {before.name}"
    within = f"{in_change(100 * low)} % to {in_change(100 * high)} %"
    return f"{same}: the change of {in_change(100 * (change.share or 0.0))} % ({within}) {doubt}."


def _longer(before: Measured, after: Measured, change: Change) -> str:
    """How much longer a step takes: "B takes 12 % less time per step than A (8 to 15 %)"."""
    share, name, other = change.share, f"{after.name} {_take(after)}", before.name
    each = "" if before.is_single and after.is_single else " per step"
    if share is None:
        return f"{name} time per step, and {other} {_take(before)} none"
    known = change.share_low is not None and change.share_high is not None
    if abs(share) >= 1:
        ends = f" ({_times(change.share_low)} to {_times(change.share_high)})" if known else ""
        return f"{name} {_times(share)} times as long{each} as {other}{ends}"
    word, opposite, sign = ("more", "less", 1) if share > 0 else ("less", "more", -1)
    between = ""
    if known:
        least, most = sorted([sign * change.share_low, sign * change.share_high])
        both = f"{_bare(least)} to {_bare(most)} %"
        between = f" ({both if least >= 0 else f'{_bare(-least)} % {opposite} to {_bare(most)} % {word}'})"
    return f"{name} {_bare(abs(share))} % {word} time{each} than {other}{between}"


def _where(before: Measured, after: Measured, change: Change) -> str:
    """Which region and which kind of time hold most of the change."""
    whole = change.difference
    regions = {
        name: _difference(before, after, f"{stem}_self_time_s")
        for stem, name in {**before.regions, **after.regions}.items()
    }
    parts = {words: _difference(before, after, key) for key, words in PARTS.items()}
    place, kind = (_most(found, whole) for found in (regions, parts))
    because = _because(before, after, whole) if kind == PARTS["waiting_time_s"] else ""
    if place and kind:
        return f"; most of it in {place}, and most of it {kind}{because}"
    if place or kind:
        return f"; most of it {f'in {place}' if place else kind}{because}"
    return ""


def _because(before: Measured, after: Measured, whole: float) -> str:
    """Why waiting changed: the region in which ranks differ more, or less, than before; "" if none does."""
    grown = {}
    for stem in {**before.unbalanced, **after.unbalanced}:
        means = [
            _mean(side, side.unbalanced[stem]) if stem in side.unbalanced else 0.0 for side in (before, after)
        ]
        grown[after.regions.get(stem, before.regions.get(stem, stem))] = means[1] - means[0]
    place = _most(grown, whole)
    if not place:
        return ""
    return f", as ranks differ {'more' if grown[place] > 0 else 'less'} in what they compute in {place}"


def _difference(before: Measured, after: Measured, key: str) -> float:
    means = [_mean(side, side.means[key]) if key in side.means else 0.0 for side in (before, after)]
    return means[1] - means[0]


def _mean(side: Measured, numbers: np.ndarray) -> float:
    return float(side.weighed(numbers, side.compared).mean())


def _most(differences: dict[str, float], whole: float) -> str:
    """The name of what holds most of a change; "" if nothing does."""
    shares = {name: difference / whole for name, difference in differences.items()} if whole else {}
    name = max(shares, key=shares.get, default="")
    return name if name and shares[name] >= MOST else ""


def _other_changes(rows: Sequence[Row]) -> str:
    """The largest change of time in a region or part that is beyond chance, where the step hardly changed;
    without one, the largest change of messages or bytes, and without that the one of an efficiency."""
    beyond = [row for row in rows if row.group in (STEP, REGIONS) and row.beyond_chance]
    times = [row for row in beyond if row.unit == "s" and row.key != "step_time_s"]
    amounts = [row for row in beyond if row.unit != "s" and row.change.share]
    if times:
        most = max(times, key=lambda row: abs(row.change.difference))
    elif amounts:
        most = max(amounts, key=lambda row: abs(row.change.share or 0.0))
    else:
        return _change_of_efficiency(rows)
    share = most.change.share
    if share is None:
        return f" Beyond chance: {most.words}, which was zero before."
    said = f"{_times(share)} times as much" if share >= 1 else f"by {in_change(100 * share)} %"
    return f" Beyond chance: {most.words}, {said}."


def _change_of_efficiency(rows: Sequence[Row]) -> str:
    found = [row for row in rows if row.group == EFFICIENCY and row.unit == "%" and row.beyond_chance]
    if not found:
        return ""
    most = max(found, key=lambda row: abs(row.change.difference))
    ends = (_bare(most.change.before), _bare(most.change.after))
    return f" Beyond chance: {most.words}, {ends[1]} % instead of {ends[0]} %."


def _take(side: Measured) -> str:
    return "take" if side.name.startswith("steps ") else "takes"


def _times(share: float) -> str:
    return f"{1 + share:.3g}"


def _bare(share: float) -> str:
    """A share as a number of percent with two digits: 0.1234 -> "12"."""
    return in_change(100 * share).lstrip("+")
