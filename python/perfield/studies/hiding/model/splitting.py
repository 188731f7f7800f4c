# SPDX-License-Identifier: BSD-3-Clause
"""Algorithm 3: how the dynamic method moves its splitting parameter after each MatVec."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perfield.studies.hiding.model.errors import HidingError

LEAST = 0.02  # of alpha: at 0 its ratio stays 0 for ever, at 1 it is infinite


@dataclass(frozen=True)
class Splitting:
    """The parameters of Algorithm 3.

    start : alpha of the first MatVec. eps : s, waits below it count as none. theta : above 0 and at most 1,
    how far alpha moves towards what the last waits ask for. cap : the most by which one update multiplies or
    divides the ratio alpha / (1 - alpha); None for the paper's, which has no cap.
    """

    eps: float
    start: float = 0.5
    theta: float = 0.05
    cap: float | None = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.start < 1:
            raise HidingError(
                f"alpha starts at {self.start:g}, where Algorithm 3 cannot move it: its ratio alpha / "
                "(1 - alpha) is 0 or infinite for ever; give a value above 0 and below 1."
            )
        if not (self.eps > 0 and np.isfinite(self.eps)):
            raise HidingError(f"eps = {self.eps:g} s divides waits; give a time above 0, such as 0.05 C.")
        if not 0 < self.theta <= 1:
            raise HidingError(
                f"theta = {self.theta:g} is not a share of a step; give one above 0, at most 1."
            )
        if self.cap is not None and not self.cap > 1:
            raise HidingError(f"a cap of {self.cap:g} lets nothing move; give a factor above 1, or None.")

    def ends(self, n_elements: int) -> tuple[float, float]:
        """The least and the largest alpha: at least one element, and 2 %, stay in each half."""
        least = min(max(1 / n_elements, LEAST), 0.5)
        return least, 1 - least

    def update(self, alpha: np.ndarray, w_in: np.ndarray, w_out: np.ndarray, n_elements: int) -> np.ndarray:
        """Alpha of the next MatVec, of the same shape as the last one's.

        w_in, w_out : s, its waits for input and for output. n_elements : inner ones, which alpha divides.
        Where both waits exceed eps, or neither, alpha stays. The printed algorithm joins its two branches;
        the caption says which wait asks for which: a wait for input for a longer first half.
        """
        factor = np.ones_like(alpha)
        late_in, late_out = w_in > self.eps, w_out > self.eps
        longer, shorter = late_in & ~late_out, late_out & ~late_in
        factor[longer] = w_in[longer] / self.eps
        factor[shorter] = self.eps / w_out[shorter]
        if self.cap is not None:
            factor = np.clip(factor, 1 / self.cap, self.cap)
        ratio = factor * alpha / (1 - alpha)
        target = ratio / (1 + ratio)
        moved = np.where(factor == 1, alpha, self.theta * target + (1 - self.theta) * alpha)
        return np.clip(moved, *self.ends(n_elements))
