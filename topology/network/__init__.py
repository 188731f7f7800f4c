# SPDX-License-Identifier: BSD-3-Clause
"""The switches between the nodes of a run: the model, its readers, and the search for a run's network."""

from .hostlist import expand_hosts
from .model import Network, NetworkError, Switches, used_switches
from .of_run import network_of
from .read import read_network

__all__ = [
    "Network",
    "NetworkError",
    "Switches",
    "expand_hosts",
    "network_of",
    "read_network",
    "used_switches",
]
