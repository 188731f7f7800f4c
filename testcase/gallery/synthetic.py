# SPDX-License-Identifier: BSD-3-Clause
"""Runs that this machine cannot make: written by formula, as measured runs are (tests/twins/twin.py)."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from twins import twin

Box = tuple[int, int, int]
FACE_BYTES = (8192, 32768, 16384)  # of messages along x, y and z


def partners(rank: int, box: Box, periodic: bool = True) -> list[tuple[int, int]]:
    """The six neighbours of a rank in a box of ranks, with the bytes of their messages; z counts first."""
    _, ny, nz = box
    place = (rank // (ny * nz), rank // nz % ny, rank % nz)
    found = []
    for direction in range(3):
        for by in (-1, 1):
            there = list(place)
            there[direction] += by
            if periodic or 0 <= there[direction] < box[direction]:
                x, y, z = (at % n for at, n in zip(there, box))
                found.append(((x * ny + y) * nz + z, FACE_BYTES[direction]))
    return found


def write(run: Path, box: Box, per_node: int, machine: str, *, periodic: bool, region: str) -> str:
    """Writes a run of one rank for each place of a box, on as many nodes as they fill.

    The time of a rank is drawn from a fixed series of random numbers, 20 ms and 5 % about that.
    """
    n_ranks = box[0] * box[1] * box[2]
    hosts = tuple(f"n{n:03}" for n in range(1, n_ranks // per_node + 1))
    draw = random.Random(12)

    def bind(rank: int, values: dict) -> None:
        values["cpuset"] = str(rank % per_node)

    def change(rank: int, step: int, values: dict) -> None:
        length = round(20e6 * draw.gauss(1.0, 0.05))
        sent = partners(rank, box, periodic)
        values["regions"] = [twin.region_row(1, length, count=4000)]
        values["messages"] = [
            {"peer": peer, "call": twin.ISEND, "count": 4, "bytes": 4 * size, "empty": 0, "largest": size}
            for peer, size in sent
        ]
        values["waits"], values["quantities"] = [], []
        values["begin_ns"], values["end_ns"] = 30_000_000 * step, 30_000_000 * (step + 1)
        values["measured_ns"], values["cpu_user_ns"], values["pu"] = 30_000_000, length, rank % per_node
        values["calls"] = [
            {"call": twin.WAITALL, "time_class": twin.WAIT, "count": 1, "ns": max(0, 30_000_000 - length)}
        ]

    twin.write_run(
        run,
        ranks=n_ranks,
        steps=1,
        hosts=hosts,
        regions=(region,),
        quantities=(),
        mesh=False,
        fields_every=0,
        change_rank=bind,
        change_step=change,
    )
    first = run / "machine" / f"{hosts[0]}.xml"
    subprocess.run(["lstopo", "-i", machine, "--of", "xml", "-f", str(first)], check=True)
    for host in hosts[1:]:
        shutil.copy(first, first.with_name(f"{host}.xml"))
    leaves = [hosts[n : n + 16] for n in range(0, len(hosts), 16)]
    lines = [f"SwitchName=leaf{n} Nodes={','.join(leaf)}" for n, leaf in enumerate(leaves, 1)]
    lines.append(f"SwitchName=spine Switches={','.join(f'leaf{n}' for n in range(1, len(leaves) + 1))}")
    (run / "machine" / "network.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"written by formula: {n_ranks:,} ranks on {len(hosts)} nodes, {len(leaves)} leaf switches"


def ring(run: Path) -> str:
    """256 nodes of 16 ranks, as a periodic box."""
    from runs import SANDY_BRIDGE

    return write(run, (16, 16, 16), 16, SANDY_BRIDGE, periodic=True, region="cycle")


def large(run: Path) -> str:
    """64 nodes of 24 ranks, as a box."""
    from runs import HASWELL

    return write(run, (8, 8, 24), 24, HASWELL, periodic=False, region="face_flux")


RUNS: dict[str, Callable[[Path], str]] = {"ring": ring, "large": large}
