# SPDX-License-Identifier: BSD-3-Clause
"""The machine of a run: the hardware of its nodes, the places of its ranks, and the layout of the picture."""

from .layout import PLANE_WIDTH, Cells, layout
from .machine import LEVELS, Machine, MachineError, Part, flat_machine, parse_cpuset
from .network import Network, NetworkError, Switches, used_switches
from .placement import Node, Placement, place
from .read_hwloc_xml import read_machine, read_machines
from .sharing import Sharing, sharing, unbound
from .switch_layout import SwitchCells, layout_switches, nodes_below
from .table import table

__all__ = [
    "LEVELS",
    "PLANE_WIDTH",
    "Cells",
    "Machine",
    "MachineError",
    "Network",
    "NetworkError",
    "Node",
    "Part",
    "Placement",
    "Sharing",
    "SwitchCells",
    "Switches",
    "flat_machine",
    "layout",
    "layout_switches",
    "nodes_below",
    "parse_cpuset",
    "place",
    "read_machine",
    "read_machines",
    "sharing",
    "table",
    "unbound",
    "used_switches",
]
