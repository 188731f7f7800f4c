# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose steps take as long as a planted model of regimes says.

from known_runs import regime_runs

regime_runs.write(path, times)  # (rank, step), s
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from known_runs import rhythm_runs
from known_runs.planted_regimes import two_levels
from perfield.studies.regimes.model import TIME, simulated


def planted(n_ranks: int = 2, n_steps: int = 1500, seed: int = 0, faster: float = 1.0) -> np.ndarray:
    """Times of steps, s (n_ranks, n_steps): about 1 ms, and 3 ms in a quarter of them; by the nanosecond.

    faster : divides all times, as a better version of the program does.
    """
    return simulated(two_levels(), n_ranks, n_steps, seed)[TIME].values.round(9) / faster


def write(path: Path, time_s: np.ndarray, **options) -> Path:
    """A run whose steps take these times, as `rhythm_runs.write` makes it; NaN: no entry."""
    end = np.cumsum(np.nan_to_num(time_s), axis=1)
    stamps = {
        rank: [
            (stop - long, stop) if np.isfinite(long) else None for long, stop in zip(of_rank.tolist(), ends)
        ]
        for rank, (of_rank, ends) in enumerate(zip(time_s, end.tolist()))
    }
    return rhythm_runs.write(path, stamps, **options)
