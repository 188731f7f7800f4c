# SPDX-License-Identifier: BSD-3-Clause
"""Regimes: timings of a shared machine as a mixture of levels, separated by a hidden Markov model.

Heldman, Rudi, Bessac, "Statistical Treatment of Variable MPI Latencies and MPI-Communication Hiding for
Matrix-Free Finite Element Operators", ICS '25, section 2.2. Everything here takes and gives the Dataset that
`timings` makes: `time_s` (rank, step), in seconds.
"""

from perfield.analysis.regimes.bootstrap import block_length, interval, resampled_sums
from perfield.analysis.regimes.decode import Follower, classify
from perfield.analysis.regimes.errors import RegimeError
from perfield.analysis.regimes.events import events, stretches
from perfield.analysis.regimes.fit import Fit, fit, fit_pooled
from perfield.analysis.regimes.model import EMISSIONS, Model
from perfield.analysis.regimes.places import LEVELS, places
from perfield.analysis.regimes.simulated import simulated
from perfield.analysis.regimes.statistics import n_regimes_of, shares, slow_points, statistics
from perfield.analysis.regimes.timings import PROBABILITY, REGIME, TIME, UNKNOWN, largest, timings
from perfield.analysis.regimes.where import Cluster, where

__all__ = [
    "EMISSIONS",
    "LEVELS",
    "PROBABILITY",
    "REGIME",
    "TIME",
    "UNKNOWN",
    "Cluster",
    "Fit",
    "Follower",
    "Model",
    "RegimeError",
    "block_length",
    "classify",
    "events",
    "fit",
    "fit_pooled",
    "interval",
    "largest",
    "n_regimes_of",
    "places",
    "resampled_sums",
    "shares",
    "simulated",
    "slow_points",
    "statistics",
    "stretches",
    "timings",
    "where",
]
