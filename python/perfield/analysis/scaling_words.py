# SPDX-License-Identifier: BSD-3-Clause
"""What runs on different numbers of ranks say: sentences, tables, and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.analysis.scaling_laws import LAWS, MOST_MISFIT, STRONG
from perfield.text import counted, in_bytes, in_percent, in_seconds
from perfield.text.as_json import plain

if TYPE_CHECKING:
    from perfield.analysis.scaling import Scaling


WORTH_TELLING = 0.01  # of a step


def as_json(found: Scaling) -> dict[str, Any]:
    """A Scaling as JSON objects; docs/scaling.md lists its names. Unknown numbers are null."""
    made = plain(found)
    return made | {"n_ranks": made["steps"]["n_ranks"]}


def sentences(found: Scaling) -> Iterator[str]:
    """What the runs say, the most important first."""
    steps = found.steps
    few, many = counted(steps.n_ranks[0], "rank"), counted(steps.n_ranks[-1], "rank")
    yield f"{found.kind.capitalize()} scaling: {found.because}."
    yield (
        f"On {many} a step takes {in_seconds(steps.time_s[-1])}, on {few} {in_seconds(steps.time_s[0])}: the "
        f"speed-up is {steps.speedup[-1]:.3g} of {steps.ideal[-1]:.3g}"
        f"{_interval(steps.speedup_low[-1], steps.speedup_high[-1])}, the efficiency "
        f"{in_percent(steps.efficiency[-1], 3)}."
    )
    yield _law(found)
    factors = [found.load_balance[-1], found.communication_efficiency[-1], found.computation_scaling[-1]]
    if np.isfinite(factors).all():
        balance, communication, computing = factors
        yield (
            f"On {many}, load balance is {balance:.2f} and communication efficiency {communication:.2f}; "
            f"computing scales to {computing:.2f}."
        )
    lost = found.lost_s
    worst = max(lost, key=lost.get, default=None)
    if worst is not None and lost[worst] > WORTH_TELLING * steps.time_s[-1]:
        yield (
            f"Region '{worst}' loses most: of its {in_seconds(found.regions[worst].time_s[-1])} in a step "
            f"on {many}, {in_seconds(lost[worst])} are more than perfect scaling would leave."
        )
    whole = found.whole
    if whole is not None:
        yield (
            f"The whole run, with its setup, takes {in_seconds(whole.time_s[-1])} instead of "
            f"{in_seconds(whole.time_s[0])}: its speed-up is {whole.speedup[-1]:.3g}."
        )
    mean = found.memory_mean_bytes
    if np.isfinite(mean[[0, -1]]).all():
        yield (
            f"A rank takes {in_bytes(mean[0])} of memory on {few} and {in_bytes(mean[-1])} on {many}, as the "
            f"mean over ranks; the largest takes {in_bytes(np.nanmax(found.memory_largest_bytes))}."
        )
    yield from found.notes


def _law(found: Scaling) -> str:
    fitted, law = found.steps.fit, LAWS[found.kind]
    if fitted is None:
        return f"No serial share: {found.steps.no_fit}"
    interval = f"{in_percent(fitted.low, 3)} to {in_percent(fitted.high, 3)}"
    if fitted.misfit > MOST_MISFIT:
        return (
            f"{law} does not describe these times: even the best serial share misses them by "
            f"{in_percent(fitted.misfit, 3)}."
        )
    if not fitted.holds:
        return f"These times do not determine the serial share: by {law}, it may be {interval}."
    text = (
        f"{law} fits to within {in_percent(fitted.misfit, 3)} with a serial share of "
        f"{in_percent(fitted.serial_share, 3)} (95 % confidence: {interval})"
    )
    if found.kind != STRONG or not fitted.low > 0:
        return f"{text}."
    least_s = fitted.serial_share * fitted.one_rank_s
    return f"{text}; on any number of ranks, a step then takes at least {in_seconds(least_s)}."


def rows(found: Scaling) -> list[dict[str, Any]]:
    """A row for each number of ranks; columns that no run has are left out."""
    steps = found.steps
    columns = {
        "ranks": steps.n_ranks,
        "runs": steps.n_runs,
        "steps": found.n_steps,
        "step_s": steps.time_s,
        "speedup": steps.speedup,
        "low": steps.speedup_low,
        "high": steps.speedup_high,
        "ideal": steps.ideal,
        "efficiency": steps.efficiency,
        "balance": found.load_balance,
        "comm": found.communication_efficiency,
        "computing": found.computation_scaling,
        "run_s": found.whole.time_s if found.whole is not None else np.full(len(steps.n_ranks), np.nan),
        "MB_mean": found.memory_mean_bytes / 1e6,
        "MB_most": found.memory_largest_bytes / 1e6,
    }
    kept = {name: values for name, values in columns.items() if np.isfinite(values).any()}
    return [dict(zip(kept, map(plain, row))) for row in zip(*kept.values())]


def region_rows(found: Scaling) -> list[dict[str, Any]]:
    """A row for each region, the one that loses most first; speed-up and efficiency are those of the most
    ranks over the fewest."""
    lost = found.lost_s
    order = sorted(found.regions, key=lambda name: -lost.get(name, 0.0))
    rows = []
    for name in order:
        of = found.regions[name]
        time_s = dict(zip(of.n_ranks.tolist(), of.time_s.tolist()))
        rows.append(
            {
                "region": name,
                **{f"s_on_{n}": time_s.get(n) for n in found.steps.n_ranks.tolist()},
                "speedup": float(of.speedup[-1]) if name in lost else None,
                "efficiency": float(of.efficiency[-1]) if name in lost else None,
                "lost_s": lost.get(name),
                "serial_share": of.fit.serial_share if of.fit and of.fit.holds else None,
                "low": of.fit.low if of.fit and of.fit.holds else None,
                "high": of.fit.high if of.fit and of.fit.holds else None,
            }
        )
    return rows


def _interval(low: float, high: float) -> str:
    return f" (95 % confidence: {low:.3g} to {high:.3g})" if np.isfinite(low) and high > low else ""
