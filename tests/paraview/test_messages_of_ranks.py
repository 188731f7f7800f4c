# SPDX-License-Identifier: BSD-3-Clause
"""The filter Messages of ranks: what pieces exchange with given ranks, and lines between them."""

from __future__ import annotations

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataObject
from vtkmodules.vtkFiltersCore import vtkAppendFilter
from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataReader

from perfield.paraview import messages_of_ranks, reader
from perfield.paraview.runs import blocks_of
from twins import twin

MACHINE = 1
PIECES, LINES = 1, 2


@pytest.fixture(scope="module")
def run_path(tmp_path_factory):
    """A run of 5 ranks on two hosts: each sends 2 messages of 1000 * (rank + 1) bytes and an empty one to the
    next, in a ring."""
    return twin.write_run(tmp_path_factory.mktemp("runs") / "run", ranks=5, steps=3, hosts=("a", "b"))


def exchanged(run_path, picture=0, **parameters):
    """The filter's blocks behind the reader of a run."""
    made = reader.make(str(run_path / "run.json"), 1.0, picture=picture)
    return blocks_of(messages_of_ranks.make([made], **parameters))


def value(dataset, name):
    """The one value of an array of points; NaN is None."""
    values = vtk_to_numpy(dataset.GetPointData().GetArray(name))
    assert len(values) == dataset.GetNumberOfPoints() and (values == values[0]).all() | np.isnan(values).all()
    return None if np.isnan(values[0]) else values[0]


def ends(lines):
    """(source, target) of lines or tubes, ascending."""
    data = lines.GetCellData()
    return sorted(set(zip(*(vtk_to_numpy(data.GetArray(name)).tolist() for name in ("source", "target")))))


def test_senders_and_receivers_of_a_rank_carry_what_they_exchange(run_path):
    blocks = exchanged(run_path, ranks="2")
    assert set(blocks) == {"rank_1", "rank_2", "rank_3", "messages"}
    for name, count, size in (("to_chosen", 3, 4000), ("from_chosen", None, None)):
        assert value(blocks["rank_1"], f"{name}_count") == count
        assert value(blocks["rank_1"], f"{name}_bytes") == size
    assert (
        value(blocks["rank_3"], "from_chosen_bytes") == value(blocks["rank_3"], "sent_bytes_from_2") == 6000
    )
    assert value(blocks["rank_3"], "to_chosen_bytes") is None
    assert [value(blocks[f"rank_{rank}"], "chosen") for rank in (1, 2, 3)] == [0, 1, 0]
    assert ends(blocks["messages"]) == [(1, 2), (2, 3)]


def test_several_ranks_are_summed_and_distinguished(run_path):
    blocks = exchanged(run_path, ranks="2, 4")
    assert value(blocks["rank_3"], "to_chosen_count") == 3  # to 4
    assert value(blocks["rank_3"], "sent_count_to_4") == 3
    assert value(blocks["rank_3"], "sent_count_to_2") is None
    assert value(blocks["rank_0"], "from_chosen_bytes") == 10_000  # from 4
    assert ends(blocks["messages"]) == [(1, 2), (2, 3), (3, 4), (4, 0)]


def test_host_means_its_ranks(run_path):
    blocks = exchanged(run_path, ranks="b")  # ranks 3 and 4
    assert [value(blocks[f"rank_{rank}"], "chosen") for rank in (2, 3, 4, 0)] == [0, 1, 1, 0]
    assert value(blocks["rank_4"], "from_chosen_bytes") == 8000


def test_pieces_and_lines_can_be_shown_alone(run_path):
    assert set(exchanged(run_path, ranks="2", show=LINES)) == {"messages"}
    assert set(exchanged(run_path, ranks="2", show=PIECES)) == {"rank_1", "rank_2", "rank_3"}
    everyone = exchanged(run_path, ranks="2", partners_only=0)
    assert {f"rank_{rank}" for rank in range(5)} < set(everyone)
    assert value(everyone["rank_0"], "chosen") is None


def test_tubes_are_thick_at_the_sender(run_path):
    plain = exchanged(run_path, ranks="2", tubes=0)["messages"]
    assert plain.GetNumberOfLines() == plain.GetNumberOfCells() == 2
    tubes = exchanged(run_path, ranks="2")["messages"]
    assert not tubes.GetNumberOfLines() and tubes.GetFieldData().HasArray("in_words")
    points = np.array([tubes.GetPoint(n) for n in range(tubes.GetNumberOfPoints())])
    height = {}  # of the tubes, which lead along x, at their first sender and their last receiver
    for rank in (1, 3):
        height[rank] = np.ptp(points[np.abs(points[:, 0] - (rank + 0.5) / 5) < 0.01, 2])
    assert height[1] > 2 * height[3] > 0


def test_machine_shows_partners_and_lines_between_them(run_path):
    blocks = exchanged(run_path, MACHINE, ranks="2")
    data = blocks["measurements"].GetCellData()
    assert vtk_to_numpy(data.GetArray("rank")).tolist() == [1, 2, 3]
    np.testing.assert_array_equal(vtk_to_numpy(data.GetArray("to_chosen_bytes")), [4000, np.nan, np.nan])
    assert ends(blocks["messages"]) == [(1, 2), (2, 3)]
    assert blocks["machine"].GetNumberOfCells() and not blocks["machine"].GetCellData().HasArray("chosen")


def test_pieces_merged_into_one_keep_their_own_values(run_path):
    append = vtkAppendFilter()
    for piece in blocks_of(reader.make(str(run_path / "run.json"), 1.0)).values():
        append.AddInputData(piece)
    append.Update()
    merged = append.GetOutput()
    merged.GetFieldData().ShallowCopy(reader.make(str(run_path / "run.json"), 1.0).GetFieldData())
    made = blocks_of(messages_of_ranks.make([merged], ranks="2"))
    data = made[""].GetPointData()
    ranks, sent = (vtk_to_numpy(data.GetArray(name)) for name in ("rank", "to_chosen_count"))
    assert set(sent[ranks == 1]) == {3} and np.isnan(sent[ranks != 1]).all()


def test_pictures_of_render_need_the_path_of_their_run(perfield_cli, run_path, tmp_path):
    perfield_cli("render", run_path, "--geometry", "-o", tmp_path)
    picture = vtkXMLMultiBlockDataReader()
    picture.SetFileName(str(next((tmp_path / "geometry").glob("*1.vtm"))))
    picture.Update()
    dataset = picture.GetOutput()
    with pytest.raises(ValueError, match="does not say which run it shows"):
        messages_of_ranks.make([dataset], ranks="2")
    dataset.GetInformation().Set(vtkDataObject.DATA_TIME_STEP(), 1.0)
    made = blocks_of(messages_of_ranks.make([dataset], ranks="2", run=str(run_path)))
    assert value(made["rank_1"], "to_chosen_bytes") == 4000


@pytest.mark.parametrize(
    ("ranks", "text"), [("9", "ranks 0 to 4"), ("2,x", "'x' is no node"), (" ,", "Ranks is empty")]
)
def test_ranks_that_the_run_does_not_have_are_reported(run_path, ranks, text):
    with pytest.raises(ValueError, match=text):
        exchanged(run_path, ranks=ranks)
