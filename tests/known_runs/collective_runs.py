# SPDX-License-Identifier: BSD-3-Clause
"""Runs with collective operations, made by `twin`.

Of 8 ranks: the world calls allreduce with 24 bytes; rows of 4 ranks call alltoall, in which rank r gives
8,000 * (r + 1) bytes and gets 9,000; columns, 0 and 4, 1 and 5, ..., call alltoallw.
"""

from __future__ import annotations

from pathlib import Path

from twins import twin

ALLTOALL, ALLTOALLW, ALLREDUCE = 53, 55, 57
WORLD, ROW, COLUMN = 7, 20, 30


def operations(rank: int, step: int, values: dict) -> None:
    """For `change_step`."""
    values["collectives"] = [
        {"communicator": WORLD, "call": ALLREDUCE, "count": 3, "bytes_out": 24, "bytes_in": 24},
        {
            **{"communicator": ROW + rank // 4, "call": ALLTOALL, "count": 2},
            **{"bytes_out": 8_000 * (rank + 1), "bytes_in": 9_000},
        },
        {
            **{"communicator": COLUMN + rank % 4, "call": ALLTOALLW, "count": 1},
            **{"bytes_out": 80, "bytes_in": 80},
        },
    ]


def descriptions(rank: int) -> list[tuple[int, dict]]:
    """What a rank says of its communicators: (name, body)."""
    return [
        (WORLD, {"size": 8, "rank": rank, "label": "MPI_COMM_WORLD"}),
        (ROW + rank // 4, {"size": 4, "rank": rank % 4, "label": "rows"}),
        (COLUMN + rank % 4, {"size": 2, "rank": rank // 4, "label": ""}),
    ]


def write_run(path: Path, described=descriptions, change_step=operations, **options) -> Path:
    """A run of 8 ranks. described : for each rank, its descriptions."""
    twin.write_run(path, ranks=8, change_step=change_step, ended=False, **options)
    hosts = options.get("hosts", ("node0",))
    for rank in range(8):
        values = twin.rank_values(rank, 8, hosts[rank * len(hosts) // 8])
        writer = twin.Writer(path / "stream" / f"{values['host']}-{values['boot_id'][:8]}.pf", rank)
        writer.sequence = 1_000
        for name, body in described(rank):
            writer.add("communicator", twin.json_body({"name": name, **body}), index=name)
    return path
