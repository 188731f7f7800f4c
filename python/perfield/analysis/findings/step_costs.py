# SPDX-License-Identifier: BSD-3-Clause
"""What some steps cost beyond the others, as the summary reports it of output steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.analysis.chance import chance_of_hits
from perfield.analysis.observed import Observed

LONG = 0.1  # the part of the other steps that counts as long
CHANCE = 0.0101  # that some steps are long so often: two of two are enough
FEWEST = 3  # steps, to call them regular


@dataclass(frozen=True)
class Extra:
    """How much longer some steps take than the others.

    ratio : of the median lengths. time_s : what all of them cost. share : of the elapsed time. chance : that
    any other steps were as long so often.
    """

    ratio: float
    time_s: float
    share: float
    chance: float


def lengths_s(observed: Observed) -> np.ndarray:
    """How long each step is: s of its longest rank, of one step of the program; float64 (n_steps,)."""
    return observed.largest["step_time_s"] / (observed.span if len(observed.span) else 1)


def extra(observed: Observed, chosen: np.ndarray) -> Extra | None:
    """What the chosen steps cost; None if they are not longer than chance makes them.

    chosen : (n_steps,) bool.
    """
    lengths = lengths_s(observed)
    typical = np.sort(lengths[~chosen])
    base = float(np.median(typical)) if len(typical) else 0.0
    if not chosen.any() or base <= 0:
        return None
    n_chosen = int(chosen.sum())
    n_long = int((lengths[chosen] > typical[int(len(typical) * (1 - LONG))]).sum())
    chance = chance_of_hits(n_long, n_chosen, LONG)
    if chance > CHANCE:
        return None
    median = float(np.median(lengths[chosen]))
    n_of_program = observed.span[chosen].sum() if len(observed.span) else n_chosen
    time_s = float(n_of_program) * (median - base)
    return Extra(median / base, time_s, time_s / observed.elapsed_s, chance)


def extra_of(observed: Observed, chosen: np.ndarray, name: str) -> float:
    """How much more of a field its largest rank has in the chosen steps, added up over them; at least 0."""
    largest = observed.largest.get(name)
    if largest is None or not chosen.any() or chosen.all():
        return 0.0
    return max(0.0, int(chosen.sum()) * float(np.median(largest[chosen]) - np.median(largest[~chosen])))


def which(observed: Observed, chosen: np.ndarray) -> str:
    """The chosen steps in words: "every 20 steps (10 of 200)", "in 7 of 200 steps"."""
    apart = np.diff(observed.index[chosen])
    counts = f"{int(chosen.sum())} of {observed.n_steps}"
    if len(apart) + 1 >= FEWEST and apart[0] > 1 and (apart == apart[0]).all():
        return f"every {apart[0]} steps ({counts})"
    return f"in {counts} steps"
