# SPDX-License-Identifier: BSD-3-Clause
"""Plots of rhythm: phases of a model or of a run, and the metrics that judge them.

Figures of Afzal, Hager, Wellein, "Exploring metrics for analyzing dynamic behavior in MPI programs via a
coupled-oscillator model". All take phases in the form of `perfield.analysis.rhythm.dataset`.
"""

from perfield.plots.rhythm.page import help_of, page, side_by_side
from perfield.plots.rhythm.shown import Shown

__all__ = ["Shown", "help_of", "page", "side_by_side"]
