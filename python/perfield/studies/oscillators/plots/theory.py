# SPDX-License-Identifier: BSD-3-Clause
"""What a model is made of: the Mexican hat (Figure 1), potentials (Figure 2), topologies (Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import BEYOND, PALETTE, colour_map
from perfield.plots.style import PlotError, head, new_figure, whole_numbers
from perfield.studies.oscillators.model.potentials import Fourier, MexicanHat, PiecewiseSine, Sine, Tanh
from perfield.studies.oscillators.model.topologies import chain
from perfield.studies.rhythm.plots.panels import phase_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perfield.studies.oscillators.model.potentials import Potential
    from perfield.studies.rhythm.model.topology import Topology

SIZE = (14.4, 6.4)  # inches
SCALABLE: dict[str, Potential] = {
    "sin x": Sine(),
    "tanh x": Tanh(),
    "tanh 5x": Tanh(5.0),
    "tanh 18x": Tanh(18.0),
}
BOTTLENECKED: dict[str, Potential] = {
    r"piecewise sine, $\sigma = \pi$": PiecewiseSine(np.pi),
    r"piecewise sine, $\sigma = 1$": PiecewiseSine(1.0),
    "sin x - 0.5 sin 6x + 0.1 sin 12x": Fourier(0.5, 0.1, 6),
}
TURNED = -60  # degrees, from where one looks at the hat
MOST_ROWS = 512  # of a matrix; more are joined


def mexican_hat(potential: MexicanHat | None = None, figure: Figure | None = None) -> Figure:
    """Draws the energy of the Mexican hat, as a surface and cut through the middle (Figure 1)."""
    potential = potential or MexicanHat()
    reach = 1.2 * potential.radius
    figure = _figure(figure)
    try:
        left = figure.add_subplot(1, 2, 1, projection="3d")
    except ValueError as error:  # parts of another matplotlib come first
        raise PlotError(
            "matplotlib has no 3-D axes here: two of its versions are mixed; keep one."
        ) from error
    around, out = np.meshgrid(np.linspace(0, 2 * np.pi, 181), np.linspace(0, reach, 61))
    energy = potential.integral(out)
    shape = {"rstride": 1, "cstride": 1, "linewidth": 0, "antialiased": False}
    left.plot_surface(
        out * np.cos(around), out * np.sin(around), energy, cmap=colour_map("energy"), alpha=0.9, **shape
    )
    angle, turned = around[0] - np.deg2rad(TURNED), np.deg2rad(TURNED)
    hidden = (np.cos(angle) < 0) & (np.abs(np.sin(angle)) < 0.72)  # behind the hill
    for shown, width in ((~hidden, 2.5), (hidden, 1.0)):
        ring = [potential.radius * np.where(shown, of(angle + turned), np.nan) for of in (np.cos, np.sin)]
        left.plot(*ring, np.full(len(angle), -potential.depth), color=BEYOND, linewidth=width, zorder=9)
    left.view_init(50, TURNED)
    left.set_xlabel("x (rad)")
    left.set_ylabel("y (rad)")
    left.set_title(
        "(a) Energy: along the orange ring of minima\nmotion costs nothing (a Goldstone mode)", loc="left"
    )
    right = figure.add_subplot(1, 2, 2)
    x = np.linspace(-1.5 * potential.radius, 1.5 * potential.radius, 401)
    right.plot(x, potential.integral(x), color=PALETTE[0], linewidth=2)
    for side in (-1, 1):
        right.plot(side * potential.radius, -potential.depth, "o", color=BEYOND, markersize=9)
    right.axhline(0, color="0.8", linewidth=1)
    beside = {"textcoords": "offset points", "ha": "center", "color": "0.35"}
    right.annotate("repels", (0, 0), xytext=(0, 8), **beside)
    right.annotate("a pair stays here", (potential.radius, -potential.depth), xytext=(0, -20), **beside)
    right.annotate("attracts", (1.35 * potential.radius, -0.4 * potential.depth), xytext=(-34, 0), **beside)
    phase_axis(right, x[-1])
    right.set_ylim(bottom=-1.35 * potential.depth)
    right.set_ylabel("energy (integral of V)")
    right.set_title("(b) Cut through the middle", loc="left")
    return figure


def potentials(
    scalable: Mapping[str, Potential] | None = None,
    bottlenecked: Mapping[str, Potential] | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Draws potentials V(x) of programs that scale and of those with a bottleneck (Figure 2).

    Each is a mapping from words to a potential; by default those of the paper. Dots are differences at which
    a pair stays: V is 0 there and its slope is above 0.
    """
    figure = _figure(figure)
    drawn = figure.subplots(1, 2, sharey=True)
    both = (scalable or SCALABLE, bottlenecked or BOTTLENECKED)
    words = (
        ("(a) Programs that scale", "all attract: a sender that is ahead (x > 0) pulls its receiver on"),
        ("(b) Programs with a bottleneck", "neighbours that are close repel one another; dots: a pair stays"),
    )
    for axes, kinds, texts in zip(drawn, both, words):
        _potentials(axes, kinds)
        head(axes, *texts)
    drawn[0].set_ylabel("V(x)")
    return figure


