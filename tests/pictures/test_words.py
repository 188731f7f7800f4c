# SPDX-License-Identifier: BSD-3-Clause
"""Hosts and parts of the machine in words, for those who open a .pvd by hand."""

from __future__ import annotations

import perfield
import twin
from perfield.pictures import topology


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
