# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of a model that change while the program runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Union

import numpy as np

from perfield.studies.oscillators.model.potentials import name_of
from perfield.studies.rhythm.model.errors import ModelError


@dataclass(frozen=True)
class Stages:
    """A parameter that is constant in each stage of the program (compute, communicate, output, ...).

    starts : s (n_stages,), ascending; values (n_stages, ...) : values[k] holds from starts[k] to
    starts[k + 1]. Before the first start values[0] holds, after the last values[-1]. period : s; if given,
    the stages repeat: starts lie in [0, period), and the last one also holds from 0 to the first.
    """

    starts: np.ndarray
    values: np.ndarray
    period: float | None = None

    def __post_init__(self) -> None:
        starts, values = np.atleast_1d(np.asarray(self.starts, float)), np.asarray(self.values, float)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "values", values)
        if values.ndim == 0 or len(values) != len(starts):
            raise ModelError(
                f"stages have {len(starts)} starts but values of shape {values.shape}; give one value (or "
                "one array) for each start."
            )
        if not np.isfinite(starts).all() or (np.diff(starts) <= 0).any():
            raise ModelError("the starts of stages must be finite and ascending; sort them first.")
        if not np.isfinite(values).all():
            raise ModelError("a stage has a value that is not a finite number; give one for each stage.")
        if self.period is not None and not (starts[0] >= 0 and starts[-1] < self.period):
            raise ModelError(
                f"stages start from {starts[0]:g} to {starts[-1]:g} s, outside their period of 0 to "
                f"{self.period:g} s; give starts within one period."
            )

    def __call__(self, time: float) -> np.ndarray:
        """The value at that time (s)."""
        if self.period is not None:
            stage = int(np.searchsorted(self.starts, time % self.period, side="right")) - 1
            return self.values[stage]
        return self.values[max(int(np.searchsorted(self.starts, time, side="right")) - 1, 0)]

    def changes(self, begin: float, end: float) -> np.ndarray:
        """The times (s) strictly between begin and end at which a stage starts."""
        starts = self.starts
        if self.period is not None:
            turns = np.arange(np.floor(begin / self.period), np.ceil(end / self.period) + 1)
            starts = (turns[:, None] * self.period + starts).ravel()
        return starts[(starts > begin) & (starts < end)]


@dataclass(frozen=True)
class Stop:
    """A rank that stops for some steps: its phase stops while the others advance.

    oscillator : which one. start : s. steps : how many of its own periods (2 pi / omega at the start) it
    stops, above 0; afterwards it is late by so many steps, less what it was pulled meanwhile (nothing).
    """

    oscillator: int
    start: float
    steps: float

    def __post_init__(self) -> None:
        if not (self.steps > 0 and np.isfinite(self.steps) and np.isfinite(self.start)):
            raise ModelError(
                f"oscillator {self.oscillator} is to stop at {self.start:g} s for {self.steps:g} steps; give "
                "a time, and a number of steps above 0."
            )


Changing = Union[float, np.ndarray, Stages, Callable[[float], Union[float, np.ndarray]]]


def value_at(parameter: Changing, time: float) -> float | np.ndarray:
    """The value of a parameter at that time (s): a number, an array, Stages, or a function of time."""
    return parameter(time) if callable(parameter) else parameter


def described(parameter: Changing) -> object:
    """A parameter as JSON can hold it: what a saved result carries. Of a function only its name is kept."""
    if isinstance(parameter, Stages):
        kept = {"starts": parameter.starts.tolist(), "values": parameter.values.tolist()}
        return kept if parameter.period is None else {**kept, "period": parameter.period}
    if callable(parameter):
        return {"function": name_of(parameter)}
    return np.asarray(parameter, float).tolist()
