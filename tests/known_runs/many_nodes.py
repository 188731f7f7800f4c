# SPDX-License-Identifier: BSD-3-Clause
"""Fake runs of many nodes: one rank per core, messages to neighbours, and one rank that is planted slow."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from known_runs.fake_run import MESSAGE, FakeRun
from perfield.topology import Machine, Network, Part, Placement, place

USUAL_S, SLOW_S = 0.1, 0.2  # compute time


def machine(n_cores: int) -> Machine:
    """Two packages."""
    parts = [Part("package", i, i * n_cores // 2, (i + 1) * n_cores // 2) for i in range(2)]
    parts += [Part(level, i, i, i + 1) for level in ("core", "pu") for i in range(n_cores)]
    return Machine(tuple(range(n_cores)), tuple(parts))


def large_run(path: Path, nodes: int, per_node: int, slow: set[int] = frozenset()) -> FakeRun:
    """A run on nodes n0000, n0001, ...; each rank sends 100 bytes to the next one and to one two nodes on.

    slow : ranks that compute SLOW_S instead of about USUAL_S.
    """
    n_ranks = nodes * per_node
    run = FakeRun(path, ranks=1, steps=1)
    run.n_ranks, run.meshes = n_ranks, {}
    run.rank_entries = [
        {
            "rank": rank,
            "host": f"n{rank // per_node:04d}",
            "boot_id": f"b{rank // per_node}",
            "cpuset": str(rank % per_node),
        }
        for rank in range(n_ranks)
    ]
    frame = run.frame(0)
    messages = np.zeros(2 * n_ranks, MESSAGE)
    messages["source"] = np.repeat(np.arange(n_ranks), 2)
    messages["target"] = (messages["source"] + np.tile([1, 2 * per_node], n_ranks)) % n_ranks
    messages["call"], messages["count"], messages["bytes"], messages["largest"] = "isend", 1, 100, 100
    compute = USUAL_S * np.random.default_rng(1).uniform(0.97, 1.0, n_ranks)
    compute[list(slow)] = SLOW_S
    frame.messages, frame.mesh_version = messages, np.zeros(n_ranks, int)
    frame.values = {
        "rank": np.arange(n_ranks, dtype=float),
        "compute_time_s": compute,
        "step_time_s": np.full(n_ranks, SLOW_S),
        **{f"{call}_count": np.full(n_ranks, 2.0) for call in ("sent", "isend")},
        **{f"{call}_bytes": np.full(n_ranks, 200.0) for call in ("sent", "isend")},
    }
    return run


def placed(run: FakeRun, per_leaf: int = 0) -> Placement:
    """The places of a large run's ranks, with `per_leaf` nodes on switches leaf0, leaf1, ...; 0: unknown."""
    hosts = list(dict.fromkeys(entry["host"] for entry in run.rank_entries))
    node = machine(len(run.rank_entries) // len(hosts))
    network = None
    if per_leaf:
        n_leaves = -(-len(hosts) // per_leaf)
        names = (*(f"leaf{n}" for n in range(n_leaves)), "spine")
        leaf_of = {host: n // per_leaf for n, host in enumerate(hosts)}
        network = Network(names, tuple((n, n_leaves) for n in range(n_leaves)), leaf_of, "test")
    return place(run.rank_entries, dict.fromkeys(hosts, node), network)
