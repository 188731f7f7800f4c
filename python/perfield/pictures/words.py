# SPDX-License-Identifier: BSD-3-Clause
"""Puts words beside numbers of hosts, switches and parts of the machine, for users of bare .pvd files."""

from __future__ import annotations

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkStringArray
from vtkmodules.vtkCommonDataModel import vtkDataSet

# Numbers -> their words, both cell arrays.
WORDS = {"host_name": "host", "topology_type": "type", "name": "switch", "switch_name": "switch"}


def attach_words(dataset: vtkDataSet) -> vtkDataSet:
    """Adds the cell arrays `host`, `type` and `switch`, texts, and returns the dataset.

    They say in words what `host_name`, `topology_type`, and `name` or `switch_name` say in numbers; the field
    data explain these numbers. ParaView shows texts in its tables and beside the cell under the mouse, and
    colours by numbers.
    """
    cells, explained = dataset.GetCellData(), dataset.GetFieldData()
    for numbers, words in WORDS.items():
        texts, values = explained.GetAbstractArray(f"{numbers}_names"), cells.GetArray(numbers)
        if texts is None or values is None:
            continue
        array = vtkStringArray()
        array.SetName(words)
        array.SetNumberOfValues(values.GetNumberOfTuples())
        _fill(array, texts, vtk_to_numpy(values).astype(int))
        cells.AddArray(array)
    return dataset


def _fill(array: vtkStringArray, texts: vtkStringArray, numbers: np.ndarray) -> None:
    """Sets array[n] to texts[numbers[n]]; what repeats is copied, each time twice as much."""
    n_values = len(numbers)
    size = _period(numbers)
    begins = np.flatnonzero(np.diff(numbers[:size], prepend=-1))
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), size]):
        array.SetValue(begin, texts.GetValue(int(numbers[begin])))
        _repeat(array, begin, begin + 1, end)
    _repeat(array, 0, size, n_values)


def _repeat(array: vtkStringArray, begin: int, known: int, end: int) -> None:
    """Repeats the values from begin to known - 1 up to end - 1."""
    while known < end:
        more = min(known - begin, end - known)
        array.InsertTuples(known, more, begin, array)
        known += more


def _period(numbers: np.ndarray) -> int:
    """After how many values the numbers repeat, as those of equal nodes do; all of them if they do not."""
    other = np.flatnonzero(numbers != numbers[0]) if len(numbers) else numbers
    again = np.flatnonzero(numbers[other[0] :] == numbers[0]) if len(other) else other
    size = int(other[0] + again[0]) if len(again) else len(numbers)
    return size if np.array_equal(numbers[size:], numbers[: len(numbers) - size]) else len(numbers)
