# SPDX-License-Identifier: BSD-3-Clause
"""Whether ranks march in step: phases from a run, and the metrics of phases, measured or modelled.

Afzal, Hager, Wellein, "Exploring metrics for analyzing dynamic behavior in MPI programs via a
coupled-oscillator model", sections 4.2.1 to 4.2.8. Each metric takes phases of the dimensions (oscillator,
time), in radians and unwrapped: 2 pi is one step. Phases of one instant, (oscillator), do, too.
"""

from perfield.analysis.idle_waves import IdleWave, idle_waves
from perfield.studies.rhythm.model.circle import phase_circle
from perfield.studies.rhythm.model.course import Course, course
from perfield.studies.rhythm.model.dataset import phase_dataset
from perfield.studies.rhythm.model.differences import (
    difference_histogram,
    difference_matrix,
    phase_differences,
    wrapped,
)
from perfield.studies.rhythm.model.drift import Drift, drift
from perfield.studies.rhythm.model.early_warning import early_warnings, losses_of_rhythm
from perfield.studies.rhythm.model.energy import lyapunov, lyapunov_rate, potential
from perfield.studies.rhythm.model.entropy import CIRCLE_BINS, entropy
from perfield.studies.rhythm.model.errors import RhythmError
from perfield.studies.rhythm.model.gradient import phase_gradient
from perfield.studies.rhythm.model.help import HELP
from perfield.studies.rhythm.model.order import mean_phase, order_parameter, order_parameter_rate
from perfield.studies.rhythm.model.phases import phases
from perfield.studies.rhythm.model.settling import Settled, crossing_time, settled, settling_time
from perfield.studies.rhythm.model.spread import phase_variance, spread
from perfield.studies.rhythm.model.state import STATES, in_words, state
from perfield.studies.rhythm.model.wavefront import wavefront

__all__ = [
    "CIRCLE_BINS",
    "HELP",
    "STATES",
    "Course",
    "Drift",
    "IdleWave",
    "RhythmError",
    "Settled",
    "course",
    "crossing_time",
    "difference_histogram",
    "difference_matrix",
    "drift",
    "early_warnings",
    "entropy",
    "idle_waves",
    "in_words",
    "losses_of_rhythm",
    "lyapunov",
    "lyapunov_rate",
    "mean_phase",
    "order_parameter",
    "order_parameter_rate",
    "phase_circle",
    "phase_dataset",
    "phase_differences",
    "phase_gradient",
    "phase_variance",
    "phases",
    "potential",
    "settled",
    "settling_time",
    "spread",
    "state",
    "wavefront",
    "wrapped",
]
