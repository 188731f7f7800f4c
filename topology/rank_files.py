# SPDX-License-Identifier: BSD-3-Clause
"""Texts that make launchers put each rank to a chosen place: Open MPI, Slurm and Cray MPICH."""

from __future__ import annotations

import numpy as np

from .machine import MachineError
from .mapping import ranges
from .placement import Node, Placement


def rankfile(placement: Placement, place_of_rank: np.ndarray) -> str:
    """A rankfile of Open MPI: `rank 3=n1 slot=1:0-3` (a package and its cores), or `slot=0-7` (of the node).

    place_of_rank : int (n_ranks,), the place of each rank, by the rank that holds it now.
    Raises MachineError if a place is not known, or has fewer PUs than its new rank has threads.
    """
    _check(placement)
    _check_names(placement)
    unknown = np.flatnonzero(placement.n_pus == 0)
    if len(unknown):
        host = placement.nodes[placement.node_id[unknown[0]]].host
        raise MachineError(
            f"the PUs of host {host} are not known, so a rankfile cannot name its cores; write a hostfile."
        )
    _check_room(placement, place_of_rank)
    lines = []
    for rank, place in enumerate(place_of_rank.tolist()):
        node = placement.nodes[placement.node_id[place]]
        slot = _slot(node, placement.bindings[placement.binding[place]])
        lines.append(f"rank {rank}={node.host} slot={slot}\n")
    return "".join(lines)


def hostfile(placement: Placement, place_of_rank: np.ndarray) -> str:
    """The host of each rank, a line per rank: SLURM_HOSTFILE of `srun --distribution=arbitrary`.

    place_of_rank and errors : as in `rankfile`.
    """
    _check(placement)
    _check_names(placement)
    return "".join(f"{placement.nodes[node].host}\n" for node in placement.node_id[place_of_rank].tolist())


def reorder_file(placement: Placement, place_of_rank: np.ndarray) -> str:
    """A file MPICH_RANK_ORDER of Cray MPICH: the ranks in the order of the places, a line per node.

    Its launcher fills node by node, in the order of the nodes' names. place_of_rank and errors : as in
    `rankfile`.
    """
    _check(placement)
    node = placement.node_id[place_of_rank]
    of_node = [np.flatnonzero(node == number).tolist() for number in range(len(placement.nodes))]
    return "".join(",".join(map(str, ranks)) + "\n" for ranks in of_node)


def _check(placement: Placement) -> None:
    missing = np.flatnonzero(placement.node_id < 0)
    if len(missing):
        raise MachineError(
            f"ranks {ranges(missing)} never checked in, so their hosts are not known; measure a run of all "
            "ranks."
        )


def _check_names(placement: Placement) -> None:
    several = [node for node in placement.nodes if len(node.hosts) > 1]
    if several:
        raise MachineError(
            f"ranks of one node call it {' and '.join(several[0].hosts[:2])}, as in containers with names of "
            "their own. A launcher knows it by another name, which this run does not record; no file can "
            "name it."
        )


def _check_room(placement: Placement, place_of_rank: np.ndarray) -> None:
    n_threads, n_pus = placement.n_threads, placement.n_pus
    crowded = np.flatnonzero((n_threads > n_pus[place_of_rank]) & (n_threads <= n_pus))
    if len(crowded):
        rank, place = crowded[0], place_of_rank[crowded[0]]
        raise MachineError(
            f"rank {rank} computes with {n_threads[rank]} threads, and the place of rank {place}, which it "
            f"would get, has {_pus(n_pus[place])}; measure a run in which all ranks may run on as many PUs."
        )


def _pus(count: int) -> str:
    return "1 PU" if count == 1 else f"{count} PUs"


def _slot(node: Node, positions: np.ndarray) -> str:
    """The cores that hold some PUs, in Open MPI's words; cores are counted from 0 in their package."""
    machine = node.machine
    cores = list(machine.spans("core")) or [(at, at + 1) for at in range(len(machine.pus))]
    inside = [
        number
        for number, (first, last) in enumerate(cores)
        if ((first <= positions) & (positions < last)).any()
    ]
    for number, (first, last) in enumerate(machine.spans("package")):
        own = [core for core, (low, high) in enumerate(cores) if first <= low and high <= last]
        if set(inside) <= set(own):
            return f"{number}:{ranges([core - own[0] for core in inside])}"
    return ranges(inside)
