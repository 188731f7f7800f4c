# SPDX-License-Identifier: BSD-3-Clause
"""Colours, legends and titles that all pipelines share; safe for colour-blind eyes.

Continuous values take viridis, categories the palette of Okabe and Ito while they are few, else steps of
viridis. What was not measured (NaN) is grey, and the legend says so.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import paraview.simple as pv

# Okabe and Ito's palette without black and grey, which are the colours of text and of what is absent.
PALETTE = (
    *((0.000, 0.447, 0.698), (0.902, 0.624, 0.000), (0.000, 0.620, 0.451), (0.800, 0.475, 0.655)),
    *((0.835, 0.369, 0.000), (0.337, 0.706, 0.914), (0.941, 0.894, 0.259)),
)
ABSENT = (0.72, 0.72, 0.72)
BEYOND = PALETTE[4]
TEXT = (0.1, 0.1, 0.1)
WIDEST = 22  # letters in a line of a legend
CONTINUOUS = "Viridis (matplotlib)"
PLACES = {"node_id", "host_name", "topology_type", "package_id", "core_id", "pu_id"}
CATEGORIES = PLACES | {"rank", "source", "target"}
ENDINGS = (
    *(("_time_per_cell_s", "time per cell (s)"), ("_self_time_s", "self time (s)"), ("_time_s", "time (s)")),
    *(("_bytes", "(bytes)"), ("_count", "(number)"), ("_s", "(s)")),
)


def label(field: str) -> str:
    """A field's name for people, its unit at the end: solve_time_s -> "solve time (s)"."""
    base, separator, peer = field.rpartition("_to_" if "_to_" in field else "_from_")
    if separator and peer.isdigit():
        return f"{label(base)} {separator.strip('_')} rank\N{NO-BREAK SPACE}{peer}"
    for ending, words in ENDINGS:
        if field.endswith(ending):
            return f"{field[: -len(ending)]} {words}"
    return field.replace("_", " ") if field in CATEGORIES else field


def colour(
    display: Any,
    view: Any,
    field: str,
    association: str,
    bounds: tuple[float, float] | None,
    names: Mapping[int, str] | None = None,
    absent: bool = False,
    end: float | None = None,
) -> Any:
    """Colours a display by an array and adds its legend at the right; returns the legend.

    association : "POINTS" or "CELLS". bounds : smallest and largest value over all steps, so that every step
    has the same colours; None: nothing was measured. names : what the numbers of a category mean. absent :
    whether the legend explains the grey. end : where the colours end before the largest value, which the
    legend then says in words; what is beyond is orange.
    """
    pv.ColorBy(display, (association, field))
    table = pv.GetColorTransferFunction(field)
    low, high = bounds or (0.0, 1.0)
    most = high
    values = sorted(names) if names else range(round(low), round(high) + 1)
    if field in CATEGORIES and len(values) <= len(PALETTE):
        table.InterpretValuesAsCategories = 1
        table.AnnotationsInitialized = 1
        table.Annotations = [
            text for value in values for text in (str(value), names[value] if names else str(value))
        ]
        table.IndexedColors = [part for rgb in PALETTE[: len(values)] for part in rgb]
    else:
        table.InterpretValuesAsCategories = 0
        table.ApplyPreset(CONTINUOUS, True)
        if field in CATEGORIES:
            table.Discretize = 1
            table.NumberOfTableValues = min(256, round(high - low) + 1)
            low, high = low - 0.5, high + 0.5
        elif low == high:  # one colour needs a range all the same
            bounds = low, high = (0.0, 2 * high) if high > 0 else (low - 1, high + 1)
        if end is not None and field not in CATEGORIES:
            bounds = low, high = low, end
        table.RescaleTransferFunction(low, high)
        table.UseAboveRangeColor = int(high < most)
        table.AboveRangeColor = BEYOND
    table.NanColor = ABSENT
    table.NanOpacity = 1.0
    legend = pv.GetScalarBar(table, view)
    _style(legend, field, bounds, absent, f"orange: up to {most:.3g}" if high < most else "")
    if table.InterpretValuesAsCategories:
        legend.TextPosition = "Ticks left/bottom, annotations right/top"
    display.SetScalarBarVisibility(view, True)
    return legend


def plain(display: Any, rgb: tuple[float, float, float], opacity: float = 1.0) -> None:
    """Gives a display one colour."""
    display.ColorArrayName = ["POINTS", ""]
    display.DiffuseColor = display.AmbientColor = rgb
    display.Opacity = opacity


def _style(legend: Any, field: str, bounds: tuple[float, float] | None, absent: bool, note: str) -> None:
    named = field in CATEGORIES
    legend.Title = "\n".join([*_lines(label(field)), *([note] if note else [])])
    legend.ComponentTitle = ""
    legend.TitleColor = legend.LabelColor = TEXT
    legend.TitleFontSize, legend.LabelFontSize = 22, 20
    legend.HorizontalTitle = 1
    legend.TitleJustification = "Left"
    legend.Orientation = "Vertical"
    legend.WindowLocation = "Any Location"
    legend.Position = [0.82, 0.2]
    legend.ScalarBarLength = 0.5
    legend.ScalarBarThickness = 26
    legend.AutomaticLabelFormat = 0
    legend.LabelFormat = "%.0f" if named else "%.3g"
    legend.AddRangeLabels = 0
    legend.UseCustomLabels = 1
    legend.CustomLabels = _ticks(*bounds, whole=named) if bounds else []
    legend.DrawNanAnnotation = int(absent)
    legend.NanAnnotation = "absent"


def _lines(title: str) -> list[str]:
    """A legend's title in lines that fit; of words that are too long, the middle is left out."""
    words = [word if len(word) <= WIDEST else f"{word[:9]}...{word[-9:]}" for word in title.split(" ")]
    return textwrap.wrap(" ".join(words), WIDEST)


def _ticks(low: float, high: float, whole: bool) -> list[float]:
    """At most 11 numbers from low to high, both among them; whole ones if asked for."""
    if whole and high - low <= 10:
        return [low + n for n in range(round(high - low) + 1)]
    ticks = [*(low + (high - low) * n / 5 for n in range(5)), high]
    return sorted({float(round(tick)) for tick in ticks}) if whole else ticks
