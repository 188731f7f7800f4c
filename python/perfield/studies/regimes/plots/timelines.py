# SPDX-License-Identifier: BSD-3-Clause
"""What a rank does in a matrix-vector product: both halves, the mirror elements and the waits (Figure 3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import PALETTE
from perfield.plots.style import PlotError, head, new_axes, new_figure, scaled
from perfield.studies.regimes.plots import shown
from perfield.text import in_seconds

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 12.8, 2.6  # inches, of a figure and of one of its rows
MOST_RANKS = 8  # rows of a timeline
PARTS = ("first half", "wait for input", "mirror elements", "second half", "wait for output")
COLOURS = (PALETTE[0], PALETTE[6], PALETTE[2], PALETTE[5], PALETTE[1])
HATCHES = ("", "//", "", "", "\\\\")


def timelines(
    named: Mapping[str, xr.Dataset], figure: Figure | None = None, step: int | None = None
) -> Figure:
    """Draws one MatVec of each method, below one another on the same scale (Figure 3).

    named : words to studies, as `timeline` takes them. step : which MatVec; None: one with the median time in
    the last quarter; of models the same one, since their methods meet the same latencies.
    """
    if not named:
        raise PlotError("there is no study to draw; give at least one.")
    each = {name: step if step is not None else typical_step(study) for name, study in named.items()}
    if step is None and all(study.attrs.get("source") == "model" for study in named.values()):
        each = dict.fromkeys(named, next(iter(each.values())))
    rows = [min(study.sizes["rank"], MOST_RANKS) for study in named.values()]
    figure = figure or new_figure((WIDTH, max(sum(1.6 + 0.35 * count for count in rows), 4.4)))
    drawn = figure.subplots(len(named), 1, sharex=True, squeeze=False, height_ratios=rows)[:, 0]
    ends = [np.nansum(parts_of(study, each[name]), axis=0).max() for name, study in named.items()]
    factor, unit = scaled("s", float(max(ends)))
    for (name, study), axes in zip(named.items(), drawn):
        timeline(study, axes, each[name], name, (factor, unit))
    drawn[0].set_xlim(left=0)
    for axes in drawn[1:]:
        axes.get_legend().remove()
    for axes in drawn[:-1]:
        axes.set_xlabel("")
    return figure


def timeline(
    study: xr.Dataset,
    axes: Axes | None = None,
    step: int | None = None,
    words: str = "",
    scale: tuple[float, str] | None = None,
) -> Axes:
    """Draws one MatVec as bars, a row for each rank: computing and waiting one after the other.

    study : `t_in`, `t_out`, `w_in`, `w_out` in s, (rank, step); `t_mirror` of a record;
    `t_start` if ranks did not start together.
    step : its number; None: one with the median time. scale : a factor for times, and its unit.
    Raises PlotError for a step that is not there.
    """
    from matplotlib.transforms import ScaledTranslation

    chosen = typical_step(study) if step is None else step
    parts = parts_of(study, chosen)
    axes = new_axes(axes)
    factor, unit = scale or scaled("s", float(np.nansum(parts, axis=0).max()))
    some = np.unique(np.linspace(0, parts.shape[1] - 1, MOST_RANKS).round().astype(int))
    begin = _begins(study, chosen)
    left, apart = begin - np.nanmin(begin), float(np.ptp(begin))
    far = apart > float(np.nansum(parts, axis=0).max())
    left = np.zeros(len(begin)) if far else left  # else all would be thin strokes
    for name, width, rgb, hatch in zip(PARTS, parts, COLOURS, HATCHES):
        bars = {"color": rgb, "hatch": hatch, "edgecolor": "0.25", "linewidth": 0.5, "label": name}
        axes.barh(np.arange(len(some)), width[some] * factor, 0.72, left[some] * factor, **bars)
        left = left + np.nan_to_num(width)
    axes.set_yticks(np.arange(len(some)), [f"{rank}" for rank in study["rank"].values[some]])
    axes.set_ylabel("rank")
    axes.invert_yaxis()
    axes.set_xlabel(f"time ({unit})")
    raised = axes.transAxes + ScaledTranslation(0, shown.RAISED / 72, axes.figure.dpi_scale_trans)
    place = {
        "loc": "lower right",
        "bbox_to_anchor": (1.0, 1.0),
        "bbox_transform": raised,
        "borderaxespad": 0.0,
    }
    axes.legend(frameon=False, fontsize=10, ncol=len(PARTS), **place)
    alpha = study["alpha"].sel(step=chosen).values[some] if "alpha" in study else np.array([])
    ends = [f"{end:.2f}" for end in (np.nanmin(alpha), np.nanmax(alpha))] if np.isfinite(alpha).any() else []
    note = (
        f"alpha {' to '.join(dict.fromkeys(ends))}, share of inner elements in the first half" if ends else ""
    )
    moved = f"each from its own start, up to {in_seconds(apart)} apart" if far else ""
    head(
        axes,
        f"{words or 'One MatVec'}: MatVec {chosen}",
        shown.said(shown.origin(study), note, moved),
    )
    return axes


def typical_step(study: xr.Dataset) -> int:
    """The number of the MatVec with the median time in the last quarter of a study."""
    shown.known(study)
    longest = study["time_s"].max("rank").values
    late = np.arange(3 * len(longest) // 4, len(longest))
    late = late[np.isfinite(longest[late])]
    late = late if len(late) else np.flatnonzero(np.isfinite(longest))
    return int(study["step"].values[late[np.argsort(longest[late], kind="stable")[(len(late) - 1) // 2]]])


def parts_of(study: xr.Dataset, step: int) -> np.ndarray:
    """How long each rank took for each of PARTS in a MatVec, (5, n_ranks) s.

    The time of mirror elements is no part of T: a record holds it; of the model it is a parameter.
    """
    if step not in study["step"].values:
        numbers = study["step"].values
        raise PlotError(
            f"there is no MatVec {step} in this study; choose one of {numbers[0]} to {numbers[-1]}."
        )
    one = study.sel(step=step)
    lacks = [name for name in ("t_in", "t_out", "w_in", "w_out") if name not in one]
    if lacks:
        raise PlotError(
            f"this study has no {', '.join(lacks)}; give the record of a solver, or of the model."
        )
    first, second = one["t_in"] - one["w_in"], one["t_out"] - one["w_out"]
    if "t_mirror" in one:
        mirror = one["t_mirror"]
    else:
        mirror_s = json.loads(study.attrs.get("parameters", "{}")).get("mirror_s", 0.0)
        mirror = first * 0 + np.asarray(mirror_s, float)  # one number, or one of each rank
    parts = np.stack([each.values for each in (first, one["w_in"], mirror, second, one["w_out"])])
    return np.clip(parts, 0, None)


def _begins(study: xr.Dataset, step: int) -> np.ndarray:
    """When each rank began a MatVec, s; equal where the study does not say."""
    if "t_start" in study:
        return study["t_start"].sel(step=step).values.astype(np.float64)
    return np.zeros(study.sizes["rank"])
