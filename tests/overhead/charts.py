# SPDX-License-Identifier: BSD-3-Clause
"""Bar charts of the tables: what each way adds to time and memory, beside what the thesis reports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from bench.report import REPOSITORY
from matplotlib.ticker import NullLocator

sys.path.insert(0, str(REPOSITORY / "catalyst_scripts"))
from overhead.tables import QUANTITIES, Cost, Table
from overhead.ways import BARE
from palette import ABSENT, OUTLINE, PALETTE, TEXT, UNKNOWN

COLOURS = {
    "+ Score-P": PALETTE[1],
    "++ perfield": PALETTE[3],
    "perfield alone": PALETTE[0],
    "perfield, pictures inside": PALETTE[2],
}
THESIS = {"thesis: + Score-P": ABSENT, "thesis: ++ plug-in": UNKNOWN}
GAP = 0.9  # between the groups measured here and those of the thesis


def draw_table(shown: Table, found: dict, path: Path) -> None:
    """Draws a table: one panel for each quantity, one group of bars for each row, the thesis' on the right.

    A whisker is one standard deviation of the runs; the band is that of the bare program.
    """
    headings = [heading for heading in shown.columns if shown.columns[heading] != BARE.name]
    figure, (*panels, key) = plt.subplots(
        len(QUANTITIES) + 1, 1, figsize=(11, 11), height_ratios=[1, 1, 1, 0.16], layout="constrained"
    )
    for panel, (quantity, (words, _)) in zip(panels, QUANTITIES.items()):
        places, labels = [], []
        for at, (program, ranks) in enumerate(shown.rows):
            width = 0.8 / len(headings)
            bare = found.get((program, ranks, BARE.name, quantity))
            for beside, heading in enumerate(headings):
                x = at + (beside - (len(headings) - 1) / 2) * width
                cost = found.get((program, ranks, shown.columns[heading], quantity))
                _bar(panel, x, width, cost, bare, COLOURS[heading])
            if bare and bare.mean and bare.n > 1:
                panel.fill_between(
                    [at - 0.45, at + 0.45],
                    -bare.deviation_percent,
                    bare.deviation_percent,
                    color=OUTLINE,
                    alpha=0.3,
                    lw=0,
                )
            places.append(at)
            labels.append(f"{program}\n{ranks} rank{'s' if ranks > 1 else ''}")
        _thesis_bars(panel, shown, {"wall": 0, "memory": 1}.get(quantity), places, labels)
        _finish(panel, places, labels, f"added to the {words}")
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[heading]) for heading in headings]
    handles += [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in THESIS.values()]
    handles.append(plt.Rectangle((0, 0), 1, 1, color=OUTLINE, alpha=0.3, lw=0))
    key.set_axis_off()
    key.legend(
        handles, [*headings, *THESIS, "bare program, ± 1 deviation"], loc="center", ncols=4, frameon=False
    )
    figure.suptitle(f"Table {shown.number}: {shown.title}", color=TEXT, fontsize=14)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_features(found: dict, programs: Sequence[tuple[str, int]], path: Path) -> None:
    """Draws what each way adds to each program, as horizontal bars."""
    by_program = [[key[2] for key in found if key[:2] == row and key[3] == "wall"] for row in programs]
    order = dict.fromkeys(way for ways in sorted(by_program, key=len, reverse=True) for way in ways)
    ways = [way for way in order if way != BARE.name][::-1]
    figure = plt.figure(figsize=(16, 2.2 + 0.14 * len(ways) * (1 + len(programs))), layout="constrained")
    grid = figure.add_gridspec(2, len(QUANTITIES), height_ratios=[figure.get_figheight() - 1.2, 0.4])
    panels = [figure.add_subplot(grid[0, at]) for at in range(len(QUANTITIES))]
    key = figure.add_subplot(grid[1, :])
    height = 0.8 / len(programs)
    for panel, (quantity, (words, _)) in zip(panels, QUANTITIES.items()):
        for beside, (program, ranks) in enumerate(programs):
            bare = found.get((program, ranks, BARE.name, quantity))
            for at, way in enumerate(ways):
                y = at - (beside - (len(programs) - 1) / 2) * height
                _bar(
                    panel,
                    y,
                    height,
                    found.get((program, ranks, way, quantity)),
                    bare,
                    PALETTE[beside],
                    flat=True,
                )
        panel.axvline(0, color=TEXT, lw=0.8)
        note = _scale(panel, "x")
        panel.set_title(f"added to the {words}, %\n{note.strip()}".rstrip(), color=TEXT, fontsize=11)
        panel.set_yticks(range(len(ways)), ways if panel is panels[0] else [])
        panel.set_ylim(-0.6, len(ways) - 0.4)
        _quiet(panel, "x")
    handles = [plt.Rectangle((0, 0), 1, 1, color=PALETTE[beside]) for beside in range(len(programs))]
    names = [f"{program}, {ranks} rank{'s' if ranks > 1 else ''}" for program, ranks in programs]
    key.set_axis_off()
    key.legend(handles, names, loc="center", ncols=len(names), frameon=False)
    figure.suptitle("One feature and one mode at a time; whiskers: ± 1 deviation", color=TEXT, fontsize=14)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _bar(
    panel, x: float, width: float, cost: Cost | None, bare: Cost | None, colour, flat: bool = False
) -> None:
    """One bar with whisker and number; nothing where there is no such way, a word where it failed."""
    if cost is None:
        return
    if cost.added_percent is None or bare is None:
        words = {"ha": "left", "va": "center"} if flat else {"ha": "center", "va": "bottom", "rotation": 90}
        panel.text(*((0, x) if flat else (x, 0)), " failed", fontsize=8, color=TEXT, **words)
        return
    spread = 100 * cost.deviation / bare.mean if cost.n > 1 else 0.0
    style = {"color": colour, "linewidth": 0, "zorder": 2}
    whisker = {"ecolor": TEXT, "elinewidth": 0.9, "zorder": 3}
    value = cost.added_percent
    if flat:
        panel.barh(x, value, width * 0.92, **style)
        panel.errorbar(value, x, xerr=spread, fmt="none", **whisker)
        panel.annotate(
            _short(value),
            (value + spread if value >= 0 else value - spread, x),
            xytext=(3 if value >= 0 else -3, 0),
            textcoords="offset points",
            ha="left" if value >= 0 else "right",
            va="center",
            fontsize=7,
            color=TEXT,
        )
        return
    panel.bar(x, value, width * 0.92, **style)
    panel.errorbar(x, value, yerr=spread, fmt="none", **whisker)
    _number(panel, x, value, spread)


def _short(value: float) -> str:
    whole = abs(value) >= 9.95 or isinstance(value, int)  # the thesis gives whole numbers
    return f"{value:+,.0f}" if whole else f"{value:+.1f}"


def _scale(panel, axis: str) -> str:
    """Makes an axis of percentages, logarithmic beyond 10 % if a bar exceeds 100 %; returns what to say."""
    flat = axis == "x"
    low, high = panel.get_xlim() if flat else panel.get_ylim()
    low, high = min(low, -1.0), max(high, 1.0)
    note = ""
    if max(high, -low) > 100:
        (panel.set_xscale if flat else panel.set_yscale)("symlog", linthresh=10, linscale=1)
        note = " (logarithmic beyond 10 %)"
        ticks = [tick for tick in (-100, -10, 0, 10, 100, 1000, 10000) if low * 1.5 <= tick <= high * 1.5]
        (panel.set_xticks if flat else panel.set_yticks)([tick for tick in ticks if tick != -10 or not flat])
        low, high = (low * 3 if low < -10 else low - 4), high * (6 if flat else 3)
    else:
        low, high = low - 0.12 * (high - low), high + 0.12 * (high - low)
    (panel.set_xlim if flat else panel.set_ylim)(low, high)
    lines = panel.xaxis if flat else panel.yaxis
    lines.set_minor_locator(NullLocator())
    lines.set_major_formatter("{x:,g}" if flat else "{x:,g} %")
    return note


def _number(panel, x: float, value: float, spread: float = 0.0) -> None:
    up = value >= 0
    panel.annotate(
        _short(value),
        (x, value + spread if up else value - spread),
        xytext=(0, 3 if up else -3),
        textcoords="offset points",
        ha="center",
        va="bottom" if up else "top",
        fontsize=7.5,
        color=TEXT,
    )


def _thesis_bars(panel, shown: Table, part: int | None, places: list, labels: list) -> None:
    """The thesis' rows right of those measured here. part : 0 for time, 1 for memory, None for neither."""
    begin = len(shown.rows) - 1 + GAP
    panel.axvline(begin - 0.05, color=OUTLINE, lw=0.8, ls=(0, (4, 3)))
    panel.set_xlim(-0.6, begin + len(shown.reported) + 0.1)
    if part is None:
        at = (begin + len(shown.reported) / 2, 0.5)
        words = "the thesis does not report CPU time"
        panel.text(*at, words, transform=panel.get_xaxis_transform(), ha="center", color=TEXT, fontsize=9)
        return
    for at, row in enumerate(shown.reported):
        place = begin + 0.5 + at
        for x, value, colour in (
            (place - 0.2, row.scorep_percent[part], THESIS["thesis: + Score-P"]),
            (place + 0.2, row.plugin_percent[part], THESIS["thesis: ++ plug-in"]),
        ):
            panel.bar(x, value, 0.37, color=colour, linewidth=0, zorder=2)
            _number(panel, x, value)
        spread = row.deviation_percent[part]
        panel.fill_between([place - 0.45, place + 0.45], -spread, spread, color=OUTLINE, alpha=0.3, lw=0)
        places.append(place)
        labels.append(f"thesis: {row.program}\n{row.ranks} ranks")


def _finish(panel, places: list, labels: list, title: str) -> None:
    panel.axhline(0, color=TEXT, lw=0.8, zorder=4)
    panel.set_xticks(places, labels, fontsize=9)
    panel.set_title(title + _scale(panel, "y"), color=TEXT, fontsize=11, loc="left")
    _quiet(panel, "y")


def _quiet(panel, axis: str) -> None:
    panel.grid(axis=axis, color=ABSENT, lw=0.5, zorder=0)
    panel.set_axisbelow(True)
    panel.tick_params(length=0, colors=TEXT)
    for side in panel.spines.values():
        side.set_visible(False)
