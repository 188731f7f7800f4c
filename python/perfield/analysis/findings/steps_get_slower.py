# SPDX-License-Identifier: BSD-3-Clause
"""Steps that take longer and longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import exp, lgamma, log

import numpy as np

from perfield.analysis.distributions import normal_quantile
from perfield.analysis.findings.finding import WORTH_REPORTING, Finding, Picture
from perfield.analysis.findings.placed import disturbed
from perfield.analysis.findings.sight import FOUND, Sight, of_size
from perfield.analysis.findings.step_costs import lengths_s
from perfield.analysis.observed import Observed
from perfield.analysis.trends import LEAST_VALUES, Trend, trend
from perfield.text import in_ranks, in_seconds

QUESTION = "Do steps take longer and longer?"
KINDS = ("steps get slower",)
NEEDS = ("step_time_s", "time steps")
LIKES = (
    *("compute_time_s", "io_time_s", "waiting_time_s", "<region>_compute_time_s", "<region>_time_s"),
    *("involuntary_switches", "cpu_user_time_s", "cpu_system_time_s", "run_delay_time_s"),
)
CHANCE = 1e-4  # less than elsewhere, since the load of a machine may drift, too
LEAST = 0.1  # growth of a step from the run's begin to its end
MUCH_OF_IT = 0.4  # of the growth, in a region that is named, or in computing
INSIDE = 0.75  # of the growth of a region, in a region inside that is named in its place
FEW = 0.5  # of the ranks; where more grow, it is all
PARTS = 8  # of the run, to see which ranks grow
WHERE = {
    "": "",
    "io_time_s": " in reading and writing files",
    "waiting_time_s": " in calls of MPI, while computing takes as long as before",
}


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if the steps' time, or the ranks' compute time, grows steadily; names the region and
    the ranks in which it does.

    On a busy machine a step's longest rank varies much, the median rank less, and the shortest hardly.
    Output steps do no harm, since the trend is a median of slopes. One slow end, or one jump, is no trend.
    """
    if not observed.n_steps:
        return
    steps = trend(lengths_s(observed))
    # Where others take PUs from ranks, only all ranks together describe the program.
    others_take_pus = disturbed(observed).any()
    by_rank = _counts(steps) or not others_take_pus
    columns, compute = _computing_that_grows(observed, by_rank)
    of_ranks = np.median
    if not _counts(compute) and not _counts(steps):
        of_ranks, columns, median = np.min, np.arange(len(observed.ranks)), compute
        compute = _over_ranks(observed, observed.of("compute_time_s"), columns, of_ranks)
        if not compute or not median or median.growth < compute.growth / 2:  # the fastest rank alone
            return
    found = steps if _counts(steps) else compute
    if not found or not _counts(found):
        return
    saved_s = found.growth / 2 * observed.n_program_steps
    if saved_s < WORTH_REPORTING * observed.elapsed_s:
        return
    region = other = ""
    if compute and _counts(compute) and compute.growth >= MUCH_OF_IT * found.growth:
        region = _region_that_grows(observed, columns, of_ranks, compute.growth)
        where = f" in {observed.regions[region]}" if region else " in computing"
    else:
        if _waits_for_pus(observed, found.growth):
            return  # the machine gets busier; the finding about PUs reports that
        columns, other = columns[:0], _what_else_grows(observed)
        if other == "waiting_time_s" and others_take_pus and observed.has("involuntary_switches"):
            return  # who waits for a rank without a PU waits in MPI
        where = WHERE[other]
    ranks = observed.ranks[columns] if len(columns) < len(observed.ranks) else observed.ranks[:0]
    who = f", on {in_ranks(ranks)}" if len(ranks) else ""
    grows = f" The time grows{where}{who}." if where or who else ""
    what = "Steps take" if found is steps else "In each step ranks compute"
    times = f"{found.end / found.start:.3g} times as long as" if found.start > 0 else "longer than"
    yield Finding(
        kind="steps get slower",
        words=f"{what} longer and longer: at the end {times} at the beginning, {in_seconds(found.end)} "
        f"instead of {in_seconds(found.start)}.{grows}",
        saved_s=saved_s,
        remedy="Look for what grows from step to step: a list that is searched and never emptied, memory, "
        "particles or cells; `perfield compare RUN --steps EARLY LATE` shows what differs.",
        picture=Picture("heat_map", _time_of(observed, region) if region else other or "compute_time_s"),
        ranks=ranks,
        regions=(observed.regions[region],) if region else (),
        chance=found.chance,
    )


