# SPDX-License-Identifier: BSD-3-Clause
"""Runs to compare, as arrays without files: their serial share is 0.1, unless the test says otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfield.analysis.scaling import Measured
from perfield.analysis.scaling_laws import strong_time


def measured(
    n_ranks: int, time_s: float = 0.0, *, steps: int = 10, cells: float = 8000, **changes
) -> Measured:
    """A run whose steps take as long as Amdahl's law says, with a serial share of 0.1."""
    time_s = time_s or float(strong_time(n_ranks, 0.1))
    of_steps = np.full(steps, time_s)
    parallel = np.full(steps, 0.9 / n_ranks)
    run = Measured(
        name=f"run-{n_ranks}",
        program="heat",
        n_ranks=n_ranks,
        step_s=of_steps,
        is_output=np.zeros(steps, bool),
        compute_mean_s=parallel + 0.1 / n_ranks,
        compute_largest_s=of_steps,
        regions={"parallel": parallel, "serial": np.full(steps, 0.1)},
        memory_bytes=np.arange(1.0, n_ranks + 1),
        whole_s=10 * time_s + 5,
        sizes={"cells": cells},
    )
    return replace(run, **changes)
