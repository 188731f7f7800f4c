# SPDX-License-Identifier: BSD-3-Clause
"""How large the messages of a run are, and which ranks send most tiny ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import PALETTE
from perfield.plots.source import Source
from perfield.plots.style import PlotError, Steps, about_run, frames_of, head, new_axes, whole_numbers
from perfield.run.collectives import SIZE_WORDS
from perfield.text import in_whole_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perfield.derived.run import Run

TINY = 1  # bins whose messages are tiny: up to 63 B, where a message costs its latency alone
MOST_RANKS = 12  # that are shown
BAR, TINY_BAR = PALETTE[0], PALETTE[4]


def message_sizes(
    run: Run, steps: Steps = None, axes: Axes | None = None, source: Source | None = None
) -> Axes:
    """Draws how many messages of the run are in each of eight bins by size; tiny ones stand out.

    run : an open run. steps, axes, source : as `perfield.plots` says. The scale is logarithmic; each bar
    carries its share of the messages.
    Raises PlotError if no rank sent a message in these steps.
    """
    positions = frames_of(run, steps)
    of_ranks = sizes_by_rank(source or Source(run), positions)
    axes = new_axes(axes)
    total = of_ranks.sum(axis=0)
    bars = axes.bar(np.arange(8), total, 0.8, color=[TINY_BAR] * TINY + [BAR] * (8 - TINY))
    shares = [in_whole_percent(count / total.sum()) if count else "" for count in total]
    axes.bar_label(bars, shares, padding=2, fontsize=11)
    axes.set_yscale("log")
    axes.set_ylim(0.5, 3.0 * total.max())
    axes.set_xticks(np.arange(8), [*SIZE_WORDS])
    axes.set_xlabel("bytes of a message: up to ..., and more than in the bar before")
    axes.set_ylabel("messages")
    more = f"{about_run(run, positions, sums=True)}; logarithmic scale; each bar with its share"
    head(axes, f"{total.sum():,.0f} messages by size", more)
    return axes


def tiny_senders(
    run: Run, steps: Steps = None, axes: Axes | None = None, source: Source | None = None
) -> Axes:
    """Draws the ranks that send most tiny messages, with their share of all that each sends.

    Arguments and errors as for `message_sizes`.
    """
    positions = frames_of(run, steps)
    of_ranks = sizes_by_rank(source or Source(run), positions)
    axes = new_axes(axes)
    tiny, all_sizes = of_ranks[:, :TINY].sum(axis=1), of_ranks.sum(axis=1)
    order = np.argsort(-tiny, kind="stable")[:MOST_RANKS]
    order = order[tiny[order] > 0][::-1]
    bars = axes.barh(np.arange(len(order)), tiny[order], 0.7, color=TINY_BAR)
    shares = [in_whole_percent(share) for share in tiny[order] / all_sizes[order]]
    axes.bar_label(bars, shares, padding=3, fontsize=11)
    axes.set_yticks(np.arange(len(order)), [f"rank {rank}" for rank in order])
    axes.set_xlim(0, 1.18 * max(float(tiny.max(initial=0)), 1.0))
    axes.set_xlabel(f"messages up to {SIZE_WORDS[TINY - 1]}")
    senders = int(np.count_nonzero(tiny))
    whole_numbers(axes.xaxis)
    words = f"the {len(order)} of {senders} senders with most" if senders > len(order) else "by sender"
    more = f"{words}; each bar with its share of the rank's messages" if senders else "no rank sends any"
    head(axes, "Tiny messages", more)
    return axes


def sizes_by_rank(source: Source, positions: np.ndarray) -> np.ndarray:
    """(n_ranks, 8) messages that each rank sends, by size. Raises PlotError if none has a size."""
    run = source.run
    found = np.zeros((run.n_ranks, 8))
    for rows in source.messages(positions):
        if "sizes" not in rows.dtype.names:  # pairs that somebody has added up
            return sizes_by_rank(Source(run), positions)
        known = (rows["source"] >= 0) & (rows["source"] < run.n_ranks)
        np.add.at(found, rows["source"][known], rows["sizes"][known].astype(float))
    if not found.any():
        raise PlotError(f"there are no sizes of messages in these steps: {run.path} sent no message")
    return found
