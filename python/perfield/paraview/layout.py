# SPDX-License-Identifier: BSD-3-Clause
"""The filter *Layout*: arranges the nodes of the machine flat, as planes, rings, a fat tree or a torus."""

from __future__ import annotations

from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkMultiBlockDataSet

from perfield.catalyst_scripts import layouts
from perfield.paraview.proxies import Choice, Proxy
from perfield.paraview.runs import blocks_of
from perfield.pictures.layout_scripts import layout_filter

RING = layouts.LAYOUTS.index("ring")

PROXY = Proxy(
    name="PerfieldLayout",
    label="Layout",
    help="""
        Arranges the nodes of the machine. Flat has each part below what holds it. In a ring one sees which
        messages go to neighbours, and which cross the ring; the double ring has all messages inside. Side by
        side shows all nodes from the front, fat tree each leaf switch above its nodes, torus groups of nodes
        as rings that form a ring. Look along the axis of a ring with the view's +Z button. A machine that
        shows a cell per node stays.""",
    parameters=(
        Choice(
            "layout",
            "Layout",
            "How nodes are arranged: as planes one behind the other, as the picture was made, or otherwise.",
            layouts.LAYOUTS,
            RING,
        ),
    ),
)


def make(inputs: list[vtkDataObject], *, layout: int = RING) -> vtkMultiBlockDataSet:
    """The layers of a machine in a layout. inputs : one machine. layout : number in LAYOUTS.

    Raises ValueError if the input is not a machine.
    """
    if not {"ranks", "measurements"} <= set(blocks_of(inputs[0])):
        raise ValueError(
            "the input is not a picture of a machine. Choose 'machine' in Picture of the reader of run.json, "
            "and put this filter behind it, or behind topology.pvd."
        )
    made = vtkMultiBlockDataSet()
    layout_filter().arranged(inputs[0], made, layouts.LAYOUTS[layout])
    return made
