# SPDX-License-Identifier: BSD-3-Clause
"""The splitting parameter alpha, and the waits that it follows (Figures 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import PALETTE
from perfield.plots.style import PlotError, head, new_axes, new_figure, scaled, whole_numbers
from perfield.studies.regimes.plots import shown
from perfield.text import counted, in_percent, in_seconds

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (12.8, 9.6)  # inches
BINS = 50
END = 99.5  # per cent of the waits that the axis shows
SMALL = 20  # eps that is that many times smaller than long waits needs a logarithmic axis
EXCESS, MEAN = PALETTE[0], PALETTE[4]


def splitting(named: Mapping[str, xr.Dataset], axes: Axes | None = None) -> Axes:
    """Draws how the mean splitting parameter of ranks is distributed (Figure 4).

    named : words to studies with `alpha` (rank, step), the share of the inner elements in the first half.
    Raises PlotError if one has no known alpha.
    """
    if not named:
        raise PlotError("there is no study to draw; give at least one.")
    axes = new_axes(axes)
    half = 0.5 / BINS
    bins = np.linspace(-half, 1 + half, BINS + 2)  # 0, 1/2 and 1 are centres
    n_ranks = 0
    for number, (name, rgb) in enumerate(shown.method_colours(named).items()):
        alpha = _of(named[name], "alpha", name)
        means = np.nanmean(alpha[np.isfinite(alpha).any(axis=1)], axis=1)
        n_ranks = max(n_ranks, len(means))
        counts = np.histogram(np.clip(means, 0, 1), bins)[0]
        width = (0.95, 0.65, 0.35, 0.15)[min(number, 3)] / BINS  # narrower ones before wider ones
        label = f"{name}: mean {means.mean():.2f}"
        some = np.flatnonzero(counts)
        centres = (bins[some] + bins[some + 1]) / 2
        axes.bar(centres, counts[some], width, color=rgb, label=label)
    axes.set_xlim(-half, 1 + half)
    axes.set_xlabel("mean alpha of a rank: share of inner elements in the first half")
    axes.set_ylabel("ranks")
    whole_numbers(axes.yaxis)
    axes.legend(frameon=False, fontsize=11)
    more = shown.said(shown.origins(named), counted(n_ranks, "rank"), "1/2: equal halves")
    head(axes, "Where ranks split their elements", more)
    return axes


def waits_and_splitting(
    study: xr.Dataset, figure: Figure | None = None, rank: int | None = None, eps_s: float | None = None
) -> Figure:
    """Draws the waits of a rank for input and for output, and how alpha follows them (Figure 5).

    study : `w_in`, `w_out` in s and `alpha` (rank, step). rank : None: the one that waits longest in all.
    eps_s : s, below which a wait counts as none; None: that of the study. Longer waits are coloured.
    Raises PlotError without such a rank or known waits.
    """
    waits = {part: _of(study, part, "this study") for part in ("w_in", "w_out")}
    ranks = study["rank"].values.tolist()
    if rank is not None and rank not in ranks:
        raise PlotError(f"there is no rank {rank} in this study; choose one of {min(ranks)} to {max(ranks)}.")
    row = ranks.index(rank) if rank is not None else int(np.nansum(sum(waits.values()), axis=1).argmax())
    eps = eps_of(study) if eps_s is None else eps_s
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure = figure or new_figure(SIZE)
    into, out, below = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1, 1))
    numbers, words = shown.steps_of(study)
    known = np.concatenate([each[row][np.isfinite(each[row])] for each in waits.values()])
    high = max(shown.robust_end(known, END), 2 * eps, 1e-9)
    factor, unit = scaled("s", high)
    said = {"w_in": "Waits for input", "w_out": "Waits for output"}
    for (name, values), axes in zip(waits.items(), (into, out)):
        one = values[row]
        excess = one > eps
        for some, rgb in ((~excess, "0.6"), (excess, EXCESS)):
            axes.scatter(numbers[some], one[some] * factor, s=6, color=rgb, linewidths=0, rasterized=True)
        mean = float(np.nanmean(one)) if np.isfinite(one).any() else 0.0
        axes.axhline(
            eps * factor, color="black", linestyle="--", linewidth=1.3, label=f"eps = {in_seconds(eps)}"
        )
        axes.axhline(
            mean * factor, color=MEAN, linestyle="--", linewidth=1.3, label=f"mean {in_seconds(mean)}"
        )
        axes.set_ylim(-0.03 * high * factor, 1.05 * high * factor)
        if 0 < SMALL * eps < high:  # linear up to eps, then by the logarithm
            axes.set_yscale("symlog", linthresh=eps * factor)
            decades = np.arange(np.ceil(np.log10(eps * factor) - 1e-9), np.log10(high * factor) + 1)
            axes.yaxis.set_major_locator(FixedLocator([0.0, *10.0**decades]))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.set_ylim(-0.2 * eps * factor, 1.5 * high * factor)
        axes.set_ylabel(f"wait ({unit})")
        axes.legend(frameon=False, fontsize=10, ncol=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
        longer = int((one > 1.05 * high).sum())
        hidden = float(np.mean(one[np.isfinite(one)] <= eps)) if np.isfinite(one).any() else 0.0
        more = shown.said(
            shown.origin(study) if axes is into else "",
            f"{in_percent(hidden)} are hidden: at most eps, taken as no wait; blue: longer",
            f"{counted(longer, 'wait')} beyond the axis" if longer else "",
        )
        head(axes, f"{said[name]}, rank {ranks[row]}", more)
    alpha = _of(study, "alpha", "this study")[row]
    below.plot(numbers, alpha, color=shown.METHODS[0], linewidth=1.3)
    below.axhline(0.5, color="0.7", linewidth=1)
    below.set_ylim(0, 1)
    below.set_xlim(*shown.axis_of(numbers))
    below.set_ylabel("alpha")
    below.set_xlabel("MatVec" if words == "step" else "MatVec, counted from 0")
    whole_numbers(below.xaxis)
    head(below, "Alpha: share of inner elements before the wait for input", "grey: equal halves")
    return figure


def eps_of(study: xr.Dataset) -> float:
    """The wait below which a study counts a wait as none, s; 0 if it does not say."""
    eps_s = study.attrs.get("eps_s", study.attrs.get("eps"))
    return 0.0 if eps_s is None else float(eps_s)


def _of(study: xr.Dataset, name: str, words: str) -> np.ndarray:
    """A variable of a study, (rank, step). Raises PlotError if it lacks it."""
    if name not in study or not np.isfinite(study[name].values).any():
        raise PlotError(f"{words} has no known {name}; give the record of a solver, or of the model.")
    return study[name].transpose("rank", "step").values.astype(np.float64)
