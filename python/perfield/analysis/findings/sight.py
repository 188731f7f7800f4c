# SPDX-License-Identifier: BSD-3-Clause
"""What a question without findings would have found: only so far is its answer no."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from perfield.analysis.chance import chance_of_hits, differences
from perfield.analysis.findings.finding import ONE_STEP, WORTH_REPORTING
from perfield.analysis.findings.step_costs import CHANCE, LONG, lengths_s
from perfield.analysis.observed import Observed
from perfield.text import counted, in_percent, in_seconds, start

PLAUSIBLE = 0.5  # a rank, node or step that takes half as long again: a test that misses it shows nothing
FOUND = 0.95  # of such runs, in which what is called visible is found
LEAST_COST = f"{in_percent(WORTH_REPORTING)} of the time"
MOST = 10.0  # a larger size says nothing
SURE = "would have been found in 19 of 20 such runs."


@dataclass(frozen=True)
class Sight:
    """What would have been found. words : a sentence. is_enough : whether that holds for sizes that occur, so
    that the answer is no; else it is "not proven"."""

    words: str
    is_enough: bool = True


def of_size(what: str, size: float, plausible: float = PLAUSIBLE) -> Sight:
    """Of questions whose test finds a size in 95 % of runs.

    what : has it, with {} in place of it, as "rank that computes {} longer than the others". size : relative.
    plausible : up to which size a test must find, for its no to be one.
    """
    if size > MOST:
        return Sight("What was measured scatters too much for a test.", False)
    begin = "A" if size <= plausible else "Only a"
    return Sight(f"{begin} {what.format(in_percent(size))} {SURE}", size <= plausible)


def of_cost(observed: Observed) -> Sight:
    """Of questions whose answer is a count or a time that is exact: the least cost that they report."""
    least = in_seconds(WORTH_REPORTING * observed.elapsed_s)
    return Sight(f"Anything that costs {LEAST_COST} ({least}) would have been found.")


def of_places(observed: Observed) -> Sight:
    """Of questions about where ranks sat, which is known exactly or not at all."""
    if observed.placement is None:
        return Sight("The run does not say where its ranks sat.", False)
    return of_cost(observed)


def of_ranks(observed: Observed, table: np.ndarray, does: str, least: float = 0.0) -> Sight:
    """Of questions about one rank that has more than the others. does : "computes", "makes others wait".
    least : the excess over the others, relative, below which nothing is reported.

    The size follows from the scatter that is left in the table, by Student's t with the level and the degrees
    of freedom of the test, and a power of 95 % (`MostSteps::visible` in bridge/summary/most_steps.cpp, which
    names its sources).
    """
    if len(observed.ranks) < 2:
        return Sight("The run has one rank.")
    visible = differences(table).visible
    if not isfinite(visible):
        return Sight(f"{start(ONE_STEP)}.", False)
    steps = counted(observed.n_program_steps, "step")
    what = f"rank that {does} {{}} longer than the others in these {steps} and costs {LEAST_COST}"
    return of_size(what, max(visible, least), max(PLAUSIBLE, least))


def of_steps(observed: Observed, chosen: np.ndarray, what: str) -> Sight:
    """Of questions about some steps that take longer than the others. chosen : (n_steps,) bool. what : they
    do, as "write output".

    The test is binomial: one of ten other steps is long (`step_costs.extra`). So the chosen steps are found
    if all of them are longer than nine tenths of the others.
    """
    n_chosen = int(chosen.sum())
    if not n_chosen:
        return Sight(f"No step {what}.")
    others = lengths_s(observed)[~chosen]
    if chance_of_hits(n_chosen, n_chosen, LONG) > CHANCE or not len(others) or np.median(others) <= 0:
        return Sight(f"{start(counted(n_chosen, 'step'))} like that allows no test against chance.", False)
    visible = float(np.quantile(others, 1 - LONG) / np.median(others) - 1)
    longer = in_percent(max(visible, WORTH_REPORTING))
    such = counted(n_chosen, "such step")
    words = f"{such} {longer} longer than the others that cost {LEAST_COST} would have been found."
    return Sight(words if visible <= PLAUSIBLE else f"Only {words}", visible <= PLAUSIBLE)
