# SPDX-License-Identifier: BSD-3-Clause
"""The node of each point: both formulas of thesis 7.4 in ParaView's Calculator keep whole nodes together."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")

from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataObject
from vtkmodules.vtkFiltersCore import vtkArrayCalculator

from perfield.pictures import topology
from perfield.pictures.line_choice import LineChoice
from perfield.run.collectives import COLLECTIVES, Communicator
from perfield.topology import Device, Machine, Network, Part, place

N_NODES, PER_NODE, COMM_OFFSET = 6, 4, 5.0
OF_RANKS = LineChoice(most=100)  # a choice, so pairs of ranks have lines
MESSAGE = np.dtype(
    [("source", "i4"), ("target", "i4"), ("call", "U22")]
    + [(name, "u8") for name in ("count", "bytes", "empty", "largest")]
)
RING = (
    "(coordsX+{A})*(cos(2*3.141592653589793/{B}*node_id)*iHat+sin(2*3.141592653589793/{B}*node_id)*kHat)"
    "+coordsY*jHat"
)
FIRST_ROTATION = (
    "(coordsY*(cos(-3.141592653589793/2)+1)+{constant})*iHat"
    "+coordsX*sin(-3.141592653589793/2)*jHat+coordsZ*kHat"
)


def picture(comm_offset: float = COMM_OFFSET, collectives: bool = False):
    """A ring of ranks on six nodes; each also sends to the same rank of the next node.

    collectives : also show the layer of collective operations, of the world.
    """
    parts = [Part("package", 0, 0, PER_NODE)]
    parts += [Part(level, i, i, i + 1) for level in ("core", "pu") for i in range(PER_NODE)]
    gpu = Device("GPU", "0000:01:00.0", ("cuda0",), 0, PER_NODE)
    node = Machine(tuple(range(PER_NODE)), tuple(parts), devices=(gpu,))
    n_ranks = N_NODES * PER_NODE
    ranks = [
        {"host": f"n{rank // PER_NODE}", "boot_id": f"b{rank // PER_NODE}", "cpuset": str(rank % PER_NODE)}
        for rank in range(n_ranks)
    ]
    messages = np.zeros(2 * n_ranks, MESSAGE)
    messages["source"] = np.repeat(np.arange(n_ranks), 2)
    messages["target"] = (messages["source"] + np.tile([1, PER_NODE], n_ranks)) % n_ranks
    messages["call"], messages["count"], messages["bytes"] = "isend", 1, 100
    frame = SimpleNamespace(kind="step", label=0, values={"isend_bytes": np.ones(n_ranks)}, messages=messages)
    ends = {0: {"devices": [{"file": "/dev/nvidia0", "pci": gpu.pci}]}}
    run = SimpleNamespace(path=Path(), info={"configuration": {}}, rank_entries=[], ends=ends)
    run.communicators = [Communicator(7, n_ranks, np.arange(n_ranks), np.arange(n_ranks), "world")]
    frame.collectives = np.array([(r, 7, "alltoall", 1, 80, 80) for r in range(n_ranks)], COLLECTIVES)
    without = [] if collectives else ["collectives"]
    hosts = [f"n{i}" for i in range(N_NODES)]
    network = Network(("left", "right", "spine"), ((0, 2), (1, 2)), {host: host > "n2" for host in hosts})
    placement = place(ranks, dict.fromkeys(hosts, node), network)
    return topology(
        run,
        frame,
        placement=placement,
        comm_offset=comm_offset,
        periodic_BC=True,
        without=without,
        lines=OF_RANKS,
    )


def calculated(dataset, formula: str):
    """The dataset with the coordinates that ParaView's Calculator gives to it."""
    calculator = vtkArrayCalculator()
    calculator.SetInputData(dataset)
    calculator.SetAttributeType(vtkDataObject.POINT)
    calculator.AddScalarArrayName("node_id")
    for coordinate, axis in enumerate("XYZ"):
        calculator.AddCoordinateScalarVariable(f"coords{axis}", coordinate)
    calculator.SetFunction(formula)
    calculator.CoordinateResultsOn()
    calculator.SetResultArrayType(11)  # double
    calculator.Update()
    return calculator.GetOutput()


def points(dataset) -> np.ndarray:
    return vtk_to_numpy(dataset.GetPoints().GetData()).astype(float)


