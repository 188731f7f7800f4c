# SPDX-License-Identifier: BSD-3-Clause
"""The machine of a run: the hardware of its nodes, the places of its ranks, and the layout of the picture."""

from .layout import PLANE_WIDTH, Cells, layout
from .machine import LEVELS, Machine, MachineError, Part, flat_machine, parse_cpuset
from .network import Network, NetworkError, Switches, expand_hosts, network_of, read_network, used_switches
from .of_run import placement_of
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
    "expand_hosts",
    "flat_machine",
    "layout",
    "layout_switches",
    "network_of",
    "nodes_below",
    "parse_cpuset",
    "place",
    "placement_of",
    "read_machine",
    "read_machines",
    "read_network",
    "sharing",
    "table",
    "unbound",
    "used_switches",
]
