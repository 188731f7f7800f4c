# SPDX-License-Identifier: BSD-3-Clause
"""Runs on many nodes, made in memory: each node is a row of a periodic grid of ranks.

A rank exchanges messages with its six neighbours on the grid, of which two sit on its own node, as in the MG
benchmark of the thesis' Figure 7.30 (4,096 ranks on 256 nodes).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from perfield.run.frame import MESSAGES, WAITS, Frame
from perfield.topology import Machine, Network, Part, Placement, place

FIELDS = ("compute_time_s", "step_time_s", "mpi_time_s", "solve_time_s")
NODES_PER_LEAF, LEAVES_PER_SPINE = 32, 8


class GridRun:
    """An `AnyRun` with ranks (x, y, z) of a periodic grid; those with equal y and z share a node."""

    def __init__(self, shape: tuple[int, int, int], n_frames: int = 2):
        self.path, self.info, self.state = Path("grid"), {}, "finished"
        self.known_regions: list = []
        self.highlights: list[int] = []
        self.meanings: dict = {}
        self.communicators: list = []
        self.grids: list = []
        self.ends: dict[int, dict] = {}
        self.realtime_ns, self.has_samples = None, False
        self.spans = np.ones(n_frames, dtype=np.int64)
        self.shape, self._n_frames = shape, n_frames
        self.n_ranks = shape[0] * shape[1] * shape[2]
        self.ranks_here = range(self.n_ranks)
        self.n_nodes = shape[1] * shape[2]
        self.hosts = [f"n{node}" for node in range(self.n_nodes)]
        cpusets = [str(core) for core in range(shape[0])]
        self.rank_entries = [
            {
                "rank": rank,
                "host": self.hosts[rank // shape[0]],
                "boot_id": f"b{rank // shape[0]}",
                "cpuset": cpusets[rank % shape[0]],
            }
            for rank in range(self.n_ranks)
        ]
        self._messages = _messages(shape)

    def __len__(self) -> int:
        return self._n_frames

    def frame(self, number: int) -> Frame:
        """A frame with values and bytes of its own; the partners are the same in all frames.

        Frames share the table of messages, to save memory, so only the newest one has its own bytes.
        """
        random = np.random.default_rng(number)
        values = {name: random.random(self.n_ranks) for name in FIELDS}
        values |= {"isend_count": np.full(self.n_ranks, 6.0), "isend_bytes": np.full(self.n_ranks, 48000.0)}
        self._messages["bytes"] = self._messages["largest"] = 8000 + number
        unknown = np.full(self.n_ranks, np.nan)
        return Frame(
            kind="step",
            index=number,
            label=number + 1,
            time=0.1 * number,
            span=1,
            partial=False,
            uneven=False,
            present=np.ones(self.n_ranks, bool),
            begin_s=unknown,
            end_s=unknown,
            mesh_version=np.zeros(self.n_ranks, np.int64),
            values=values,
            block_values={},
            messages=self._messages,
            received=self._messages[:0],
            waits=np.zeros(0, WAITS),
        )

    def frames(self) -> Iterator[Frame]:
        """All frames in turn."""
        return (self.frame(number) for number in range(len(self)))

    def mesh(self, rank: int, version: int) -> list:
        """No mesh."""
        return []

    def fields(self, rank: int, index: int) -> dict:
        """No fields of the simulation."""
        return {}

    def network(self) -> Network:
        """Leaf switches with NODES_PER_LEAF nodes, spines above them, and a core switch above these."""
        n_leaves = -(-self.n_nodes // NODES_PER_LEAF)
        n_spines = -(-n_leaves // LEAVES_PER_SPINE)
        names = [f"leaf{i}" for i in range(n_leaves)] + [f"spine{i}" for i in range(n_spines)] + ["core"]
        links = [(leaf, n_leaves + leaf // LEAVES_PER_SPINE) for leaf in range(n_leaves)]
        links += [(n_leaves + spine, n_leaves + n_spines) for spine in range(n_spines)]
        leaf_of = {host: node // NODES_PER_LEAF for node, host in enumerate(self.hosts)}
        return Network(tuple(names), tuple(links), leaf_of, "bench")

    def placement(self, with_switches: bool) -> Placement:
        """One rank per core of equal nodes."""
        node = machine(self.shape[0])
        machines = dict.fromkeys(self.hosts, node)
        return place(self.rank_entries, machines, self.network() if with_switches else None)


def machine(n_cores: int) -> Machine:
    """A machine of two packages with an L3 cache for every eight cores."""
    parts = [Part("package", i, i * n_cores // 2, (i + 1) * n_cores // 2) for i in range(2)]
    parts += [Part("l3", i // 8, i, min(i + 8, n_cores)) for i in range(0, n_cores, 8)]
    parts += [Part(level, i, i, i + 1) for level in ("core", "pu") for i in range(n_cores)]
    return Machine(tuple(range(n_cores)), tuple(parts))


def _messages(shape: tuple[int, int, int]) -> np.ndarray:
    """Six isend messages per rank, to its neighbours on the periodic grid."""
    number = np.arange(shape[0] * shape[1] * shape[2]).reshape(shape[::-1])
    partners = [np.roll(number, step, axis) for axis in (2, 1, 0) for step in (-1, 1)]
    messages = np.zeros(6 * number.size, MESSAGES)
    messages["source"] = np.repeat(number.ravel(), 6)
    messages["target"] = np.stack([partner.ravel() for partner in partners], axis=1).ravel()
    messages["call"], messages["count"] = "isend", 1
    return messages
