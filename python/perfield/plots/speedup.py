# SPDX-License-Identifier: BSD-3-Clause
"""How a program scales: speed-up, efficiency, regions and memory over the number of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfield.analysis.scaling_laws import LAWS, STRONG, TIMES
from perfield.catalyst_scripts.palette import BEYOND, PALETTE, TEXT
from perfield.derived.scaling import scaling_of
from perfield.plots.style import STYLE, head, scaled, short
from perfield.text import counted, in_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perfield.analysis.scaling import Scaling
    from perfield.derived.run import Run

SIZE = (14.4, 8.6)  # inches
MOST_REGIONS = 6
IDEAL = {"color": "0.55", "linestyle": "--", "linewidth": 1.5}


def scaling(runs: Sequence[Run], kind: str | None = None) -> Figure:
    """Draws how a program scales, from open runs on different numbers of ranks: four plots in a new Figure.

    kind : "strong" or "weak"; None: by the size of the problem. The plots are those of `draw`. Raises
    ScalingError (perfield.analysis.scaling_laws), which says why these runs cannot be compared.
    """
    return draw(scaling_of(runs, kind))


def draw(found: Scaling) -> Figure:
    """Draws the speed-up with the ideal line and the fitted law, the efficiency with its factors, the time of
    the step and of the regions that lose most, and the memory of a rank. Bars are 95 % confidence intervals
    of repeated runs."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=SIZE, dpi=100, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15, h_pad=0.15)
        panels = figure.subplots(2, 2)
        for axes, drawn in zip(panels.flat, (_speedup, _efficiency, _regions, _memory)):
            drawn(axes, found)
            _number_of_ranks(axes, found.steps.n_ranks)
            axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=11)
    return figure


def _speedup(axes: Axes, found: Scaling) -> None:
    steps = found.steps
    ranks = steps.n_ranks
    axes.plot(ranks, steps.ideal, label="ideal", **IDEAL)
    fitted, law, line = steps.fit, LAWS[found.kind], "-"
    more = "no law is fitted to two numbers of ranks"
    if fitted is not None and fitted.holds:
        at = np.geomspace(ranks[0], ranks[-1], 200)
        time_s = fitted.one_rank_s * TIMES[found.kind](at, fitted.serial_share)
        work = 1.0 if found.kind == STRONG else at / ranks[0]
        axes.plot(at, work * steps.time_s[0] / time_s, color=PALETTE[4], linewidth=2, label=law)
        line, interval = "none", f"{in_percent(fitted.low, 3)} to {in_percent(fitted.high, 3)}"
        more = f"{law}: serial share {in_percent(fitted.serial_share, 3)} (95 % confidence: {interval})"
    elif fitted is not None:
        more = f"{law} does not describe these times"
    _measured(axes, ranks, steps.speedup, steps.speedup_low, steps.speedup_high, "measured", line)
    if found.whole is not None:
        axes.plot(
            ranks, found.whole.speedup, color="0.4", linewidth=1, marker=".", label="whole run, with setup"
        )
    axes.set_yscale("log", base=2)
    _plain_numbers(axes, (1.0,))
    axes.set_ylabel(f"speed-up over {counted(ranks[0], 'rank')}")
    head(
        axes,
        f"{found.kind.capitalize()} scaling: speed-up {steps.speedup[-1]:.3g} of {steps.ideal[-1]:.3g}",
        more,
    )


def _efficiency(axes: Axes, found: Scaling) -> None:
    steps = found.steps
    axes.axhline(1.0, **IDEAL)
    factors = (
        ("load balance", found.load_balance, PALETTE[2], "s"),
        ("communication efficiency", found.communication_efficiency, PALETTE[3], "^"),
        ("computing scales", found.computation_scaling, PALETTE[1], "D"),
    )
    for words, values, rgb, marker in factors:
        if np.isfinite(values).any():
            axes.plot(
                steps.n_ranks, values, color=rgb, marker=marker, markersize=5, linewidth=1.2, label=words
            )
    low, high = steps.speedup_low / steps.ideal, steps.speedup_high / steps.ideal
    _measured(axes, steps.n_ranks, steps.efficiency, low, high, "efficiency")
    axes.set_ylim(0.0, 1.08 * max(1.0, *(float(np.nanmax(line.get_ydata())) for line in axes.lines)))
    axes.set_ylabel("share of the ideal")
    head(
        axes,
        f"Efficiency {in_percent(steps.efficiency[-1], 3)} on {counted(steps.n_ranks[-1], 'rank')}",
        "and what it is made of",
    )


