# SPDX-License-Identifier: BSD-3-Clause
"""Integrates delay differential equations: Dormand-Prince 5(4) that remembers its own past.

It has what `oscillate` uses of SciPy's solvers: t, t_old, y, status, step() and dense_output().
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import RK45

STAGES, LAST = 6, 4  # stages of a step, and the degree of the polynomial between its ends


class Past:
    """Phases of all oscillators up to now: a function before the start, then one polynomial per step.

    before(times, which) : phases of the oscillators `which` at `times` <= start, arrays of one shape.
    most : s, how far back anybody will look; older steps are forgotten.
    """

    def __init__(
        self, n: int, start: float, before: Callable[[np.ndarray, np.ndarray], np.ndarray], most: float
    ) -> None:
        self.start, self._before, self._most = start, before, most
        self._begins, self._spans = np.empty(0), np.empty(0)
        self._values = np.empty((0, LAST + 1, n))
        self._count = 0

    def remember(self, begin: float, span: float, y: np.ndarray, slopes: np.ndarray) -> None:
        """Adds the step from `begin` (s) that lasts `span`: y (n,) at its begin, slopes (LAST, n)."""
        if self._count == len(self._begins):
            self._make_room(begin)
        at = self._count
        self._begins[at], self._spans[at] = begin, span
        self._values[at, 0], self._values[at, 1:] = y, slopes * span
        self._count += 1

    def forget_last(self) -> None:
        """Takes the last step back."""
        self._count -= 1

    def _make_room(self, now: float) -> None:
        # one step older than needed stays, as an estimate may still be repeated from its begin
        first = max(int(np.searchsorted(self._begins[: self._count], now - self._most, side="right")) - 2, 0)
        kept = slice(first, self._count)
        size = max(64, 2 * (self._count - first))
        begins, spans, values = np.empty(size), np.empty(size), np.empty((size, *self._values.shape[1:]))
        self._count -= first
        begins[: self._count], spans[: self._count] = self._begins[kept], self._spans[kept]
        values[: self._count] = self._values[kept]
        self._begins, self._spans, self._values = begins, spans, values

    def everyone(self, time: float) -> np.ndarray:
        """Phases of all oscillators at one time (s), (n,); see `__call__`."""
        n = self._values.shape[2]
        if time <= self.start or not self._count:
            return self._before(np.full(n, time), np.arange(n))
        at = int(np.searchsorted(self._begins[: self._count], time, side="right")) - 1
        part = (time - self._begins[at]) / self._spans[at]
        return part ** np.arange(LAST + 1) @ self._values[at]

    def __call__(self, times: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Phases of the oscillators `which` at `times` (s), arrays of one shape; extrapolated beyond now."""
        found = np.empty(len(which))
        early = (times <= self.start) if self._count else np.ones(len(which), bool)
        if early.any():
            found[early] = self._before(times[early], which[early])
        late = ~early
        if late.any():
            at = np.searchsorted(self._begins[: self._count], times[late], side="right") - 1
            part = (times[late] - self._begins[at]) / self._spans[at]
            who = which[late]
            sum_ = self._values[at, LAST, who]
            for power in range(LAST - 1, -1, -1):
                sum_ = sum_ * part + self._values[at, power, who]
            found[late] = sum_
        return found


class DelayedRK45:
    """Steps from t to `bound`; rate(t, y) may ask `past` for earlier phases and for those of the step.

    first_step : s. shortest_delay : s; a longer step looks into itself and is repeated with its own
    polynomial, which at first continues that of the step before. h_abs : s, the step to try next.
    """

    A, B, C, E, P = RK45.A, RK45.B, RK45.C, RK45.E, RK45.P

    def __init__(
        self,
        rate: Callable[[float, np.ndarray], np.ndarray],
        t: float,
        y: np.ndarray,
        bound: float,
        *,
        past: Past,
        shortest_delay: float,
        first_step: float,
        rtol: float,
        atol: float,
    ) -> None:
        self.t, self.y, self.status = t, y, "running"
        self.t_old, self.nfev = t, 1
        self._rate, self._bound, self._past, self._shortest = rate, bound, past, shortest_delay
        self._rtol, self._atol = rtol, atol
        self._f = rate(t, y)
        self._stages = np.empty((STAGES + 1, len(y)))
        self.h_abs = first_step

    def step(self) -> str | None:
        """Makes one step; returns why it could not, or None."""
        least = 10 * abs(np.nextafter(self.t, np.inf) - self.t)
        grew = 5.0
        while True:
            h = min(self.h_abs, self._bound - self.t)
            new = self._bound if h == self._bound - self.t else self.t + h
            y = self._try(h)
            looks_into_itself = self._shortest < h
            for _ in range(2 if looks_into_itself else 0):
                self._past.remember(self.t, h, self.y, self.P.T @ self._stages)
                y = self._try(h)
                self._past.forget_last()
            scale = self._atol + self._rtol * np.maximum(np.abs(self.y), np.abs(y))
            error = np.sqrt(np.mean((h * (self.E @ self._stages) / scale) ** 2))
            if error < 1:
                break
            self.h_abs = h * max(0.2, 0.9 * error**-0.2) if np.isfinite(error) else 0.2 * h
            grew = 1.0
            if self.h_abs < least:
                self.status = "failed"
                return "its steps became shorter than the clock can resolve"
        self._past.remember(self.t, h, self.y, self.P.T @ self._stages)
        self.t_old, self.t, self.y, self._f = self.t, new, y, self._stages[STAGES].copy()
        self.h_abs = h * min(grew, 0.9 * max(error, 1e-10) ** -0.2)
        if self.t == self._bound:
            self.status = "finished"
        return None

    def _try(self, h: float) -> np.ndarray:
        stages = self._stages
        stages[0] = self._f
        for stage in range(1, STAGES):
            y = self.y + h * (self.A[stage, :stage] @ stages[:stage])
            stages[stage] = self._rate(self.t + self.C[stage] * h, y)
        y = self.y + h * (self.B @ stages[:STAGES])
        stages[STAGES] = self._rate(self.t + h, y)
        self.nfev += STAGES
        return y

    def dense_output(self) -> Callable[[float], np.ndarray]:
        """Phases within the last step, as a function of time (s)."""
        return self._past.everyone
