# SPDX-License-Identifier: BSD-3-Clause
"""Tests against chance: those of the summary, computed by the same code (`bridge/summary/chance.cpp`).

They use no random numbers, so the same run always gives the same answer. docs/chance.md explains
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from perfield._bridge import chance_of_hits, chance_of_mean, chance_of_t, mean_error
from perfield._bridge import differences as _differences

__all__ = [
    "Differences",
    "Turn",
    "chance_of_hits",
    "chance_of_mean",
    "chance_of_t",
    "differences",
    "mean_error",
]


class Turn(NamedTuple):
    """A stretch of rows, from begin to before end; in n_most of them the rank in this column has most."""

    column: int
    begin: int
    end: int
    n_most: int


@dataclass(frozen=True)
class Differences:
    """How ranks differ in a table over steps and ranks.

    pattern : "fixed": the same ranks have most, step after step; "moving": the rank with most changes, but
    not by chance; "chance": it changes as by chance, or the ranks hardly differ; "untested": some ranks have
    a tenth more than the mean in a single step, which nothing can test. ratio : the largest rank of
    each step to the mean, over all steps. saved : the sum over steps of the largest minus the mean, in the
    table's unit. most : columns of the ranks that have most and cannot be distinguished, if "fixed"; those
    that have most, to 5 %, if "untested".
    n_in_turn : how many ranks had most in some step, or in some turn. stay : for how many steps in a row one
    had most, on average, or how long a turn is. turns : which rank has most when, if "moving"; empty if it
    has most in less than half of its turns. ratio and saved are then of the ranks whose turn it is, not of
    others that have more in a step. period : after how many steps the same ranks have most again, if "moving"
    because they do (of all distances, the first that predicts it); else 0. chance : the probability that
    nothing but chance makes this pattern, over all ranks and distances that were tried; meaningless for
    "chance" and "untested". is_significant : some rank or order is beyond chance, even if it is too small for
    a test. in_most_steps : `most` have most in most steps, but few steps of other ranks
    add more; `saved` is then what they have above the mean in most steps, as if it were so in all. usual :
    the largest rank to the mean, without the shortest and longest steps. n_most : in how many steps one of
    `most` has most. visible : the excess over the mean of the others, relative, with which a rank would have
    been found in 95 % of such runs (`MostSteps::visible` in bridge/summary/most_steps.cpp); infinite where
    nothing can be tested.
    """

    pattern: str
    ratio: float
    saved: float
    most: tuple[int, ...]
    n_in_turn: int
    stay: float
    chance: float
    is_significant: bool
    in_most_steps: bool
    usual: float
    n_most: int
    visible: float
    turns: tuple[Turn, ...]
    period: int

    @property
    def names_ranks(self) -> bool:
        """Whether `most` are the ranks that have most in all steps, tested or in a single one."""
        return self.pattern in ("fixed", "untested")


def differences(values: np.ndarray) -> Differences:
    """How ranks differ. values : (n_steps, n_ranks), steps in their order; NaN counts as 0.

    Raises ValueError for other shapes.
    """
    found = _differences(np.asarray(values, dtype=np.float64))
    turns = tuple(Turn(*turn) for turn in found["turns"])
    return Differences(**{**found, "most": tuple(found["most"]), "turns": turns})
