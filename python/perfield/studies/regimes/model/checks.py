# SPDX-License-Identifier: BSD-3-Clause
"""What is doubtful about a fit, as sentences with the remedy."""

from __future__ import annotations

import numpy as np
from scipy import stats

from perfield.studies.regimes.model import states

LEAST_SHARE = 1e-3  # of the times in a state
APART = 2.0  # half widths: where neighbours that lie closer meet, no gap shows
CERTAIN = 0.8  # posterior probability
MOST_UNCERTAIN = 0.2  # of the times


def degenerate(start: states.Start, found: states.States) -> str:
    """Why a state is none: almost no time is in it, or it has no width. Empty if all are sound."""
    if found.n == 1:
        return ""
    if found.share.min() < LEAST_SHARE:
        return f"one of {found.n} states held less than {100 * LEAST_SHARE:g} % of the times"
    narrow = found.hidden.scale <= 1.01 * start.min_scale
    if narrow.any() and not start.has_ticks:
        return f"one of {found.n} states shrank to a single time"
    return ""


def separation(start: states.Start, found: states.States) -> np.ndarray:
    """(n - 1) distance of neighbouring states, over the sum of the half widths that hold 68 % of each."""
    unit = stats.t.ppf(stats.norm.cdf(1), start.dof) if start.dof else 1.0
    width = unit * found.hidden.scale
    return np.abs(np.diff(found.hidden.location)) / (width[:-1] + width[1:])


def levels(start: states.Start, found: states.States) -> np.ndarray:
    """(n) the regime of each state, where neighbours that overlap and have no memory are one."""
    same = (states.memory(found.hidden.transition) < states.MEMORY) & (separation(start, found) < APART)
    return np.r_[0, np.cumsum(~same)]


def doubts(start: states.Start, found: states.States, regime: np.ndarray) -> list[str]:
    """Sentences about the convergence, memory and overlap of the regimes found."""
    notes = []
    n_regimes = int(regime.max()) + 1
    if not found.has_converged:
        notes.append(
            f"the fit did not converge in {states.MAX_ITERATIONS} iterations: its regimes are provisional; "
            "fit fewer regimes, or measure more steps."
        )
    if n_regimes == 1:
        return notes
    if start.has_memory and states.memory(states.lumped(found.hidden, found.share, regime)).max() < 0.1:
        notes.append(
            "the regimes do not last: the regime of a step says nothing about that of the next, as in a "
            "mixture without memory."
        )
    regime_of = regime.astype(np.int8).tolist()
    _, probability = found.hidden.classify(start.values, regime_of)
    known = probability[np.isfinite(probability)]
    uncertain = float((known < CERTAIN).mean())
    if uncertain > MOST_UNCERTAIN:
        notes.append(
            f"the regimes overlap: {100 * uncertain:.0f} % of the sampled times are in theirs with a "
            f"probability below {CERTAIN:g}; fit fewer regimes, or read shares of steps with care."
        )
    return notes
