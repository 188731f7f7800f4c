# SPDX-License-Identifier: BSD-3-Clause
"""How large a page gets: noise, which no image format makes small, of many ranks and steps."""

from __future__ import annotations

import random
import struct
from contextlib import ExitStack
from pathlib import Path

import pytest

from perfield import _bridge
from perfield.commands import main
from twins import twin

pytest.importorskip("jinja2", reason="jinja2 is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

MOST_BYTES = 5_000_000
BODIES = 11  # different steps of a rank


def write_noise(path: Path, ranks: int, steps: int) -> None:
    """A run in which each rank computes 5 to 19 ms in each step, at random, and sends to four others."""
    twin.write_run(path, ranks, 0, hosts=("a", "b", "c", "d"), regions=("solve",), mesh=False, ended=False)
    streams = sorted((path / "stream").glob("*.pf"))
    chance = random.Random(1)

    def body(rank: int) -> bytes:
        solve = chance.randrange(5_000_000, 19_000_000)
        peers = [(rank + 1 + n) % ranks for n in range(3)] + [chance.randrange(ranks)]
        made = twin.step_body(
            measured_ns=20_000_000,
            regions=[twin.region_row(1, solve)],
            messages=[
                {"peer": peer, "call": twin.ISEND, "count": 1, "bytes": chance.randrange(10_000)}
                for peer in peers
            ],
            calls=[{"call": twin.WAITALL, "time_class": twin.WAIT, "count": 1, "ns": 20_000_000 - solve}],
        )
        return made[16:]  # behind label and time

    bodies = [[body(rank) for _ in range(BODIES)] for rank in range(ranks)]
    with ExitStack() as opened:
        files = [opened.enter_context(stream.open("ab")) for stream in streams]
        for step in range(steps):
            reported = struct.pack("<qd", step, 0.1 * step)
            for rank in range(ranks):
                entry = reported + bodies[rank][chance.randrange(BODIES)]
                fields = (
                    twin.TYPES["step"],
                    twin.VERSIONS["step"],
                    len(entry),
                    twin.RUN_ID,
                    rank,
                    100 + step,
                    step,
                )
                header = twin.HEADER.pack(twin.MARKER, *fields, _bridge.crc32c(entry), 0)[:44]
                header += struct.pack("<I", _bridge.crc32c(header))
                files[rank * len(files) // ranks].write(header + entry)


@pytest.mark.long
def test_page_of_a_thousand_noisy_ranks_and_steps_has_at_most_5_mb(tmp_path):
    write_noise(tmp_path / "run", 1000, 1000)
    assert main(["report", str(tmp_path / "run")]) == 0
    page = tmp_path / "run" / "analysis" / "report.html"
    assert page.stat().st_size < MOST_BYTES
    assert "1,000 ranks on 4 hosts, 1,000 steps" in page.read_text()
