# SPDX-License-Identifier: BSD-3-Clause
"""A program's ranks as coupled oscillators: what a model of its communication predicts.

Afzal, Hager, Wellein, "Exploring metrics for analyzing dynamic behavior in MPI programs via a
coupled-oscillator model". `Topology` says which rank receives from which, a potential how ranks pull one
another, a `Model` joins both, and `oscillate` integrates it. The phases that come out have the form of
those that `perfield.studies.rhythm.model.phases` takes from a run, so the same metrics hold for both.
"""

from perfield.studies.oscillators.model.changing import Stages, Stop
from perfield.studies.oscillators.model.delays import DelayFunction, RandomDelay
from perfield.studies.oscillators.model.integrate import oscillate
from perfield.studies.oscillators.model.model import Model
from perfield.studies.oscillators.model.noise import Noise
from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.topology import Topology

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
