# SPDX-License-Identifier: BSD-3-Clause
"""The regimes of a run: when and where its steps were slow, and how times spread in each regime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfield.derived.injected import is_injected
from perfield.plots.style import PlotError, Steps, frames_of, new_figure
from perfield.studies.regimes.model import RegimeError
from perfield.studies.regimes.model.longest import longest_classified
from perfield.studies.regimes.of_run import regimes_of_run
from perfield.studies.regimes.plots.cdfs import one_box
from perfield.studies.regimes.plots.heat_maps import regimes_map, times_map
from perfield.studies.regimes.plots.series import one_series
from perfield.studies.regimes.plots.shown import n_regimes, regime_names
from perfield.studies.regimes.plots.spread import boxes, densities
from perfield.studies.regimes.plots.sums import cost_of_slow_steps

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from perfield.derived.run import Run

SIZE = (14.4, 15.2)  # inches
SPREAD_WIDTH, ROW_HEIGHT = 14.4, 5.2  # inches
MOST_IN_ROW = 4  # distributions


def classified(run: Run, steps: Steps = None, field: str | None = None) -> xr.Dataset:
    """The times of a run with their regimes, as `perfield.studies.regimes.of_run.regimes_of_run`.

    steps : as `perfield.plots` says, from the first of them to the last. field : a field in seconds; None:
    the time of the step. Raises PlotError if the run has too few steps, or no such times.
    """
    indexes = run.step_indexes[frames_of(run, steps)]
    try:
        return regimes_of_run(run, field, steps=slice(int(indexes[0]), int(indexes[-1])))[0]
    except RegimeError as error:
        raise PlotError(str(error)) from error


def of_run(
    run: Run,
    steps: Steps = None,
    figure: Figure | None = None,
    field: str | None = None,
    times: xr.Dataset | None = None,
) -> Figure:
    """Draws when and where steps of a run were slow, and what that cost: times and regimes by rank and step
    (Figure 1), the longest time of all ranks in each step (Figure 12), sums of its fastest steps, and box
    plots of its regimes (Figure 11).

    steps, field : as for `classified`. times : what `classified` returned before. Raises PlotError as that.
    """
    times = classified(run, steps, field) if times is None else times
    longest = longest_classified(times)
    figure = figure or new_figure(SIZE)
    figure.set_size_inches(*SIZE)
    grid = figure.add_gridspec(4, 2, height_ratios=(1.15, 1.15, 0.9, 1))
    above = figure.add_subplot(grid[0, :])
    name = Path(run.path).resolve().name + ", latencies injected" * is_injected(run)
    times_map(times, above, name).set_xlabel("")
    regimes_map(times, figure.add_subplot(grid[1, :], sharex=above))
    one_series(longest, figure.add_subplot(grid[2, :]))
    cost_of_slow_steps(longest, figure.add_subplot(grid[3, 0]))
    boxes({"longest": longest}, figure.add_subplot(grid[3, 1]))
    return figure


def spread_of_run(
    run: Run,
    steps: Steps = None,
    figure: Figure | None = None,
    field: str | None = None,
    times: xr.Dataset | None = None,
) -> Figure:
    """Draws how times of a run spread: medians of ranks (Figure 2), box plots by regime (Figure 11), and
    distributions of the ranks, of all steps (Figure 9) and in each regime (Figure 10).

    The rest is as for `of_run`.
    """
    times = classified(run, steps, field) if times is None else times
    name = Path(run.path).resolve().name
    n = n_regimes(times)
    words = ["All steps", *(f"Regime: {each}" for each in regime_names(n))] if n > 1 else ["All steps"]
    columns = min(len(words), MOST_IN_ROW)
    rows = -(-len(words) // columns)
    size = (SPREAD_WIDTH, ROW_HEIGHT * (1 + rows))
    figure = figure or new_figure(size)
    figure.set_size_inches(*size)
    grid = figure.add_gridspec(1 + rows, 2 * columns)
    marked = times.assign_attrs(source="measured", injected=True) if is_injected(run) else times
    densities({name: marked}, figure.add_subplot(grid[0, :columns]))
    boxes({name: marked}, figure.add_subplot(grid[0, columns:]))
    for number, each in enumerate(words):
        row, column = divmod(number, columns)
        axes = figure.add_subplot(grid[1 + row, 2 * column : 2 * column + 2])
        one_box(marked, axes, number - 1 if number else None, each)
        if column:
            axes.set_ylabel("")
    return figure
