# SPDX-License-Identifier: BSD-3-Clause
"""Hosts and parts of the machine in words, for those who open a .pvd by hand."""

from __future__ import annotations

import numpy as np
import pytest
from vtkmodules.vtkCommonDataModel import vtkPolyData

import perfield
from perfield.pictures import topology
from perfield.pictures.topology_polydata import attach, attach_names
from perfield.pictures.words import attach_words
from twins import twin


def texts(dataset, name):
    array = dataset.GetCellData().GetAbstractArray(name)
    return [array.GetValue(n) for n in range(array.GetNumberOfValues())]


def test_cells_of_the_machine_name_host_and_type(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=2, hosts=("a", "b")))
    picture = topology(run, run.frame(1))
    assert texts(picture.ranks, "host") == texts(picture.measurements, "host") == ["a", "a", "b", "b"]
    types = texts(picture.machine, "type")
    assert types.count("node") == 2 and set(types) == {"node", "pu"}
    numbers = picture.machine.GetCellData().GetArray("topology_type")
    explained = picture.machine.GetFieldData().GetAbstractArray("topology_type_names")
    assert types == [explained.GetValue(int(numbers.GetTuple1(n))) for n in range(len(types))]


@pytest.mark.parametrize(
    "numbers",
    [
        [0],
        [2, 2],
        [0, 1, 1, 2] * 5,
        [0, 0, 1] * 3 + [0],
        [0, 1, 0, 2] * 4,
        [1, 0, 0, 1, 0],
        [0] * 9 + [1],
        [],
    ],
    ids=str,
)
def test_every_cell_gets_the_word_of_its_number(numbers):
    dataset = attach(vtkPolyData(), {"host_name": np.array(numbers, np.int32)})
    attach_names(dataset, "host_name_names", "abc")
    assert texts(attach_words(dataset), "host") == ["abc"[number] for number in numbers]
