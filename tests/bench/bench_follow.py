# SPDX-License-Identifier: BSD-3-Clause
"""How many frames `perfield follow` shows in a second at 64 ranks, and what the program beside it notices."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import programs
from report import figure

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from twins import twin

RANKS, FRAMES, REPEATS = 64, 120, 3
STEPS, PAIRS = 400, 5
PIPELINE = """
import paraview.simple as pv
from paraview import catalyst
options = catalyst.Options()
producers = [pv.PVTrivialProducer(registrationName=name) for name in ("geometry", "topology")]
def catalyst_execute(info):
    for producer in producers:
        producer.UpdatePipeline()
"""


def follow(run: Path, *options: object) -> tuple[float, float]:
    """CPU and wall seconds of `perfield follow` on a run that has ended."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    words = [programs.BIN / "perfield", "follow", run, *options]
    subprocess.run([str(word) for word in words], env=programs.ENVIRONMENT, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - begin


def speeds(run: Path, most: int, *options: object) -> list[tuple[float, float]]:
    """Frames per second of CPU time and of wall time, without the start, once for each repetition.

    most : number of frames; a second run of a fifth of them says the start.
    """
    found = []
    for _ in range(REPEATS):
        all_of_them = follow(run, "--every", FRAMES // most, *options)
        few = follow(run, "--every", 5 * FRAMES // most, *options)
        found.append(tuple((most - most // 5) / (a - b) for a, b in zip(all_of_them, few)))
    return found


def beside(program: Path, folder: Path, is_followed: bool) -> tuple[float, float]:
    """CPU seconds of all ranks and wall seconds of the program, with `perfield follow` beside it or not."""
    path = folder / f"run-{time.monotonic_ns()}"
    words = [programs.BIN / "perfield", "follow", path, "--no-extracts"]
    following = None
    if is_followed:
        quiet = subprocess.DEVNULL
        following = subprocess.Popen(words, env=programs.ENVIRONMENT, stdout=quiet, stderr=quiet)
    text = programs.run(2, program, STEPS, measured=True, PERFIELD_RUN_DIRECTORY=str(path))
    if following is not None:
        following.wait()
    cpu, wall = map(float, text.split())
    return cpu, wall


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = twin.write_run(folder / "run", RANKS, FRAMES, hosts=("a", "b", "c", "d"), blocks=(4, 4, 4))
        script = folder / "both.py"
        script.write_text(PIPELINE)
        ways = {
            "perfield's pipelines without extracts": (FRAMES, ("--no-extracts",), 20.0),
            "a pipeline that reads both channels": (FRAMES, ("--script", script), None),
            "extracts of each frame": (FRAMES // 4, (), None),
        }
        for way, (most, options, target) in ways.items():
            by_cpu, by_wall = zip(*speeds(run, most, *options))
            figure(f"frames at 64 ranks, {way}", by_wall, "1/s", target=target, most=False)
            figure(f"the same by CPU time, {way}", by_cpu, "1/s", target=target, most=False)
        program = programs.build("fixed_work.c", folder)
        cpu, wall = [], []
        for _ in range(PAIRS):
            alone, followed = (beside(program, folder, is_followed) for is_followed in (False, True))
            cpu.append(100 * (followed[0] / alone[0] - 1))
            wall.append(100 * (followed[1] / alone[1] - 1))
        figure("CPU time that follow beside it adds to a program", cpu, "%", target=1.0)
        figure("wall time that follow beside it adds, two ranks on two cores", wall, "%", target=None)


if __name__ == "__main__":
    main()
