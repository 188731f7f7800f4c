# SPDX-License-Identifier: BSD-3-Clause
"""The regimes of a run as a report shows them: times with their regimes, and what each regime is like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from perfield.analysis.regimes import REGIME, RegimeError, statistics
from perfield.analysis.regimes.longest import longest_classified
from perfield.analysis.regimes.machine import regime_name
from perfield.derived.regimes import regimes_of_run
from perfield.derived.run import Run

MOST_TIMES = 8_000_000  # that a report classifies; of more ranks, some are taken


@dataclass(frozen=True)
class Regimes:
    """The regimes of a run.

    times : classified, of the ranks that were looked at. longest : the longest of their times in each step,
    with regimes of its own fit. statistics : as `perfield.analysis.regimes.statistics`. told : sentences that
    limit what this says. n_ranks : of the run.
    """

    times: xr.Dataset
    longest: xr.Dataset
    statistics: xr.Dataset
    told: tuple[str, ...]
    n_ranks: int

    @property
    def n(self) -> int:
        """How many regimes there are."""
        return self.statistics.sizes["regime"]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each regime, the fastest first: its name, numbers, and ends of their 95 % intervals."""
        found = []
        for number in range(self.n):
            row: dict[str, Any] = {"regime": number, "name": regime_name(number, self.n)}
            for name in ("mean_s", "sd_s", "share", "dwell_steps"):
                estimate, low, high = self.statistics[name].isel(regime=number).values.tolist()
                row.update({name: estimate, f"{name}_low": low, f"{name}_high": high})
            row["next"] = self.statistics["transition"].sel(bound="estimate").values[number].tolist()
            found.append(row)
        return found


def regimes(run: Run) -> Regimes | None:
    """The regimes of a run's steps; None where there are too few steps, or no times."""
    most = max(1, MOST_TIMES // max(len(run), 1))
    together = max(run.groups.values(), key=len)  # as `timings_of_run` without ranks
    ranks = None
    if len(together) > most:
        ranks = [together[at] for at in np.linspace(0, len(together) - 1, most).round().astype(int)]
    try:
        times, fitted = regimes_of_run(run, ranks=ranks)
        if not (times[REGIME].values >= 0).any():
            return None
        longest = longest_classified(times)
        return Regimes(times, longest, statistics(times), tuple(fitted.told), run.n_ranks)
    except RegimeError:
        return None
