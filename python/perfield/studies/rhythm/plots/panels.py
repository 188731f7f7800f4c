# SPDX-License-Identifier: BSD-3-Clause
"""The panels of a page about rhythm: each draws one view of phases, of a model or of a run, into Axes.

Letters are those of Figures 5, 6, 7 and 9 of Afzal, Hager, Wellein, "Exploring metrics for analyzing dynamic
behavior in MPI programs via a coupled-oscillator model". Differences of phases are shown in periods: 1 is one
step of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import BEYOND, TEXT
from perfield.plots.style import WAITING, map_of, whole_numbers
from perfield.studies.rhythm import model as rhythm
from perfield.studies.rhythm.model.dataset import TURN
from perfield.studies.rhythm.plots.shown import Shown, largest, some

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

MOST_LINES = 24  # oscillators whose pairs all have a line
MOST_ON_CIRCLE = 64  # oscillators on one circle; more lie in a ring, higher ranks further out
MOST_GROUPS = 8  # of points on the circle that get the numbers of their oscillators
LEAST_BAR = 0.04  # of half the axis: how wide the bar is of differences that are all alike
MOST_ROWS, MOST_COLUMNS = 512, 1024  # of a map; more are thinned


def timeline(axes: Axes, steps: xr.Dataset, shown: Shown) -> AxesImage:
    """(a) The steps of each rank over time: how much of each moment it waits.

    steps : `run.steps` with begin_s, end_s and waiting_time_s (step, rank). A run knows how long a rank
    waits in a step, not when; the plot puts it at the step's end, where programs communicate.
    """
    n = steps.sizes["rank"]
    steps = steps if shown.places is None else steps.isel(rank=shown.places)
    steps = steps[["begin_s", "end_s", "waiting_time_s"]].isel(rank=some(n, MOST_ROWS)).compute()
    begin, end = steps["begin_s"].values, steps["end_s"].values
    waiting = np.nan_to_num(steps["waiting_time_s"].values)
    edges = shown.zero + np.linspace(0.0, shown.last, MOST_COLUMNS + 1)
    share = np.full((begin.shape[1], MOST_COLUMNS), np.nan)
    for row in range(begin.shape[1]):
        known = np.isfinite(begin[:, row]) & np.isfinite(end[:, row])
        first, last = begin[known, row], end[known, row]
        inside = _covered(edges, first, last)
        waited = _covered(edges, np.maximum(first, last - waiting[known, row]), last)
        np.divide(waited, inside, share[row], where=inside > 1e-3 * (edges[1] - edges[0]))
    extent = (0.0, shown.last * shown.factor, n - 0.5, -0.5)
    image = _map(axes, 100 * share, WAITING, extent, (0.0, 100.0), "waits, %")
    axes.set_ylabel(shown.axis_words)
    _time(axes, shown)
    return image


def _covered(edges: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """How much of each cell lies inside intervals that are in order and do not overlap, (n_cells,)."""
    if not len(first):
        return np.zeros(len(edges) - 1)
    before = np.concatenate([[0.0], np.cumsum(last - first)])
    covered = np.stack([before[:-1], before[1:]], axis=1).ravel()
    return np.diff(np.interp(edges, np.stack([first, last], axis=1).ravel(), covered))


def lag(axes: Axes, shown: Shown) -> AxesImage:
    """How many periods each oscillator is behind the foremost one, over time."""
    cells = shown.behind[np.ix_(some(shown.n, MOST_ROWS), some(len(shown.time), MOST_COLUMNS))]
    time = shown.time * shown.factor
    extent = (time[0], time[-1], shown.n - 0.5, -0.5)
    image = _map(axes, cells, "phase", extent, (0.0, largest(cells, 1e-3)), "periods")
    axes.set_ylabel(shown.axis_words)
    _time(axes, shown)
    return image


def order(axes: Axes, shown: Shown) -> Axes:
    """(b) The order parameter R(t) (eq. 8); thin, with an axis on the right, dR/dt (section 4.2.2).

    Fast falls of R of ranks that were in step, the early warnings, are shaded. Returns the Axes of dR/dt.
    """
    time = shown.time * shown.factor
    for ends in shown.warnings:
        axes.axvspan(*((ends - shown.zero) * shown.factor), color=BEYOND, alpha=0.2, linewidth=0, zorder=0)
    _line(axes, shown, shown.order_parameter)
    axes.set_ylim(0.0, 1.05)
    axes.set_ylabel("R")
    beside = axes.twinx()
    beside.plot(time, shown.order_rate, color="0.55", linewidth=0.6)
    most = 1.1 * largest(shown.order_rate, 1e-3)
    beside.set_ylim(-most, most)
    beside.set_ylabel("dR/dt (1/s)", fontsize=9, color="0.4")
    beside.tick_params(labelsize=9, labelcolor="0.4")
    beside.locator_params(axis="y", nbins=5)
    axes.set_zorder(beside.get_zorder() + 1)  # R lies above
    axes.patch.set_visible(False)
    return beside


def spread(axes: Axes, shown: Shown) -> None:
    """From the last oscillator to the first one: what R, S and the circle do not see."""
    _line(axes, shown, shown.spread)
    axes.set_ylim(0.0, 1.1 * largest(shown.spread, 0.05))
    axes.set_ylabel("periods")


def entropy(axes: Axes, shown: Shown) -> None:
    """(c) The entropy S(t) of the phases (eq. 9), with bins that adapt; thin, with fixed ones.

    Bins that adapt shrink with the spread, so they show rounding errors of phases that are equal.
    """
    time = shown.time * shown.factor
    axes.plot(time, shown.entropy, color=shown.rgb, linewidth=1.8, label="bins that adapt")
    fixed = shown.entropy_of_fixed_bins
    axes.plot(time, fixed, color="0.35", linewidth=1.0, label=f"{rhythm.CIRCLE_BINS} fixed bins")
    most = largest(np.append(shown.entropy, fixed), 0.5)
    axes.set_ylim(0.0, 1.35 * most)  # with room for the legend
    axes.set_ylabel("S")
    axes.legend(frameon=False, fontsize=9, loc="upper right", ncols=2, borderaxespad=0.0)
    _time(axes, shown)


def gradient(axes: Axes, shown: Shown) -> None:
    """(d) The phase gradient of each oscillator (eq. 10); of many, all, the middle half and the median."""
    values = shown.gradient
    if values is None:
        return _absent(axes, "the communication topology\nis not known")
    values = values / TURN
    time = shown.time * shown.factor
    if shown.n <= MOST_ON_CIRCLE:
        _coloured(axes, time, values)
        _name_largest(axes, time, values, shown)
    else:
        known = np.isfinite(values).any(axis=0)
        low, quarter, half, three, high = np.nanquantile(values[:, known], (0, 0.25, 0.5, 0.75, 1), axis=0)
        axes.fill_between(time[known], low, high, color=shown.rgb, alpha=0.2, linewidth=0, label="all")
        axes.fill_between(
            time[known], quarter, three, color=shown.rgb, alpha=0.45, linewidth=0, label="middle half"
        )
        axes.plot(time[known], half, color=TEXT, linewidth=1.2, label="median")
        axes.legend(frameon=False, fontsize=9, loc="upper right")
    axes.set_ylim(0.0, 1.2 * largest(values, 0.01))
    axes.set_ylabel("periods")
    _time(axes, shown)


def differences(axes: Axes, shown: Shown) -> None:
    """(e) The phase difference of each pair (eq. 11); of many oscillators, the pairs of 24 of them."""
    chosen = some(shown.n, MOST_LINES)
    lines = rhythm.phase_differences(shown.phase.isel(oscillator=chosen))
    apart = np.abs(lines["i"] - lines["j"]).values
    _coloured(axes, shown.time * shown.factor, lines.values / TURN, apart, 0.7)
    axes.set_ylabel("periods")
    _time(axes, shown)


def energy(axes: Axes, shown: Shown) -> None:
    """(f) The potential V(t) (eq. 14)."""
    if shown.energy is None:
        return _absent(axes, "this needs a communication topology\nand the potential of a model")
    _line(axes, shown, shown.energy)
    axes.set_ylim(0.0, 1.1 * largest(shown.energy, 1e-3))
    axes.set_ylabel("V")


def circle(axes: Axes, shown: Shown, frame: str | int = "mean") -> None:
    """(g) The phases on a circle (eq. 7), and R as an arrow. The frame turns with the mean, or with a rank.

    More than 64 oscillators lie in a ring, with higher ranks further out.
    """
    points = rhythm.phase_circle(shown.snapshot, frame).values
    draw_circle(axes, points, shown.phase["oscillator"].values)


def draw_circle(axes: Axes, points: np.ndarray, numbers: np.ndarray) -> None:
    """Draws points (axis, oscillator) of a circle, coloured in their order. numbers : of the oscillators."""
    import matplotlib

    n = len(numbers)
    known = np.isfinite(points).all(axis=0)
    ranks, radius = np.flatnonzero(known), np.ones(n)
    if n > MOST_ON_CIRCLE:
        radius = np.linspace(0.7, 1.15, n)
    around = np.linspace(0, TURN, 181)
    axes.plot(np.cos(around), np.sin(around), color="0.8", linewidth=1, zorder=0)
    colours = matplotlib.colormaps["viridis"](ranks / max(n - 1, 1))
    size = np.clip(3000 / n, 3, 70)
    edge = {"edgecolors": "white", "linewidths": 0.5} if n <= MOST_ON_CIRCLE else {"linewidths": 0}
    axes.scatter(*(points * radius)[:, known], s=size, c=colours, zorder=2, **edge)
    if known.any():
        x, y = points[:, known].mean(axis=1)
        axes.annotate(
            "",
            (x, y),
            (0, 0),
            arrowprops={"arrowstyle": "-|>", "color": BEYOND, "linewidth": 2, "shrinkA": 0, "shrinkB": 0},
        )
    if n <= MOST_ON_CIRCLE:
        _name_groups(axes, points[:, ranks], numbers[ranks])
    axes.set_xlim(-1.3, 1.3)
    axes.set_ylim(-1.3, 1.3)
    axes.set_aspect("equal", adjustable="datalim")
    axes.axis("off")


def _name_groups(axes: Axes, points: np.ndarray, numbers: np.ndarray) -> None:
    """Writes the numbers of oscillators beside their points, where these are few groups."""
    angle = np.arctan2(points[1], points[0])
    order = np.argsort(angle, kind="stable")
    gaps = np.diff(angle[order], append=angle[order[:1]] + TURN)
    ends = np.flatnonzero(gaps > 0.15)
    if not 0 < len(ends) <= MOST_GROUPS:
        return
    turned = np.roll(order, -(ends[-1] + 1))
    sizes = np.diff(np.concatenate([[-1], (ends - ends[-1] - 1) % len(order)]))
    for group in np.split(turned, np.cumsum(sizes)[:-1]):
        middle = np.angle(np.exp(1j * angle[group]).mean())
        words = number_words(np.sort(numbers[group]))
        x, y = 1.13 * np.cos(middle), 1.13 * np.sin(middle)
        side = "left" if x > 0.2 else "right" if x < -0.2 else "center"
        axes.text(x, y, words, ha=side, va="center", fontsize=9, color="0.3")


def number_words(numbers: np.ndarray) -> str:
    """Ascending numbers in few characters: "0, 2-5"; of more than three parts only how many they are."""
    ends = np.flatnonzero(np.diff(numbers) > 1)
    parts = np.split(numbers, ends + 1)
    if len(parts) > 3:
        return f"{len(numbers)} ranks"
    return ", ".join(f"{part[0]}" if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def histogram(axes: Axes, shown: Shown) -> None:
    """(h) How many pairs of oscillators are how far apart (eq. 12); of many oscillators, the pairs of 512."""
    found = rhythm.difference_histogram(shown.snapshot.isel(oscillator=shown.paired))
    left, right = found["left"].values / TURN, found["right"].values / TURN
    pairs = found.values
    most = 1.1 * largest(np.append(left, right), 0.05)
    if len(left) and right[-1] - left[0] < LEAST_BAR * most:  # no bin of it would be seen
        middle, pairs = (left[0] + right[-1]) / 2, pairs.sum(keepdims=True)
        left, right = (np.array([middle + end * LEAST_BAR * most]) for end in (-0.5, 0.5))
    line = 0.5 if len(left) < 80 else 0.0
    axes.bar(left, pairs, right - left, align="edge", color=shown.rgb, edgecolor="white", linewidth=line)
    axes.set_xlim(-most, most)
    axes.set_xlabel("periods")
    axes.set_ylabel("pairs")
    whole_numbers(axes.yaxis)


def matrix(axes: Axes, shown: Shown) -> AxesImage:
    """(i) By how much the oscillator of a column is ahead of that of a row (eq. 13); of many, 512 of them."""
    cells = rhythm.difference_matrix(shown.snapshot.isel(oscillator=shown.paired)).values / TURN
    most = largest(cells, 1e-3)
    extent = (-0.5, shown.n - 0.5, shown.n - 0.5, -0.5)
    image = _map(axes, cells, "phase_difference", extent, (-most, most), "periods")
    axes.set_aspect("equal", anchor="W")
    axes.set_xlabel(f"{shown.axis_words} j")
    axes.set_ylabel(f"{shown.axis_words} i")
    whole_numbers(axes.xaxis)
    axes.xaxis.get_major_locator().set_params(nbins=6)
    return image


# --- what panels share --------------------------------------------------------------------------------------


def _map(
    axes: Axes,
    cells: np.ndarray,
    field: str,
    extent: tuple[float, ...],
    ends: tuple[float, float],
    words: str,
) -> AxesImage:
    image = axes.imshow(
        cells,
        map_of(field),
        aspect="auto",
        interpolation="nearest",
        vmin=ends[0],
        vmax=ends[1],
        extent=extent,
    )
    width = 0.14 / (axes.get_position().width * axes.figure.get_figwidth())  # inches
    bar = axes.figure.colorbar(image, cax=axes.inset_axes((1 + width, 0.0, width, 1.0)))
    bar.set_label(words, fontsize=9)
    bar.ax.tick_params(labelsize=9)
    whole_numbers(axes.yaxis)
    return image


def phase_axis(axes: Axes, reach: float) -> None:
    """An axis of phase differences from -reach to reach, in multiples of pi."""
    whole = int(reach / np.pi * 2) / 2
    ticks = np.arange(-whole, whole + 0.25, 0.5)
    names = {0.0: "0", 0.5: "π/2", 1.0: "π", 1.5: "3π/2", 2.0: "2π"}
    words = [("-" if tick < 0 else "") + names.get(abs(tick), f"{abs(tick):g}π") for tick in ticks]
    axes.set_xticks(ticks * np.pi, words)
    axes.set_xlim(-reach, reach)
    axes.set_xlabel(r"phase difference $x = \theta_j - \theta_i$ (rad)")


def _line(axes: Axes, shown: Shown, values: np.ndarray) -> None:
    axes.plot(shown.time * shown.factor, values, color=shown.rgb, linewidth=1.8)
    _time(axes, shown)


def _coloured(
    axes: Axes, time: np.ndarray, values: np.ndarray, order: np.ndarray | None = None, width: float = 1.0
) -> None:
    """Lines (line, time) in the colours of viridis, dark to bright by their order."""
    import matplotlib
    from matplotlib.collections import LineCollection

    order = np.arange(len(values)) if order is None else order
    lines = [np.stack([time, line], axis=1) for line in values]
    colours = matplotlib.colormaps["viridis"](0.95 * order / max(order.max(initial=0), 1))
    axes.add_collection(LineCollection(lines, colors=colours, linewidths=width))
    axes.autoscale_view()


def _name_largest(axes: Axes, time: np.ndarray, values: np.ndarray, shown: Shown) -> None:
    """Writes whose line is the largest, at its top, if it stands out: twice as high as the next one."""
    known = np.isfinite(values).any(axis=1)
    if known.sum() < 3:
        return
    tops = np.where(known, np.nanmax(np.where(known[:, None], np.abs(values), 0.0), axis=1), 0.0)
    who = int(tops.argmax())
    if tops[who] < max(2 * np.sort(tops)[-2], 0.01):
        return
    at = int(np.nanargmax(np.abs(values[who])))
    left = time[at] < time[-1] / 2
    axes.annotate(
        f"{shown.word} {shown.phase['oscillator'].values[who]}",
        (time[at], values[who, at]),
        xytext=(6 if left else -6, 2),
        textcoords="offset points",
        ha="left" if left else "right",
        fontsize=9,
        color="0.3",
    )


def _time(axes: Axes, shown: Shown) -> None:
    """The axis of time, and a dotted line at the moment of the snapshots."""
    time = shown.time * shown.factor
    axes.set_xlim(0.0, shown.last * shown.factor)
    axes.axvline(time[shown.moment], color="0.4", linewidth=1, linestyle=":")
    axes.set_xlabel(f"time ({shown.unit})")


def _absent(axes: Axes, words: str) -> None:
    axes.annotate(words, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center", color="0.4")
    axes.set_xticks([])
    axes.set_yticks([])
