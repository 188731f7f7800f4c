# SPDX-License-Identifier: BSD-3-Clause
"""The max-plus baseline: when each rank begins and ends its steps if messages alone hold it up.

A rank works, sends, and ends its step when the messages that it needs are there: its end is a maximum of
sums. No oscillator does that exactly, so this model is their baseline; it has no free parameter. The result
has the form of a run's steps, so `phases` and all that reads steps take it.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.special import ndtri

from perfield.studies.oscillators.model.model import Model
from perfield.studies.oscillators.model.noise import uniform
from perfield.studies.rhythm.model.errors import ModelError
from perfield.studies.rhythm.model.topology import Topology

EAGER, RENDEZVOUS = "eager", "rendezvous"
PROTOCOLS = {
    EAGER: "a receiver waits for its senders; nobody waits for a receiver",
    RENDEZVOUS: "a message moves once both sides are ready, and both wait for it",
}
TOGETHER, ONE_BY_ONE = "together", "one_by_one"
COMPLETIONS = {
    TOGETHER: "one MPI_Waitall completes all messages of a step",
    ONE_BY_ONE: "messages of one offset are completed before those of the next one start",
}
NOISES = {
    "exponential": "exponential with this mean: many short and few long hiccups",
    "uniform": "uniform from 0 to twice the mean",
    "half_normal": "the absolute value of a normal variable, of this mean",
}
SOURCE = "max-plus"
_WORK = 4  # stream of the seed


@dataclass(frozen=True)
class WorkNoise:
    """Extra time of each work, drawn for each rank and step. kind : a key of NOISES; mean : s, 0 or more."""

    kind: str
    mean: float

    def __post_init__(self) -> None:
        if self.kind not in NOISES:
            raise ModelError(f"the noise {self.kind!r} is unknown; choose one of {', '.join(NOISES)}.")
        if not (self.mean >= 0 and np.isfinite(self.mean)):
            raise ModelError(f"noise of mean {self.mean:g} s makes no sense; give 0 or more.")

    def drawn(self, seed: int, step: int, n: int) -> np.ndarray:
        """The extra times of that step, s (n,); number i does not depend on n."""
        part = uniform(seed, _WORK, step, n)
        if self.kind == "exponential":
            return -self.mean * np.log1p(-part)
        if self.kind == "uniform":
            return 2 * self.mean * part
        return self.mean * np.sqrt(np.pi / 2) * ndtri(0.5 + 0.5 * part)


@dataclass(frozen=True)
class LateWork:
    """A one-off delay: the work of `rank` in `step` (from 0) takes `time_s` longer."""

    rank: int
    step: int
    time_s: float

    def __post_init__(self) -> None:
        if self.step < 0 or not (self.time_s >= 0 and np.isfinite(self.time_s)):
            raise ModelError(
                f"a delay of {self.time_s:g} s in step {self.step} makes no sense; give a step from 0 on and "
                "a time of 0 or more."
            )


@dataclass(frozen=True)
class MaxPlus:
    """A program that exchanges messages once per step.

    topology : who receives from whom (weights do not count). t_comp : s, work of a step, a number or (n,).
    t_comm : s, from the later of both sides (rendezvous) or from the sender (eager) until the message is
    there; a number or (n_edges,). protocol : a key of PROTOCOLS. completion : a key of COMPLETIONS; with
    "one_by_one" offsets follow one another by distance, the positive one (to higher ranks) first.
    noise : a `WorkNoise`, or extra times (n_steps, n) in s, such as measured ones. delays : each a LateWork.
    """

    topology: Topology
    t_comp: float | np.ndarray = 1.0
    t_comm: float | np.ndarray = 0.0
    protocol: str = EAGER
    completion: str = TOGETHER
    noise: WorkNoise | np.ndarray | None = None
    delays: tuple[LateWork, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "delays", tuple(self.delays))
        of = self.topology
        if self.protocol not in PROTOCOLS:
            raise ModelError(f"the protocol {self.protocol!r} is unknown; choose {' or '.join(PROTOCOLS)}.")
        if self.completion not in COMPLETIONS:
            raise ModelError(
                f"the completion {self.completion!r} is unknown; choose {' or '.join(COMPLETIONS)}."
            )
        for name, count in (("t_comp", of.n), ("t_comm", of.n_edges)):
            value = np.asarray(getattr(self, name), float)
            if value.shape not in ((), (count,)) or not (value >= 0).all() or not np.isfinite(value).all():
                raise ModelError(
                    f"{name} has the shape {value.shape} and a least value of {value.min():g} s; give one "
                    f"time, or one for each of {count}, of 0 or more."
                )
        for delay in self.delays:
            if not 0 <= delay.rank < of.n:
                raise ModelError(f"rank {delay.rank} is to be late, but there are only 0 to {of.n - 1}.")

    def rounds(self) -> list[np.ndarray]:
        """Numbers of the edges whose messages are completed together, one array after the other."""
        of = self.topology
        if self.completion == TOGETHER:
            return [np.arange(of.n_edges)]
        offset = (of.receiver - of.sender) % of.n
        offset = np.where(offset > of.n // 2, offset - of.n, offset)
        return [np.flatnonzero(offset == o) for o in sorted(set(offset.tolist()), key=lambda o: (abs(o), -o))]

    def described(self) -> dict[str, object]:
        """All parameters but the edges, as JSON can hold them; of measured noise only its shape."""
        noise = self.noise
        if isinstance(noise, WorkNoise):
            kept: object = dataclasses.asdict(noise)
        else:
            kept = None if noise is None else {"given": list(np.shape(noise))}
        return {
            "n": self.topology.n,
            "t_comp": np.asarray(self.t_comp, float).tolist(),
            "t_comm": np.asarray(self.t_comm, float).tolist(),
            "protocol": self.protocol,
            "completion": self.completion,
            "noise": kept,
            "delays": [dataclasses.asdict(delay) for delay in self.delays],
        }


def march(program: MaxPlus, n_steps: int, *, seed: int = 0) -> xr.Dataset:
    """Lets a program make `n_steps` steps, from a common start at 0 s.

    Returns begin_s, end_s, compute_time_s, waiting_time_s (step, rank), s: a step ends when its messages are
    complete, and the next one begins at once; its waiting time is what follows its work, transfers included.
    `receiver` and `sender` (edge) are the topology. Attributes: `source`, `parameters` (JSON), `seed`. Takes
    O(n_steps (n + n_edges)) time. seed : of the noise.

    Eager: end_i = max(work_i, work_j + t_comm) over the ranks j that i receives from, where work is the end
    of the work; rendezvous: end_i = max(work_i, work_j) + t_comm over both those and the ranks it sends to.
    """
    of = program.topology
    if n_steps < 1:
        raise ModelError(f"{n_steps} steps are nothing to look at; give 1 or more.")
    late = _late(program, n_steps)
    given = (
        None if isinstance(program.noise, WorkNoise) or program.noise is None else _given(program, n_steps)
    )
    exchanges = [_Exchange(program, edges) for edges in program.rounds()]
    begin, end, worked = (np.empty((n_steps, of.n)) for _ in range(3))
    now = np.zeros(of.n)
    for step in range(n_steps):
        begin[step] = now
        now = now + program.t_comp
        if given is not None:
            now += given[step]
        elif program.noise is not None:
            now += program.noise.drawn(seed, step, of.n)
        for rank, time_s in late.get(step, ()):
            now[rank] += time_s
        worked[step] = now
        for exchange in exchanges:
            now = exchange(now)
        end[step] = now
    dims = ("step", "rank")
    about = {"units": "s"}
    return xr.Dataset(
        {
            "begin_s": (dims, begin, {**about, "long_name": "begin of the step"}),
            "end_s": (dims, end, {**about, "long_name": "end of the step"}),
            "compute_time_s": (dims, worked - begin, {**about, "long_name": "work"}),
            "waiting_time_s": (dims, end - worked, {**about, "long_name": "from the end of the work"}),
            "receiver": ("edge", of.receiver),
            "sender": ("edge", of.sender),
        },
        {"step": np.arange(n_steps), "rank": np.arange(of.n)},
        {"source": SOURCE, "parameters": json.dumps(program.described()), "seed": seed},
    )


def like(model: Model, initial: np.ndarray, protocol: str = EAGER) -> MaxPlus:
    """The program of an oscillator model: same topology, steps of 2 pi / omega, same start.

    initial : rad (n,), phases at the start: the oscillator furthest ahead begins its first step at once, the
    others begin as much later as they are behind. A `Stop` makes the work of its rank so much longer. Noise,
    delays tau_ij, and what changes with time have no counterpart and are left out.
    """
    frequency = model.frequency_at(0.0)
    if not (frequency > 0).all():
        raise ModelError(
            "an oscillator with a frequency of 0 or less makes no steps; give all a frequency above 0."
        )
    period = 2 * np.pi / frequency
    behind = (np.max(initial) - initial) / frequency
    late = [LateWork(int(rank), 0, float(behind[rank])) for rank in np.flatnonzero(behind)]
    for stop in model.stops:
        of_rank = float(period[stop.oscillator])
        late.append(LateWork(stop.oscillator, int(max(stop.start, 0) // of_rank), stop.steps * of_rank))
    return MaxPlus(model.topology, period, protocol=protocol, delays=tuple(late))


class _Exchange:
    """The messages of one round: when each rank is past them, from when each was ready."""

    def __init__(self, program: MaxPlus, edges: np.ndarray) -> None:
        of = program.topology
        self.sender, self.receiver = of.sender[edges], of.receiver[edges]
        self.t_comm = np.broadcast_to(np.asarray(program.t_comm, float), (of.n_edges,))[edges]
        self.both = program.protocol == RENDEZVOUS
        self.receivers, self.first = np.unique(self.receiver, return_index=True)  # sorted by receiver
        self.by_sender = np.argsort(self.sender, kind="stable")
        self.senders, self.first_sent = np.unique(self.sender[self.by_sender], return_index=True)

    def __call__(self, ready: np.ndarray) -> np.ndarray:
        start = ready[self.sender]
        if self.both:
            start = np.maximum(start, ready[self.receiver])
        there = start + self.t_comm
        done = ready.copy()
        done[self.receivers] = np.maximum(done[self.receivers], np.maximum.reduceat(there, self.first))
        if self.both:
            sent = np.maximum.reduceat(there[self.by_sender], self.first_sent)
            done[self.senders] = np.maximum(done[self.senders], sent)
        return done


def _late(program: MaxPlus, n_steps: int) -> dict[int, list[tuple[int, float]]]:
    late: dict[int, list[tuple[int, float]]] = {}
    for delay in program.delays:
        if delay.step >= n_steps:
            raise ModelError(
                f"rank {delay.rank} is to be late in step {delay.step}, but the last one is {n_steps - 1}; "
                "make more steps, or delay an earlier one."
            )
        late.setdefault(delay.step, []).append((delay.rank, delay.time_s))
    return late


def _given(program: MaxPlus, n_steps: int) -> np.ndarray:
    noise = np.asarray(program.noise, float)
    if noise.ndim != 2 or noise.shape[0] < n_steps or noise.shape[1] != program.topology.n:
        raise ModelError(
            f"noise has the shape {noise.shape}; give extra times of at least {n_steps} steps of "
            f"{program.topology.n} ranks each."
        )
    if not np.isfinite(noise).all() or (np.asarray(program.t_comp) + noise[:n_steps] < 0).any():
        raise ModelError("noise has values that are no times, or make work end before it began; mend these.")
    return noise