def _potentials(axes: Axes, kinds: Mapping[str, Potential]) -> None:
    x = np.linspace(-1.25 * np.pi, 1.25 * np.pi, 4001)
    axes.axhline(0, color="0.8", linewidth=1)
    for number, (words, potential) in enumerate(kinds.items()):
        values, rgb = potential(x), PALETTE[number]
        axes.plot(x, values, color=rgb, linewidth=1.8, label=words)
        rises = np.flatnonzero((values[:-1] < 0) & (values[1:] >= 0))
        axes.plot(x[rises], np.zeros(len(rises)), "o", color=rgb, markersize=6)
    phase_axis(axes, 1.25 * np.pi)
    axes.legend(frameon=False, loc="upper left", fontsize=10)


def matrices(topologies: Mapping[str, Topology] | None = None, figure: Figure | None = None) -> Figure:
    """Draws communication topologies as matrices: a filled cell where the row receives from the column.

    topologies : words to a Topology; by default both of Figure 4. Of more than 512 ranks a cell joins
    several. Weights are colours where they differ.
    """
    given = topologies or {
        "(a) both neighbours": chain(18, bidirectional=True),
        "(b) the previous one": chain(18),
    }
    figure = _figure(figure)
    for axes, (words, topology) in zip(figure.subplots(1, len(given), squeeze=False)[0], given.items()):
        matrix(axes, topology)
        axes.set_title(f"{words}: {topology.n:,} ranks, {topology.n_edges:,} edges", loc="left")
    return figure


def matrix(axes: Axes, topology: Topology) -> None:
    """Draws a communication topology into Axes: row = receiver, column = sender."""
    import matplotlib

    joined = -(-topology.n // MOST_ROWS)
    rows = -(-topology.n // joined)
    cells = np.zeros((rows, rows))
    np.maximum.at(cells, (topology.receiver // joined, topology.sender // joined), topology.weight)
    weights = np.unique(topology.weight)
    extent = (-0.5, rows * joined - 0.5, rows * joined - 0.5, -0.5)
    one = len(weights) < 2
    colours = matplotlib.colors.ListedColormap([PALETTE[0]]) if one else matplotlib.colormaps["viridis"]
    image = axes.imshow(
        np.where(cells > 0, cells, np.nan), colours, interpolation="nearest", extent=extent, vmin=0
    )
    if not one:
        axes.figure.colorbar(image, ax=axes, label="weight", shrink=0.8)
    if topology.n <= 40:
        edges = np.arange(topology.n + 1) - 0.5
        axes.hlines(edges, -0.5, topology.n - 0.5, color="0.9", linewidth=0.5)
        axes.vlines(edges, -0.5, topology.n - 0.5, color="0.9", linewidth=0.5)
    axes.set_xlabel("sender j")
    axes.set_ylabel("receiver i")
    for axis in (axes.xaxis, axes.yaxis):
        whole_numbers(axis)


def _figure(figure: Figure | None) -> Figure:
    return figure or new_figure(SIZE)
