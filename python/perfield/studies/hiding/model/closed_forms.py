# SPDX-License-Identifier: BSD-3-Clause
"""Times of a MatVec under constant latencies, in closed form: what the model must give exactly."""

from __future__ import annotations


def fixed_s(compute_s: float, in_s: float, out_s: float, alpha: float = 0.5) -> float:
    """T of a fixed alpha, s: max(alpha C, L_in) + max((1 - alpha) C, L_out), without mirror elements."""
    return max(alpha * compute_s, in_s) + max((1 - alpha) * compute_s, out_s)


def optimum_s(compute_s: float, in_s: float, out_s: float) -> float:
    """The least T of any alpha, s: max(C, L_in + L_out)."""
    return max(compute_s, in_s + out_s)


def settled_s(compute_s: float, in_s: float, out_s: float, eps_s: float, alpha: float = 0.5) -> float:
    """T where the dynamic method settles from `alpha`, s, if its two latencies can be hidden together.

    It stops as soon as the wait on the losing side is eps, so it keeps up to eps of it.
    """
    first, second = alpha * compute_s, (1 - alpha) * compute_s
    lost = max(in_s - first, out_s - second, 0)
    return compute_s + min(lost, eps_s)
