# SPDX-License-Identifier: BSD-3-Clause
"""Steps that take longer and longer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perfield.analysis.findings.finding import WORTH_TELLING, Finding, Picture
from perfield.analysis.findings.step_costs import lengths_s
from perfield.analysis.observed import Observed
from perfield.analysis.trends import trend
from perfield.analysis.words import in_seconds
from perfield.topology import ranges

QUESTION = "Do steps take longer and longer?"
KINDS = ("steps get slower",)
NEEDS = ("step_time_s",)
LIKES = ("compute_time_s", "io_time_s", "waiting_time_s", "<region>_compute_time_s", "<region>_time_s")
CHANCE = 1e-3
LEAST = 0.1  # growth of a step from the run's begin to its end
MOST_OF_IT = 0.75  # of the growth, in a region that is named
FEW = 0.5  # of the ranks; where more grow, it is all


def find(observed: Observed) -> Iterator[Finding]:
    """Yields a finding if the steps' time grows steadily; names the region and the ranks in which it does.

    Output steps do no harm, since the trend is a median of slopes. One slow end, or one jump, is no trend.
    """
    found = trend(lengths_s(observed)) if observed.n_steps else None
    if found is None or found.chance > CHANCE or not found.is_steady:
        return
    if found.growth < LEAST * max(found.start, 0.0):
        return
    saved_s = found.growth / 2 * observed.n_program_steps
    if saved_s < WORTH_TELLING * observed.elapsed_s:
        return
    region = _region_that_grows(observed, found.growth)
    name, table = _what_grows(observed) if not region else ("", _of_region(observed, region))
    ranks = _ranks_that_grow(observed, table)
    if region:
        where = f" in {observed.regions[region]}"
    elif name == "io_time_s":
        where = " in reading and writing files"
    elif name == "waiting_time_s":
        where = " in calls of MPI, while computing takes as long as before"
    else:
        where = " in computing" if name else ""
    who = f", on rank{'s' if len(ranks) > 1 else ''} {ranges(ranks)}" if len(ranks) else ""
    times = f"{found.end / found.start:.3g} times" if found.start > 0 else "longer than"
    yield Finding(
        kind="steps get slower",
        words=f"Steps take longer and longer: at the end {times} as long as at the begin, "
        f"{in_seconds(found.end)} instead of {in_seconds(found.start)}. The time grows{where}{who}.",
        saved_s=saved_s,
        remedy="Look for what grows from step to step: a list that is searched and never emptied, memory, "
        "particles or cells; `perfield compare RUN --steps EARLY LATE` shows what differs.",
        picture=Picture("heat_map", f"{region}_time_s" if region else name or "step_time_s"),
        ranks=ranks,
        regions=(observed.regions[region],) if region else (),
        chance=found.chance,
    )


def _of_region(observed: Observed, stem: str) -> np.ndarray:
    compute = observed.of(f"{stem}_compute_time_s")
    return compute if np.isfinite(compute).any() else observed.of(f"{stem}_time_s")


def _largest(table: np.ndarray) -> np.ndarray:
    return np.nan_to_num(table).max(axis=1, initial=0.0)


def _least(table: np.ndarray) -> np.ndarray:
    return np.nan_to_num(table).min(axis=1)


def _growth(observed: Observed, of_ranks: np.ndarray) -> float:
    """How much a value of each row grows, per step."""
    found = trend(of_ranks / observed.steps_in_row)
    return found.growth if found and found.chance < CHANCE else 0.0


def _region_that_grows(observed: Observed, growth: float) -> str:
    """The stem of the innermost region that holds most of the growth, "" without one.

    Of regions inside each other, the innermost is that with least time.
    """
    found = []
    for stem in observed.regions:
        table = _of_region(observed, stem)
        if np.isfinite(table).any() and _growth(observed, _largest(table)) >= MOST_OF_IT * growth:
            found.append((float(np.nansum(table)), stem))
    return min(found)[1] if found else ""


def _what_grows(observed: Observed) -> tuple[str, np.ndarray]:
    """Name and table of the part of a step that grows most.

    Where one rank gets slower, the others wait longer; so waiting is that of the rank that waits least.
    """
    parts = {"compute_time_s": _largest, "io_time_s": _largest, "waiting_time_s": _least}
    growth = {
        name: _growth(observed, of_ranks(observed.of(name)))
        for name, of_ranks in parts.items()
        if observed.has(name)
    }
    name = max(growth, key=lambda each: growth[each], default="")
    return (name, observed.of(name)) if name and growth[name] > 0 else ("", observed.of("step_time_s"))


def _ranks_that_grow(observed: Observed, table: np.ndarray) -> np.ndarray:
    """The ranks that grow at least half as much as that which grows most; none if these are many."""
    parts = np.array_split(np.nan_to_num(table), 8)
    if len(table) < len(parts):
        return observed.ranks[:0]
    medians = np.array([np.median(part, axis=0) for part in parts])
    grown = medians[-2:].mean(axis=0) - medians[:2].mean(axis=0)
    most = grown >= grown.max() / 2
    return observed.ranks[most] if most.mean() <= FEW else observed.ranks[:0]
