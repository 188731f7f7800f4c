# SPDX-License-Identifier: BSD-3-Clause
"""What plots of regimes share: colours and names of regimes and methods, units, and which steps are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import PALETTE, TEXT, regime_colours
from perfield.plots.style import PlotError, scaled
from perfield.studies.regimes.model import REGIME, TIME, UNKNOWN, Model, largest
from perfield.studies.regimes.model.machine import regime_name
from perfield.text import counted, in_percent

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

RGB = tuple[float, ...]
METHODS: tuple[RGB, ...] = (
    TEXT,
    PALETTE[3],
    PALETTE[2],
    PALETTE[5],
    PALETTE[6],
)  # none of the regimes' colours
RAISED = 17  # points from the Axes to the line of their title
FEW = 4  # regimes whose legend has room for all words
WIDE = 8.0  # times that differ more than that many times need a logarithmic axis
FEW_RANKS = 8  # fewer are shown one by one: a curve of their spread would be made up
MOST_POINTS = 4000  # of a cloud of points; more are thinned


def regime_names(n: int) -> list[str]:
    """The name of each of n regimes, as in sentences: "fast", "middle", "slow"."""
    return [regime_name(number, n) for number in range(n)]


def method_colours(named: Mapping[str, xr.Dataset]) -> dict[str, RGB]:
    """The colour of each method or run."""
    return {name: METHODS[number % len(METHODS)] for number, name in enumerate(named)}


def n_regimes(times: xr.Dataset) -> int:
    """How many regimes timings are divided into. Raises PlotError if they are not classified."""
    if REGIME not in times:
        raise PlotError("these timings have no regimes; give classified ones, as `classify` returns them.")
    if "model" in times.attrs:
        return Model.from_json(times.attrs["model"]).n_regimes
    return max(1, int(times[REGIME].values.max(initial=0)) + 1)


def number_among(times: xr.Dataset, number: int, n: int) -> int:
    """Which regime of these timings is shown as number `number` of n; a number of nobody if they lack it.

    The fastest is shown as fast and the slowest as slow, also beside timings that are divided into more.
    """
    own = n_regimes(times)
    if number == n - 1:
        return own - 1 if own > 1 or n == 1 else UNKNOWN - 1
    return number if number < max(own - 1, 1) else UNKNOWN - 1


def shares(times: xr.Dataset) -> np.ndarray:
    """The share of steps of all ranks that are in each regime, (n_regimes); NaN without a known regime."""
    regime = times[REGIME].transpose("rank", "step").values
    weights = np.broadcast_to(spans(times), regime.shape)[regime > UNKNOWN]
    counts = np.bincount(regime[regime > UNKNOWN].astype(np.int64), weights, n_regimes(times))
    return counts / counts.sum() if counts.sum() else np.full(len(counts), np.nan)


def spans(times: xr.Dataset) -> np.ndarray:
    """(n_steps,), how many steps each column of timings adds up."""
    return times["span"].values if "span" in times.coords else np.ones(times.sizes["step"], np.int64)


def column(times: xr.Dataset) -> str:
    """What a column of timings is: a "step", or a "frame" of several steps."""
    return "frame" if "span" in times.coords else "step"


def known(times: xr.Dataset, words: str = "these timings") -> np.ndarray:
    """All known times, in s. Raises PlotError if there is none."""
    values = times[TIME].values
    values = values[np.isfinite(values)]
    if not len(values):
        raise PlotError(f"{words} hold no known time to plot; choose another field or other steps.")
    return values


def what(times: xr.Dataset) -> str:
    """What was timed, in words: "time of a step", "time of a MatVec"."""
    name = str(times[TIME].attrs.get("long_name", "time"))
    return "time of a MatVec" if name == "MatVec" else name


def unit(*all_times_s: np.ndarray) -> tuple[float, str]:
    """A factor for times and the unit that suits both typical and long ones: (1000.0, "ms")."""
    values = np.concatenate([np.ravel(each) for each in all_times_s])
    typical, long = (float(end) for end in np.percentile(values, (50, 99)))
    return scaled("s", float(np.sqrt(typical * long)) if typical > 0 else long)


def size(times: xr.Dataset) -> str:
    """How many ranks and steps there are: "20 ranks, 8,192 steps"; of a reduced series, "8,192 steps". Where
    frames add up several steps: "100 frames of 8,192 steps"."""
    steps = counted(times.sizes["step"], column(times))
    if "span" in times.coords:
        steps += f" of {counted(int(spans(times).sum()), 'step')}"
    if times.sizes["rank"] == 1 and int(times["rank"][0]) < 0:
        return steps
    return f"{counted(times.sizes['rank'], 'rank')}, {steps}"


def longest(times: xr.Dataset) -> xr.Dataset:
    """The longest time of all ranks in each step; of a reduced series, itself."""
    return times if times.sizes["rank"] == 1 and REGIME in times else largest(times)


def steps_of(times: xr.Dataset) -> tuple[np.ndarray, str]:
    """A number for each step, for axes, and what it is: their own numbers where these follow one another."""
    numbers = times["step"].values
    if column(times) == "step" and (len(numbers) < 2 or (np.diff(numbers) == 1).all()):
        return numbers, "step"
    return np.arange(len(numbers)), f"{column(times)}, counted from 0"


def axis_of(numbers: np.ndarray) -> tuple[float, float]:
    """The ends of an axis of whole numbers, half a number beyond the first and the last."""
    return float(numbers[0]) - 0.5, float(numbers[-1]) + 0.5


def thinned(n: int, most: int = MOST_POINTS, seed: int = 0) -> np.ndarray:
    """Positions of at most so many of n points, chosen by chance and sorted; the same for the same seed."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def legend_of_regimes(axes: Axes, times: xr.Dataset, inside: bool = False) -> None:
    """Names the regimes with their share of steps, beside the title, or inside the Axes."""
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    n, of = n_regimes(times), shares(times)
    of_steps = " of steps" if n <= FEW else ""
    rows = [
        Patch(color=rgb, label=f"{name}, {in_percent(share)}{of_steps}")
        for name, rgb, share in zip(regime_names(n), regime_colours(n), of)
        if np.isfinite(share)
    ]
    if not rows:
        return
    place: dict[str, object] = {"loc": "best"}
    if not inside:
        raised = axes.transAxes + ScaledTranslation(0, RAISED / 72, axes.figure.dpi_scale_trans)
        place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "bbox_transform": raised}
        place.update(ncol=len(rows), borderaxespad=0.0)
    shape = {"frameon": False, "fontsize": 10.5, "handlelength": 1.0, "columnspacing": 1.2}
    axes.legend(handles=rows, **shape, **place)


