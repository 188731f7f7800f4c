# SPDX-License-Identifier: BSD-3-Clause
"""Puts words beside numbers that name hosts and parts of the machine, for all who open a .pvd by hand."""

from __future__ import annotations

from vtkmodules.vtkCommonCore import vtkStringArray
from vtkmodules.vtkCommonDataModel import vtkDataSet

WORDS = {"host_name": "host", "topology_type": "type"}  # numbers -> their words, both cell arrays


def attach_words(dataset: vtkDataSet) -> vtkDataSet:
    """Adds the cell arrays `host` and `type`, texts, and returns the dataset.

    They say in words what `host_name` and `topology_type` say in numbers; the field data explain these
    numbers. ParaView shows texts in its tables and beside the cell under the mouse, and colours by numbers.
    """
    cells, explained = dataset.GetCellData(), dataset.GetFieldData()
    for numbers, words in WORDS.items():
        texts, values = explained.GetAbstractArray(f"{numbers}_names"), cells.GetArray(numbers)
        if texts is None or values is None:
            continue
        array = vtkStringArray()
        array.SetName(words)
        array.SetNumberOfValues(values.GetNumberOfTuples())
        for cell in range(values.GetNumberOfTuples()):
            array.SetValue(cell, texts.GetValue(int(values.GetTuple1(cell))))
        cells.AddArray(array)
    return dataset
