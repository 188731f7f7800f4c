# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield lab rhythm` says and draws of a model beside its run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.studies.oscillators.model import ModelError
from perfield.studies.oscillators.of_run import measured_model, parameters_of
from perfield.studies.rhythm.model import order_parameter, spread
from perfield.studies.rhythm.words import steps_apart
from perfield.text import in_number, in_seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfield.derived.run import Run


def draw(run: Run, steps: slice | None) -> Figure:
    """Measured phases beside those of the model."""
    from perfield.studies.oscillators.plots import run_and_model

    return run_and_model(run, steps)


def expected_speed(run: Run) -> list[str]:
    """A sentence on the speed that the model's formula gives an idle wave, if the run has what it needs."""
    try:
        found = parameters_of(run)
    except ModelError:
        return []
    per_step = found.beta.value * found.kappa.value
    unit = "rank" if per_step == 1 else "ranks"
    words = (
        f"The model's formula beta kappa / (t_comp + t_comm) gives {in_number(per_step)} {unit} per step, "
        f"{in_number(float(found.coupling.value))} ranks per s."
    )
    if per_step > 1:
        words += (
            " It overstates speeds measured with rendezvous messages in both directions, and with single "
            "waits: see docs/oscillators.md."
        )
    return [words]


def sentences(run: Run, steps: slice | None) -> list[str]:
    """What the model of the run has from it, and what it predicts from the measured start on."""
    from perfield.studies.oscillators.plots import predicted
    from perfield.studies.rhythm.plots import measured

    phases, _ = measured(run, steps)
    model, taken = measured_model(run, steps)
    found = predicted(phases, model)
    known = phases["time"].values[np.isfinite(phases["phase"].values).all(axis=0)]
    ends = found["time"].values[0], max(known[-1], found["time"].values[0])  # at which all ranks have phases
    (begin, end), (apart, r), (apart_then, r_then) = (
        ends,
        *(
            (spread(phase).values.tolist(), order_parameter(phase).values.tolist())
            for phase in (each["phase"].sel(time=list(ends), method="nearest") for each in (phases, found))
        ),
    )
    return [
        "A model of coupled oscillators takes from this run:",
        *(f"  {sentence}" for sentence in taken.sentences),
        f"It starts at {in_seconds(begin)} from the measured phases, {steps_apart(apart[0])} steps apart. "
        f"At {in_seconds(end)} it has the ranks {steps_apart(apart_then[1])} steps apart (R "
        f"{r_then[1]:.2f}); measured are {steps_apart(apart[1])} (R {r[1]:.2f}).",
    ]
