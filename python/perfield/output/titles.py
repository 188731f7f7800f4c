# SPDX-License-Identifier: BSD-3-Clause
"""Names arrays in titles and legends, with the program's own names of regions and fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from perfield.derived.providers import given_fields
from perfield.fields.functions import is_of_function, words_of_function
from perfield.pictures.machine_values import SUFFIXES

if TYPE_CHECKING:
    from perfield.run import Region

WORDS = {
    "source": "messages by sending rank",
    "target": "messages by receiving rank",
    "lower_rank": "faces by lower rank",
    "higher_rank": "faces by higher rank",
    "inside_node": "messages inside a node",
    "sent_count": "messages sent",
    "sent_bytes": "bytes sent",
    "received_count": "messages received",
    "received_bytes": "bytes received",
    "empty_count": "empty messages",
    "largest_bytes": "largest message",
    "collective_bytes": "bytes that ranks give and get in collective operations",
    "collective_count": "collective operations",
    "direction": "what ranks give and get in collective operations",
    "call": "collective operations with most bytes",
    "communicator": "collective operations by communicator",
    "waited_for_time_s": "time that others waited for this rank",
    "wait_late_sender_time_s": "waiting for late senders",
    "wait_late_receiver_time_s": "waiting for late receivers",
    "wait_collective_time_s": "waiting at collective operations",
    "wait_one_sided_time_s": "waiting for late one-sided partners",
    "caused_wait_time_s": "time that others waited because of this rank",
    "transfer_time_s": "time of transfer in MPI",
    "slow_transfer_time_s": "time of transfer beyond its baseline",
    "critical_path_time_s": "time on the critical path",
    "mpi_call_count": "calls of MPI",
    "peer_count": "ranks with messages from or to it",
    "resident_bytes": "resident memory",
    "resident_peak_bytes": "peak of resident memory",
    "perfield_time_s": "time of perfield itself",
    "cpu_user_time_s": "CPU time in user mode",
    "cpu_system_time_s": "CPU time in system mode",
    "io_read_bytes": "bytes read from files",
    "io_write_bytes": "bytes written to files",
    "io_read_count": "calls that read files",
    "io_write_count": "calls that write files",
    "io_time_s": "time of reading and writing files",
    "cells": "cells",
    "points": "points",
    "ghost_cells": "ghost cells",
    "device_kernel_count": "kernels on devices",
    "device_kernel_time_s": "time of kernels on devices",
    "device_copy_count": "copies to, from and within devices",
    "device_copy_time_s": "time of copies to, from and within devices",
    "device_copy_to_bytes": "bytes copied to devices",
    "device_copy_from_bytes": "bytes copied from devices",
    "device_copy_within_bytes": "bytes copied within devices",
    "device_memory_bytes": "memory in use on devices",
    "device_own_memory_bytes": "memory of the rank on devices",
    "device_utilisation_share": "share of time in which devices are busy",
    "topology_type": "parts of the machine",
    "host_name": "host",
    "node_id": "node",
    "package_id": "package",
    "core_id": "core",
    "pu_id": "PU",
    "id": "number of the part or switch",
    "name": "switch",
    "level": "level of the switch",
    "n_nodes": "nodes below the switch",
    "device_type": "devices",
    "hops": "switches that messages pass",
    "same_node": "messages inside a node",
    "same_package": "messages inside a package",
    "same_numa": "messages inside a NUMA node",
    "same_switch": "messages under one leaf switch",
    "n_ranks": "ranks of the part",
    "n_pus": "PUs that the rank may run on",
    "unbound": "ranks that nothing ties to a core",
}
REGION_ENDINGS = {
    "_compute_time_per_cell_s": "compute time per cell",
    "_time_per_call_s": "time per call",
    "_self_time_s": "self time",
    "_mpi_time_s": "time in MPI",
    "_mpi_p2p_time_s": "point-to-point time in MPI",
    "_mpi_wait_time_s": "wait time in MPI",
    "_mpi_collective_time_s": "collective time in MPI",
    "_mpi_onesided_time_s": "one-sided time in MPI",
    "_mpi_io_time_s": "time in MPI-IO",
    "_mpi_other_time_s": "other time in MPI",
    "_file_time_s": "time in files",
    "_caused_wait_time_s": "caused waiting of others",
    "_compute_time_s": "compute time",
    "_time_s": "time",
    "_count": "entries",
}
OF_RANKS = {
    "min": "smallest rank",
    "max": "largest rank",
    "std": "standard deviation over ranks",
    "imbalance": "largest rank over mean",
}
UNITS = {
    "_s": "s",
    "_bytes": "B",
    "_count": "1",
    "_switches": "1",
    "_faults": "1",
    "cells": "1",
    "points": "1",
    "hops": "1",
}


def region_titles(regions: Iterable[Region]) -> dict[str, str]:
    """Prefix of a region's field names -> the program's name of the region.

    If several regions share a name, the prefix follows in brackets.
    """
    names = {region.field: " ".join(region.name.split()) for region in regions}
    alike = list(names.values())
    return {stem: name if alike.count(name) == 1 else f"{name} ({stem})" for stem, name in names.items()}


def title(array: str, regions: Mapping[str, str], own: Mapping[str, str]) -> tuple[str, str]:
    """The title of an array and its unit: "s", "B", "1" (a number), or "".

    regions : from `region_titles`. own : array -> the simulation's name of its own field.
    """
    if array in own:
        return " ".join(own[array].split()), ""
    for statistic, suffix in SUFFIXES.items():
        if array.endswith(suffix):
            words, unit = title(array.removesuffix(suffix), regions, own)
            return f"{words}, {OF_RANKS[statistic]}", "1" if statistic == "imbalance" else unit
    with_peer = re.fullmatch(r"(.+)_(to|from)_(\d+)", array)
    if with_peer:
        base, direction, peer = with_peer.groups()
        words, unit = title(base, regions, own)
        return f"{words} {direction} rank {peer}", unit
    unit = next((unit for ending, unit in UNITS.items() if array.endswith(ending)), "")
    words = WORDS.get(array) or (given_fields()[array].title if array in given_fields() else "")
    if words:
        return words, unit
    if is_of_function(array):
        return words_of_function(array), unit
    for ending, words in REGION_ENDINGS.items():
        if array.removesuffix(ending) != array and array.removesuffix(ending) in regions:
            return f"{regions[array.removesuffix(ending)]} {words}", unit
    of_counter = [stem for stem in regions if array.startswith(f"{stem}_")]
    if of_counter:
        stem = max(of_counter, key=len)
        words = array.removeprefix(stem).removesuffix("_s").replace("_", " ")
        return f"{regions[stem]}{words}", unit or "1"
    for ending, words in {"_count": "messages", "_bytes": "bytes"}.items():
        if array.endswith(ending):
            return f"{array.removesuffix(ending)} {words}", unit
    words = array.removesuffix("_s").replace("_", " ")
    return re.sub(r"\bmpi\b", "MPI", words), unit