def robust_end(values: np.ndarray, percentile: float = 99.0) -> float:
    """An end of an axis that a few very long times do not stretch: of at most that percentile, and a bit."""
    return 1.06 * float(np.percentile(values, percentile))


def origin(times: xr.Dataset) -> str:
    """Where numbers of a study come from: "model", "measured", "measured, latencies injected", or ""."""
    source = str(times.attrs.get("source", ""))
    injected = times.attrs.get("injected")
    return f"{source}, latencies injected" if source and injected not in (None, 0, "", "false") else source


def origins(named: Mapping[str, xr.Dataset]) -> str:
    """Where the numbers of several come from, each once."""
    return " and ".join(dict.fromkeys(filter(None, map(origin, named.values()))))


def said(*parts: str) -> str:
    """Parts of a line below a title, without the empty ones."""
    return "; ".join(filter(None, parts))


def density(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """A kernel density estimate of values at some points; NaN where all values are alike."""
    from scipy.stats import gaussian_kde

    if len(values) < 2 or float(np.ptp(values)) <= 1e-9 * abs(float(values[0])):
        return np.full(len(at), np.nan)
    return gaussian_kde(values)(at)


def is_wide(low: float, high: float) -> bool:
    """Whether an axis from one time to the other needs to be logarithmic."""
    return low > 0 and high > WIDE * low


def by_logarithm(axis: Axis) -> None:
    """Makes an axis logarithmic, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    subs = (1, 2, 5) if high < 150 * max(low, 1e-300) else (1,)
    axis.set_major_locator(LogLocator(10, subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())
