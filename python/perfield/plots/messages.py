# SPDX-License-Identifier: BSD-3-Clause
"""The message matrix: the bytes that each rank sent to each other, node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.output.scales import round_end
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
from perfield.text import in_bytes, in_percent
from perfield.topology import placement_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

    from perfield.derived.run import Run

MOST_RANKS = 1024  # rows and columns; more ranks are joined
MOST_NAMES = 32  # of nodes at the axes
MOST_NODES = 128  # that are outlined


def message_matrix(
    run: Run, steps: Steps = None, axes: Axes | None = None, source: Source | None = None
) -> Axes:
    """Draws the bytes that each rank (row) sent to each other (column), on a logarithmic scale.

    The ranks of a node are side by side, and what they send to one another is outlined.

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
    nodes = _Nodes(run, each)
    sent = sent[nodes.order][:, nodes.order]
    factor, unit = scaled("B", float(sent.max()))
    norm, is_wide = bytes_scale(sent * factor)
    draw_matrix(axes, np.where(sent > 0, sent * factor, np.nan), each, run.n_ranks, unit, norm)
    nodes.draw(axes)
    more = [about_run(run, positions, sums=True)]
    more += ["logarithmic scale"] if is_wide else []
    more += [f"each cell: {each} x {each} ranks"] if each > 1 else []
    more += [f"not shown: {in_bytes(elsewhere)} with unknown peers"] if elsewhere else []
    pairs = f"{np.count_nonzero(sent):,} pairs" if each == 1 else "pairs of ranks"
    pairs += (
        f", {in_percent(nodes.inside(sent) / sent.sum())} inside nodes (outlined)" if nodes.several else ""
    )
    head(axes, f"Messages: {in_bytes(sent.sum())} between {pairs}", "; ".join(more))
    return axes


class _Nodes:
    """The ranks of a matrix node by node.

    order : (n,) rows and columns. several : whether more than one node is known, and rows are single ranks.
    """

    def __init__(self, run: Run, each: int):
        placement = placement_of(run)
        node = placement.node_id
        self.several = each == 1 and len(np.unique(node)) > 1
        self.order = np.argsort(node, kind="stable") if self.several else np.arange(-(-run.n_ranks // each))
        self._node = node[self.order] if self.several else np.zeros(len(self.order), int)
        self._names = [node.label for node in placement.nodes]
        self._moved = bool((np.diff(self.order) < 0).any())

    def inside(self, values: np.ndarray) -> float:
        """The sum of the values inside nodes."""
        return float(values[self._node[:, None] == self._node[None]].sum())

    def draw(self, axes: Axes) -> None:
        """Outlines what is inside nodes; names them where the ranks' own numbers are no order."""
        if not self.several:
            return
        from matplotlib.patches import Rectangle

        begin = np.flatnonzero(np.diff(self._node, prepend=self._node[0] - 1))
        size = np.diff(np.append(begin, len(self._node)))
        if len(begin) <= MOST_NODES:
            for at, length in zip(begin.tolist(), size.tolist()):
                look = {"fill": False, "edgecolor": "black", "linewidth": 1.2 if len(begin) <= 32 else 0.6}
                axes.add_patch(Rectangle((at - 0.5, at - 0.5), length, length, **look))
        if not self._moved:
            return
        axes.set_xlabel("receiving rank, node by node")
        axes.set_ylabel("sending rank, node by node")
        names = [self._names[node] if node >= 0 else "unknown" for node in self._node[begin]]
        named = list(zip(begin + (size - 1) / 2, names)) if len(begin) <= MOST_NAMES else []
        axes.set_xticks([at for at, _ in named], [name for _, name in named], rotation=90)
        axes.set_yticks([at for at, _ in named], [name for _, name in named])


def bytes_scale(values: np.ndarray) -> tuple[Normalize, bool]:
    """A scale of colours for values, some of them above 0, and whether it is logarithmic because they span
    far."""
    from matplotlib.colors import LogNorm, Normalize

    least, most = float(values[values > 0].min()), float(values.max())
    is_wide = most > 20 * least
    return (LogNorm(least, most) if is_wide else Normalize(0.0, round_end(most))), is_wide


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
