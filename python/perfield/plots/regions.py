# SPDX-License-Identifier: BSD-3-Clause
"""Region bars: how much of each region's time is computing, MPI by class, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfield.catalyst_scripts.palette import ABSENT, PALETTE, TEXT
from perfield.derived.region_sums import COST, TIME
from perfield.plots.source import Source
from perfield.plots.style import Steps, about_run, frames_of, head, new_axes, scaled, short
from perfield.text import in_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from perfield.derived.run import Run

MOST_REGIONS = 14
UNDIVIDED = ""
PARTS = {  # kind of field -> its words and colour
    COST: ("compute", PALETTE[2]),
    "delayed_compute_time_s": ("waiting for a PU", (0.75, 0.68, 0.55)),
    "mpi_p2p_time_s": ("point-to-point", PALETTE[5]),
    "mpi_wait_time_s": ("wait", PALETTE[0]),
    "mpi_collective_time_s": ("collective", PALETTE[3]),
    "mpi_onesided_time_s": ("one-sided", PALETTE[6]),
    "mpi_io_time_s": ("MPI-IO", PALETTE[1]),
    "mpi_other_time_s": ("other MPI", (0.45, 0.45, 0.45)),
    "file_time_s": ("files", PALETTE[4]),
    UNDIVIDED: ("not divided", ABSENT),
}


def region_bars(
    run: Run, steps: Steps = None, axes: Axes | None = None, source: Source | None = None
) -> Axes:
    """Draws a bar for each region: its mean time per step and rank, divided into computing, MPI by class,
    and files. The region whose balancing would save most comes first; the first bar is the whole step.

    run : an open run. steps, axes, source : as `perfield.plots` says. At most 14 regions are shown. Times
    include the regions inside a region, so bars may overlap in time. Behind each bar are the imbalance of
    its compute time and what balancing it would save over all shown steps.
    """
    positions = frames_of(run, steps)
    source = source or Source(run)
    sums = source.region_sums(positions)
    order = sums.order[:MOST_REGIONS]
    names = {region.field: region.name for region in run.known_regions}
    labels = ["whole step", *(short(names[sums.stems[row]]) for row in order)]
    whole, note = _whole_step(source, positions)
    parts = [whole, *({kind: float(of[row].sum()) for kind, of in sums.seconds.items()} for row in order)]
    notes = [note, *(_note(sums.longest_s[row], sums.mean_s[row], sums.saved_s[row]) for row in order)]
    axes = new_axes(axes)
    shares = max(int((sums.step_s > 0).sum()), 1) * len(positions)
    totals = np.array([of_bar.get(TIME, 0.0) for of_bar in parts]) / shares
    factor, unit = scaled("s", float(totals.max()))
    ends = np.zeros(len(parts))
    for kind, (words, rgb) in PARTS.items():
        widths = np.array([max(of_bar.get(kind, 0.0), 0.0) for of_bar in parts]) / shares
        if kind == UNDIVIDED:  # no calls were seen inside regions
            widths = np.where(ends > 0, 0.0, totals)
        if widths.any():
            axes.barh(
                range(len(parts)), widths * factor, left=ends * factor, color=rgb, label=words, height=0.7
            )
            ends += widths
    for row, words in enumerate(notes):
        beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "fontsize": 11}
        axes.annotate(words, (ends[row] * factor, row), color=TEXT, **beside)
    axes.set_yticks(range(len(parts)), labels, parse_math=False)
    axes.set_ylim(max(len(parts), 5) - 0.4, -0.6)
    axes.set_xlim(0, 1.45 * max(float(ends.max()) * factor, 1e-12))
    axes.set_xlabel(f"mean time per step and rank ({unit})")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, -0.12), ncol=len(PARTS))
    left_out = len(sums.stems) - len(order)
    more = about_run(run, positions) + (f"; {left_out} more regions are not shown" if left_out else "")
    head(axes, "Where the time of a step goes, and what balancing would save", more)
    return axes


def _whole_step(source: Source, positions: np.ndarray) -> tuple[dict[str, float], str]:
    """Seconds of all ranks and steps by kind of field, and the note on their balance."""
    kinds = {kind: kind for kind in (COST, *PARTS, "io_time_s") if kind in source.run.columns.names}
    kinds |= {TIME: "step_time_s"}
    sums = dict.fromkeys(kinds, 0.0)
    for values in source.values(positions, list(kinds.values())):
        for number, kind in enumerate(kinds):
            sums[kind] += float(np.nansum(values[:, number]))
    longest, mean = np.nansum(source.of_steps(positions)[:2], axis=1)
    sums["file_time_s"] = sums.pop("io_time_s", 0.0) - sums.get("mpi_io_time_s", 0.0)  # io holds MPI-IO
    return sums, _note(longest, mean, source.saved_s(positions))


def _note(longest_s: float, mean_s: float, saved_s: float) -> str:
    if not mean_s > 0:
        return ""
    return f"imbalance {longest_s / mean_s:.2f}, balancing saves {in_seconds(saved_s)}"
