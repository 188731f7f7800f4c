# SPDX-License-Identifier: BSD-3-Clause
"""What a finding is: a sentence with numbers that holds against chance, its cost, picture and remedy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

LATE = ("rank that all wait for", "late rank")
# Kinds of findings about ranks that are slow for some cause; these are reported once.
CONSEQUENCES = frozenset(
    {
        *("imbalance", "imbalance by cost per cell", "imbalance follows the machine", "imbalance of a group"),
        *("slow node", *LATE),
    }
)
# What slow phases, and PUs that others take now and then, look like in all steps together.
OF_SLOW_STEPS = frozenset({"noise", "slow node", "slow switch", "imbalance that moves"})
ONE_STEP = "one number per rank allows no test against chance"
WORTH_REPORTING = 0.01  # of the run's time; what costs less is not reported
_NO_RANKS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Picture:
    """The picture that shows a finding.

    kind : "mesh", "machine", or the name of a function of perfield.plots ("heat_map"). field : that it shows;
    "" where the plot has none. step : index of the step to look at; None for all, or a typical one.
    """

    kind: str
    field: str = ""
    step: int | None = None


@dataclass(frozen=True)
class Finding:
    """Something that costs time, or may.

    kind : a few words in lower case that always name the same problem, "imbalance by cells".
    words : one or two sentences with numbers: what, where, how much.
    saved_s : how much shorter the run's steps would be without it, at most, in s (of time that passes, not
    added up over ranks); None where the run does not show that.
    lost_s : s of the run's steps that it takes, where that is known although nobody knows what the run would
    save without it; only for its place among other findings.
    remedy : one sentence on what usually helps.
    picture : that shows it.
    ranks : int64, of the world, those it is about; empty if it is about all. steps : int64, indexes of the
    steps that it is about; empty for all. regions, hosts : names. pairs : int64 (n, 2), sender and receiver.
    chance : the probability that chance alone gives as much; None where nothing random plays a part, or
    nothing can be tested. unproven : why not, as "a single step allows no test"; "" where it is proven.
    in_cpu_time : whether CPU time shows it, too, so that PUs that others take do not explain it.
    """

    kind: str
    words: str
    saved_s: float | None
    remedy: str
    picture: Picture
    ranks: np.ndarray = field(default_factory=lambda: _NO_RANKS)
    steps: np.ndarray = field(default_factory=lambda: _NO_RANKS)
    regions: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    pairs: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    chance: float | None = None
    unproven: str = ""
    lost_s: float = 0.0
    in_cpu_time: bool = False

    @property
    def cost_s(self) -> float:
        """What decides its place among findings: what it would save, else what it takes; 0 if unknown."""
        return self.lost_s if self.saved_s is None else self.saved_s
