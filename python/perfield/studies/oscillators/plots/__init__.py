# SPDX-License-Identifier: BSD-3-Clause
"""Plots of potentials and topologies, and of a run beside its model."""

from perfield.studies.oscillators.plots.run_and_model import predicted, run_and_model
from perfield.studies.oscillators.plots.theory import matrices, mexican_hat, potentials

__all__ = ["matrices", "mexican_hat", "potentials", "predicted", "run_and_model"]
