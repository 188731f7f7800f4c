# SPDX-License-Identifier: BSD-3-Clause
"""The colour tables and legends of `paraview.simple`, made of VTK alone, for `vtk_drawing`.

Legends look as ParaView's do: its class of them is no part of VTK.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palette import MAPS, PRESETS
from vtk_flat import RGB, boxes_of, letters, text_at
from vtkmodules.vtkRenderingCore import vtkActor2D, vtkDiscretizableColorTransferFunction

GAP = 4  # pixels between two colours of a legend
TICK = 8  # pixels of the line from a legend's colour towards its number
ROWS = 256  # of a continuous legend


class Table:
    """The colours of an array's values."""

    InterpretValuesAsCategories = UseAboveRangeColor = UseBelowRangeColor = 0
    IndexedColors: Sequence[float] = ()
    AboveRangeColor: RGB = (0.5, 0.5, 0.5)
    BelowRangeColor: RGB = (0.0, 0.0, 0.0)
    NanColor: RGB = (1.0, 1.0, 0.0)
    Annotations: Sequence[str] = ()
    NumberOfTableValues = 256
    Discretize = 1

    def __init__(self, name: str):
        self.name, self.range = name, (0.0, 1.0)
        self._colours: list[tuple[float, ...]] = [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0)]

    def ApplyPreset(self, preset: str, rescale: bool) -> None:
        """Takes the colours of one of `palette.PRESETS`."""
        text = MAPS[next(name for name, known in PRESETS.items() if known == preset)]
        self._colours = [
            tuple(part / 255 for part in bytes.fromhex(text[n : n + 6])) for n in range(0, len(text), 6)
        ]

    def RescaleTransferFunction(self, low: float, high: float) -> None:
        """Spreads the colours from low to high."""
        self.range = (low, high)

    @property
    def marks(self) -> dict[float, str]:
        """The texts of some values."""
        return dict(zip(map(float, self.Annotations[::2]), self.Annotations[1::2]))

    @property
    def indexed(self) -> list[RGB]:
        """The colours of the categories, in the order of `marks`."""
        return [self.IndexedColors[n : n + 3] for n in range(0, len(self.IndexedColors), 3)]

    def function(self, component: str = "") -> vtkDiscretizableColorTransferFunction:
        """What VTK colours with. component : "Magnitude" of vectors."""
        made = vtkDiscretizableColorTransferFunction()
        low, high = self.range
        for n, rgb in enumerate(self._colours):
            made.AddRGBPoint(low + (high - low) * n / (len(self._colours) - 1), *rgb)
        made.SetIndexedLookup(self.InterpretValuesAsCategories)
        if self.InterpretValuesAsCategories:
            made.SetNumberOfIndexedColors(len(self.indexed))
            for n, (value, rgb) in enumerate(zip(self.marks, self.indexed)):
                made.SetAnnotation(value, self.marks[value])
                made.SetIndexedColorRGB(n, tuple(rgb))
        made.SetDiscretize(self.Discretize)
        made.SetNumberOfValues(self.NumberOfTableValues)
        made.SetUseAboveRangeColor(self.UseAboveRangeColor)
        made.SetAboveRangeColor(*self.AboveRangeColor)
        made.SetUseBelowRangeColor(self.UseBelowRangeColor)
        made.SetBelowRangeColor(*self.BelowRangeColor)
        made.SetNanColor(*self.NanColor)
        if component == "Magnitude":
            made.SetVectorModeToMagnitude()
        made.Build()
        return made


class Legend:
    """The legend of a table."""

    Title = ""
    TitleColor: RGB = (1.0, 1.0, 1.0)
    LabelColor: RGB = (1.0, 1.0, 1.0)
    TitleFontSize = LabelFontSize = 16
    Position: Sequence[float] = (0.89, 0.02)
    ScalarBarLength, ScalarBarThickness = 0.33, 16
    DrawNanAnnotation, NanAnnotation = 0, "NaN"
    Visibility = 0

    def __init__(self, table: Table):
        self.table = table

    def drawn(self, size: tuple[int, int]) -> list[vtkActor2D]:
        """The actors in an image of a size."""
        if not self.Visibility:
            return []
        x, low = (part * length // 1 for part, length in zip(self.Position, size))
        high, side, table = low + self.ScalarBarLength * size[1], self.ScalarBarThickness, self.table
        boxes, marks, bottom = [], [], low
        if self.DrawNanAnnotation:
            boxes.append((x, low, x + side, low + side, table.NanColor))
            marks.append((low + side / 2, self.NanAnnotation))
            bottom += side + GAP
        of_values = self._categories if table.InterpretValuesAsCategories else self._scale
        for found, more in zip((boxes, marks), of_values(x, bottom, high)):
            found += more
        boxes += [(x + side, y - 0.5, x + side + TICK, y + 0.5, self.LabelColor) for y, _ in marks]
        title = text_at(
            self.Title, x, high + self.TitleFontSize / 2, letters(self.TitleFontSize, self.TitleColor)
        )
        look = letters(self.LabelFontSize, self.LabelColor)
        look.SetVerticalJustificationToCentered()
        return [boxes_of(boxes), title, *(text_at(name, x + side + TICK, y, look) for y, name in marks)]

    def _categories(self, x: float, low: float, high: float) -> tuple[list[Any], list[Any]]:
        """A box for each category, the first at the top; and heights with their texts."""
        each = (high - low + GAP) / max(1, len(self.table.marks))
        ends = [high - n * each for n in range(len(self.table.marks))]
        across = (x, x + self.ScalarBarThickness)
        boxes = [
            (across[0], end - each + GAP, across[1], end, rgb) for end, rgb in zip(ends, self.table.indexed)
        ]
        return boxes, [(end - (each - GAP) / 2, name) for end, name in zip(ends, self.table.marks.values())]

    def _scale(self, x: float, low: float, high: float) -> tuple[list[Any], list[Any]]:
        """The colours from low to high, and what is below and above them; and heights with their texts."""
        side, table, boxes = self.ScalarBarThickness, self.table, []
        if table.UseBelowRangeColor:
            boxes.append((x, low, x + side, low + side, table.BelowRangeColor))
            low += side
        if table.UseAboveRangeColor:
            boxes.append((x, high - side, x + side, high, table.AboveRangeColor))
            high -= side
        function, (least, most), each = table.function(), table.range, (high - low) / ROWS
        for n in range(ROWS):
            function.GetColor(least + (most - least) * (n + 0.5) / ROWS, rgb := [0.0, 0.0, 0.0])
            boxes.append((x, low + n * each, x + side, low + (n + 1) * each, rgb))
        inside = {value: name for value, name in table.marks.items() if least <= value <= most}
        unit = (high - low) / (most - least)
        return boxes, [(low + (value - least) * unit, name) for value, name in inside.items()]
