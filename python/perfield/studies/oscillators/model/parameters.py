# SPDX-License-Identifier: BSD-3-Clause
"""The parameters of the model that a measurement gives: t_comp, t_comm, beta, kappa, and what follows (eq.
2).

Each carries the sentence that says where it comes from, because some of them are assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.studies.oscillators.model.model import (
    coupling_strength,
    natural_frequency,
    protocol_factor,
)
from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.topology import Topology
from perfield.text import counted, in_bytes, in_number, in_percent, in_seconds

# How many bytes a message holds at most whose MPI_Send returns although nobody receives it yet: on one node,
# and between nodes. Measured with Open MPI 4.1.4 (shared memory; TCP) and MPICH 4.0.2 (shared memory): warm
# connections, the receiver inside MPI, where it waits for another rank.
EAGER_LIMITS = {"Open MPI": (4_040, 65_480), "MPICH": (8_255, 8_255)}
OTHER_EAGER_LIMIT = 16_384
_RARE = 0.05  # of as many waits as expected

_LONGER = 2.0  # times t_comp + t_comm; above it, a remark says that steps are longer
_DRIFT = 0.05  # of a step per step; above it, a remark names ranks that drift apart in the model


@dataclass(frozen=True)
class Parameter:
    """A parameter of the model. value : a number, or one per rank. unit : "s", "rad/s" or "1". source : where
    it comes from, a clause."""

    name: str
    value: float | np.ndarray
    unit: str
    source: str

    def __str__(self) -> str:
        values = np.atleast_1d(self.value)
        least, text, most = (self._in_words(float(f(values))) for f in (np.min, np.median, np.max))
        if least != most:
            text = f"{text} (median; {least} to {most} by rank)"
        return f"{self.name} = {text}: {self.source}"

    def _in_words(self, value: float) -> str:
        if self.unit == "s":
            return in_seconds(value)
        return in_number(value) + (f" {self.unit}" if self.unit != "1" else "")


@dataclass(frozen=True)
class Completion:
    """How a rank completes its messages, medians per step over ranks and steps that communicate.

    waitalls : calls of MPI_Waitall. single : calls that complete one message or some (MPI_Wait, MPI_Recv,
    MPI_Sendrecv, ...). messages : of each pair of ranks that exchanges any.
    """

    waitalls: float
    single: float
    messages: float

    @property
    def one_waitall(self) -> bool:
        """Whether one MPI_Waitall completes all messages of an exchange; a step may hold several."""
        alone = self.single <= _RARE * self.waitalls
        return self.waitalls > 0 and alone and self.waitalls <= (1 + _RARE) * self.messages


@dataclass(frozen=True)
class Parameters:
    """t_comp (n,) and t_comm in s, beta, kappa. remarks : sentences on what these leave out."""

    t_comp: Parameter
    t_comm: Parameter
    beta: Parameter
    kappa: Parameter
    remarks: tuple[str, ...] = ()

    @property
    def frequency(self) -> Parameter:
        """omega_i = 2 pi / (t_comp_i + t_comm), rad/s, (n,)."""
        each = [natural_frequency(t, self.t_comm.value) for t in self.t_comp.value]
        return Parameter("omega", np.array(each), "rad/s", "2 pi / (t_comp + t_comm), of each rank")

    @property
    def coupling(self) -> Parameter:
        """v_p = beta kappa / (t_comp + t_comm), rad/s; as the speed of an idle wave, ranks/s."""
        typical = float(np.median(self.t_comp.value))
        value = coupling_strength(self.beta.value, self.kappa.value, typical, self.t_comm.value)
        return Parameter(
            "v_p",
            value,
            "rad/s",
            "beta kappa / (t_comp + t_comm); an idle wave moves so many ranks per second",
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each parameter with its value and source, then the remarks."""
        all_of = (self.t_comp, self.t_comm, self.frequency, self.beta, self.kappa, self.coupling)
        return (*(f"{one}." for one in all_of), *self.remarks)