def _regions(axes: Axes, found: Scaling) -> None:
    steps, lost = found.steps, found.lost_s
    chosen = sorted(lost, key=lambda name: -lost[name])[:MOST_REGIONS]
    factor, unit = scaled("s", float(steps.time_s.max()))
    _measured(
        axes,
        steps.n_ranks,
        steps.time_s * factor,
        steps.time_low_s * factor,
        steps.time_high_s * factor,
        "step",
    )
    for number, name in enumerate(chosen):
        of = found.regions[name]
        rgb = PALETTE[(number + 1) % len(PALETTE)]
        axes.plot(of.n_ranks, of.time_s * factor, color=rgb, marker="o", markersize=4, label=short(name))
    axes.plot(steps.n_ranks, steps.time_s[0] * factor / _ideal_gain(found), label="step, ideal", **IDEAL)
    axes.set_yscale("log")
    _plain_numbers(axes, (1.0, 2.0, 5.0))
    axes.set_ylim(bottom=max(axes.get_ylim()[0], float(steps.time_s.min()) * factor / 500))
    axes.set_ylabel(f"time per step, longest rank ({unit})")
    left_out = len(found.regions) - len(chosen)
    more = "regions by what they lose" + (f"; {left_out} more are not shown" if left_out else "")
    head(axes, "Time of a step and its regions", more)


def _memory(axes: Axes, found: Scaling) -> None:
    ranks, lines = found.steps.n_ranks, (found.memory_largest_bytes, found.memory_mean_bytes)
    largest = float(np.nanmax(np.append(np.concatenate(lines), 0.0)))
    if not largest:
        axes.annotate("the runs did not measure memory", (0.5, 0.5), xycoords="axes fraction", ha="center")
    factor, unit = scaled("B", largest)
    for words, values, rgb in zip(("largest rank", "mean"), lines, (BEYOND, PALETTE[0])):
        axes.plot(ranks, values * factor, color=rgb, marker="o", markersize=5, linewidth=1.5, label=words)
    axes.set_ylim(0.0, 1.15 * max(largest * factor, 1e-12))
    axes.set_ylabel(f"resident memory ({unit})")
    head(axes, "Memory of a rank", "the most in any step")


def _measured(
    axes: Axes,
    ranks: np.ndarray,
    values: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    words: str,
    line: str = "-",
) -> None:
    bars = np.nan_to_num(np.stack([values - low, high - values]))
    axes.errorbar(
        ranks,
        values,
        yerr=bars if bars.any() else None,
        color=TEXT,
        marker="o",
        linestyle=line,
        linewidth=2,
        capsize=4,
        label=words,
    )


def _plain_numbers(axes: Axes, parts: tuple[float, ...]) -> None:
    """Ticks of a logarithmic axis as 0.5, 1, 20; parts : of each power of the base that have one."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.yaxis.set_major_locator(LogLocator(axes.yaxis.get_transform().base, subs=parts))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:g}")


def _ideal_gain(found: Scaling) -> np.ndarray:
    """By how much a step would be shorter if the program scaled perfectly."""
    return found.steps.ideal if found.kind == STRONG else np.ones(len(found.steps.ideal))


def _number_of_ranks(axes: Axes, ranks: np.ndarray) -> None:
    """A logarithmic axis with a tick at each number of ranks, or at some of many."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log", base=2)
    shown = ranks[np.append(np.diff(np.log2(ranks)) > np.log2(ranks[-1] / ranks[0]) / 16, True)]
    axes.set_xticks(shown, [f"{count:,}" for count in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("ranks")
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
