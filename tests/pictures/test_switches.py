# SPDX-License-Identifier: BSD-3-Clause
"""The layers of switches and links in the machine picture."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from vtkmodules.util.numpy_support import vtk_to_numpy

import perfield
from perfield.pictures import topology, topology_scene
from perfield.pictures.line_choice import LineChoice
from perfield.pictures.topology_picture import OPTIONAL_LAYERS
from perfield.topology import Network, place
from twins import twin

NETWORK = Network(
    ("unused", "left", "right", "spine"), ((1, 3), (2, 3)), {"n1": 1, "n2": 1, "n3": 2}, "topology.conf"
)
MESSAGE = np.dtype(
    [("source", "i4"), ("target", "i4"), ("call", "U22")]
    + [(name, "u8") for name in ("count", "bytes", "empty", "largest")]
)


def picture(
    hosts: tuple[str, ...], network: Network | None = NETWORK, messages=(), without=(), lines=None, **values
):
    """A picture of a run with a rank on each host, of one step."""
    entries = [{"host": host, "boot_id": host, "cpuset": str(cpu)} for cpu, host in enumerate(hosts)]
    run = SimpleNamespace(
        path=Path(), info={"configuration": {}}, rank_entries=entries, ends={}, communicators=[]
    )
    values = {name: np.array(column, float) for name, column in values.items()}
    frame = SimpleNamespace(
        kind="step", label=0, values=values, messages=np.array(list(messages), MESSAGE), collectives=None
    )
    return topology(
        run, frame, topology_scene(run, place(entries, {}, network), without=without, lines=lines)
    )


def column(dataset, name: str) -> list:
    return vtk_to_numpy(dataset.GetCellData().GetArray(name)).tolist()


def words(dataset, name: str) -> list[str]:
    array = dataset.GetCellData().GetAbstractArray(name)
    return [array.GetValue(n) for n in range(array.GetNumberOfValues())]


def test_switches_carry_name_id_and_level():
    switches = picture(("n1", "n2", "n3")).switches
    assert switches.GetNumberOfCells() == 3
    assert words(switches, "switch") == ["left", "right", "spine"]
    assert column(switches, "name") == [0, 1, 2]
    assert column(switches, "id") == [1, 2, 3]
    assert column(switches, "level") == [0, 0, 1]
    assert column(switches, "n_nodes") == [2, 1, 3]


def test_switches_hold_mean_and_largest_value_of_the_ranks_below():
    switches = picture(("n1", "n1", "n2", "n3"), solve_time_s=[1, 2, 6, np.nan]).switches
    assert column(switches, "n_ranks") == [3, 1, 4]
    np.testing.assert_array_equal(column(switches, "solve_time_s"), [3, np.nan, 3])
    np.testing.assert_array_equal(column(switches, "solve_time_s_rank_max"), [6, np.nan, 6])


def test_links_carry_the_switch_above_them():
    links = picture(("n1", "n2", "n3")).links
    assert column(links, "node_id") == [0, 1, 2, -1, -1]
    assert words(links, "switch") == ["left", "left", "right", "spine", "spine"]
    assert column(links, "level") == [0, 0, 0, 1, 1]
    nodes = vtk_to_numpy(links.GetPointData().GetArray("node_id")).reshape(-1, 2)
    assert nodes[:3].tolist() == [[0, 0], [1, 1], [2, 2]]
    assert nodes[3:].tolist() == [[0.5, 0.5], [2, 2]]


def test_points_of_a_switch_know_their_node():
    switches = picture(("n1", "n2", "n3")).switches
    nodes = vtk_to_numpy(switches.GetPointData().GetArray("node_id"))
    spine = [switches.GetCell(2).GetPointId(n) for n in range(switches.GetCell(2).GetNumberOfPoints())]
    assert {0.0, 1.0, 2.0} <= set(nodes[spine].tolist()), "points at each plane"
    assert len(spine) > 2 * 32, "enough to bend in a ring of few nodes"
    assert (nodes[spine[::2]] == nodes[spine[1::2]]).all() and (np.diff(nodes[spine[::2]]) > 0).all()
    assert -0.5 < nodes[spine[0]] < 0 and 2 < nodes[spine[-1]] < 2.5


@pytest.mark.parametrize(("hosts", "network"), [(("n1",), NETWORK), (("n1", "n2"), None), ((), NETWORK)])
def test_run_that_passes_no_known_switch_shows_none(hosts, network):
    shown = picture(hosts, network)
    assert shown.switches.GetNumberOfCells() == shown.links.GetNumberOfCells() == 0


def test_messages_carry_hops_and_what_their_ranks_share():
    between = [(0, 1, "isend", 1, 8, 0, 8), (0, 2, "isend", 1, 8, 0, 8)]
    assert column(picture(("n1", "n2", "n3"), messages=between).messages, "hops") == [1, 3], "of nodes"
    messages = picture(("n1", "n2", "n3"), messages=between, lines=LineChoice(most=9)).messages
    assert column(messages, "hops") == [1, 3]
    assert column(messages, "same_switch") == [1, 0]
    assert column(messages, "same_node") == column(messages, "same_package") == [0, 0]


def test_layers_can_be_left_out_and_the_others_stay():
    shown = picture(("n1", "n2"), without=["switches", "links", "messages"]).layers()
    assert list(shown) == ["planes", "machine", "ranks", "measurements", "labels", "devices", "collectives"]
    assert list(picture(("n1", "n2"), without=OPTIONAL_LAYERS).layers()) == ["ranks", "measurements"]


def test_layer_that_must_stay_cannot_be_left_out():
    with pytest.raises(ValueError, match="ranks, wires: no layer that can be left out; these can: planes"):
        picture(("n1",), without=["wires", "ranks", "links"])


@pytest.mark.parametrize(("wanted", "names"), [(True, ["left", "right", "spine"]), (False, [])])
def test_network_of_the_run_directory_is_drawn_if_wanted(tmp_path, wanted, names):
    path = twin.write_run(tmp_path / "run", ranks=4, steps=1, hosts=("n1", "n2"))
    tree = "SwitchName=left Nodes=n1\nSwitchName=right Nodes=n2\nSwitchName=spine Switches=left,right\n"
    (path / "machine" / "network.txt").write_text(tree)
    run = perfield.open(path)
    run.info["configuration"]["network_topology"] = wanted
    shown = topology(run, run.frame(0))
    assert words(shown.switches, "switch") == names
    assert shown.links.GetNumberOfCells() == (4 if wanted else 0)
