# SPDX-License-Identifier: BSD-3-Clause
"""What was drawn into a trace of latencies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfield.text import in_seconds

if TYPE_CHECKING:
    from perfield.studies.regimes.model import Model


FAR = 1.5  # times the measured mean; a mean of draws beyond gets a sentence


def sentences(latency_s: np.ndarray, model: Model, measured_s: float, path: Path) -> Iterator[str]:
    """What was drawn into a trace, and where that is not what the user may expect.

    latency_s : s, all latencies. measured_s : the mean of the times that the model was fitted to; NaN if it
    is unknown.
    """
    mean_s, median_s = float(latency_s.mean()), float(np.median(latency_s))
    yield (
        f"drew {latency_s.size:,} latencies into {path}: median {in_seconds(median_s)}, mean "
        f"{in_seconds(mean_s)}, longest {in_seconds(float(latency_s.max()))}."
    )
    if measured_s > 0 and not 1 / FAR < mean_s / measured_s < FAR:
        yield (
            f"{in_seconds(measured_s)} were measured on average. Student's t has longer outliers "
            "than were measured; `perfield lab regimes --emission log-gaussian --save FILE` has fewer."
            if model.dof is not None and mean_s > measured_s
            else f"{in_seconds(measured_s)} were measured on average, so the model does not fit those times."
        )
    if model.field.removeprefix("longest ") == "time of a step":
        yield (
            "this model is of the time of whole steps, which holds computation, and each message is now "
            "delayed by as much; `perfield lab regimes RUN --field waiting_time_s --save FILE` fits waits."
        )
