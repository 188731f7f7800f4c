# SPDX-License-Identifier: BSD-3-Clause
"""The message matrix: the bytes that each rank sent to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.plots.source import Source
from perfield.plots.style import (
    PlotError,
    Steps,
    about_run,
    frames_of,
    head,
    map_of,
    new_axes,
    scaled,
    whole_numbers,
)
from perfield.text import in_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

    from perfield.derived.run import Run

MOST_RANKS = 1024  # rows and columns; more ranks are joined


def message_matrix(
    run: Run, steps: Steps = None, axes: Axes | None = None, source: Source | None = None
) -> Axes:
    """Draws the bytes that each rank (row) sent to each other (column), on a logarithmic scale.

    run : an open run. steps, axes, source : as `perfield.plots` says. Pairs without messages are white. More
    than 1,024 ranks are joined: a cell adds up the messages of some ranks to some others. Messages with
    unknown peers are no cell; the line below the title states their bytes.
    Raises PlotError if no rank sent a byte to a known rank.
    """
    positions = frames_of(run, steps)
    sent, elsewhere, each = sent_bytes(source or Source(run), positions)
    if not sent.any():
        raise PlotError(f"no rank of {run.path} sent a byte to another rank in these steps")
    axes = new_axes(axes)
    factor, unit = scaled("B", float(sent.max()))
    norm, is_wide = bytes_scale(sent * factor)
    draw_matrix(axes, np.where(sent > 0, sent * factor, np.nan), each, run.n_ranks, unit, norm)
    more = [about_run(run, positions, sums=True)]
    more += ["logarithmic scale"] if is_wide else []
    more += [f"each cell: {each} x {each} ranks"] if each > 1 else []
    more += [f"not shown: {in_bytes(elsewhere)} with unknown peers"] if elsewhere else []
    pairs = f"{np.count_nonzero(sent):,} pairs" if each == 1 else "pairs of ranks"
    head(axes, f"Messages: {in_bytes(sent.sum())} between {pairs}", "; ".join(more))
    return axes


def bytes_scale(values: np.ndarray) -> tuple[Normalize, bool]:
    """A scale of colours for values, some of them above 0, and whether it is logarithmic because they span
    far."""
    from matplotlib.colors import LogNorm, Normalize

    least, most = float(values[values > 0].min()), float(values.max())
    is_wide = most > 20 * least
    return (LogNorm(least, most) if is_wide else Normalize(0.0, most)), is_wide


def draw_matrix(
    axes: Axes,
    values: np.ndarray,
    each: int,
    n_ranks: int,
    unit: str,
    norm: Normalize,
    colours: Colormap | None = None,
) -> None:
    """Draws a value for each sending rank (row) and receiving rank (column), with its legend.

    values : (n, n), each row for `each` ranks of n_ranks; NaN is white. unit : of the values. norm : their
    scale. colours : of the values; None: those of bytes.
    """
    colours = map_of("sent_bytes").with_extremes(bad="white") if colours is None else colours
    end = each * len(values) - 0.5
    image = axes.imshow(values, colours, norm=norm, interpolation="nearest", extent=(-0.5, end, end, -0.5))
    axes.set_xlim(-0.5, n_ranks - 0.5)
    axes.set_ylim(n_ranks - 0.5, -0.5)
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02)
    bar.ax.set_title(unit, fontsize=12)
    axes.set_xlabel("receiving rank")
    axes.set_ylabel("sending rank")
    for axis in (axes.xaxis, axes.yaxis):
        whole_numbers(axis)


def sent_bytes(source: Source, positions: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Bytes by sending and receiving rank, (n, n) with n at most 1,024; bytes with peers that are no known
    rank; and how many ranks a row stands for."""
    n_ranks = source.run.n_ranks
    each = max(1, -(-n_ranks // MOST_RANKS))
    size = -(-n_ranks // each)
    sent, elsewhere = np.zeros(size * size), 0
    for rows in source.messages(positions):
        known = (rows["source"] >= 0) & (rows["target"] >= 0)
        known &= (rows["source"] < n_ranks) & (rows["target"] < n_ranks)
        elsewhere += int(rows["bytes"][~known].sum())
        row, column = (rows[end][known].astype(np.int64) // each for end in ("source", "target"))
        sent += np.bincount(row * size + column, rows["bytes"][known].astype(float), size * size)
    return sent.reshape(size, size), elsewhere, each
