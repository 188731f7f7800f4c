# SPDX-License-Identifier: BSD-3-Clause
"""Flame graphs: where a rank's time goes, region in region, and where it spends more than another rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import ABSENT, OUTLINE, PALETTE, TEXT
from perfield.derived.stacks import FILES, FUNCTION, MPI, NO_REGION, REGION, Frame, Stack, Stacks, stacks_of
from perfield.plots.style import COMPUTING, PlotError, Steps, about_run, frames_of, head, new_axes, scaled
from perfield.run.snapshot import Snapshot
from perfield.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perfield.derived.run import Run

COLOURS = {
    REGION: PALETTE[1],
    FUNCTION: PALETTE[6],
    MPI: PALETTE[5],
    FILES: PALETTE[3],
    NO_REGION: ABSENT,
}
WORDS = {REGION: "region", FUNCTION: "function", MPI: "MPI", FILES: "files", NO_REGION: "no region"}
NARROWEST = 1 / 2000  # of the width; what is narrower is not drawn
_LETTER = 6.2  # points


class _Node:
    """A frame on top of others: seconds of the two ranks that are shown, and what is on it."""

    def __init__(self, frame: Frame | None) -> None:
        self.frame = frame
        self.time_s = np.zeros(2)
        self.width = 0.0
        self.above: dict[Frame, _Node] = {}

    def add(self, stack: Stack, time_s: np.ndarray, width: float) -> None:
        """Adds a stack on top of this node."""
        self.time_s += time_s
        self.width += width
        if stack:
            self.above.setdefault(stack[0], _Node(stack[0])).add(stack[1:], time_s, width)


def flame(
    run: Run,
    steps: Steps = None,
    axes: Axes | None = None,
    rank: int | None = None,
    beside: int | None = None,
    stacks: Stacks | None = None,
) -> Axes:
    """Draws a flame graph of a rank: each bar is a region, with the regions inside it on top, and above them
    MPI, files and, where the run was sampled, functions. A bar is as wide as its time per step.

    run : an open run. steps, axes : as `perfield.plots` says. rank : the one with most compute time by
    default. beside : another rank. Then a bar is as wide as the longer time of both, and its colour is how
    much longer the first one is in it. stacks : of these steps, if they are known already.

    Raises PlotError if the run has no such rank.
    """
    positions = frames_of(run, steps)
    stacks = stacks or stacks_of(run, positions)
    rank = slowest_and_median(run, positions)[0] if rank is None else _known(run, rank)
    other = rank if beside is None else _known(run, beside)
    root = _Node(None)
    for stack, time_s in zip(stacks.all, stacks.time_s[:, [rank, other]] / len(positions)):
        root.add(stack, time_s, float(time_s.max() if beside is not None else time_s[0]))
    axes = new_axes(axes)
    factor, unit = scaled("s", root.width)
    whole = max(root.width, 1e-12)
    points = 72 * axes.figure.get_figwidth() * axes.get_position().width
    most = max((abs(node.time_s @ (1, -1)) for node, _, _ in _placed(root, whole)), default=0.0)
    deepest = 0
    for node, left, level in _placed(root, whole):
        colour, text_colour = _colours(node, beside, most)
        bar = {"left": left * factor, "height": 0.96, "color": colour, "edgecolor": OUTLINE, "lw": 0.6}
        axes.barh(level, node.width * factor, **bar)
        label = _label(node, int(points * node.width / whole / _LETTER), beside, unit, factor)
        middle = (left + node.width / 2) * factor
        look = {"ha": "center", "va": "center", "fontsize": 10, "clip_on": True, "parse_math": False}
        axes.text(middle, level, label, color=text_colour, **look)
        deepest = max(deepest, level)
    axes.set_ylim(-0.6, max(deepest + 1.3, 4))  # with room for the legend
    axes.set_xlim(0, whole * factor)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"{'time per step' if beside is None else 'longer time of both per step'} ({unit})")
    _explain(axes, run, positions, rank, beside, most * factor, unit, root)
    return axes


def slowest_and_median(run: Run, positions: np.ndarray) -> tuple[int, int]:
    """The rank with most compute time in these frames, and that with the median; the whole step's time
    counts where MPI was not watched."""
    time_s = np.zeros(run.n_ranks)
    name = COMPUTING if COMPUTING in run.columns.names else "step_time_s"
    for _, values in Snapshot(run).in_chunks(positions, [name]):
        time_s += np.nansum(values[:, 0], axis=0)
    order = np.argsort(time_s, kind="stable")
    return int(order[-1]), int(order[(len(order) - 1) // 2])


def _known(run: Run, rank: int) -> int:
    if not 0 <= rank < run.n_ranks:
        raise PlotError(f"{run.path} has no rank {rank}; it has ranks 0 to {run.n_ranks - 1}.")
    return rank


def _placed(root: _Node, whole: float) -> Iterator[tuple[_Node, float, int]]:
    """Nodes that are wide enough to be seen, with where they begin and their level; the longest first."""
    waiting = [(root, 0.0, -1)]
    while waiting:
        node, left, level = waiting.pop()
        if node.frame is not None:
            yield node, left, level
        for above in sorted(node.above.values(), key=lambda one: -one.width):
            if above.width >= NARROWEST * whole:
                waiting.append((above, left, level + 1))
            left += above.width


def _colours(node: _Node, beside: int | None, most: float) -> tuple[object, object]:
    """The colours of a node and of what is written on it."""
    if beside is None:
        return COLOURS[node.frame.kind], TEXT
    import matplotlib

    share = float(node.time_s @ (1, -1)) / most if most > 0 else 0.0
    return matplotlib.colormaps["RdBu_r"](0.5 + 0.4 * share), "white" if abs(share) > 0.6 else TEXT


def _label(node: _Node, letters: int, beside: int | None, unit: str, factor: float) -> str:
    """What is written on a node where so many letters have room."""
    words = printable(node.frame.name)
    if beside is not None:
        longer = f"{words} {float(node.time_s @ (1, -1)) * factor:+.3g} {unit}"
        words = longer if len(longer) <= letters else words
    if len(words) <= letters:
        return words
    return words[: letters - 1] + "…" if letters >= 5 else ""


def _explain(
    axes: Axes,
    run: Run,
    positions: np.ndarray,
    rank: int,
    beside: int | None,
    most: float,
    unit: str,
    root: _Node,
) -> None:
    """Writes the title and the legend."""
    if beside is not None:
        import matplotlib
        from matplotlib.colors import Normalize

        shades = matplotlib.colormaps["RdBu_r"](np.linspace(0.1, 0.9, 256))
        colours = matplotlib.colors.ListedColormap(shades)
        shown = matplotlib.cm.ScalarMappable(Normalize(-most or -1, most or 1), colours)
        bar = axes.figure.colorbar(shown, ax=axes, pad=0.01, fraction=0.03)
        bar.ax.set_title(unit, fontsize=11)
        median = ", the median one" * (beside == slowest_and_median(run, positions)[1])
        more = f"red: rank {rank} is longer in it; blue: rank {beside} is"
        head(axes, f"What rank {rank} spends more than rank {beside}{median}", more)
        return
    from matplotlib.patches import Patch

    kinds = {node.frame.kind for node, _, _ in _placed(root, max(root.width, 1e-12))}
    patches = [Patch(color=COLOURS[kind], label=WORDS[kind]) for kind in COLOURS if kind in kinds]
    axes.legend(handles=patches, frameon=False, loc="upper right", ncol=len(patches))
    head(axes, f"Where the time of rank {rank} goes", about_run(run, positions))