def nodes(dataset) -> np.ndarray:
    return vtk_to_numpy(dataset.GetPointData().GetArray("node_id"))


def moved(shown, *formulas: str) -> dict[str, np.ndarray]:
    """The points of all layers after some formulas, applied one after the other."""
    layers = {}
    for name, dataset in shown.layers().items():
        for formula in formulas:
            dataset = calculated(dataset, formula)
        layers[name] = points(dataset)
    return layers


def test_every_point_of_every_layer_carries_its_node():
    shown = picture(collectives=True)
    z = points(shown.planes)[::4, 2]
    for name, dataset in shown.layers().items():
        assert len(nodes(dataset)) == dataset.GetNumberOfPoints() > 0
        inside = (nodes(dataset) >= 0) & (nodes(dataset) <= N_NODES - 1)
        at = np.interp(nodes(dataset)[inside], range(N_NODES), z)  # some of a switch lie between planes
        assert np.abs(points(dataset)[inside, 2] - at).max() <= 0.11, f"{name}: a point is on its plane"


def test_periodic_ends_have_the_number_beyond_the_edge():
    messages = picture().messages
    source, target = (
        vtk_to_numpy(messages.GetCellData().GetArray(name)) // PER_NODE for name in ("source", "target")
    )
    ends = nodes(messages).reshape(-1, 2)
    wrapped = (source == N_NODES - 1) & (target == 0)
    assert wrapped.sum() == PER_NODE + 1
    assert (ends[wrapped] == [N_NODES - 1, N_NODES]).all()
    assert (ends[~wrapped] == np.stack([source, target], axis=1)[~wrapped]).all()


@pytest.mark.parametrize("rotations", [1, 2])
def test_formulas_of_the_thesis_keep_nodes_rigid_and_lines_joined(rotations):
    shown = picture()
    ring = RING.format(A=N_NODES, B=N_NODES)
    formulas = [FIRST_ROTATION.format(constant=7), ring][2 - rotations :]
    layers = moved(shown, *formulas)
    plane_of = layers["planes"].reshape(N_NODES, 4, 3)
    for name, dataset in shown.layers().items():
        of_node = nodes(dataset) == np.rint(nodes(dataset))  # and not of a switch, between planes
        before, after = points(dataset)[of_node], layers[name][of_node]
        node = nodes(dataset)[of_node].astype(int) % N_NODES
        corner = points(shown.planes).reshape(N_NODES, 4, 3)
        for which in range(4):  # distances to all four corners of its node's plane stay
            apart = (before - corner[node, which])[:, :2]  # the formulas put a node into one plane
            np.testing.assert_allclose(
                np.linalg.norm(after - plane_of[node, which], axis=1),
                np.linalg.norm(apart, axis=1),
                atol=1e-4,
                err_msg=f"{name}, relative to corner {which}",
            )


def test_periodic_ends_meet_the_other_end_of_the_ring():
    shown = picture()
    lines = moved(shown, RING.format(A=N_NODES, B=N_NODES))["messages"].reshape(-1, 2, 3)
    ends = nodes(shown.messages).reshape(-1, 2)
    wrapped = lines[ends[:, 1] == N_NODES, 1]
    assert len(wrapped) == PER_NODE + 1
    angle = np.arctan2(wrapped[:, 2], wrapped[:, 0])
    np.testing.assert_allclose(angle, 0.0, atol=1e-6)
    onwards = (ends[:, 1] - ends[:, 0]) == 1
    length = np.linalg.norm(lines[onwards, 1] - lines[onwards, 0], axis=1)
    assert length.max() < 1.5 * 2 * (24 + N_NODES) * math.sin(math.pi / N_NODES), "no line crosses the ring"


@pytest.mark.parametrize(("comm_offset", "constant"), [(5.0, 7), (12.0, 12.1)])
def test_no_radius_is_negative_if_the_constant_exceeds_comm_offset(comm_offset, constant):
    shown = picture(comm_offset)
    for dataset in shown.layers().values():
        assert points(calculated(dataset, FIRST_ROTATION.format(constant=constant)))[:, 0].min() > 0


def test_a_constant_below_comm_offset_turns_lines_to_the_other_side():
    messages = picture(comm_offset=12.0).messages
    assert points(calculated(messages, FIRST_ROTATION.format(constant=7)))[:, 0].min() < 0
