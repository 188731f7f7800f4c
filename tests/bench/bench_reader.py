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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from twins import twin

RANKS, STEPS, REGIONS, PEERS = 32, 40, 10, 26
REPEATS = 11
ENTRIES = 100_000
AT_ONCE = 4_096  # entries, whose rows take 30 MB: larger arrays would measure how Linux finds memory
STEP_TYPE = 5


def make_full(rank: int, step: int, values: dict) -> None:
    """Gives a step entry of the twin ten regions with MPI inside, and 26 peers to send to, receive from and
    wait for."""
    regions = range(1, REGIONS + 1)
    wave = (rank * 31 + step * 17) % 101  # times differ from step to step, everything else repeats
    values["regions"] = [twin.region_row(number, 100_000 * number + 900 * wave) for number in regions]
    values["quantities"] = [
        {"region": number, "quantity": id, "value": 50_000 + 700 * wave}
        for number in regions
        for id in (twin.P2P, twin.WAIT)
    ]
    peers = [(rank + n) % RANKS for n in range(1, PEERS + 1)]
    values["messages"] = [
        {"peer": peer, "call": call, "count": 1, "bytes": 800, "empty": 0, "largest": 800}
        for call in (twin.ISEND, twin.RECV)
        for peer in peers
    ]
    values["waits"] = [{"peer": peer, "count": 1, "ns": 1_000 + 90 * wave * (peer + 1)} for peer in peers]


def rate(entries: int, action: Callable[[], object]) -> float:
    """Entries per second of CPU time."""
    begin = time.process_time()
    action()
    return entries / (time.process_time() - begin)


class Reading:
    """One run that is read in every way. form : how its entries are written, for the names of the figures."""

    def __init__(self, path: Path, form: str):
        self.path, self.form = path, form
        self.stream = str(next((path / "stream").glob("*.pf")))
        self.run = perfield.open(path)
        index = _bridge.StreamIndex(self.stream)
        index.refresh()
        steps = index.places[(index.places["type"] == STEP_TYPE) & (index.places["kind"] == 0)]
        self.mean_bytes = float(steps["body_bytes"].mean()) + twin.HEADER.size
        self.often = np.resize(steps, ENTRIES)
        self.frames = np.resize(np.arange(len(self.run)), ENTRIES // RANKS)
        self.rates: dict[str, list[float]] = {}

    def note(self, what: str, entries: int, action: Callable[[], object]) -> None:
        self.rates.setdefault(what, []).append(rate(entries, action))

    def decode(self) -> None:
        for begin in range(0, ENTRIES, AT_ONCE):
            places = self.often[begin : begin + AT_ONCE]
            whole = _bridge.read_steps(self.stream, places["offset"], places["reference_offset"])["whole"]
            if not whole.all():
                raise RuntimeError(f"{(~whole).sum()} of {len(whole)} entries were read as damaged.")

    def read(self) -> None:
        """Reads all once."""
        run, frames, path = self.run, self.frames, self.path
        of_many, everything = len(frames) * RANKS, len(run) * RANKS
        self.note("decoding step entries", ENTRIES, self.decode)
        self.note("indexing step entries", everything, lambda: _bridge.StreamIndex(self.stream).refresh())
        names = run.columns.names
        self.note("step entries to all columns", of_many, lambda: run.values(names, frames))
        self.note("step entries to one column", of_many, lambda: run.values(["compute_time_s"], frames))
        self.note("frames, one by one", of_many, lambda: [run.frame(number) for number in frames])
        opening = "opening a run and making its frames"
        self.note(opening, everything, lambda: list(perfield.open(path).frames()))

    def report(self) -> None:
        """Prints the figures."""
        targets = {"decoding step entries": 300_000, "step entries to all columns": 200_000}
        targets |= {"frames, one by one": 100_000}
        for what, values in self.rates.items():
            figure(what + self.form, values, "entries/s of CPU time", target=targets.get(what), most=False)
        target = 900 if self.form else None
        figure(f"bytes of a step entry{self.form}", [self.mean_bytes], "B", target=target)


def main() -> None:
    """Prints all figures, of full entries and of those that are stated as differences to one of 64."""
    regions = tuple(f"region {number}" for number in range(REGIONS))
    with tempfile.TemporaryDirectory() as name:
        forms = []
        for form, packed in (("", False), (", packed", True)):
            path = Path(name) / f"run-{packed}"
            make = {"mesh": False, "change_step": make_full, "packed": packed}
            forms.append(Reading(twin.write_run(path, RANKS, STEPS, regions=regions, **make), form))
        for _ in range(REPEATS):
            for reading in forms:
                reading.read()
        for reading in forms:
            reading.report()
        for what, values in forms[1].rates.items():
            ratios = [packed / full for packed, full in zip(values, forms[0].rates[what])]
            target = 1 if what == "decoding step entries" else None
            figure(f"{what}, packed against full", ratios, "times the rate", target=target, most=False)


if __name__ == "__main__":
    main()
