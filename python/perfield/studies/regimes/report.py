# SPDX-License-Identifier: BSD-3-Clause
"""The regimes of a run as a report shows them: times with their regimes, and what each regime is like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from perfield.derived.run import Run
from perfield.report.charts import Image, image, page_figure
from perfield.report.sections import Section
from perfield.studies.regimes.model import REGIME, RegimeError, statistics
from perfield.studies.regimes.model.longest import longest_classified
from perfield.studies.regimes.model.machine import regime_name
from perfield.studies.regimes.model.words import tables
from perfield.studies.regimes.of_run import regimes_of_run
from perfield.text import counted

PHASES = "Fast and slow phases"  # the section
MOST_TIMES = 8_000_000  # that a report classifies; of more ranks, some are taken


@dataclass(frozen=True)
class Regimes:
    """The regimes of a run.

    times : classified, of the ranks that were looked at. longest : the longest of their times in each step,
    with regimes of its own fit. statistics : as those of `model`. notes : sentences that limit what this
    says. n_ranks : of the run.
    """

    times: xr.Dataset
    longest: xr.Dataset
    statistics: xr.Dataset
    notes: tuple[str, ...]
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


def read(run: Run) -> Regimes | None:
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
        return Regimes(times, longest, statistics(times), tuple(fitted.notes), run.n_ranks)
    except RegimeError:
        return None


def section(found: Regimes) -> Section:
    """The section of the report: how long steps take in each regime, and what follows it."""
    n_steps, n_ranks = found.times.sizes["step"], found.times.sizes["rank"]
    of = "" if n_ranks == found.n_ranks else f" of {counted(n_ranks, 'rank')}"
    times = f"The times of {counted(n_steps, 'step')}{of}"
    if found.n == 1:
        words = f"{times} form one regime: no slow phases stand out."
        return Section("regimes", PHASES, (words, *found.notes))
    words = (
        f"{times} fall into {found.n} regimes: phases in which a rank's steps take about the same time. "
        "Noise of a shared machine looks like this; so does a program whose steps differ."
    )
    return Section("regimes", PHASES, (words, *found.notes), ("regimes",), tables(found.statistics))


def remark(found: Regimes) -> str:
    """What is added where the report has no finding."""
    return f'Some of its steps take longer than others: see "{PHASES}".' if found.n > 1 else ""


def facts(found: Regimes | None) -> list[dict[str, Any]]:
    """The same numbers for the report as JSON; see `Regimes.rows`."""
    return [] if found is None else found.rows


def images(found: Regimes) -> Iterator[Callable[[], Image]]:
    """Yields what draws the image of the section."""
    if found.n > 1:
        yield partial(_image, found)


def _image(found: Regimes) -> Image:
    from perfield.catalyst_scripts.palette import regime_colours
    from perfield.studies.regimes.plots import cost_of_slow_steps, regimes_map, times_map

    figure = page_figure(9.0)
    above, middle, below = figure.subplots(3, 1, height_ratios=(1, 1, 0.9))
    times_map(found.times, above)
    regimes_map(found.times, middle)
    cost_of_slow_steps(found.longest, below)
    return image(
        figure,
        "regimes",
        (("regimes", ""),),
        "Heat maps of the time of steps and of their regimes: a row for each rank, a column for each step. "
        "Below, the sum of the fastest steps.",
        "A column in one colour is a phase that all ranks met; a spot is one of a single rank. The curve "
        "below adds up the fastest steps first: where it bends upwards, slow steps begin.",
        regime_colours(found.n),
    )