def step_times(
    step_s: np.ndarray, waiting_s: np.ndarray, exchanging: np.ndarray, of_steps: str = "", *, least: int = 2
) -> tuple[Parameter, Parameter]:
    """t_comp of each rank, and t_comm of all, from steps without their waiting.

    step_s, waiting_s : (n_steps, n) s, length of each rank's step, and its time in MPI calls that may wait;
    NaN where unknown. exchanging : (n,) bool, ranks that both send and receive; if none does, any that
    does either. of_steps : words for the steps, "steps 10 to 20". least : number of steps to take medians of.
    t_comp is the median time outside such calls. In each step the rank that comes last waits for nobody, so
    the least time that a rank was in them is communication without waiting; t_comm is its median.
    """
    known = np.isfinite(step_s) & np.isfinite(waiting_s)
    n_known = int(known.any(axis=1).sum())
    if len(step_s) and not n_known:
        raise ModelError(
            "t_comp and t_comm need the time in MPI calls, which this run did not measure; run the program "
            "under perfield with MPI watched (`mpi`), or give frequency and coupling yourself."
        )
    if n_known < least:
        raise ModelError(
            f"t_comp and t_comm are medians over steps, but there {'is' if n_known == 1 else 'are'} "
            f"{counted(n_known, 'step')} with times{of_steps and ' in ' + of_steps}; measure at least "
            f"{least}, or give frequency and coupling yourself."
        )
    outside = np.where(known, step_s - waiting_s, np.nan)
    absent = ~known.any(axis=0)
    t_comp = np.full(step_s.shape[1], np.nan)
    t_comp[~absent] = np.nanmedian(outside[:, ~absent], axis=0)
    t_comp[absent] = np.nanmedian(t_comp)
    who = exchanging if (known & exchanging).any() else np.ones_like(exchanging)
    inside = np.where(known & who, waiting_s, np.inf).min(axis=1)
    t_comm = float(np.median(inside[np.isfinite(inside)]))
    over = of_steps or counted(n_known, "step")
    return (
        Parameter("t_comp", t_comp, "s", f"each rank's median time outside waiting MPI calls, {over}"),
        Parameter(
            "t_comm",
            t_comm,
            "s",
            "communication without waiting: the least time in MPI of any rank that sends and receives, "
            f"median over {over}",
        ),
    )


def remarks_on_times(step_s: np.ndarray, t_comp: np.ndarray, t_comm: float) -> tuple[str, ...]:
    """A sentence if steps take far longer than t_comp + t_comm of the slowest rank; else none.

    step_s : (n_steps, n) s, NaN where unknown. t_comp : (n,) s. Medians leave out work that moves from rank
    to rank, for which all others wait.
    """
    alone, typical = float(np.max(t_comp)) + t_comm, float(np.nanmedian(step_s))
    if typical < _LONGER * alone:
        return ()
    return (
        f"steps took {in_seconds(typical)} (median), {in_number(typical / alone)} times t_comp + t_comm of "
        "the slowest rank: ranks wait for one another in most steps, as where the rank that computes longest "
        "changes; medians leave that out, so the model's steps are shorter than the program's.",
    )


def remarks_on_coupling(frequency: np.ndarray, v_p: float, edges: Topology) -> tuple[str, ...]:
    """A sentence if the ranks' frequencies differ by more than the coupling can hold together; else none.

    frequency : omega_i, (n,) rad/s. For tanh and other V with |V| <= 1, rank i goes at omega_i +- v_p / P
    sum_j T_ij at most (eq. 2). If the slowest that one can go is faster than the fastest that another can,
    they drift apart.
    """
    reach = v_p / edges.n * np.bincount(edges.receiver, edges.weight, minlength=edges.n)
    drift = float((frequency - reach).max() - (frequency + reach).min())
    if drift < _DRIFT * float(np.median(frequency)):
        return ()
    fast, slow = int((frequency - reach).argmax()), int((frequency + reach).argmin())
    share = in_percent(drift / float(np.median(frequency)))
    return (
        f"v_p / P is too weak for these frequencies: in the model rank {fast} gains at least {share} of a "
        f"step per step on rank {slow}, while ranks of the program may wait for each other; normalisation = "
        "'none' couples P times as strongly.",
    )


