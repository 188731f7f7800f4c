# SPDX-License-Identifier: BSD-3-Clause
"""Message matrices before and after, and their difference (thesis, Figure 7.24)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import colour_map
from perfield.output.scales import round_end
from perfield.plots.messages import bytes_scale, draw_matrix, sent_bytes
from perfield.plots.source import Source
from perfield.plots.style import PlotError, about_run, head, scaled
from perfield.text import counted, in_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from perfield.derived.run import Run

SIZE = (19.2, 6.4)  # inches, of 100 pixels each


def compared_messages(
    runs: tuple[Run, Run],
    positions: tuple[Sequence[int], Sequence[int]],
    names: tuple[str, str],
    figure: Figure | None = None,
) -> Figure:
    """Draws the bytes that each rank sent to each other in a step: before, after, and the difference.

    runs : before and after; they may be the same. positions : of the frames of each in which bytes are
    counted; the matrices show the mean of a step. names : of both, for titles. figure : to draw into; None
    makes one. Returns the figure. More than 1,024 ranks are joined as in `message_matrix`.
    Raises PlotError if the runs have different numbers of ranks, or no rank sent a byte to a known rank.
    """
    import matplotlib
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    sizes = [run.n_ranks for run in runs]
    if sizes[0] != sizes[1]:
        raise PlotError(f"{names[0]} has {sizes[0]} ranks, and {names[1]} has {sizes[1]}")
    places = [np.asarray(some, np.int64) for some in positions]
    (before, _, each), (after, _, _) = (sent_bytes(Source(run), some) for run, some in zip(runs, places))
    before, after = (sent / _steps(run, some) for sent, run, some in zip((before, after), runs, places))
    most = float(max(before.max(), after.max()))
    if not most:
        raise PlotError(f"no rank of {names[0]} or {names[1]} sent a byte to another rank in these steps")
    figure = figure or Figure(figsize=SIZE, dpi=100, layout="compressed")
    drawn = figure.subplots(1, 3)
    factor, unit = scaled("B", most)
    norm, is_wide = bytes_scale(np.stack([before, after]) * factor)
    for axes, sent, run, some, name in zip(drawn, (before, after), runs, places, names):
        draw_matrix(axes, np.where(sent > 0, sent * factor, np.nan), each, sizes[0], unit, norm)
        more = about_run(run, some) + ("; logarithmic scale" if is_wide else "")
        head(axes, f"{name}: {in_bytes(sent.sum())} per step", more)
    apart = after - before
    largest = float(np.abs(apart).max())
    factor, unit = scaled("B", largest or most)
    end = round_end(largest * factor)
    colours = matplotlib.colormaps[colour_map("sent_bytes_difference")]
    draw_matrix(drawn[2], apart * factor, each, sizes[0], unit, Normalize(-end, end), colours)
    changed = int(np.count_nonzero(apart))
    pairs = f"{counted(changed, 'pair')}{' of groups of ranks' if each > 1 else ''}"
    differ = "differs" if changed == 1 else "differ"
    head(drawn[2], f"change: {pairs} {differ}", "red is more, blue is less, white is the same")
    for axes in drawn[1:]:
        axes.set_ylabel("")
    return figure


def _steps(run: Run, positions: np.ndarray) -> int:
    """How many steps these frames add up."""
    return int(run.spans[positions].sum())
