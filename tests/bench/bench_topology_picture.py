# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the topology picture of one frame: placing, laying out and building its datasets.

All nodes are equal, with one rank per core and messages to the six neighbours of a torus. A separate process
builds the largest picture, to measure its memory.
"""

from __future__ import annotations

import argparse
import gc
import resource
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import report

from perfield.topology import Machine, Part, place

MESSAGE = np.dtype(
    [
        ("source", "i4"),
        ("target", "i4"),
        ("call", "U16"),
        ("count", "i8"),
        ("bytes", "i8"),
        ("empty", "i8"),
        ("largest", "i8"),
    ]
)


def machine(n_cores: int) -> Machine:
    """A machine of two packages with an L3 cache for every eight cores."""
    parts = [Part("package", i, i * n_cores // 2, (i + 1) * n_cores // 2) for i in range(2)]
    parts += [Part("l3", i // 8, i, min(i + 8, n_cores)) for i in range(0, n_cores, 8)]
    parts += [Part(level, i, i, i + 1) for level in ("core", "pu") for i in range(n_cores)]
    return Machine(tuple(range(n_cores)), tuple(parts))


def torus_messages(n_ranks: int) -> np.ndarray:
    """Six isend messages per rank, to near and far ranks."""
    far = max(2, round(n_ranks ** (1 / 3)))
    steps = np.array([1, -1, far, -far, far * far, -far * far])
    messages = np.zeros(6 * n_ranks, MESSAGE)
    messages["source"] = np.repeat(np.arange(n_ranks), 6)
    messages["target"] = (messages["source"] + np.tile(steps, n_ranks)) % n_ranks
    messages["call"], messages["count"], messages["bytes"], messages["largest"] = "isend", 1, 8000, 8000
    return messages


def build(n_nodes: int, per_node: int, repeats: int) -> tuple[list[float], list[float]]:
    """CPU seconds of placing, and of layout and datasets, for each repetition, all in one thread."""
    from perfield.pictures import topology

    n_ranks = n_nodes * per_node
    node = machine(per_node)
    machines = {f"n{i}": node for i in range(n_nodes)}
    hosts, cpusets = list(machines), [str(core) for core in range(per_node)]
    ranks = [
        {"host": hosts[rank // per_node], "boot_id": "b", "cpuset": cpusets[rank % per_node]}
        for rank in range(n_ranks)
    ]
    fields = {f"region{i}_time_s": np.random.default_rng(i).random(n_ranks) for i in range(4)}
    fields |= {"isend_count": np.full(n_ranks, 6.0), "isend_bytes": np.full(n_ranks, 48000.0)}
    frame = SimpleNamespace(kind="step", label=1, values=fields, messages=torus_messages(n_ranks))
    run = SimpleNamespace(path=Path(), info={}, ranks=ranks)
    placing, building = [], []
    for _ in range(repeats):
        gc.collect()
        begin = time.process_time()
        placement = place(ranks, machines)
        middle = time.process_time()
        topology(run, frame, placement=placement)
        placing.append(middle - begin)
        building.append(time.process_time() - middle)
    return placing, building


def main() -> None:
    """Prints the figures; with --largest only those for a million ranks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", action="store_true")
    if parser.parse_args().largest:
        placing, building = build(10_000, 100, repeats=2)
        report.figure("topology picture, 1,000,000 ranks: placing", placing, "s", target=None)
        report.figure("topology picture, 1,000,000 ranks: layout and datasets", building, "s", target=5)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        report.figure(
            "topology picture, 1,000,000 ranks: memory of the process", [peak / 1e9], "GB", target=4
        )
        return
    placing, building = build(256, 16, repeats=20)
    report.figure("topology picture, 4,096 ranks: placing", placing, "s", target=None)
    report.figure("topology picture, 4,096 ranks: layout and datasets", building, "s", target=0.1)
    sys.stdout.flush()
    subprocess.run([sys.executable, __file__, "--largest"], check=True)


if __name__ == "__main__":
    main()