def sees(observed: Observed) -> Sight:
    """How much steps would have to grow: the standard error of a fitted line's growth over n steps is
    sqrt(12 / n) of their scatter (least squares; Theil's and Sen's line is 0.95 as exact: Sen, Journal of the
    American Statistical Association 63, 1968), times the normal quantiles of the level and of 95 %."""
    lengths = lengths_s(observed)
    if len(lengths) < LEAST_VALUES:
        return Sight(f"A trend needs {LEAST_VALUES} steps; the run has {len(lengths)}.", False)
    median = float(np.median(lengths))
    scatter = float(np.median(np.abs(lengths - median))) * 1.483 / median if median > 0 else np.inf
    quantiles = normal_quantile(CHANCE) + normal_quantile(1 - FOUND)
    visible = quantiles * np.sqrt(12 / len(lengths) / 0.95) * scatter
    return of_size("growth of steps by {} from the first to the last", max(visible, LEAST))


def _counts(found: Trend | None) -> bool:
    """Whether a trend is beyond chance, steady, and not small."""
    if found is None or found.chance > CHANCE or not found.is_steady:
        return False
    return found.growth >= LEAST * max(found.start, 0.0)


def _over_ranks(
    observed: Observed,
    table: np.ndarray,
    columns: np.ndarray,
    of_ranks: Callable[..., np.ndarray] = np.median,
) -> Trend | None:
    """The trend of the median, or the least, of some ranks, per step."""
    if not len(columns):
        return None
    return trend(of_ranks(np.nan_to_num(table[:, columns]), axis=1) / observed.steps_in_row)


def _computing_that_grows(observed: Observed, by_rank: bool) -> tuple[np.ndarray, Trend | None]:
    """The columns whose compute time grows, and its trend in their median.

    by_rank : whether to look for a few ranks. They are named if they grow at least twice as much as the
    others; the chance is that of any so many ranks.
    """
    table = observed.of("compute_time_s")
    everyone = np.arange(table.shape[1])
    of_all = _over_ranks(observed, table, everyone)
    if len(table) < PARTS or not by_rank:
        return everyone, of_all
    medians = np.array([np.median(np.nan_to_num(part), axis=0) for part in np.array_split(table, PARTS)])
    grown = medians[-2:].mean(axis=0) - medians[:2].mean(axis=0)
    few = np.flatnonzero(grown >= grown.max() / 2)
    if len(few) > FEW * len(everyone):
        return everyone, of_all
    found, others = (
        _over_ranks(observed, table, few),
        _over_ranks(observed, table, np.setdiff1d(everyone, few)),
    )
    if not found or not others or others.growth > found.growth / 2:
        return everyone, of_all
    n, k = len(everyone), len(few)
    log_ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return few, replace(found, chance=exp(min(0.0, log(max(found.chance, 1e-300)) + log_ways)))


def _region_that_grows(
    observed: Observed, columns: np.ndarray, of_ranks: Callable[..., np.ndarray], growth: float
) -> str:
    """The stem of the region that grows most, "" if that is little of the growth.

    Of regions inside each other, it is the innermost, which has least time.
    """
    found = []
    for stem in observed.regions:
        table = observed.of(_time_of(observed, stem))
        if np.isfinite(table).any():
            here = _over_ranks(observed, table, columns, of_ranks)
            if here and here.chance < CHANCE and here.growth >= MUCH_OF_IT * growth:
                found.append((float(np.nansum(table)), here.growth, stem))
    most = max((grown for _, grown, _ in found), default=0.0)
    return min(((time_s, stem) for time_s, grown, stem in found if grown >= INSIDE * most), default=(0, ""))[
        1
    ]


def _time_of(observed: Observed, stem: str) -> str:
    """The field of a region's computing; its whole time, in which ranks also wait, where that is unknown."""
    computing = f"{stem}_compute_time_s"
    return computing if np.isfinite(observed.of(computing)).any() else f"{stem}_time_s"


def _waits_for_pus(observed: Observed, growth: float) -> bool:
    """Whether much of the growth is waiting for a PU, on the rank that waits longest in each step."""
    found = _over_ranks(observed, observed.ready_s, np.arange(len(observed.ranks)), np.max)
    return found is not None and found.chance < CHANCE and found.growth >= MUCH_OF_IT * growth


def _what_else_grows(observed: Observed) -> str:
    """The field of ranks that grows most beside compute time: its largest value for files, its least for
    waiting, since the others wait longer where one rank gets slower. "" without one."""
    grown = {}
    for name, of_ranks in (("io_time_s", np.max), ("waiting_time_s", np.min)):
        found = trend(of_ranks(np.nan_to_num(observed.of(name)), axis=1) / observed.steps_in_row)
        if found and found.chance < CHANCE and found.growth > 0:
            grown[name] = found.growth
    return max(grown, key=lambda name: grown[name], default="")
