# SPDX-License-Identifier: BSD-3-Clause
"""Speed of reading full step entries (10 regions, 26 messages), including checksums."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import figure

import perfield
from perfield import _bridge

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import twin

RANKS, STEPS, REGIONS, PEERS = 64, 20, 10, 26
REPEATS = 11
ENTRIES = 100_000
STEP_TYPE = 5


def make_full(rank: int, step: int, values: dict) -> None:
    """Fills a step entry of the twin with ten regions and 26 messages."""
    values["regions"] = [twin.region_row(number, 1_000 * number + step) for number in range(1, REGIONS + 1)]
    values["messages"] = [
        {"peer": (rank + n) % RANKS, "call": twin.ISEND, "count": 1, "bytes": 800, "empty": 0, "largest": 800}
        for n in range(1, PEERS + 1)
    ]


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        regions = tuple(f"region {number}" for number in range(REGIONS))
        path = twin.write_run(
            Path(name) / "run", RANKS, STEPS, regions=regions, mesh=False, change_step=make_full
        )
        stream = str(next((path / "stream").glob("*.pf")))
        index = _bridge.StreamIndex(stream)
        index.refresh()
        places = index.places
        steps = places[(places["type"] == STEP_TYPE) & (places["kind"] == 0)]
        offsets = np.resize(steps["offset"], ENTRIES).astype(np.uint64)
        rates, frames = [], []
        for _ in range(REPEATS):
            begin = time.process_time()
            whole = _bridge.read_steps(stream, offsets)["whole"]
            rates.append(ENTRIES / (time.process_time() - begin))
            if not whole.all():
                raise RuntimeError(f"{(~whole).sum()} of {ENTRIES} entries were read as damaged.")
            begin = time.process_time()
            n_frames = sum(1 for _ in perfield.open(path).frames())
            frames.append(n_frames * RANKS / (time.process_time() - begin))
        figure("decoding step entries", rates, "entries/s of CPU time", target=300_000, most=False)
        figure("opening a run and making its frames", frames, "entries/s of CPU time", target=None)


if __name__ == "__main__":
    main()
