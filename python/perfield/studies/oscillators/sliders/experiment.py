# SPDX-License-Identifier: BSD-3-Clause
"""What the page computes: a model to begin with, and what its sliders change in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from perfield.studies.oscillators.model import Model, initial, oscillate, topologies
from perfield.studies.oscillators.model.noise import KINDS, Noise
from perfield.studies.oscillators.model.potentials import POTENTIALS, potential
from perfield.studies.oscillators.model.presets import PRESETS
from perfield.studies.oscillators.of_run import measured_model
from perfield.studies.rhythm.model.dataset import TURN

if TYPE_CHECKING:
    import xarray as xr

    from perfield.derived.run import Run
    from perfield.studies.oscillators.model import Topology

GIVEN = "as given"
TOPOLOGIES = (GIVEN, "chain", "ring", "compact chain", "all to all")
STARTS = (GIVEN, "perturbed", "delayed", "disordered", "spaced", "synchronised")
NOISES = ("none", *KINDS)
MOMENTS = 401


@dataclass(frozen=True)
class Base:
    """A model to begin with.

    about : what it is, a sentence in each line. start : rad (n,). periods : how long it runs.
    """

    title: str
    about: str
    model: Model
    start: np.ndarray
    periods: float

    @property
    def period(self) -> float:
        """Mean period of its oscillators, s; of frequencies around zero, that of their median size."""
        frequency = np.asarray(self.model.frequency_at(0.0))
        mean, size = abs(float(np.mean(frequency))), float(np.median(np.abs(frequency)))
        return TURN / (mean if mean > 1e-6 * size else size)


@dataclass(frozen=True)
class Settings:
    """What sliders say. coupling : times that of the base. detuning : by how much frequencies differ at most,
    as a share. delay, late, periods : in periods. which : the rank that starts late. gap : rad, of a spaced
    start. The others are as in Model and Noise.
    """

    topology: str = GIVEN
    n: int = 18
    distance: int = 1
    both: bool = False
    potential: str = "tanh"
    parameters: Mapping[str, float] = field(default_factory=dict)
    coupling: float = 1.0
    normalisation: str = "ranks"
    detuning: float = 0.0
    noise: str = "none"
    size: float = 0.0
    delay: float = 0.0
    compensate: bool = False
    start: str = GIVEN
    which: int = 0
    late: float = 1.0
    periods: float = 100.0
    seed: int = 0


def bases(run: Run | None = None) -> dict[str, Base]:
    """The models to begin with, by title: the paper's presets, and before them that of a run."""
    found = {}
    if run is not None:
        of_run = base_of_run(run)
        found[of_run.title] = of_run
    for make in PRESETS.values():
        preset = make()
        found[preset.title] = _base(preset.title, preset.about, preset.model, preset.initial, preset.times)
    return found


def base_of_run(run: Run) -> Base:
    """Topology, frequencies and coupling of a run, and the phases that it had when they spread most.

    Raises ModelError if the run has no messages or too few steps.
    """
    from perfield.studies.rhythm.of_run import phases_of_run

    model, taken = measured_model(run)
    n_parameters = len(taken.sentences) - len(taken.remarks)
    about = "\n".join(taken.sentences[n_parameters:] + taken.sentences[:n_parameters])  # remarks first
    phases = phases_of_run(run)["phase"].values
    apart = np.ptp(phases, axis=0)  # NaN where a phase is unknown
    start = np.zeros(len(phases))
    if np.isfinite(apart).any():
        start = phases[:, int(np.nanargmax(apart))]
    return Base(f"run {run.path.name}", about, model, start - start.max(), min(float(len(run)), 500.0))


def _base(title: str, about: str, model: Model, start: np.ndarray, times: np.ndarray) -> Base:
    made = Base(title, about, model, start, 0.0)
    return replace(made, periods=float(times[-1] - times[0]) / made.period)


def settings_of(base: Base) -> Settings:
    """The settings that leave a base as it is."""
    model = base.model
    name = next((name for name, kind in POTENTIALS.items() if isinstance(model.potential, kind)), GIVEN)
    parameters = dataclasses.asdict(model.potential) if name != GIVEN else {}
    return Settings(
        n=model.topology.n,
        potential=name,
        parameters=parameters,
        normalisation=model.normalisation,
        noise="none" if model.noise is None else model.noise.kind,
        size=0.0 if model.noise is None else model.noise.size,
        delay=float(np.max(model.delay)) / base.period,
        compensate=model.compensate,
        periods=base.periods,
    )


def experiment(base: Base, settings: Settings) -> tuple[Model, np.ndarray, np.ndarray]:
    """The model, the start (rad) and the times (s). Raises ModelError for settings that make no model."""
    edges = _topology(base.model.topology, settings)
    n, period, model = edges.n, base.period, base.model
    frequency = np.broadcast_to(model.frequency_at(0.0), (model.topology.n,))
    if edges.n != model.topology.n:
        frequency = np.full(n, frequency.mean())
    if settings.detuning:
        frequency = frequency * (
            1 + settings.detuning * (initial.disordered(n, seed=settings.seed) / np.pi - 1)
        )
    noise = None
    if settings.noise != "none" and settings.size:
        noise = Noise(settings.noise, settings.size, hold=0.1 * period, correlation=period)
    changed = replace(
        model,
        topology=edges,
        weight=model.weight if edges is model.topology else 1.0,
        potential=model.potential
        if settings.potential == GIVEN
        else potential(settings.potential, **settings.parameters),
        frequency=frequency,
        coupling=model.coupling * settings.coupling,
        normalisation=settings.normalisation,
        noise=noise,
        delay=settings.delay * period,
        compensate=settings.compensate,
    )
    return changed, _start(base, n, settings), np.linspace(0.0, settings.periods * period, MOMENTS)


def phases_of(base: Base, settings: Settings) -> xr.Dataset:
    """The phases of an experiment, computed by `oscillate`."""
    model, start, times = experiment(base, settings)
    return oscillate(model, start, times, seed=settings.seed, rtol=1e-6, atol=1e-8, method="RK45")


def _topology(given: Topology, settings: Settings) -> Topology:
    n, both, distance = settings.n, settings.both, settings.distance
    if settings.topology == "chain":
        return topologies.chain(n, bidirectional=both, distance=distance)
    if settings.topology == "ring":
        return topologies.ring(n, bidirectional=both, distance=distance)
    if settings.topology == "compact chain":
        return topologies.compact(n, distance, bidirectional=both)
    if settings.topology == "all to all":
        return topologies.all_to_all(n)
    return given


def _start(base: Base, n: int, settings: Settings) -> np.ndarray:
    if settings.start == GIVEN and len(base.start) == n:
        return base.start
    if settings.start == "delayed":
        return initial.delayed(n, oscillator=settings.which, periods=settings.late)
    if settings.start == "disordered":
        return initial.disordered(n, seed=settings.seed)
    if settings.start == "spaced":
        return initial.spaced(n)
    if settings.start == "synchronised":
        return initial.synchronised(n)
    return initial.perturbed(n)
