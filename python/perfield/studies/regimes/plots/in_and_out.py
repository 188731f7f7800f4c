# SPDX-License-Identifier: BSD-3-Clause
"""Both halves of a matrix-vector product against one another, and their sum (Figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfield.plots.style import PlotError, head, new_axes, new_figure
from perfield.studies.regimes.model import REGIME
from perfield.studies.regimes.plots import shown

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SIZE = (9.6, 11.4)  # inches
PANEL = 5.2  # inches, of a scatter plot of one regime
END = 98.0  # per cent of the times that the axes show
BEGIN = 0.5  # per cent of the times that a logarithmic axis leaves out at its begin
BINS, SIDE_BINS = 120, 90
IN, OUT = "t_in", "t_out"


def in_and_out(named: Mapping[str, xr.Dataset], figure: Figure | None = None) -> Figure:
    """Draws T_in against T_out with their densities, and a histogram of T = T_in + T_out (Figure 7).

    named : words to studies, with `t_in` and `t_out` (rank, step) in s.
    Raises PlotError for others, and without a known time.
    """
    found = {name: _halves(name, study) for name, study in named.items()}
    _check(named)
    figure = figure or new_figure(SIZE)
    grid = figure.add_gridspec(3, 2, height_ratios=(1, 3.4, 2.6), width_ratios=(3.6, 1))
    middle = figure.add_subplot(grid[1, 0])
    above, beside = (
        figure.add_subplot(grid[0, 0], sharex=middle),
        figure.add_subplot(grid[1, 1], sharey=middle),
    )
    window = _window(found)
    factor, unit = _unit(window)
    _scatter(middle, found, shown.method_colours(named), window, (factor, unit))
    drawn = _all_hidden(middle, named, window, factor)
    for name, rgb in shown.method_colours(named).items():
        for part, axes, way in ((0, above, "vertical"), (1, beside, "horizontal")):
            bins = _bins(window[part], SIDE_BINS)
            count = np.histogram(found[name][part], bins)[0] / len(found[name][part])
            axes.stairs(100 * count, bins * factor, orientation=way, color=rgb, linewidth=1.4)
    above.set_ylim(bottom=0)
    beside.set_xlim(left=0)
    for axes in (above, beside):
        axes.tick_params(labelbottom=axes is beside, labelleft=axes is above)
    above.set_yticks([])
    beside.set_xticks([])
    above.tick_params(labelleft=False)
    beside.tick_params(labelbottom=False)
    above.set_ylabel("MatVecs")
    beside.set_xlabel("MatVecs")
    corner = figure.add_subplot(grid[0, 1])
    corner.axis("off")
    _legend(corner, shown.method_colours(named), drawn)
    head(
        above,
        "Time of both halves of a MatVec",
        shown.said(shown.origins(named), "a dot is a MatVec of a rank"),
    )
    totals(named, figure.add_subplot(grid[2, :]))
    return figure


def totals(named: Mapping[str, xr.Dataset], axes: Axes | None = None) -> Axes:
    """Draws a histogram of T = T_in + T_out for each method, as a share of its MatVecs."""
    found = {name: sum(_halves(name, study)) for name, study in named.items()}
    _check(named)
    axes = new_axes(axes)
    everything = np.concatenate([*found.values()])
    low, high = float(everything.min()), shown.robust_end(everything, END)
    high = max(high, low * 1.001 + 1e-12)
    factor, unit = shown.unit(everything)
    wide = shown.is_wide(low, high)
    bins = _bins((low, high), BINS)
    for (name, values), rgb in zip(found.items(), shown.method_colours(named).values()):
        share = 100 * np.histogram(values, bins)[0] / len(values)
        axes.stairs(share, bins * factor, color=rgb, linewidth=1.6, label=name)
    if wide:
        shown.by_logarithm(axes.xaxis)
    longer = 100 * float(np.mean(everything > bins[-1]))
    axes.set_xlim(bins[0] * factor, bins[-1] * factor)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"T = T_in + T_out ({unit})")
    axes.set_ylabel("MatVecs (%)")
    axes.legend(frameon=False, fontsize=11)
    more = f"{longer:.2g} % are longer" if longer else ""
    head(axes, "Time of a MatVec without its mirror elements", shown.said(shown.origins(named), more))
    return axes


def in_and_out_by_regime(named: Mapping[str, xr.Dataset], figure: Figure | None = None) -> Figure:
    """Draws T_in against T_out, regime by regime (Figure 8). named : studies with `regime` (rank, step).

    Raises PlotError as `in_and_out`, and if one is not classified.
    """
    _check(named)
    n = max(map(shown.n_regimes, named.values()))
    figure = figure or new_figure((max(PANEL * n, 7.0), PANEL))
    scale = _unit(_window({name: _halves(name, study) for name, study in named.items()}))
    for number, axes in enumerate(figure.subplots(1, n, squeeze=False)[0]):
        found = {
            name: _halves(name, study, shown.number_among(study, number, n)) for name, study in named.items()
        }
        some = {name: halves for name, halves in found.items() if len(halves[0])}
        words = f"Regime: {shown.regime_names(n)[number]}" if n > 1 else "All MatVecs"
        counts = ", ".join(f"{name} {len(found[name][0]):,}" for name in named)
        if some:
            _scatter(axes, some, shown.method_colours(named), _window(some), scale)
        else:
            axes.text(0.5, 0.5, "no MatVec is in this regime", transform=axes.transAxes, ha="center")
        if number == 0 and some:
            _legend(axes, shown.method_colours(named))
        head(axes, words, shown.said(shown.origins(named) if number == 0 else "", f"MatVecs: {counts}"))
    return figure


def _check(named: Mapping[str, xr.Dataset]) -> None:
    if not named:
        raise PlotError("there is no study to draw; give at least one.")


def _halves(name: str, study: xr.Dataset, regime: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """T_in and T_out of all MatVecs where both are known, (n) s each."""
    if IN not in study or OUT not in study:
        raise PlotError(f"{name} has no {IN} and {OUT}; give the record of a solver, or of the model.")
    both = study[IN].values, study[OUT].values
    known = np.isfinite(both[0]) & np.isfinite(both[1])
    if not known.any():
        raise PlotError(f"{name} holds no known time to plot.")
    if regime is not None:
        shown.n_regimes(study)
        known &= study[REGIME].values == regime
    return both[0][known], both[1][known]


def _window(found: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> list[tuple[float, float]]:
    """The ends of both axes: all but the longest times."""
    window = []
    for part in (0, 1):
        values = np.concatenate([each[part] for each in found.values()])
        low, high = float(values.min()), shown.robust_end(values, END)
        begin = float(np.percentile(values, BEGIN))
        if shown.is_wide(begin, high):
            window.append((begin / 1.1, high * 1.1))
            continue
        room = 0.03 * (high - low) or 0.05 * high or 1.0
        window.append((low - room, high + room))
    return window


def _scatter(
    axes: Axes,
    found: Mapping[str, tuple[np.ndarray, np.ndarray]],
    colours: Mapping[str, shown.RGB],
    window: list[tuple[float, float]],
    scale: tuple[float, str],
) -> None:
    factor, unit = scale
    parts = []
    for name, (into, out) in found.items():
        some = shown.thinned(len(into))
        rgb = np.broadcast_to(colours[name], (len(some), 3))
        parts.append(np.column_stack([into[some] * factor, out[some] * factor, rgb]))
    points = np.random.default_rng(0).permutation(
        np.concatenate(parts)
    )  # no method lies on top of the others
    dots = {"alpha": 0.5, "linewidths": 0, "rasterized": True}
    axes.scatter(points[:, 0], points[:, 1], s=6, c=points[:, 2:], **dots)
    axes.set_xlim(window[0][0] * factor, window[0][1] * factor)
    axes.set_ylim(window[1][0] * factor, window[1][1] * factor)
    for part, axis in ((0, axes.xaxis), (1, axes.yaxis)):
        if shown.is_wide(*window[part]):
            shown.by_logarithm(axis)
    axes.set_xlabel(f"T_in, first half and its wait ({unit})")
    axes.set_ylabel(f"T_out, second half and its wait ({unit})")


def _bins(window: tuple[float, float], n: int) -> np.ndarray:
    """Ends of n bins of equal width on an axis with these ends."""
    return (np.geomspace if shown.is_wide(*window) else np.linspace)(*window, n + 1)


def _all_hidden(
    axes: Axes, named: Mapping[str, xr.Dataset], window: list[tuple[float, float]], factor: float
) -> list[Line2D]:
    """Draws where T_in + T_out is the median time of computing alone, if studies have waits."""
    computing = [
        (study[IN] + study[OUT] - study["w_in"] - study["w_out"]).values.ravel()
        for study in named.values()
        if "w_in" in study and "w_out" in study
    ]
    known = np.concatenate([each[np.isfinite(each)] for each in computing]) if computing else np.array([])
    if not len(known) or (total := float(np.median(known))) <= 0:
        return []
    into = np.geomspace(max(window[0][0], total * 1e-3), total * (1 - 1e-3), 400)
    look = {"color": "0.35", "linestyle": "--", "linewidth": 1.3, "label": "no wait, all hidden"}
    return axes.plot(into * factor, (total - into) * factor, **look)


def _unit(window: list[tuple[float, float]]) -> tuple[float, str]:
    """A factor and a unit for both axes."""
    return shown.unit(np.array([min(end for _, end in window)]))


def _legend(axes: Axes, colours: Mapping[str, shown.RGB], lines: Sequence[Line2D] = ()) -> None:
    """Names the methods by dots that are large enough to see their colour, and lines."""
    from matplotlib.lines import Line2D

    dots = [Line2D([], [], marker="o", linestyle="", color=rgb, label=name) for name, rgb in colours.items()]
    axes.legend(handles=[*dots, *lines], frameon=False, fontsize=11)
