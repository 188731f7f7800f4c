# SPDX-License-Identifier: BSD-3-Clause
"""How soon the page of `perfield serve` can be used, in headless Chromium with a software renderer.

From the start of the load until both pictures are drawn and the choosers work, as the page notes it itself,
of runs with 64 ranks x 100 steps, 64 x 1,000 and 4,096 x 1,000. The runs are written first. Each is loaded
twice by one server: at first it reads the run, the second time it has it in memory. Then some steps are
changed, one after the other, until each is drawn, and the memory of the page's scripts is read: its heap, and
its arrays. The load of the machine before is printed, as others' programs make all figures worse.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from long_runs import write_long_run
from report import figure

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from drivers.driven_chromium import opened_tab

RUNS = (  # and the seconds to hold
    (64, 100, 16, (4, 4, 4), 3.0),
    (64, 1000, 16, (4, 4, 4), 1.5),
    (4096, 1000, 64, (16, 16, 16), 3.0),
)
LOADS, CHANGES = 2, 20
STEP_MS, MEMORY_MB = 50.0, 400.0
USABLE = "performance.getEntriesByName('usable')[0]?.startTime"


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--in", dest="folder", help="where runs are written; a temporary folder by default")
    arguments = parser.parse_args()
    figure("load of the machine before, processes", [os.getloadavg()[0]], "1", target=None)
    for ranks, steps, per_host, blocks, target_s in RUNS:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
            run = write_long_run(Path(place) / "run", ranks, steps, per_host, blocks)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            first, again = loads(run, Path(place))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        of_run = f"of {ranks} ranks x {steps} steps is usable"
        figure(f"page {of_run}, first load", [first.usable_s], "s", target=target_s)
        figure(f"page {of_run}, second load", [again.usable_s], "s", target=target_s)
        figure(f"change of the step, {ranks} ranks", again.change_ms, "ms", target=STEP_MS)
        figure(
            f"memory of the page, {ranks} ranks x {steps} steps", [again.memory_mb], "MB", target=MEMORY_MB
        )
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        figure(f"CPU time of server and browsers of both loads, {ranks} ranks", [cpu_s], "s", target=None)


@dataclass(frozen=True)
class Load:
    """Seconds until the page is usable, milliseconds of each change of the step, and memory of scripts."""

    usable_s: float
    change_ms: list[float]
    memory_mb: float


def loads(run: Path, place: Path) -> list[Load]:
    """What LOADS loads from one server take."""
    command = [sys.executable, "-m", "perfield.commands", "serve", run, "--port", "0", "--no-browser"]
    command += ["--token", "none"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = next(word for word in server.stdout.readline().split() if word.startswith("http"))
            return [_load(address.rstrip(";"), place / str(load)) for load in range(LOADS)]
        finally:
            server.terminate()
            server.wait()


CHANGE = """(async () => {
  const taken = [];
  for (let n = 1; n <= %d; n += 1) {
    const begin = performance.now();
    perfield.set({frame: (perfield.frame + 1) %% perfield.run.n_frames});
    await perfield.drawn;
    taken.push(performance.now() - begin);
  }
  window.taken = taken;
})(); 0"""


def _load(address: str, place: Path) -> Load:
    with opened_tab("about:blank", place, webgl=True) as tab:
        tab.visit(address)
        while (taken := tab.value(USABLE)) is None:
            time.sleep(0.2)  # asking costs time, too
        tab.until("perfield.heat.heat?.complete")
        tab.value(CHANGE % CHANGES)
        change_ms = tab.until("window.taken")
        tab.call("HeapProfiler.collectGarbage")
        used = tab.call("Runtime.getHeapUsage")
        assert not tab.complaints, tab.complaints
        parts = ("usedSize", "embedderHeapUsedSize", "backingStorageSize")
        return Load(taken / 1000, change_ms, sum(used.get(part, 0) for part in parts) / 1e6)


if __name__ == "__main__":
    main()