def eager_limits(library: str, same_node: np.ndarray, given: float | None = None) -> tuple[np.ndarray, str]:
    """The eager limit of each edge in bytes, float64 (n_edges,), and where it comes from.

    library : name and version of the MPI, "Open MPI 4.1.4"; "" if unknown. same_node : (n_edges,) bool.
    given : what the user says; else what EAGER_LIMITS assumes.
    """
    if given is not None:
        if not given >= 0:
            raise ModelError(f"eager_limit = {given} is not a number of bytes; give 0 or more.")
        return np.full(len(same_node), float(given)), f"given as {in_bytes(given)}"
    for name, (near, far) in EAGER_LIMITS.items():
        if library.startswith(name):
            limits = np.where(same_node, near, far).astype(float)
            words = [in_bytes(near)] * bool(same_node.any()) + [in_bytes(far)] * bool((~same_node).any())
            where = " on a node, ".join(words) + " between nodes" if len(words) == 2 else words[0]
            return limits, f"assumed {where} for {library}; give eager_limit to change it"
    assumed = f"assumed {in_bytes(OTHER_EAGER_LIMIT)} for {library or 'an unknown MPI'}"
    return (
        np.full(len(same_node), float(OTHER_EAGER_LIMIT)),
        f"{assumed}; give eager_limit to change it",
    )


def beta_of(
    edges: Topology, message_bytes: np.ndarray, limit: np.ndarray, synchronous: np.ndarray, limit_from: str
) -> Parameter:
    """beta: 2 if most messages are rendezvous and go both ways, else 1 (`protocol_factor`).

    message_bytes, limit, synchronous : of each edge, its mean message, its eager limit, and whether it is
    sent synchronously (MPI_Ssend), which waits for the receiver at any size. limit_from : from
    `eager_limits`.
    """
    by_size = message_bytes > limit
    late = by_size | synchronous
    rendezvous, both = late.mean() > 0.5, edges.answered.mean() > 0.5
    size = in_bytes(float(np.median(message_bytes)))
    why = [f"{in_percent(late.mean())} of {edges.n_edges} edges are rendezvous"]
    why += [f"messages of {size} (median), eager limit {limit_from}"]
    if synchronous.any():
        why += [f"{in_percent(synchronous.mean())} are sent synchronously"]
    why += [f"{in_percent(edges.answered.mean())} have one in the other direction"]
    value = protocol_factor(rendezvous=bool(rendezvous), bidirectional=bool(both))
    return Parameter("beta", value, "1", "; ".join(why))


def kappa_of(edges: Topology, completion: Completion | None) -> Parameter:
    """kappa: the median over ranks of `distance_factor` of the ranks that they receive from.

    A delay travels up through messages from lower ranks and down through those from higher ones, so the
    larger of both directions counts. completion : None if the run has no calls, which counts as single waits.
    """
    grouped = completion is not None and completion.one_waitall
    distance = edges.receiver - edges.sender
    each = np.zeros((2, edges.n))
    for way, there in enumerate((distance > 0, distance < 0)):
        far = np.abs(distance[there]).astype(float)
        (np.maximum if grouped else np.add).at(each[way], edges.receiver[there], far)
    found = each.max(axis=0)
    value = float(np.median(found[edges.degree > 0]))
    distances = ", ".join(f"{d:+d}" for d in _most_common(distance))
    if completion is None:
        how = "sum of distances, as the run has no calls of MPI, so single waits are assumed"
    elif grouped:
        often = in_number(completion.waitalls)
        how = f"longest distance, as one MPI_Waitall completes each exchange ({often} per step)"
    else:
        how = (
            "sum of distances, as messages are not completed by one MPI_Waitall "
            f"({in_number(completion.waitalls)} of it and {in_number(completion.single)} calls that "
            "complete single messages per step)"
        )
    sent = f"most messages go {distances} ranks"
    return Parameter("kappa", value, "1", f"{how}, median over ranks; {sent}")


def _most_common(distance: np.ndarray, most: int = 4) -> list[int]:
    """The distances that most edges have, at most `most`, ascending."""
    values, count = np.unique(distance, return_counts=True)
    return sorted(values[np.argsort(-count, kind="stable")[:most]].tolist())
