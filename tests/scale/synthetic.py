# SPDX-License-Identifier: BSD-3-Clause
"""Streams of many nodes, written fast, with the entries that a measured program's ranks would write.

    python tests/scale/synthetic.py PATH --nodes 1000 --ranks 128 --steps 10

Ranks form a line; each exchanges messages with three ranks on either side. Region n takes
0.1 ms * (n + 1) in each step, the first one 0.01 ms more for each step and core of its node.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from perfield import _bridge
from twins import twin

STEP_NS = 10_000_000
CPU_NS, PLACES = 1_000_000, (-3, -2, -1, 1, 2, 3)
_HEAD, _ENTRY = twin.HEADER.size, twin.STEP.size


def region_ns(region: int, core: int, step: int) -> int:
    """Time of a region in a step of any rank on that core."""
    return 100_000 * (region + 1) + (10_000 * (core + step) if region == 0 else 0)


class _Node:
    """One node's file. It repeats the first node's bodies, so each is made once."""

    def __init__(self, path: Path, n_ranks: int, first: int):
        self._file, self._first, self._sequences = path.open("wb"), first, [0] * n_ranks

    def add(self, type: str, body: bytes, crc: int, core: int, index: int = 0) -> None:
        """Appends an entry of the rank on a core."""
        head = twin.HEADER.pack(
            twin.MARKER, twin.TYPES[type], twin.VERSIONS[type], len(body), twin.RUN_ID, self._first + core,
            self._sequences[core], index, crc, 0,
        )[:44]  # fmt: skip
        self._sequences[core] += 1
        self._file.write(head + _bridge.crc32c(head).to_bytes(4, "little") + body)

    def json(self, type: str, values: dict, core: int, index: int = 0) -> None:
        body = twin.json_body(values)
        self.add(type, body, _bridge.crc32c(body), core, index)

    def close(self) -> None:
        self._file.close()


def write(
    path: Path, nodes: int, per_node: int, steps: int, *, regions: int = 10, shared: bool = True
) -> Path:
    """Writes a finished run. shared : ranks share definitions; False: each has its own, as where imported."""
    shutil.rmtree(path, ignore_errors=True)
    twin.write_run(path, 1, 0, ended=False, mesh=False)  # run.json
    for old in (path / "stream").glob("*.pf"):
        old.unlink()
    size = nodes * per_node
    texts = [
        ("region", {"name": f"region {n}", "file": "/home/user/heat/source/solver.cpp", "line": 10 * n + 7,
                    "block": -1, "armed_at": 0})
        for n in range(regions)
    ] + [
        ("quantity", {"name": name, "unit": unit, "scope": scope, "over_steps": "sum",
                      "over_threads": over_threads, "help": f"what {name} means, in words"})
        for name, unit, scope, over_threads in QUANTITIES
    ]  # fmt: skip
    bodies = [twin.json_body(values) for _, values in texts]
    hashes = [twin.definition_hash(body) for body in bodies]
    ids = _ids(texts)
    rows = twin.defined_body([(hash, id, type) for hash, id, (type, _) in zip(hashes, ids, texts)])
    steps_of_cores = [[_step(core, step, size, regions) for core in range(per_node)] for step in range(steps)]
    setup = twin.outside_body(1, 10_000_000)
    for node in range(nodes):
        first, host = node * per_node, f"n{node:04d}"
        file = _Node(path / "stream" / f"{host}-{node:08x}.pf", per_node, first)
        for core in range(per_node):
            file.json("rank", _rank(first + core, core, size, host, node), core)
        for core in range(per_node):
            if shared:
                file.add("defined", rows, _bridge.crc32c(rows), core)
            for (type, values), body, hash, id in zip(texts, bodies, hashes, ids):
                if shared and core < 2:
                    file.add("definition", body, _bridge.crc32c(body), core, hash)
                elif not shared:
                    file.json(type, {"id": id, **values}, core, id)
            file.add("step", setup, _bridge.crc32c(setup), core)
        for step, of_cores in enumerate(steps_of_cores):
            for core, body in enumerate(of_cores):
                _move(body, first + core, size)
                file.add("step", body, _bridge.crc32c(bytes(body)), core, step)
        for core in range(per_node):
            file.json("end", _end(steps, first + core), core)
        file.close()
    return path


QUANTITIES = (
    *((f"mpi_{name}_time", "ns", "region", "longest") for name in ("p2p", "wait", "collective")),
    ("file_time", "ns", "region", "longest"),
    *((name, unit, "rank", "sum") for name, unit in (
        ("file_time", "ns"), ("file_read", "B"), ("file_write", "B"), ("file_read_count", "1"),
        ("file_write_count", "1"),
    )),
    *((name, "1", "region", "sum") for name in ("cycles", "instructions")),
)  # fmt: skip


def _ids(texts: list) -> list[int]:
    n_regions = sum(type == "region" for type, _ in texts)
    return [n + 1 if n < n_regions else n - n_regions for n in range(len(texts))]


def _rank(rank: int, core: int, size: int, host: str, node: int) -> dict:
    return {
        "rank": rank, "size": size, "pid": 2**22 + 1 + core, "program": "heat", "group": "heat",
        "arguments": "/home/user/heat/bin/heat --input /home/user/heat/case/heat.input", "host": host,
        "host_long": f"{host}.cluster.example.org", "pid_namespace": "pid:[4026531836]",
        "boot_id": f"{node:08x}", "cpuset": str(core), "clock": "tsc",
        "monotonic_ns": 2_367_313_151_049 + 1009 * rank, "realtime_ns": twin.START_NS + 1009 * rank,
        "realtime_error_ns": 1_500_000, "mpi": "Open MPI 4.1.4", "perfield": "0.2.0",
        "sources": ["memory", "io", "pmpi"], "sum_every": 1,
    }  # fmt: skip


def _end(steps: int, rank: int) -> dict:
    return {
        "reason": "finalize", "steps": steps, "sources": ["memory", "io", "pmpi"],
        "hooks": {"mpi_finalize": 1}, "faults": {}, "dropped_events": {}, "dropped_messages": 0,
        "dropped_regions": 0, "bytes_written": 20_000 + rank, "perfield_ns": 1_000_000 + rank,
        "perfield_bytes": 1_500_000, "realtime_ns": twin.START_NS + 10**9 + rank, "missing": 0,
        "missing_of_mesh": 0, "synced": True,
    }  # fmt: skip


def _step(core: int, step: int, size: int, regions: int) -> bytearray:
    """Body of a step of the ranks on a core; `_move` fills in the peers of one of them."""
    busy = sum(region_ns(n, core, step) for n in range(regions))
    begin = 10_000_000 + step * STEP_NS
    wait = STEP_NS - busy - CPU_NS
    values = {
        "label": step + 1, "time": 0.5 * (step + 1), "begin_ns": begin, "end_ns": begin + STEP_NS,
        "realtime_ns": twin.START_NS + begin + STEP_NS, "measured_ns": STEP_NS, "perfield_ns": 8_000,
        "perfield_bytes": 1_500_000, "resident_bytes": 50_000_000, "cpu_user_ns": busy, "pu": core,
        "regions": [twin.region_row(n + 1, region_ns(n, core, step)) for n in range(regions)],
        "messages": [
            {"peer": at, "call": call, "count": 2, "bytes": 8192, "largest": 4096}
            for call in (twin.ISEND, twin.RECV) for at in PLACES
        ],
        "waits": [{"peer": PLACES[0], "count": 1, "ns": 60_000}],
        "calls": [
            {"call": twin.ISEND, "time_class": twin.P2P, "count": 12, "ns": 50_000},
            {"call": twin.WAITALL, "time_class": twin.WAIT, "count": 2, "ns": wait},
        ],
        "quantities": [{"region": 1, "quantity": twin.P2P, "value": 50_000}],
    }  # fmt: skip
    return bytearray(twin.step_body(**values))


def _move(body: bytearray, rank: int, size: int) -> None:
    """Makes the peers of a step those of a rank, inside the world."""
    regions = int.from_bytes(body[_ENTRY + 4 : _ENTRY + 8], "little")
    at = _ENTRY + twin.TABLE.size + regions * twin.TABLES["regions"][0].size
    for table, rows in (("messages", 2 * len(PLACES)), ("waits", 1)):
        at += twin.TABLE.size
        for row in range(rows):
            peer = min(max(rank + PLACES[row % len(PLACES)], 0), size - 1)
            body[at : at + 4] = peer.to_bytes(4, "little")
            at += twin.TABLES[table][0].size


def main() -> None:
    """Writes a run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    for name, value in (("nodes", 1000), ("ranks", 128), ("steps", 10), ("regions", 10)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--apart", action="store_true", help="each rank defines its own regions")
    given = parser.parse_args()
    write(given.path, given.nodes, given.ranks, given.steps, regions=given.regions, shared=not given.apart)


if __name__ == "__main__":
    main()
