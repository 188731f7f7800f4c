# SPDX-License-Identifier: BSD-3-Clause
"""What sampling costs a program: CPU time, and bytes on disk. A thread's rings take 0.2 MB."""

from __future__ import annotations

import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

import programs
from report import figure

import perfield

RATE = 200
MOST_CPU = 0.5  # percent
ROUNDS, STEPS = 9, 400


def cpu_s(program: Path, folder: Path, rate: int) -> float:
    """CPU time of the program in user and kernel mode."""
    folder.mkdir()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    programs.run(1, program, str(STEPS), measured=True, cwd=folder, PERFIELD_SAMPLE=str(rate))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def stream_bytes(folder: Path) -> int:
    """What the run in a folder takes in its stream."""
    return sum(file.stat().st_size for file in (folder / "perfield-run" / "stream").iterdir())


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "shares"
        source = Path(__file__).resolve().parents[1] / "bridge/sources/programs/shares.c"
        flags = subprocess.run(
            [programs.BIN / "perfield", "setup", "paths", "--cflags"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        words = ["mpicc.openmpi", "-O1", source, *flags, "-ldl", "-lpthread", "-o", program]
        subprocess.run(words, check=True)
        spent = {rate: [] for rate in (0, RATE, 10 * RATE)}
        for round_ in range(ROUNDS):  # in turn: other work on the machine slows all alike
            for rate, values in spent.items():
                values.append(cpu_s(program, folder / f"{rate}-{round_}", rate))
        bare = statistics.median(spent[0])
        for rate, target in ((RATE, MOST_CPU), (10 * RATE, None)):
            ratios = [100 * (with_ / without - 1) for with_, without in zip(spent[rate], spent[0])]
            figure(f"CPU time added at {rate:,} samples per second", ratios, "%", target=target)
        costly = statistics.median(spent[10 * RATE]) - bare
        run = perfield.open(folder / f"{10 * RATE}-0" / "perfield-run")
        taken = run.sampled.n_samples
        figure("CPU time of a sample", [costly / taken * 1e6], "µs", target=None)
        figure(
            f"CPU time at {RATE} samples per second, by that",
            [costly / taken * RATE * 100],
            "%",
            target=MOST_CPU,
        )
        size = {rate: stream_bytes(folder / f"{rate}-0") for rate in (0, RATE)}
        n_samples = perfield.open(folder / f"{RATE}-0" / "perfield-run").sampled.n_samples
        each = (size[RATE] - size[0]) / n_samples
        figure(
            "disk that a sample takes, with its part of the list of libraries", [each], "bytes", target=None
        )


if __name__ == "__main__":
    main()
