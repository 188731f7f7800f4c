# SPDX-License-Identifier: BSD-3-Clause
"""Renames the simulation's own fields on a piece so that ParaView's expressions accept them.

`alpha.water` becomes the array `alpha_water`, by the same rule as names of regions. The field data of the
piece keeps the original name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vtkmodules.vtkCommonCore import vtkStringArray
from vtkmodules.vtkCommonDataModel import vtkDataSet

from perfield.fields.table import array_names
from perfield.pictures.blocks import GHOSTS


def name_own_fields(dataset: vtkDataSet, taken: Collection[str]) -> None:
    """Renames the simulation's own fields on a dataset to identifiers; equal ones get `_2`, `_3`.

    taken : names of perfield's arrays; an own field with one of these names becomes `own_<name>`.
    Adds the columns `array_name` and `own_field_name` to the field data.
    """
    called = {}
    for data in (dataset.GetPointData(), dataset.GetCellData()):
        arrays = [data.GetArray(number) for number in range(data.GetNumberOfArrays())]
        own = {array.GetName(): array for array in arrays if array is not None and array.GetName() != GHOSTS}
        renamed = []
        for new, name in array_names(own, taken).items():
            called[new] = name
            if new != name:
                data.RemoveArray(name)
                renamed.append(own[name].NewInstance())  # other frames share the original array
                renamed[-1].ShallowCopy(own[name])
                renamed[-1].SetName(new)
        for array in renamed:
            data.AddArray(array)
    for column in text_columns("array_name", "own_field_name", sorted(called.items())):
        dataset.GetFieldData().AddArray(column)


def own_fields(dataset: vtkDataSet) -> dict[str, str]:
    """Array name -> the simulation's name of the field, as `name_own_fields` noted it."""
    columns = [dataset.GetFieldData().GetAbstractArray(name) for name in ("array_name", "own_field_name")]
    if None in columns:
        return {}
    arrays, names = ([column.GetValue(n) for n in range(column.GetNumberOfValues())] for column in columns)
    return dict(zip(arrays, names))


def text_columns(first: str, second: str, rows: Sequence[tuple[str, str]]) -> list[vtkStringArray]:
    """Makes two arrays of text of equal length, for field data."""
    columns = []
    for number, name in enumerate((first, second)):
        column = vtkStringArray()
        column.SetName(name)
        for row in rows:
            column.InsertNextValue(row[number])
        columns.append(column)
    return columns
