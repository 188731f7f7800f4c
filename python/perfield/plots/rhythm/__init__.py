# SPDX-License-Identifier: BSD-3-Clause
"""Plots of rhythm: phases of a model or of a run, and the metrics that judge them.

Figures of Afzal, Hager, Wellein, "Exploring metrics for analyzing dynamic behavior in MPI programs via a
coupled-oscillator model". All take phases in the form of `perfield.analysis.rhythm.dataset`.
"""

from perfield.plots.rhythm.films import film
from perfield.plots.rhythm.of_run import measured, of_run, predicted, run_and_model
from perfield.plots.rhythm.page import help_of, page, side_by_side
from perfield.plots.rhythm.shown import Shown
from perfield.plots.rhythm.sweeps import sweep
from perfield.plots.rhythm.theory import matrices, mexican_hat, potentials

__all__ = [
    "Shown",
    "film",
    "help_of",
    "matrices",
    "measured",
    "mexican_hat",
    "of_run",
    "page",
    "potentials",
    "predicted",
    "run_and_model",
    "side_by_side",
    "sweep",
]
