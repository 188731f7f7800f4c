# SPDX-License-Identifier: BSD-3-Clause
"""Regimes: timings of a shared machine as a mixture of levels, separated by a hidden Markov model.

Heldman, Rudi, Bessac, "Statistical Treatment of Variable MPI Latencies and MPI-Communication Hiding for
Matrix-Free Finite Element Operators", ICS '25, section 2.2. Everything here takes and gives the Dataset that
`timings` makes: `time_s` (rank, step), in seconds.
"""

from perfield.studies.regimes.model.bootstrap import block_length, interval, resampled_sums
from perfield.studies.regimes.model.decode import Follower, classify
from perfield.studies.regimes.model.errors import RegimeError
from perfield.studies.regimes.model.events import events, stretches
from perfield.studies.regimes.model.fit import Fit, fit, fit_pooled
from perfield.studies.regimes.model.model import EMISSIONS, Model
from perfield.studies.regimes.model.places import LEVELS, places
from perfield.studies.regimes.model.simulated import simulated
from perfield.studies.regimes.model.statistics import n_regimes_of, shares, slow_points, statistics
from perfield.studies.regimes.model.timings import PROBABILITY, REGIME, TIME, UNKNOWN, largest, timings
from perfield.studies.regimes.model.where import Cluster, where

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
