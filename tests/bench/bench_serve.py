# SPDX-License-Identifier: BSD-3-Clause
"""How long `perfield serve` takes for the answers that a page needs first, and its memory."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from long_runs import write_long_run
from report import figure

REPEATS = 5
SIZES = {  # ranks x steps: shape of the mesh in pieces, seconds in which the page must be usable
    (64, 100): ((4, 4, 4), 3.0),
    (4096, 1000): ((16, 16, 16), 10.0),
}
PER_HOST = 16
SHARE = 0.5  # of that time, for all first answers of the server together
FIRST = (
    "run",
    "mesh?version=0",
    "machine",
    "values?field=compute_time_s&from={n}&to={m}",
    "messages?frame={n}",
)
LATER = ("values?field=compute_time_s&from=0&to=1", "heat?field=compute_time_s", "rank?rank=5", "matrix?to=1")
MOST_LATER_S = 1.5  # an answer after a click


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        for (ranks, steps), (blocks, usable_s) in SIZES.items():
            path = write_long_run(Path(name, "run"), ranks, steps, PER_HOST, blocks)
            what = f"{ranks} ranks x {steps} steps"
            started, first, later, memory = [], [], [], []
            for _ in range(REPEATS):
                begin = time.perf_counter()
                with Served(path) as server:
                    started.append(time.perf_counter() - begin)
                    asked = [server.timed(one.format(n=steps // 2, m=steps // 2 + 1)) for one in FIRST]
                    first.append(asked)
                    later.append([server.timed(one) for one in LATER])
                    memory.append(server.resident_mb())
            figure(f"{what}: until the address is printed", started, "s", target=None)
            for number, one in enumerate(FIRST):
                figure(f"{what}: first /api/{one.partition('?')[0]}", column(first, number), "s", target=None)
            totals = [sum(asked) for asked in first]
            figure(f"{what}: all first answers", totals, "s", target=SHARE * usable_s)
            for number, one in enumerate(LATER):
                name_of = f"{what}: later /api/{one.partition('?')[0]}"
                figure(name_of, column(later, number), "s", target=MOST_LATER_S)
            figure(f"{what}: memory of the server", memory, "MB", target=None)


def column(rows: list[list[float]], number: int) -> list[float]:
    """One of several timings of all repeats."""
    return [row[number] for row in rows]


class Served:
    """A server in a process of its own."""

    def __init__(self, path: Path):
        words = [sys.executable, "-m", "perfield.commands", "serve", str(path), "--port", "0", "--no-browser"]
        words += ["--token", "none"]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Served:
        for line in self._process.stdout:
            if found := re.search(r"http://localhost:(\d+)/", line):
                self._connection = http.client.HTTPConnection("localhost", int(found[1]))
                return self
        raise RuntimeError("perfield serve printed no address.")

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.kill()
        self._process.wait()

    def timed(self, path: str) -> float:
        """Seconds until the whole answer is there, as a browser asks for it."""
        begin = time.perf_counter()
        self._connection.request("GET", f"/api/{path}", headers={"Accept-Encoding": "gzip"})
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"/api/{path}: {body[:300]!r}")
        return time.perf_counter() - begin

    def resident_mb(self) -> float:
        """Resident memory of the server."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1000


if __name__ == "__main__":
    main()
