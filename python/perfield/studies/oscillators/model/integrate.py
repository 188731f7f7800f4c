# SPDX-License-Identifier: BSD-3-Clause
"""Integrates a model: the phases of all oscillators over time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
import xarray as xr
from scipy.integrate import DOP853, RK45

from perfield.studies.oscillators.model.changing import Changing, Stages, Stop, value_at
from perfield.studies.oscillators.model.delayed import DelayedRK45, Past
from perfield.studies.oscillators.model.delays import DelayFunction, RandomDelay
from perfield.studies.oscillators.model.model import Model
from perfield.studies.oscillators.model.noise import DELAYS, uniform
from perfield.studies.oscillators.model.potentials import Sine
from perfield.studies.rhythm.model.dataset import phase_dataset
from perfield.studies.rhythm.model.errors import ModelError

METHODS = {"DOP853": DOP853, "RK45": RK45}


def oscillate(
    model: Model,
    initial: np.ndarray,
    times: np.ndarray,
    *,
    seed: int = 0,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    method: str = "DOP853",
    most_steps: int = 200_000,
    history: xr.DataArray | None = None,
) -> xr.Dataset:
    """Integrates a model and returns its phases, in the form of `perfield.studies.rhythm.model.dataset`.

    initial : rad (n,), phases at times[0] (see `initial` for the paper's). times : s, ascending, at least
    two: when phases are wanted; the solver chooses its own steps.
    seed : of noise and random delays. rtol, atol : tolerance of a step, in the mean square over oscillators:
    one that moves among 100,000 at rest was 4e-7 rad wrong at 1e-8.
    method : "DOP853" or "RK45", both SciPy's. Delays take an RK45 that keeps the past.
    It integrates in the co-rotating frame (theta minus the mean omega times t), where the tolerance acts on
    what differs, not on what grows. most_steps : after so many it counts as stalled; steps that end where a
    parameter jumps do not count.
    history : only with delays: phases (oscillator, time) up to times[0], such as the end of an earlier
    result; by default each oscillator went at its own frequency before.
    Attributes of the result: `parameters` (JSON), `seed`, `rhs_evaluations`, and the
    `remarks` of the topology, if it has any.
    Raises ModelError for phases or times that make no sense, delays longer than the history, and stalls.
    """
    times = np.asarray(times, float)
    initial = np.asarray(initial, float)
    _check(model, initial, times, method, rtol, atol)
    run = _Integration(model, initial, times, seed=seed, history=history)
    run.go(method, rtol, atol, most_steps)
    found = phase_dataset(run.found.T, times, model.topology)
    solver = {"method": method, "rtol": rtol, "atol": atol}
    found.attrs["parameters"] = json.dumps({**model.parameters(), **solver}, default=float)
    found.attrs["seed"] = seed
    found.attrs["rhs_evaluations"] = run.evaluations
    if model.topology.remarks:
        found.attrs["remarks"] = " ".join(model.topology.remarks)
    return found


def _check(
    model: Model, initial: np.ndarray, times: np.ndarray, method: str, rtol: float, atol: float
) -> None:
    n = model.topology.n
    if initial.shape != (n,):
        raise ModelError(
            f"initial phases have the shape {initial.shape}; give one for each of {n} oscillators."
        )
    unknown = np.flatnonzero(~np.isfinite(initial))
    if len(unknown):
        raise ModelError(
            f"the initial phase of oscillator {unknown[0]} is {initial[unknown[0]]:g} ({len(unknown)} of {n} "
            "are not finite); give a phase for each, or leave these ranks out of the topology."
        )
    if times.ndim != 1 or len(times) < 2 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ModelError(
            f"times of shape {times.shape} are no axis; give at least two finite, ascending times in s."
        )
    if method not in METHODS:
        raise ModelError(f"the method {method!r} is unknown; choose one of {', '.join(METHODS)}.")
    if not (rtol > 0 and atol > 0):
        raise ModelError(f"rtol = {rtol:g} and atol = {atol:g} are no tolerances; both must be above 0.")


class _Integration:
    """One integration: cut at each jump of a parameter, it goes from piece to piece."""

    def __init__(
        self, model: Model, initial: np.ndarray, times: np.ndarray, *, seed: int, history: xr.DataArray | None
    ) -> None:
        self.model, self.initial, self.times, self.seed = model, initial, times, seed
        self.frame = float(model.frequency_at(times[0]).mean())
        self.found = np.empty((len(times), len(initial)))
        self.evaluations, self.next = 0, 1
        self.stops = [(stop.start, _end_of(stop, model), stop.oscillator) for stop in model.stops]
        self.most_delay = self._longest_delay()
        self.past = None
        if self.most_delay > 0:
            self.past = Past(len(initial), times[0], self._before(history), self.most_delay)

    def _longest_delay(self) -> float:
        delay = self.model.delay
        return delay.most if isinstance(delay, (RandomDelay, DelayFunction)) else float(np.max(delay))

    def _before(self, history: xr.DataArray | None) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        start, frame = self.times[0], self.frame
        if history is None:
            detuning = self.model.frequency_at(start) - frame
            return lambda when, which: self.initial[which] + detuning[which] * (when - start)
        from scipy.interpolate import CubicSpline

        known = history["time"].values
        if len(known) < 2 or known[-1] < start or known[0] > start - self.most_delay:
            raise ModelError(
                f"the history reaches from {known[0]:g} to {known[-1]:g} s, but delays of up to "
                f"{self.most_delay:g} s need {start - self.most_delay:g} to {start:g} s; give a longer "
                "history or shorter delays."
            )
        values = history.transpose("time", "oscillator").values
        if values.shape[1] != len(self.initial) or not np.isfinite(values).all():
            raise ModelError(
                f"the history has {values.shape[1]} oscillators, {np.isnan(values).sum()} of its phases "
                f"unknown; give known phases of all {len(self.initial)}."
            )
        spline = CubicSpline(known, values - frame * (known - start)[:, None])

        def before(when: np.ndarray, which: np.ndarray) -> np.ndarray:
            moments, of = np.unique(when, return_inverse=True)
            return spline(moments)[of, which]

        return before

    def pieces(self) -> Iterator[tuple[float, float]]:
        """Begin and end (s) of spans in which no parameter jumps."""
        model, (begin, end) = self.model, self.times[[0, -1]]
        cuts = [np.array([begin, end])]
        for parameter in (model.frequency, model.coupling, model.weight):
            if isinstance(parameter, Stages):
                cuts.append(parameter.changes(begin, end))
        for first, last, _ in self.stops:
            cuts.append(np.array([first, last]))
        if model.noise is not None:
            cuts.append(_grid(model.noise.hold, begin, min(end, model.noise.until)))
            cuts.append(np.array([model.noise.until]))
        if isinstance(model.delay, RandomDelay):
            cuts.append(_grid(model.delay.hold, begin, end))
        elif self.past is not None and not isinstance(model.delay, DelayFunction):
            kinds = np.unique(model.delay)
            if len(kinds) <= 8:  # the kink at the start comes back after each delay, one order smoother
                cuts.append(begin + np.outer(kinds, np.arange(1, 6)).ravel())
        at = np.unique(np.concatenate(cuts))
        at = at[(at >= begin) & (at <= end)]
        apart = np.diff(at) > 1e-12 * max(abs(begin), abs(end), 1.0)
        at = np.concatenate([at[:-1][apart], at[-1:]])
        yield from zip(at[:-1], at[1:])

    def go(self, method: str, rtol: float, atol: float, most_steps: int) -> None:
        """Fills `found` with phases at all times."""
        y, step, steps = self.initial, None, 0
        self.found[0] = y
        draw = self.noise_of_pieces()
        for begin, end in self.pieces():
            middle = 0.5 * (begin + end)
            rate = self.rate(middle, *draw(middle))
            of = {"first_step": None if step is None else min(step, end - begin), "rtol": rtol, "atol": atol}
            if self.past is None:
                solver = METHODS[method](rate, begin, y, end, **of)
            else:
                of["first_step"] = of["first_step"] or min(end - begin, 0.3 / max(abs(self.frame), 1e-2))
                shortest = self.shortest_delay(middle)
                solver = DelayedRK45(rate, begin, y, end, past=self.past, shortest_delay=shortest, **of)
            while solver.status == "running":
                why = solver.step()
                steps += solver.t < end  # a jump of a parameter asks for a step of its own
                if solver.status == "failed" or steps >= most_steps:
                    why = why or f"{steps} steps were not enough"
                    raise ModelError(_stalled(solver.t, self.times, why))
                # the end of a piece cuts its last step short
                step = max(step or 0.0, solver.h_abs) if solver.t == end else solver.h_abs
                self.keep(solver)
            y = solver.y
            self.evaluations += solver.nfev
        self.found += (self.frame * (self.times - self.times[0]))[:, None]

    def keep(self, solver: DOP853 | RK45 | DelayedRK45) -> None:
        """Keeps phases at the times within the solver's last step."""
        inside = slice(self.next, np.searchsorted(self.times, solver.t))
        if inside.stop > inside.start:
            solution, times = solver.dense_output(), self.times[inside]
            delayed = self.past is not None  # whose solution takes one time
            self.found[inside] = [solution(time) for time in times] if delayed else solution(times).T
        self.next = int(np.searchsorted(self.times, solver.t, "right"))
        self.found[inside.stop : self.next] = solver.y

    def noise_of_pieces(self) -> Callable[[float], tuple[np.ndarray | None, ...]]:
        """(factor, term) of the noise in the piece around a time; for one piece after the other."""
        noise, n = self.model.noise, len(self.initial)
        if noise is None:
            return lambda time: (None, None)
        number = int(np.floor(self.times[0] / noise.hold)) - 1
        holds, drawn = noise.holds(self.seed, n, number + 1), (None, None)

        def draw(time: float) -> tuple[np.ndarray | None, ...]:
            nonlocal number, drawn
            if time >= noise.until:
                return None, None
            while number < int(np.floor(time / noise.hold)):
                drawn, number = next(holds), number + 1
            factor, term = drawn
            if noise.kind == "ornstein_uhlenbeck":
                term = term * self.model.frequency_at(time)
            return factor, term

        return draw

    def shortest_delay(self, time: float) -> float:
        """A lower limit (s) of the delays above 0 in the piece around that time."""
        delay = self.model.delay
        if isinstance(delay, DelayFunction):
            return 0.0
        if isinstance(delay, RandomDelay):
            return delay.least
        positive = np.asarray(delay)[np.asarray(delay) > 0]
        return float(positive.min())

    def rate(
        self, time: float, factor: np.ndarray | None, term: np.ndarray | None
    ) -> Callable[[float, np.ndarray], np.ndarray]:
        """The right-hand side in the co-rotating frame, for the piece around `time`."""
        model, frame = self.model, self.frame
        edges, n = model.topology, model.topology.n
        sender, receiver, potential = edges.sender, edges.receiver, model.potential
        drifts, varies = _is_smooth(model.frequency), _is_smooth(model.coupling) or _is_smooth(model.weight)
        frequency, strength = model.frequency_at(time), model.edge_strength_at(time)
        detuning = frequency - frame
        detuned = drifts or bool(detuning.any())
        even = not varies and bool((strength == strength[0]).all())
        common = float(strength[0])
        # Kuramoto: sum_j sin(theta_j - theta_i) = Im(exp(-i theta_i) sum_j exp(i theta_j)).
        all_to_all = edges.n_edges == n * (n - 1)
        classical = isinstance(potential, Sine) and all_to_all and even and self.past is None
        stopped = np.array([who for first, last, who in self.stops if first <= time < last], int)
        difference = self.difference(time)

        def pulls(now: float, phase: np.ndarray) -> np.ndarray:
            if classical:
                turn = np.exp(1j * phase)
                return common * (turn.conj() * turn.sum()).imag
            if difference:
                apart = difference(now, phase)
            else:
                apart = phase.take(sender)
                apart -= phase.take(receiver)
            if even:
                pull = np.bincount(receiver, potential(apart), minlength=n)
                pull *= common
                return pull
            now_strength = model.edge_strength_at(now) if varies else strength
            return np.bincount(receiver, now_strength * potential(apart), minlength=n)

        def right_hand_side(now: float, phase: np.ndarray) -> np.ndarray:
            rate = pulls(now, phase)
            if detuned:
                rate += model.frequency_at(now) - frame if drifts else detuning
            if factor is not None:  # it multiplies the whole rate, not that of the frame
                rate += frame
                rate *= factor
                rate -= frame
            if term is not None:
                rate += term
            if len(stopped):
                rate[stopped] = -frame
            return rate

        return right_hand_side

    def difference(self, time: float) -> Callable[[float, np.ndarray], np.ndarray] | None:
        """theta_j(t - tau_ij) - theta_i(t) of each edge as a function of (t, phase); None without delays."""
        if self.past is None:
            return None
        model, past, frame = self.model, self.past, self.frame
        edges = model.topology
        sender, receiver = edges.sender, edges.receiver
        delay = model.delay
        constant = not isinstance(delay, DelayFunction)
        if isinstance(delay, RandomDelay):
            drawn = uniform(self.seed, DELAYS, int(np.floor(time / delay.hold)), edges.n_edges)
            delay = delay.least + (delay.most - delay.least) * drawn
        if constant and np.min(delay) == np.max(delay):
            same = float(np.max(delay))
            ahead = -frame * same

            def differences_of_one_delay(now: float, phase: np.ndarray) -> np.ndarray:
                seen = past.everyone(now - same) + ahead
                if model.compensate:
                    seen += model.frequency_at(now) * same
                return seen.take(sender) - phase.take(receiver)

            return differences_of_one_delay
        whole = np.broadcast_to(np.asarray(delay, float), (edges.n_edges,)) if constant else None

        def differences(now: float, phase: np.ndarray) -> np.ndarray:
            tau = whole if constant else _delays_now(delay, now, edges.n_edges)
            seen = phase[sender]
            late = tau > 0
            seen[late] = past(now - tau[late], sender[late]) - frame * tau[late]
            if model.compensate:
                seen += model.frequency_at(now)[sender] * tau
            return seen - phase[receiver]

        return differences


def _end_of(stop: Stop, model: Model) -> float:
    frequency = abs(model.frequency_at(stop.start)[stop.oscillator])
    if frequency == 0:
        raise ModelError(
            f"oscillator {stop.oscillator} is to stop for {stop.steps:g} steps, but its frequency is 0, so "
            "its steps have no length; give it a frequency."
        )
    return stop.start + 2 * np.pi * stop.steps / frequency


def _is_smooth(parameter: Changing) -> bool:
    return callable(parameter) and not isinstance(parameter, Stages)


def _delays_now(delay: DelayFunction, now: float, count: int) -> np.ndarray:
    tau = np.asarray(value_at(delay.function, now), float)
    if tau.shape not in ((), (count,)):
        raise ModelError(
            f"the delay at {now:g} s has the shape {tau.shape}; give one number, or one per edge."
        )
    if not (tau >= 0).all():
        raise ModelError(f"a delay at {now:g} s is {np.min(tau):g} s; delays must be 0 or more.")
    if (tau > delay.most).any():
        raise ModelError(
            f"a delay at {now:g} s is {np.max(tau):g} s, longer than the history that is kept; raise most = "
            f"{delay.most:g} s."
        )
    return np.broadcast_to(tau, (count,))


def _grid(hold: float, begin: float, end: float) -> np.ndarray:
    return hold * np.arange(np.floor(begin / hold) + 1, np.ceil(end / hold))


def _stalled(time: float, times: np.ndarray, why: str) -> str:
    return (
        f"the integration stalled at {time:.6g} s of {times[0]:g} to {times[-1]:g} s: {why.rstrip('.')}. "
        "Check that the potential is finite everywhere, loosen rtol, or make the coupling "
        "or the potential less steep."
    )
