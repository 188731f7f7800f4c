# SPDX-License-Identifier: BSD-3-Clause
"""How soon the page of `perfield serve` can be used, in headless Chromium with a software renderer.

From the start of the load until both pictures are drawn and the choosers work, as the page notes it itself,
of runs with 64 ranks x 100 steps and 4,096 x 1,000. The runs are written first. Each is loaded twice by one
server: at first it reads the run, the second time it has it in memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from long_runs import write_long_run
from report import figure

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from drivers.driven_chromium import opened_tab

RUNS = ((64, 100, 16, (4, 4, 4), 3.0), (4096, 1000, 64, (16, 16, 16), 10.0))  # and the seconds to hold
LOADS = 2
USABLE = "performance.getEntriesByName('usable')[0]?.startTime"


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--in", dest="folder", help="where runs are written; a temporary folder by default")
    arguments = parser.parse_args()
    for ranks, steps, per_host, blocks, target_s in RUNS:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
            run = write_long_run(Path(place) / "run", ranks, steps, per_host, blocks)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            first, again = loads(run, Path(place))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        of_run = f"of {ranks} ranks x {steps} steps is usable"
        figure(f"page {of_run}, first load", [first], "s", target=target_s)
        figure(f"page {of_run}, second load", [again], "s", target=target_s)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        figure(f"CPU time of server and browsers of both loads, {ranks} ranks", [cpu_s], "s", target=None)


def loads(run: Path, place: Path) -> list[float]:
    """Seconds until the page is usable, of each of LOADS loads from one server."""
    command = [sys.executable, "-m", "perfield.commands", "serve", run, "--port", "0", "--no-browser"]
    command += ["--token", "none"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = next(word for word in server.stdout.readline().split() if word.startswith("http"))
            return [_load(address.rstrip(";"), place / str(load)) for load in range(LOADS)]
        finally:
            server.terminate()
            server.wait()


def _load(address: str, place: Path) -> float:
    with opened_tab("about:blank", place, webgl=True) as tab:
        tab.visit(address)
        while (taken := tab.value(USABLE)) is None:
            time.sleep(0.2)  # asking costs time, too
        assert not tab.complaints, tab.complaints
        return taken / 1000


if __name__ == "__main__":
    main()
