# SPDX-License-Identifier: BSD-3-Clause
"""Speed of reading full step entries (10 regions, 26 peers), including checksums."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from report import figure

import perfield
from perfield import _bridge
from perfield.fields.columns import read_columns

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import twin

RANKS, STEPS, REGIONS, PEERS = 64, 20, 10, 26
REPEATS = 11
ENTRIES = 100_000
STEP_TYPE = 5


def make_full(rank: int, step: int, values: dict) -> None:
    """Gives a step entry of the twin ten regions with MPI inside, and 26 peers to send to, receive from and
    wait for."""
    regions = range(1, REGIONS + 1)
    values["regions"] = [twin.region_row(number, 1_000 * number + step) for number in regions]
    values["quantities"] = [
        {"region": number, "quantity": id, "value": 100} for number in regions for id in (twin.P2P, twin.WAIT)
    ]
    peers = [(rank + n) % RANKS for n in range(1, PEERS + 1)]
    values["messages"] = [
        {"peer": peer, "call": call, "count": 1, "bytes": 800, "empty": 0, "largest": 800}
        for call in (twin.ISEND, twin.RECV)
        for peer in peers
    ]
    values["waits"] = [{"peer": peer, "count": 1, "ns": 1_000} for peer in peers]


def rate(entries: int, action: Callable[[], object]) -> float:
    """Entries per second of CPU time."""
    begin = time.process_time()
    action()
    return entries / (time.process_time() - begin)


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
        run = perfield.open(path)
        often = np.resize(np.arange(len(run)), ENTRIES // RANKS)
        of_many, everything = len(often) * RANKS, len(run) * RANKS
        rates: dict[str, list[float]] = {}

        def note(what: str, entries: int, action: Callable[[], object]) -> None:
            rates.setdefault(what, []).append(rate(entries, action))

        def decode() -> None:
            whole = _bridge.read_steps(stream, offsets)["whole"]
            if not whole.all():
                raise RuntimeError(f"{(~whole).sum()} of {ENTRIES} entries were read as damaged.")

        for _ in range(REPEATS):
            note("decoding step entries", ENTRIES, decode)
            note("step entries to all columns", of_many, lambda: read_columns(run, run.columns.names, often))
            note("step entries to one column", of_many, lambda: read_columns(run, ["compute_time_s"], often))
            note("frames, one by one", of_many, lambda: [run.frame(number) for number in often])
            note(
                "opening a run and making its frames", everything, lambda: list(perfield.open(path).frames())
            )
        targets = {"decoding step entries": 300_000, "step entries to all columns": 200_000}
        targets |= {"frames, one by one": 100_000}
        for what, values in rates.items():
            figure(what, values, "entries/s of CPU time", target=targets.get(what), most=False)


if __name__ == "__main__":
    main()
