# SPDX-License-Identifier: BSD-3-Clause
"""The figures of `perfield plot` and of the report: the plots of this room, arranged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from perfield.derived.stacks import stacks_of
from perfield.plots.flame import flame, slowest_and_median
from perfield.plots.idle_waves import idle_wave
from perfield.plots.messages import message_matrix
from perfield.plots.over_steps import compute_and_waiting, imbalance
from perfield.plots.rank_by_step import heat_map
from perfield.plots.regions import region_bars
from perfield.plots.sizes import message_sizes, tiny_senders
from perfield.plots.source import Source
from perfield.plots.style import WAITING, Steps, frames_of
from perfield.plots.timeline import MOST_LANES, wait_timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from perfield.derived.run import Run


def imbalance_figure(run: Run, steps: Steps, figure: Figure, source: Source | None = None) -> None:
    """Imbalance of compute time, and below it the seconds behind it, by step."""
    above, below = figure.subplots(2, 1, sharex=True)
    imbalance(run, steps, above, source).set_xlabel("")
    compute_and_waiting(run, steps, below, source)


def heat_map_figure(
    run: Run,
    steps: Steps,
    figure: Figure,
    field: str = "compute_time_s",
    source: Source | None = None,
) -> None:
    """A field by rank and step, and beside it how long each rank waits."""
    fields = list(dict.fromkeys((field, WAITING)))
    drawn = figure.subplots(1, len(fields), sharey=True, squeeze=False)[0]
    for axes, name in zip(drawn, fields):
        heat_map(run, name, steps, axes, source)
        axes.xaxis.get_major_locator().set_params(nbins=6)  # they are narrow


def messages_figure(run: Run, steps: Steps, figure: Figure, source: Source | None = None) -> None:
    """The bytes between all pairs of ranks."""
    figure.set_layout_engine("compressed")  # keeps the legend beside the square
    message_matrix(run, steps, figure.subplots(), source)


def sizes_figure(run: Run, steps: Steps, figure: Figure, source: Source | None = None) -> None:
    """Messages by size, and beside them the ranks that send most tiny ones."""
    left, right = figure.subplots(1, 2)
    message_sizes(run, steps, left, source)
    tiny_senders(run, steps, right, source)


def regions_figure(run: Run, steps: Steps, figure: Figure, source: Source | None = None) -> None:
    """Where the time of a step goes, region by region."""
    region_bars(run, steps, figure.subplots(), source)


def idle_wave_figure(run: Run, steps: Steps, figure: Figure, source: Source | None = None) -> None:
    """How long ranks waited behind the longest delay that travelled through them."""
    idle_wave(run, axes=figure.subplots(), source=source)


def waits_figure(run: Run, steps: Steps, figure: Figure, source: Source | None = None) -> None:
    """A logged step, rank by rank: computing, MPI calls, and who waited for whom. steps : None chooses."""
    figure.set_figheight(1.9 + 0.42 * min(max(run.n_ranks, 3), MOST_LANES))
    wait_timeline(run, steps, figure.subplots(), source)


def flame_figure(
    run: Run,
    steps: Steps,
    figure: Figure,
    source: Source | None = None,
    rank: int | None = None,
) -> None:
    """Where a rank's time goes, region in region, and what it spends more than the median rank. rank : the
    one with most compute time by default."""
    positions = frames_of(run, steps)
    stacks = stacks_of(run, positions)
    slowest, median = slowest_and_median(run, positions)
    rank = slowest if rank is None else rank
    beside = None if rank == median else median
    drawn = figure.subplots(1 if beside is None else 2, 1, squeeze=False)[:, 0]
    flame(run, steps, drawn[0], rank, stacks=stacks)
    if beside is not None:
        flame(run, steps, drawn[1], rank, beside, stacks)


FIGURES: dict[str, Callable[..., None]] = {
    "imbalance": imbalance_figure,
    "heat_map": heat_map_figure,
    "messages": messages_figure,
    "regions": regions_figure,
    "sizes": sizes_figure,
    "idle_wave": idle_wave_figure,
    "waits": waits_figure,
    "flame": flame_figure,
}
