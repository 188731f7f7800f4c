# SPDX-License-Identifier: BSD-3-Clause
"""Run directories of many ranks and steps, written entry by entry in NumPy: millions of them in seconds.

Each rank's entries are those of the twin's first step, with another label, time, stamps, and time of `solve`
and of waiting. Compute time grows with the rank and swings with the step, so heat maps have a pattern.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from twins import twin

STEP_NS = 10_000_000
AT_ONCE = 1 << 15  # entries
_TABLE = ~np.array([twin.crc32c(bytes([byte]), 0xFFFFFFFF) for byte in range(256)], np.uint32)


def write_long_run(
    path: Path, ranks: int, steps: int, per_host: int, blocks: tuple[int, int, int] | None
) -> Path:
    """Writes a finished run with a mesh of `blocks` cubes along x, y and z; None: without a mesh.

    per_host : ranks of each host.
    """
    shutil.rmtree(path, ignore_errors=True)
    hosts = tuple(f"n{number:04d}" for number in range(-(-ranks // per_host)))
    twin.write_run(path, ranks, 0, hosts=hosts, ended=False, mesh=blocks is not None, blocks=blocks)
    first = len(("rank", "solve", "exchange", *twin.QUANTITIES, "setup"))  # entries before the first step
    for host in range(len(hosts)):
        here = range(host * per_host, min(ranks, (host + 1) * per_host))
        stream = path / "stream" / f"{hosts[host]}-{hosts[host]}-00.pf"
        stream = stream if stream.exists() else next((path / "stream").glob(f"{hosts[host]}-*.pf"))
        with stream.open("ab") as file:
            for begin in range(0, steps, max(1, AT_ONCE // len(here))):
                numbers = np.arange(begin, min(steps, begin + max(1, AT_ONCE // len(here))))
                file.write(_entries(here, ranks, numbers, first))
        for rank in here:
            writer = twin.Writer(stream, rank)
            writer.sequence = first + steps
            end = {"reason": "finalize", "steps": steps, "faults": {}, "realtime_ns": twin.START_NS}
            writer.add("end", twin.json_body(end))
    return path


def _entries(here: range, ranks: int, numbers: np.ndarray, first: int) -> bytes:
    """The entries of some steps of the ranks of a host, step by step."""
    parts = []
    for rank in here:
        values = twin.step_values(rank, ranks, 0)
        values["quantities"] = []
        body = twin.step_body(**values)
        whole = np.frombuffer(twin.entry("step", body, rank=rank, sequence=first), np.uint8)
        rows = np.tile(whole, (len(numbers), 1))
        head = twin.HEADER.size
        offset = {
            "label": head,
            "time": head + 8,
            **{name: head + at for name, at in _places(values).items()},
        }
        swing = 0.15 * np.sin(2 * np.pi * (numbers / 50 + rank / ranks))
        solve = ((0.5 + 0.25 * rank / ranks) * (1 + swing) * STEP_NS).astype(np.uint64)
        written = {
            "label": numbers + 1,
            "time": (0.5 * (numbers + 1)).astype("<f8").view("<u8"),
            "begin_ns": 10_000_000 + STEP_NS * numbers,
            "end_ns": 10_000_000 + STEP_NS * (numbers + 1),
            "measured_ns": np.full(len(numbers), STEP_NS),
            "solve": solve,
            "wait": STEP_NS - 500_000 - solve.astype(np.int64),
        }
        for name, column in written.items():
            for at in range(offset[name], offset[name] + (48 if name == "solve" else 8), 8):  # sum, min, max
                rows[:, at : at + 8] = column.astype("<u8").reshape(-1, 1).view(np.uint8)
        _stamp(rows, sequence=first + numbers, index=numbers)
        parts.append(rows)
    return np.stack(parts, axis=1).tobytes()


def _places(values: dict) -> dict[str, int]:
    """Where some numbers of 8 bytes are in the body of a step entry: where it changes if they do."""
    plain, found = twin.step_body(**values), {}
    for name in ("begin_ns", "end_ns", "measured_ns"):
        found[name] = _first_change(plain, twin.step_body(**values | {name: values[name] ^ 0xFF}))
    solve, exchange = values["regions"]
    changed = solve | {"inclusive_sum_ns": solve["inclusive_sum_ns"] ^ 0xFF}
    found["solve"] = _first_change(plain, twin.step_body(**values | {"regions": [changed, exchange]}))
    isend, wait = values["calls"]
    changed = wait | {"ns": wait["ns"] ^ 0xFF}
    found["wait"] = _first_change(plain, twin.step_body(**values | {"calls": [isend, changed]}))
    return found


def _first_change(one: bytes, other: bytes) -> int:
    return next(at for at, (a, b) in enumerate(zip(one, other)) if a != b)


def _stamp(rows: np.ndarray, sequence: np.ndarray, index: np.ndarray) -> None:
    """Sets sequence, index and both checksums of entries, uint8 (n_entries, size)."""
    head = twin.HEADER  # marker, type, version, body bytes, run id, rank, sequence, index, body CRC, CRC
    rows[:, 28:32] = sequence.astype("<u4").reshape(-1, 1).view(np.uint8)
    rows[:, 32:40] = index.astype("<u8").reshape(-1, 1).view(np.uint8)
    rows[:, 40:44] = _crcs(rows[:, head.size :]).reshape(-1, 1).view(np.uint8)
    rows[:, 44:48] = _crcs(rows[:, :44]).reshape(-1, 1).view(np.uint8)


def _crcs(rows: np.ndarray) -> np.ndarray:
    """CRC-32C of each row, uint32."""
    crc = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in np.ascontiguousarray(rows.T):
        crc = (crc >> np.uint32(8)) ^ _TABLE[(crc ^ column) & np.uint32(0xFF)]
    return ~crc
