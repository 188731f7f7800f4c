# SPDX-License-Identifier: BSD-3-Clause
"""What a case of communication hiding says: sentences, rows of a table, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perfield.studies.hiding.cases import PAPER, Case
from perfield.studies.hiding.model.measured import STEADY, unsteady_share
from perfield.text import counted, in_list, in_percent, in_seconds
from perfield.text.as_json import plain

if TYPE_CHECKING:
    from perfield.studies.hiding.model.study import Comparison

DISTURBED = 0.05  # of the MatVecs; above it, a note is printed

COLUMNS = """\
hidden: share of MatVecs; fast: share of steps in the fast regime, by a fit of each method;
fast_pooled: the same by one fit of all;
T_max: the longest T_in + T_out of any rank in a step, mean over steps;
gain: time saved against the first method, in the fastest half of the steps, in all,
and in the fast regime."""

ORIGIN = {
    "model": "A discrete-event model under drawn latencies. Nothing here was measured.",
    "measured": "Measured runs of the solver.",
    "injected": "Measured runs of the solver under injected latencies: no network took these times.",
}


def as_json(case: Case, compared: Comparison) -> dict[str, Any]:
    """A case and its outcomes as JSON objects; docs/hiding.md lists the names."""
    first = next(iter(case.studies.values()))
    return {
        "setting": case.name,
        "source": first[0].attrs.get("source"),
        "injected": first[0].attrs.get("injected"),
        "ranks": first[0].sizes["rank"],
        "matvecs": first[0].sizes["step"],
        "repeats": len(first),
        "eps_s": compared.eps_s,
        "parameters": dict(case.parameters),
        "methods": {name: plain(outcome) for name, outcome in compared.outcomes.items()},
        "sentences": list(sentences(case, compared)),
        "notes": list(compared.notes),
    }


def sentences(case: Case, compared: Comparison) -> Iterator[str]:
    """What a case says, the most important first."""
    outcomes = list(compared.outcomes.values())
    first = next(iter(case.studies.values()))
    n = counted(first[0].sizes["step"], "MatVec")
    yield f"{case.sentence}; {counted(len(first), 'run')} of {n} with each method."
    shares = in_list([f"{in_percent(one.hidden_share)} ({one.method})" for one in outcomes], 9)
    yield f"Hidden share, of MatVecs whose two waits stayed within {in_seconds(compared.eps_s)}: {shares}."
    has_regimes = np.isfinite([one.fast_share for one in outcomes]).any()
    if has_regimes:
        own = in_list([f"{in_percent(one.fast_share)} ({one.method})" for one in outcomes], 9)
        pooled = in_list([in_percent(one.fast_share_pooled) for one in outcomes], 9)
        yield (
            f"Share of steps in the fast regime, by a fit of each method: {own}; by one fit of all, which "
            f"alone can be compared: {pooled}."
        )
    known = [name for name in compared.outcomes if name in PAPER]
    if has_regimes and known:
        paper = in_list([f"{in_percent(PAPER[name])} ({name})" for name in known], 9)
        yield (
            "The paper's shares of steps in the fast regime (Heldman, Rudi and Bessac, ICS '25), on 7,168 "
            f"cores of Anvil, are {paper}."
        )
    for one in outcomes[1:]:
        fast = f"; {_less(one.gain_fast)} for a step of the fast regime" if np.isfinite(one.gain_fast) else ""
        yield (
            f"{one.method} takes {_less(one.gain_half)} than {outcomes[0].method} for the fastest half of "
            f"steps{_interval(one.gain_half_interval)}, and {_less(one.gain_all)} for all{fast}."
        )
    runs = "; ".join(f"{one.method} {', '.join(str(i + 1) for i in one.chosen)}" for one in outcomes)
    yield (
        f"For the gains, the {counted(len(outcomes[0].chosen), 'run')} of each method with the smallest sum "
        f"of T_max are combined, of {len(first)} ({runs}): one after the other, then sorted."
    )


def notes(case: Case) -> Iterator[str]:
    """What makes measured times of a case doubtful, as sentences."""
    if case.source == "model":
        return
    share = float(np.mean([unsteady_share(each) for repeats in case.studies.values() for each in repeats]))
    if share > DISTURBED:
        yield (
            f"{in_percent(share)} of the MatVecs computed more than {STEADY} times as long as the median: "
            "other programs used the cores, or ranks share them, so these times show little about messages."
        )


def _less(percent: float) -> str:
    return f"{in_percent(abs(percent) / 100)} {'less' if percent >= 0 else 'more'} time"


def _interval(ends: tuple[float, float]) -> str:
    if not np.isfinite(ends).all():
        return ""
    low, high = (f"{end:+.{2 if abs(end) < 99.5 else 0}{'g' if abs(end) < 99.5 else 'f'}}" for end in ends)
    return f" (mean gain over all runs: {low} to {high} %, 95 % interval)"


def rows(case: Case, compared: Comparison) -> list[dict[str, Any]]:
    """A row for each method, for the table."""
    first = next(iter(case.studies.values()))[0]
    return [
        {
            "setting": case.name,
            "ranks": first.sizes["rank"],
            "method": one.method,
            "hidden_%": 100 * one.hidden_share,
            "fast_%": 100 * one.fast_share,
            "fast_pooled_%": 100 * one.fast_share_pooled,
            "alpha": one.alpha,
            "median_ms": 1e3 * one.median_s,
            "T_max_ms": 1e3 * one.longest_s,
            "gain_half_%": one.gain_half,
            "gain_all_%": one.gain_all,
            "gain_fast_%": one.gain_fast,
        }
        for one in compared.outcomes.values()
    ]


def table(found: Sequence[tuple[Case, Comparison]]) -> list[dict[str, Any]]:
    """The rows of all cases, with three digits, without what is unknown or, of one case, the same in all."""
    whole = [
        {name: plain(_short(v)) for name, v in row.items()} for case, own in found for row in rows(case, own)
    ]
    left_out = {name for name in whole[0] if all(row[name] is None for row in whole)}
    left_out |= {"setting", "ranks"} if len(found) == 1 else set()
    return [{name: value for name, value in row.items() if name not in left_out} for row in whole]


def _short(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) and np.isfinite(value) else value
