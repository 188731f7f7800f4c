# SPDX-License-Identifier: BSD-3-Clause
"""How soon the page of `perfield serve` can be used, in headless Chromium with a software renderer.

From the start of the load until both pictures are drawn and the choosers work, as the page notes it itself,
of runs with 64 ranks x 100 steps, 64 x 1,000, 4,096 x 1,000 and 16,384 x 100. The runs are written first:
65,536 ranks would take minutes. That of most ranks has no mesh, which the page loads on request. Each is
loaded twice by one server: at first it reads the run, then it has it in memory. Some steps are changed, one
after the other, until the page has drawn each, and until the renderer has, and the memory of the page's
scripts is read: its heap, and its arrays. With 128 and 1,536 ranks, it plays for some seconds, each step as
soon as the one before is seen. The load of the machine before is printed, as other programs make all figures
worse.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
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
    (16384, 100, 64, None, 8.0),  # of 65,536 ranks
)
PLAYED = ((128, (8, 4, 4), 30.0), (1536, (16, 12, 8), 10.0))  # ranks, and steps in a second
PLAYED_STEPS, PLAYED_S = 400, 5
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
        figure(f"change of the step until it is rendered, {ranks} ranks", again.seen_ms, "ms", target=None)
        figure(
            f"memory of the page, {ranks} ranks x {steps} steps", [again.memory_mb], "MB", target=MEMORY_MB
        )
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        figure(f"CPU time of server and browsers of both loads, {ranks} ranks", [cpu_s], "s", target=None)
    for ranks, blocks, target in PLAYED:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
            run = write_long_run(Path(place) / "run", ranks, PLAYED_STEPS, 16, blocks)
            with served(run) as address:
                rates = [played(address, Path(place))]
        figure(f"steps that play, {ranks} ranks", rates, "1/s", target=target, most=False)


@dataclass(frozen=True)
class Load:
    """Seconds until the page is usable, milliseconds of each change of the step, and memory of scripts."""

    usable_s: float
    change_ms: list[float]
    seen_ms: list[float]
    memory_mb: float


def loads(run: Path, place: Path) -> list[Load]:
    """What LOADS loads from one server take."""
    with served(run) as address:
        return [_load(address, place / str(load)) for load in range(LOADS)]


@contextlib.contextmanager
def served(run: Path) -> Iterator[str]:
    """A server of a run in a process of its own, by its address."""
    command = [sys.executable, "-m", "perfield.commands", "serve", run, "--port", "0", "--no-browser"]
    command += ["--token", "none"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = next(word for word in server.stdout.readline().split() if word.startswith("http"))
            yield address.rstrip(";")
        finally:
            server.terminate()
            server.wait()


CHANGE = """(async () => {
  const gl = document.querySelector('#mesh canvas')?.getContext('webgl2');
  const [taken, seen] = [[], []];
  for (let n = 1; n <= %d; n += 1) {
    const begin = performance.now();
    perfield.set({frame: (perfield.frame + 1) %% perfield.run.n_frames});
    await perfield.drawn;
    taken.push(performance.now() - begin);
    gl?.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    seen.push(performance.now() - begin);
  }
  window.taken = [taken, seen];
})(); 0"""


def _load(address: str, place: Path) -> Load:
    with opened_tab("about:blank", place, webgl=True) as tab:
        tab.visit(address)
        while (taken := tab.value(USABLE)) is None:
            time.sleep(0.2)  # asking costs time, too
        tab.until("perfield.heat.heat?.complete")
        tab.value(CHANGE % CHANGES)
        change_ms, seen_ms = tab.until("window.taken")
        tab.call("HeapProfiler.collectGarbage")
        used = tab.call("Runtime.getHeapUsage")
        assert not tab.complaints, tab.complaints
        parts = ("usedSize", "embedderHeapUsedSize", "backingStorageSize")
        return Load(taken / 1000, change_ms, seen_ms, sum(used.get(part, 0) for part in parts) / 1e6)


def played(address: str, place: Path) -> float:
    """How many steps of a run play in a second."""
    with opened_tab("about:blank", place / "playing", webgl=True) as tab:
        tab.visit(address)
        tab.until(USABLE)
        tab.until("perfield.heat.heat?.complete && perfield.matrix.matrix?.complete")
        tab.value("perfield.set({frame: 0}); void perfield.controls.play(true)")
        before = tab.value("[perfield.frame, performance.now()]")
        time.sleep(PLAYED_S)
        after = tab.value("[perfield.frame, performance.now()]")
        assert tab.value("perfield.controls.playing") and not tab.complaints, tab.complaints
        return (after[0] - before[0]) / (after[1] - before[1]) * 1000


if __name__ == "__main__":
    main()
