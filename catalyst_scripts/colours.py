# SPDX-License-Identifier: BSD-3-Clause
"""Colours and legends of all pipelines.

A few categories take the colours of `palette`, many take steps of viridis. Values that were not measured
(NaN) are grey and unknown peers of messages dark, as the legend shows. Cells that serve only for orientation
are outlines.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from drawing import pv
from palette import (
    ABSENT,
    BEYOND,
    OUTLINE,
    PALETTE,
    PRESETS,
    TEXT,
    UNKNOWN,
    colour_map,
    pale,
    regime_colours,
)
from ticks import amount, ticks, unit_of

PLACE = (0.82, 0.2)  # of the legend
SHADES = "regime_shade"  # twice the regime, and one more where it is certain
CATEGORIES = {
    *("node_id", "host_name", "topology_type", "package_id", "core_id", "pu_id"),
    *("same_node", "same_package", "same_numa", "same_switch", "hops"),
    *("rank", "source", "target", "name", "level", "id", "device_type", "regime"),
    *("lower_rank", "higher_rank"),
    *("communicator", "call", "direction", "row"),
    SHADES,
}


def colour(
    display: Any,
    view: Any,
    field: str,
    about: Mapping[str, Any],
    names: Mapping[int, str] | None = None,
    own_scale: Any = None,
) -> Any:
    """Colours a display by an array and adds its legend at the right; returns the legend.

    about : the array's description in pictures.json. Its scale spans all steps, so a colour means the same in
    every step. Where a few values go far beyond the others, the scale ends before them; they are orange, as
    the legend shows. A value that is the same everywhere has one colour and one number. Of a category with
    few numbers, the legend has those that occur. names : the meaning of a category's numbers. own_scale :
    both ends of the colours of a step that has its own.
    """
    vector = about["components"] > 1
    pv.ColorBy(display, (about["association"], field, *(["Magnitude"] if vector else [])))
    table = pv.GetColorTransferFunction(field)
    low, most = about["range"]
    category = field in CATEGORIES and about.get("scale") is None  # own fields of the simulation have a scale
    is_constant = low == most and not category
    low, high = (low, most) if is_constant else own_scale or about.get("scale") or (low, most)
    unknown = [round(low)] if category and low < 0 else []  # known ranks count from 0
    if unknown:
        low = 0
    names = names or {int(number): words for number, words in about.get("names", {}).items()}
    numbers = sorted(names) if names else range(round(low), round(most) + 1)
    few = numbers if len(numbers) <= len(PALETTE) or field == SHADES else _few(numbers, not names)
    scale, unit = unit_of(about)
    if category:
        high = most
        occur = about.get("values", few) if few is numbers else few
        marks = {number: names[number] if names else str(number) for number in few if number in occur}
        marks |= {number: "peer unknown" for number in unknown}
    elif is_constant:
        marks = {most: f"{amount(most * scale)} everywhere"}
    else:
        whole = about["unit"] == "1" or (not about["unit"] and about.get("whole", False))
        marks = ticks(low, high, scale, whole)
    table.AutomaticRescaleRangeMode = "Never"  # ParaView would end the colours at a single step's range
    table.InterpretValuesAsCategories = int(low == most or (category and few is numbers))
    if table.InterpretValuesAsCategories:
        chosen = _shades(numbers) if field == SHADES else PALETTE
        indexed = [rgb for number, rgb in zip(few if category else marks, chosen) if number in marks]
        indexed += [UNKNOWN for _ in unknown]
        table.IndexedColors = [part for rgb in indexed for part in rgb]
    else:
        table.ApplyPreset(PRESETS[colour_map(field)], True)
        edge = 0.5 if category else 0.0
        table.RescaleTransferFunction(low - edge, high + edge)
        table.Discretize = 1
        table.NumberOfTableValues = min(256, len(numbers)) if category else 256
    table.UseAboveRangeColor = int(high < most)
    table.AboveRangeColor = BEYOND
    table.UseBelowRangeColor = int(bool(unknown))
    table.BelowRangeColor = UNKNOWN
    table.NanColor = ABSENT
    table.NanOpacity = 1.0
    table.AnnotationsInitialized = 1
    # Two blanks: otherwise the line from the colour to the number looks like a minus.
    table.Annotations = [text for value, name in marks.items() for text in (repr(float(value)), f"  {name}")]
    legend = pv.GetScalarBar(table, view)
    title = about["title"] + (" magnitude" if vector else "") + (f" ({unit})" if unit else "")
    beyond = [f"orange: up to {amount(most * scale)}"] if high < most else []
    beyond += ["dark: peer unknown"] if unknown and few is not numbers else []
    blank = " "  # a line of space above the first number
    legend.Title = "\n".join([*title_lines(title, view), *beyond, blank])
    legend.DrawNanAnnotation = int(about["absent"])
    _style(legend, view)
    display.SetScalarBarVisibility(view, True)
    return legend


def plain(display: Any, rgb: tuple[float, float, float], opacity: float = 1.0) -> None:
    """Gives a display one colour."""
    display.ColorArrayName = ["POINTS", ""]
    display.DiffuseColor = display.AmbientColor = rgb
    display.Opacity = opacity


def outline(display: Any) -> None:
    """Shows only the edges of cells that serve for orientation, unlike absent values, which are filled."""
    display.Representation = "Wireframe"
    plain(display, OUTLINE)


def font_size(view: Any, points: int) -> int:
    """Scales a font size for a full-size image down to the size of the view, less in a tall one."""
    width, height = view.ViewSize
    return max(11, round(points * min(1.0, max(width / 1600, min(width / 1200, height / 1080)))))


def _style(legend: Any, view: Any) -> None:
    legend.ComponentTitle = ""
    legend.TitleColor = legend.LabelColor = TEXT
    legend.TitleFontSize, legend.LabelFontSize = font_size(view, 22), font_size(view, 20)
    legend.HorizontalTitle = 1
    legend.TitleJustification = "Left"
    legend.Orientation = "Vertical"
    legend.WindowLocation = "Any Location"
    legend.Position = list(PLACE)
    legend.ScalarBarLength = 0.5
    legend.ScalarBarThickness = font_size(view, 26)
    legend.TextPosition = "Ticks left/bottom, annotations right/top"
    legend.DrawTickMarks = legend.DrawTickLabels = legend.AddRangeLabels = 0
    legend.DrawAnnotations = 1
    legend.NanAnnotation = "  absent"


def title_lines(title: str, view: Any) -> list[str]:
    """Breaks a legend's title into lines that fit; words that are too long lose their middle."""
    most = round((1 - PLACE[0]) * view.ViewSize[0] / (0.58 * font_size(view, 22)))
    half = most // 2 - 1
    words = [word if len(word) <= most else f"{word[:half]}...{word[-half:]}" for word in title.split(" ")]
    return textwrap.wrap(" ".join(words), most, break_on_hyphens=False, break_long_words=False)


def _shades(numbers: Any) -> list[tuple[float, ...]]:
    """The colours of regimes: pale for even numbers, which are uncertain."""
    colours = regime_colours(max(numbers) // 2 + 1)
    return [colours[number // 2] if number % 2 else pale(colours[number // 2]) for number in numbers]


def _few(values: Any, is_round: bool) -> list[int]:
    """At most 11 evenly spaced numbers of an ascending list, including the first and the last. is_round : of
    all numbers from one to another; round ones, but for the last."""
    if len(values) <= 11:
        return list(values)
    if is_round:
        first, last = values[0], values[-1]
        round_ones = (n * 10**power for power in range(10) for n in (1, 2, 5))
        each = next(one for one in round_ones if last - first <= 6.5 * one)
        return [*range(first, last - each // 2, each), last]
    return sorted({values[round(n * (len(values) - 1) / 5)] for n in range(6)})
