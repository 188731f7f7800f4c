# SPDX-License-Identifier: BSD-3-Clause
"""Dormand and Prince's method of order 8, with SciPy's coefficients and step control, for many unknowns.

SciPy's own class takes longer to combine the stages of 100,000 oscillators than these take for their
right-hand sides. This one skips the stages whose coefficients are 0, adds y in the same product, and
allocates nothing in a step. It has what `oscillate` uses of SciPy's solvers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import DOP853

N_STAGES = 12
SAFETY, LEAST_FACTOR, MOST_FACTOR = 0.9, 0.2, 10.0
# Where each stage lies: from stage 5 on none needs 1 and 2, so these come first; then y, then all others.
Y = 2
SLOT = np.array([3, 1, 0, *range(4, 17)])  # the last three belong to `dense_output`


def _row(stage: int, when: float, coefficients: np.ndarray) -> tuple[int, float, int, int, np.ndarray]:
    """Slot and time of a stage, first and last + 1 slot it needs, y among them, and what they count."""
    slots = np.zeros(SLOT[-1] + 1)
    slots[SLOT[: len(coefficients)]] = coefficients
    needed = np.append(np.flatnonzero(slots), Y)
    first, last = int(needed.min()), int(needed.max()) + 1
    return int(SLOT[stage]), float(when), first, last, slots[first:last]


ROWS = [_row(stage, DOP853.C[stage], DOP853.A[stage, :stage]) for stage in range(1, N_STAGES)]
ROWS.append(_row(N_STAGES, 1.0, DOP853.B))
MORE_ROWS = [
    _row(stage, when, row[:stage])
    for stage, (when, row) in enumerate(zip(DOP853.C_EXTRA, DOP853.A_EXTRA), start=N_STAGES + 1)
]


def _by_slot(coefficients: np.ndarray) -> np.ndarray:
    """Rows of coefficients in the order of the slots after Y: stages 1 and 2 have no part in them."""
    slots = np.zeros((len(coefficients), SLOT[-1] + 1))
    slots[:, SLOT[: coefficients.shape[1]]] = coefficients
    return slots[:, Y + 1 : SLOT[coefficients.shape[1] - 1] + 1].copy()


ERRORS = _by_slot(np.array([DOP853.E5, DOP853.E3]))
POLYNOMIAL = _by_slot(DOP853.D)


class LeanDOP853:
    """Steps from t to `bound` with rate(t, y) -> (n,); `scipy.integrate.DOP853` gives the same results."""

    def __init__(
        self,
        rate: Callable[[float, np.ndarray], np.ndarray],
        t: float,
        y: np.ndarray,
        bound: float,
        *,
        first_step: float | None,
        rtol: float,
        atol: float,
    ) -> None:
        self.t = self.t_old = t
        self.status, self.nfev = "running", 1
        self._rate, self._bound, self._rtol, self._atol = rate, bound, rtol, atol
        self._slots = np.zeros((SLOT[-1] + 1, len(y)))
        self._slots[Y] = y
        self._slots[SLOT[0]] = rate(t, y)
        self.y = np.array(y, float)
        self._work = np.empty((2, len(y)))
        self.h_abs = self._guess() if first_step is None else first_step

    def _guess(self) -> float:
        """A first step, by the rule of Hairer, Norsett and Wanner, Solving ODEs I, section II.4."""
        y, f = self._slots[Y], self._slots[SLOT[0]]
        scale = self._atol + np.abs(y) * self._rtol
        size = np.sqrt(len(y))
        d0, d1 = np.linalg.norm(y / scale) / size, np.linalg.norm(f / scale) / size
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        h0 = min(h0, self._bound - self.t)
        d2 = np.linalg.norm((self._rate(self.t + h0, y + h0 * f) - f) / scale) / size / h0
        self.nfev += 1
        h1 = max(1e-6, h0 * 1e-3) if max(d1, d2) <= 1e-15 else (0.01 / max(d1, d2)) ** (1 / 8)
        return min(100 * h0, h1, self._bound - self.t)

    def step(self) -> str | None:
        """Makes one step; returns why it could not, or None."""
        slots, new, t = self._slots, self.y, self.t
        if t > self.t_old:  # the last step's end is this one's begin; until now `dense_output` needed both
            slots[Y], slots[SLOT[0]] = new, slots[SLOT[N_STAGES]]
        least = 10 * abs(np.nextafter(t, np.inf) - t)
        h, most = max(self.h_abs, least), MOST_FACTOR
        while True:
            end = min(t + h, self._bound)
            h = end - t
            self._stages(ROWS, t, h, new)
            self.nfev += N_STAGES
            error = self._error(h)
            if error < 1:
                break
            h *= max(LEAST_FACTOR, SAFETY * error ** (-1 / 8)) if np.isfinite(error) else LEAST_FACTOR
            most = 1.0
            if h < least:
                self.status = "failed"
                return "its steps became shorter than the clock can tell"
        self.h_abs = h * min(most, SAFETY * max(error, 1e-20) ** (-1 / 8))
        self.t_old, self.t = t, end
        if end == self._bound:
            self.status = "finished"
        return None

    def _stages(self, rows: list, begin: float, h: float, work: np.ndarray) -> None:
        """Fills the slots of these stages; `work` ends as the y that the last one saw."""
        slots, rate = self._slots, self._rate
        for slot, when, first, last, row in rows:
            weights = h * row
            weights[Y - first] = 1.0
            weights.dot(slots[first:last], out=work)
            slots[slot] = rate(begin + h * when, work)

    def _error(self, h: float) -> float:
        scale, part = self._work
        np.maximum(np.abs(self._slots[Y], out=scale), np.abs(self.y, out=part), out=scale)
        scale *= self._rtol
        scale += self._atol
        squares = []
        for row in ERRORS:
            np.dot(row, self._slots[Y + 1 : Y + 1 + len(row)], out=part)
            part /= scale
            squares.append(float(np.dot(part, part)))
        fifth, third = squares
        if fifth == 0 and third == 0:
            return 0.0
        return h * fifth / np.sqrt((fifth + 0.01 * third) * len(scale))

    def dense_output(self) -> Callable[[float], np.ndarray]:
        """Phases within the last step, as a function of time (s): the method's polynomial of order 7."""
        begin, h = self.t_old, self.t - self.t_old
        slots, n = self._slots, len(self.y)
        self._stages(MORE_ROWS, begin, h, self._work[0])
        self.nfev += len(MORE_ROWS)
        before = slots[Y].copy()
        terms = np.empty((3 + len(POLYNOMIAL), n))
        np.subtract(self.y, before, out=terms[0])
        np.subtract(h * slots[SLOT[0]], terms[0], out=terms[1])
        np.subtract(2 * terms[0], h * (slots[SLOT[0]] + slots[SLOT[N_STAGES]]), out=terms[2])
        np.dot(h * POLYNOMIAL, slots[Y + 1 :], out=terms[3:])

        def within(time: float) -> np.ndarray:
            x = (time - begin) / h
            factors = np.where(np.arange(len(terms)) % 2 == 0, x, 1 - x)
            return before + np.cumprod(factors) @ terms

        return within
