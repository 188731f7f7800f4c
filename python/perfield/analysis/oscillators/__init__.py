# SPDX-License-Identifier: BSD-3-Clause
"""A program's ranks as coupled oscillators: what a model of its communication predicts.

Afzal, Hager, Wellein, "Exploring metrics for analyzing dynamic behavior in MPI programs via a
coupled-oscillator model". `Topology` says which rank receives from which, a potential how ranks pull one
another, a `Model` joins both, and `oscillate` integrates it. The phases that come out have the form of
those that `perfield.analysis.rhythm.phases` takes from a run, so the same metrics judge both.
"""

from perfield.analysis.oscillators.changing import Stages, Stop
from perfield.analysis.oscillators.delays import DelayFunction, RandomDelay
from perfield.analysis.oscillators.errors import ModelError
from perfield.analysis.oscillators.integrate import oscillate
from perfield.analysis.oscillators.model import Model
from perfield.analysis.oscillators.noise import Noise
from perfield.analysis.oscillators.topology import Topology

__all__ = [
    "DelayFunction",
    "Model",
    "ModelError",
    "Noise",
    "RandomDelay",
    "Stages",
    "Stop",
    "Topology",
    "oscillate",
]
