# SPDX-License-Identifier: BSD-3-Clause
"""Whether ranks march in step: phases from a run, and the metrics that judge phases, measured or modelled.

Afzal, Hager, Wellein, "Exploring metrics for analyzing dynamic behavior in MPI programs via a
coupled-oscillator model", sections 4.2.1 to 4.2.8. Each metric takes phases of the dimensions (oscillator,
time), in radians and unwrapped: 2 pi is one step.
"""

from perfield.analysis.rhythm.dataset import phase_dataset
from perfield.analysis.rhythm.errors import RhythmError
from perfield.analysis.rhythm.order import order_parameter
from perfield.analysis.rhythm.phases import phases

__all__ = ["RhythmError", "order_parameter", "phase_dataset", "phases"]
