# SPDX-License-Identifier: BSD-3-Clause
"""Plots of regimes: times of ranks and steps, and what slow phases of the machine do to them.

Figures of Heldman, Rudi, Bessac, "Statistical Treatment of Variable MPI Latencies and MPI-Communication
Hiding for Matrix-Free Finite Element Operators", ICS '25. All take timings in the form of
`perfield.studies.regimes.model`, or records of MatVecs, as the study of communication hiding has them; those
of several methods as a mapping from words to timings. The others are compared with the first.
"""

from perfield.studies.regimes.plots.cdfs import cdfs, one_box
from perfield.studies.regimes.plots.heat_maps import heat_maps, regimes_map, times_map
from perfield.studies.regimes.plots.in_and_out import in_and_out, in_and_out_by_regime, totals
from perfield.studies.regimes.plots.of_run import classified, of_run, spread_of_run
from perfield.studies.regimes.plots.series import one_series, series
from perfield.studies.regimes.plots.splitting import splitting, waits_and_splitting
from perfield.studies.regimes.plots.spread import boxes, densities
from perfield.studies.regimes.plots.sums import cost_of_slow_steps, cumulative, improvements, sums
from perfield.studies.regimes.plots.timelines import timeline, timelines

__all__ = [
    "boxes",
    "cdfs",
    "classified",
    "cost_of_slow_steps",
    "cumulative",
    "densities",
    "heat_maps",
    "improvements",
    "in_and_out",
    "in_and_out_by_regime",
    "of_run",
    "one_box",
    "one_series",
    "regimes_map",
    "series",
    "splitting",
    "spread_of_run",
    "sums",
    "timeline",
    "timelines",
    "times_map",
    "totals",
    "waits_and_splitting",
]
