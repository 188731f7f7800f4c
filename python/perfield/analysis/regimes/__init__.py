# SPDX-License-Identifier: BSD-3-Clause
"""Regimes: timings of a shared machine as a mixture of levels, separated by a hidden Markov model.

Heldman, Rudi, Bessac, "Statistical Treatment of Variable MPI Latencies and MPI-Communication Hiding for
Matrix-Free Finite Element Operators", ICS '25, section 2.2. Everything here takes and gives the Dataset that
`timings` makes: `time_s` (rank, step), in seconds.
"""

from perfield.analysis.regimes.decode import Follower, classify
from perfield.analysis.regimes.errors import RegimeError
from perfield.analysis.regimes.fit import Fit, fit, fit_pooled
from perfield.analysis.regimes.model import EMISSIONS, Model
from perfield.analysis.regimes.simulated import simulated
from perfield.analysis.regimes.timings import PROBABILITY, REGIME, TIME, UNKNOWN, largest, timings

__all__ = [
    "EMISSIONS",
    "PROBABILITY",
    "REGIME",
    "TIME",
    "UNKNOWN",
    "Fit",
    "Follower",
    "Model",
    "RegimeError",
    "classify",
    "fit",
    "fit_pooled",
    "largest",
    "simulated",
    "timings",
]
