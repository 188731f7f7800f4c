# SPDX-License-Identifier: BSD-3-Clause
"""The machine of a run: the hardware of its nodes, the places of its ranks, and the layout of the picture."""

from .devices import DeviceCells, UsedDevices, layout_devices, used_devices
from .grid import MOST_PLANES, Grid, grid, has_cells
from .layout import PLANE_WIDTH, Cells, layout
from .lstopo import this_machine
from .machine import DEVICE_KINDS, LEVELS, Device, Machine, MachineError, Part, flat_machine, parse_cpuset
from .mapping import BIND_TO, MAP_BY, mpirun_cpusets, ranges
from .network import Network, NetworkError, Switches, expand_hosts, network_of, read_network, used_switches
from .of_run import placement_of
from .placement import UNKNOWN_BOOT, Node, Placement, machines_of, place
from .places import places
from .rank_files import hostfile, rankfile, reorder_file
from .read_hwloc_xml import read_machine, read_machines
from .selection import SelectionError, select, with_nodes
from .sharing import Sharing, sharing, unbound, usable_pus
from .switch_layout import SwitchCells, layout_switches, nodes_below
from .table import table

__all__ = [
    "BIND_TO",
    "DEVICE_KINDS",
    "LEVELS",
    "MAP_BY",
    "MOST_PLANES",
    "PLANE_WIDTH",
    "UNKNOWN_BOOT",
    "Cells",
    "Device",
    "DeviceCells",
    "Grid",
    "Machine",
    "MachineError",
    "Network",
    "NetworkError",
    "Node",
    "Part",
    "Placement",
    "SelectionError",
    "Sharing",
    "SwitchCells",
    "Switches",
    "UsedDevices",
    "expand_hosts",
    "flat_machine",
    "grid",
    "has_cells",
    "hostfile",
    "layout",
    "layout_devices",
    "layout_switches",
    "machines_of",
    "mpirun_cpusets",
    "network_of",
    "nodes_below",
    "parse_cpuset",
    "place",
    "placement_of",
    "places",
    "ranges",
    "rankfile",
    "read_machine",
    "read_machines",
    "read_network",
    "reorder_file",
    "select",
    "sharing",
    "table",
    "this_machine",
    "unbound",
    "usable_pus",
    "used_devices",
    "used_switches",
    "with_nodes",
]
