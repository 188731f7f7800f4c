# SPDX-License-Identifier: BSD-3-Clause
"""Plots of rhythm: phases of a model or of a run, and their metrics.

Figures of Afzal, Hager, Wellein, "Exploring metrics for analyzing dynamic behavior in MPI programs via a
coupled-oscillator model". All take phases in the form of `perfield.studies.rhythm.model.dataset`.
"""

from perfield.studies.rhythm.plots.films import film
from perfield.studies.rhythm.plots.of_run import measured, of_run
from perfield.studies.rhythm.plots.page import help_of, page, side_by_side
from perfield.studies.rhythm.plots.shown import Shown
from perfield.studies.rhythm.plots.sweeps import sweep

__all__ = [
    "Shown",
    "film",
    "help_of",
    "measured",
    "of_run",
    "page",
    "side_by_side",
    "sweep",
]
