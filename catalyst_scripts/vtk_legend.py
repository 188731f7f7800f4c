# SPDX-License-Identifier: BSD-3-Clause
"""The colour tables and legends of `paraview.simple`, made of VTK alone, for `vtk_drawing`.

Legends look as ParaView's do: its class of them is no part of VTK.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palette import MAPS, PRESETS
from vtk_flat import RGB, boxes_of, letters, text_at
from vtkmodules.vtkRenderingCore import vtkActor2D, vtkDiscretizableColorTransferFunction, vtkTextProperty

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
    NanOpacity = 1.0
    Annotations: Sequence[str] = ()
    NumberOfTableValues = 256
    Discretize = AnnotationsInitialized = 1
    AutomaticRescaleRangeMode = "Never"

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

    def function(self, component: str = "") -> vtkDiscretizableColorTransferFunction:
        """What VTK colours with. component : "Magnitude" of vectors."""
        made = vtkDiscretizableColorTransferFunction()
        low, high = self.range
        for n, rgb in enumerate(self._colours):
            made.AddRGBPoint(low + (high - low) * n / (len(self._colours) - 1), *rgb)
        made.SetIndexedLookup(self.InterpretValuesAsCategories)
        if self.InterpretValuesAsCategories:
            indexed = [self.IndexedColors[n : n + 3] for n in range(0, len(self.IndexedColors), 3)]
            made.SetNumberOfIndexedColors(len(indexed))
            for n, (value, rgb) in enumerate(zip(self.marks, indexed)):
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

    Title = ComponentTitle = ""
    TitleColor: RGB = (1.0, 1.0, 1.0)
    LabelColor: RGB = (1.0, 1.0, 1.0)
    TitleFontSize = LabelFontSize = 16
    Position: Sequence[float] = (0.89, 0.02)
    ScalarBarLength, ScalarBarThickness = 0.33, 16
    DrawNanAnnotation, NanAnnotation = 0, "NaN"
    HorizontalTitle, TitleJustification, Orientation = 1, "Left", "Vertical"
    WindowLocation, TextPosition = "Any Location", "Ticks left/bottom, annotations right/top"
    DrawTickMarks = DrawTickLabels = AddRangeLabels = 0
    DrawAnnotations = 1
    Visibility = 0

    def __init__(self, table: Table):
        self.table = table

    def drawn(self, size: tuple[int, int]) -> list[vtkActor2D]:
        """The actors in an image of a size."""
        if not self.Visibility:
            return []
        (x, low), table = (part * length // 1 for part, length in zip(self.Position, size)), self.table
        high, side = low + self.ScalarBarLength * size[1], self.ScalarBarThickness
        top, marks, boxes = high, [], []
        if self.DrawNanAnnotation:
            boxes.append((x, low, x + side, low + side, table.NanColor))
            marks.append((low + side / 2, self.NanAnnotation))
            low += side + GAP
        if table.InterpretValuesAsCategories:
            each = (high - low + GAP) / max(1, len(table.marks))
            colours = [table.IndexedColors[n : n + 3] for n in range(0, len(table.IndexedColors), 3)]
            for n, (name, rgb) in enumerate(zip(table.marks.values(), colours)):
                end = high - n * each  # the first at the top
                boxes.append((x, end - each + GAP, x + side, end, rgb))
                marks.append((end - (each - GAP) / 2, name))
        else:
            if table.UseBelowRangeColor:
                boxes.append((x, low, x + side, low + side, table.BelowRangeColor))
                low += side
            if table.UseAboveRangeColor:
                boxes.append((x, high - side, x + side, high, table.AboveRangeColor))
                high -= side
            boxes += self._rows(x, low, high)
            least, most = table.range
            marks += [
                (low + (value - least) / (most - least) * (high - low), name)
                for value, name in table.marks.items()
                if least <= value <= most
            ]
        look = vtkTextProperty()
        letters(look, self.TitleFontSize, self.TitleColor)
        made = [boxes_of(boxes), text_at(self.Title, x, top + self.TitleFontSize / 2, look)]
        ticks = [(x + side, y - 0.5, x + side + TICK, y + 0.5, self.LabelColor) for y, _ in marks]
        made.append(boxes_of(ticks))
        for y, name in marks:
            look = vtkTextProperty()
            letters(look, self.LabelFontSize, self.LabelColor)
            look.SetVerticalJustificationToCentered()
            made.append(text_at(name, x + side + TICK, y, look))
        return made

    def _rows(self, x: float, low: float, high: float) -> list[tuple[Any, ...]]:
        """The colours of the scale, from low to high."""
        function, side, (least, most) = self.table.function(), self.ScalarBarThickness, self.table.range
        each = (high - low) / ROWS
        values = [least + (most - least) * (n + 0.5) / ROWS for n in range(ROWS)]
        rows = []
        for n, value in enumerate(values):
            function.GetColor(value, rgb := [0.0, 0.0, 0.0])
            rows.append((x, low + n * each, x + side, low + (n + 1) * each, rgb))
        return rows
