# SPDX-License-Identifier: BSD-3-Clause
"""The oscillator model of a program: topology, frequencies, coupling, noise and delays (eq. 2)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from perfield.studies.oscillators.model import changing, potentials
from perfield.studies.oscillators.model.changing import Changing, Stages, Stop, value_at
from perfield.studies.oscillators.model.delays import Delay, DelayFunction, RandomDelay
from perfield.studies.oscillators.model.noise import Noise
from perfield.studies.oscillators.model.potentials import Potential
from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.topology import Topology

NORMALISATIONS = ("ranks", "degree", "none")  # the sum over j is divided by P (eq. 2), by the in-degree, by 1


@dataclass(frozen=True)
class Model:
    """theta_i' = omega_i + zeta_i + (v_p / norm) sum_j T_ij V_ij(theta_j(t - tau_ij) - theta_i)   (eq. 2)

    topology : who receives from whom, with the weights T_ij. potential : V, see `potentials`; one per edge is
    a `PerEdge`. frequency : omega in rad/s (2 pi / (t_comp + t_comm)), a number or (n,). coupling : v_p in
    rad/s. normalisation : what the sum is divided by: "ranks" (P, eq. 2), "degree" (how many it receives
    from) or "none".
    weight : T_ij(t), (n_edges,) or a number, by which the topology's weights are multiplied; 1 by default.
    Frequency, coupling and weight may also change with time: `Stages` of the program, or a function of the
    time in s; the solver sees the jumps of Stages, but not those of a function.
    noise : zeta, see `Noise`; none by default. delay : tau_ij in s, a number, (n_edges,), `RandomDelay`
    or `DelayFunction`; 0 by default. compensate : add omega_j tau_ij to the difference, so that a delay
    shifts no difference of oscillators that march in step; else each lags what it follows by omega tau.
    stops : ranks that stop for some steps, each a `Stop`.
    """

    topology: Topology
    potential: Potential
    frequency: Changing = 2 * np.pi
    coupling: Changing = 1.0
    normalisation: str = "ranks"
    weight: Changing = 1.0
    noise: Noise | None = None
    delay: Delay = 0.0
    compensate: bool = False
    stops: tuple[Stop, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "stops", tuple(self.stops))
        of = self.topology
        if self.normalisation not in NORMALISATIONS:
            known = ", ".join(NORMALISATIONS)
            raise ModelError(f"normalisation = {self.normalisation!r} is unknown; expected one of {known}.")
        _check_shape("frequency", self.frequency, of.n, "oscillators")
        _check_shape("coupling", self.coupling, None, "")
        _check_shape("weight", self.weight, of.n_edges, "edges")
        if isinstance(self.potential, potentials.PerEdge) and len(self.potential.which) != of.n_edges:
            raise ModelError(
                f"the potential has a choice for {len(self.potential.which)} edges, but the topology has "
                f"{of.n_edges}; give one choice for each edge, in the topology's order."
            )
        if not isinstance(self.delay, (RandomDelay, DelayFunction)):
            _check_shape("delay", self.delay, of.n_edges, "edges")
            if np.min(self.delay) < 0:
                raise ModelError(
                    f"delay = {np.min(self.delay):g} s would let a rank see the future; give 0 or more."
                )
        for stop in self.stops:
            if not 0 <= stop.oscillator < of.n:
                raise ModelError(
                    f"oscillator {stop.oscillator} is to stop, but there are only 0 to {of.n - 1}; name one "
                    "of these."
                )

    @property
    def edge_strength(self) -> np.ndarray:
        """What V of each edge is multiplied by, rad/s, float64 (n_edges,); at time 0 if it changes."""
        return self.edge_strength_at(0.0)

    def edge_strength_at(self, time: float) -> np.ndarray:
        """What V of each edge is multiplied by at that time (s): v_p T_ij / norm, rad/s, (n_edges,)."""
        of = self.topology
        strength = value_at(self.coupling, time) * value_at(self.weight, time) * of.weight
        if self.normalisation == "ranks":
            return strength / of.n
        if self.normalisation == "degree":
            return strength / of.degree[of.receiver]
        return strength

    def frequency_at(self, time: float) -> np.ndarray:
        """omega_i at that time (s), rad/s, float64 (n,)."""
        return np.broadcast_to(np.asarray(value_at(self.frequency, time), float), (self.topology.n,))

    def parameters(self) -> dict[str, object]:
        """All parameters but the edges, as JSON can hold them."""
        delay = self.delay
        if isinstance(delay, RandomDelay):
            kept = dataclasses.asdict(delay)
        elif isinstance(delay, DelayFunction):
            kept = {**changing.described(delay.function), "most": delay.most}
        else:
            kept = changing.described(delay)
        return {
            "n": self.topology.n,
            "potential": potentials.described(self.potential),
            "frequency": changing.described(self.frequency),
            "coupling": changing.described(self.coupling),
            "normalisation": self.normalisation,
            "weight": changing.described(self.weight),
            "noise": None if self.noise is None else self.noise.described(),
            "delay": kept,
            "compensate": self.compensate,
            "stops": [dataclasses.asdict(stop) for stop in self.stops],
        }


def _check_shape(name: str, parameter: Changing, count: int | None, of: str) -> None:
    if isinstance(parameter, Stages):
        shape = parameter.values.shape[1:]
    elif callable(parameter):
        return
    else:
        if not np.isfinite(parameter).all():
            raise ModelError(f"{name} has a value that is not a finite number; give finite ones.")
        shape = np.shape(parameter)
    if shape != () and shape != (count,):
        allowed = "a single number" if count is None else f"one number, or one for each of {count} {of}"
        raise ModelError(f"{name} has the shape {shape}; give {allowed}.")


def natural_frequency(t_comp: float, t_comm: float) -> float:
    """omega = 2 pi / (t_comp + t_comm), rad/s, of a rank that computes and communicates so long (s) per step.

    Source: eq. 2.
    """
    return 2 * np.pi / _period(t_comp, t_comm)


def coupling_strength(beta: float, kappa: float, t_comp: float, t_comm: float) -> float:
    """v_p = beta kappa / (t_comp + t_comm): the speed of an idle wave, ranks/s, and in eq. 2 rad/s.

    beta : see `protocol_factor`. kappa : see `distance_factor`. t_comp, t_comm : s per step. Source: eq. 2.
    """
    if not (beta > 0 and kappa > 0 and np.isfinite(beta * kappa)):
        raise ModelError(f"beta = {beta:g} and kappa = {kappa:g} give no coupling; both must be above 0.")
    return beta * kappa / _period(t_comp, t_comm)


def protocol_factor(*, rendezvous: bool, bidirectional: bool) -> float:
    """beta: 2 for rendezvous messages in both directions, else 1.

    The paper says 2 for rendezvous, 1 for eager, yet credits the halving between its Figures 5 and 6, both
    rendezvous, to the protocol. Only in both directions does a rendezvous hold up senders, too.
    """
    return 2.0 if rendezvous and bidirectional else 1.0


def distance_factor(distances: np.ndarray, *, one_waitall: bool) -> float:
    """kappa of the distances (ranks, any sign) to the partners of a rank.

    The longest if one MPI_Waitall completes all requests, else the sum. Source: section 3.2.
    """
    far = np.abs(np.asarray(distances, float))
    if not far.size:
        raise ModelError("kappa needs the distance to at least one partner; a rank without any has none.")
    return float(far.max() if one_waitall else far.sum())


def _period(t_comp: float, t_comm: float) -> float:
    if not (t_comp >= 0 and t_comm >= 0 and 0 < t_comp + t_comm < np.inf):
        raise ModelError(
            f"t_comp = {t_comp:g} s and t_comm = {t_comm:g} s make no step; give times of 0 or more, "
            "not both 0."
        )
    return t_comp + t_comm
