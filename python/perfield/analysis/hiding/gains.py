# SPDX-License-Identifier: BSD-3-Clause
"""What a splitting method hides, and what that gains over another one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from perfield.analysis.hiding.errors import HidingError


def hidden_share(found: xr.Dataset, eps_s: float | None = None) -> xr.DataArray:
    """The share of MatVecs whose two waits both stayed within eps, over ranks and steps.

    Returns (splitting), 0 to 1. found : `w_in` and `w_out` in s. eps_s : s, else the attribute `eps_s`.
    It says nothing about regimes.
    """
    eps = found.attrs["eps_s"] if eps_s is None else eps_s
    waits = np.maximum(found["w_in"], found["w_out"])
    over = [name for name in waits.dims if name != "splitting"]
    return (waits <= eps).where(np.isfinite(waits)).mean(over)


def longest(found: xr.Dataset) -> xr.DataArray:
    """T_k^max, s: the longest time of any rank in each step, without the dimension `rank`."""
    return found["time_s"].max("rank")


def fastest(series: Sequence[np.ndarray], n: int = 3) -> tuple[np.ndarray, list[int]]:
    """The `n` runs with the smallest sums, concatenated (section 4.3), and their numbers from 0.

    series : T_k^max of each run, s. Raises HidingError if there are fewer runs.
    """
    if not 1 <= n <= len(series):
        raise HidingError(f"{n} of {len(series)} runs cannot be chosen; ask for at least 1, at most all.")
    chosen = sorted(range(len(series)), key=lambda i: float(np.nansum(series[i])))[:n]
    return np.concatenate([np.asarray(series[i]) for i in chosen]), chosen


def gain(baseline: np.ndarray, other: np.ndarray, share: float = 1.0) -> float:
    """By how many percent the fastest `share` of `other` takes less time than that of `baseline`.

    baseline, other : T_k^max, s. 100 (S_K - S_K') / S_K, where S_K adds up the K shortest times; K is
    `share` of the shorter series. (The formula is garbled where the paper prints it, in section 4.3.)
    """
    first, second = (np.sort(one[np.isfinite(one)]) for one in (np.asarray(baseline), np.asarray(other)))
    k = int(np.ceil(share * min(len(first), len(second))))
    if not 0 < share <= 1 or k == 0:
        raise HidingError(f"a share of {share:g} of no times cannot be compared; give times, and 0 to 1.")
    whole = first[:k].sum()
    return float(100 * (whole - second[:k].sum()) / whole)
