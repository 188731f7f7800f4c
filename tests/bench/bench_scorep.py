# SPDX-License-Identifier: BSD-3-Clause
"""Cost of a region through Score-P's plugin: in a stand-in for Score-P, and in Score-P itself."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import instructions
import programs
from report import figure

import perfield

PAIR = 130  # instructions
PAIR_NS = 40  # on top of Score-P's own cost
LEFT_OUT_NS = 5  # a callback in a step that is not measured, on top of an empty one
TIMES, PAIRS = 15, 200_000  # as in programs/pairs.c
REAL_RUNS = 5  # alternating with and without the plugin
FOLDER = Path(__file__).resolve().parent
HOST = FOLDER.parent / "bridge/sources/scorep_host/host.c"
LIBRARIES = os.fspath(Path(perfield.__file__).parent / "lib")

CHOSEN, OTHER = 16, 24
STEPS = "enter 8\nexit 8\n" * 2  # closes two steps; the third is open
REGIONS = f"region 8 time_step\nregion {CHOSEN} chosen\nregion {OTHER} other\n"


def settings(**configuration: str) -> dict[str, str]:
    """Variables for the host, beside those of the benches."""
    own = {"PERFIELD_STEP_REGION": "time_step", "PERFIELD_REGIONS": "chosen"}
    return {"LD_LIBRARY_PATH": LIBRARIES, **own, **configuration}


def script(handle: int, before: str, pairs: int, times: int) -> str:
    """What the host does: two steps, then this many times so many pairs of the region."""
    repeated = f"repeat {pairs} {handle}\n" * times
    return f"{REGIONS}timer tsc\ninit_mpp\n{STEPS}{before}\n{repeated}"


def counted_in_host(host: Path, folder: Path, handle: int, before: str = "") -> float:
    """Instructions per pair of the region with this handle."""

    def argv(pairs: int) -> list[str]:
        events = folder / "events"
        events.write_text(script(handle, before, pairs, times=1))
        return ["sh", "-c", f"exec {host} < {events}"]

    return instructions.per_run(argv, settings())


def in_host(host: Path, folder: Path, handle: int, before: str = "", **configuration: str) -> list[float]:
    """Nanoseconds per pair of the region with this handle; the events carry their time stamps.

    before : a line for the host to run first.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        printed = subprocess.run(
            [host],
            env={**programs.ENVIRONMENT, **settings(**configuration)},
            input=script(handle, before, PAIRS, TIMES),
            cwd=place,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
    return [float(line.split()[1]) for line in printed.splitlines() if line.startswith("pair_ns")]


def in_scorep(program: Path, folder: Path, **changes: str) -> dict[str, float]:
    """Median nanoseconds per pair for each function of programs/pairs.c, in one run under Score-P."""
    quiet = {"SCOREP_ENABLE_PROFILING": "false", "SCOREP_ENABLE_TRACING": "false"}
    with tempfile.TemporaryDirectory(dir=folder) as place:
        printed = subprocess.run(
            [program],
            env={
                **programs.ENVIRONMENT,
                **quiet,
                "SCOREP_EXPERIMENT_DIRECTORY": f"{place}/scorep",
                "PERFIELD_REGIONS": "chosen",
                **changes,
            },
            cwd=place,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
    found: dict[str, list[float]] = {"chosen": [], "other": []}
    for line in printed.splitlines():
        name, value = line.split()
        found[name].append(float(value))
    return {name: statistics.median(values) for name, values in found.items()}


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host = folder / "host"
        subprocess.run(["gcc", "-O2", HOST, "-o", host, "-ldl", "-lpthread"], check=True)
        figure(
            "a region's enter and exit through Score-P's plugin",
            in_host(host, folder, CHOSEN),
            "ns",
            target=PAIR_NS,
        )
        if instructions.can_count():
            callbacks = counted_in_host(host, folder, CHOSEN)
            bare = counted_in_host(host, folder, CHOSEN, before="empty_events")
            name = "a region's enter and exit through Score-P's plugin, added"
            figure(name, [callbacks - bare], "instructions", target=PAIR)
        empty = statistics.median(in_host(host, folder, CHOSEN, before="empty_events"))
        for handle, skip, label in (
            (CHOSEN, "1000000", "in a step that is left out"),
            (OTHER, "1000000", "in a step that is left out, of a region that is not chosen"),
            (OTHER, "0", "of a region that is not chosen"),
        ):
            pairs = in_host(host, folder, handle, PERFIELD_SKIP_STEPS=skip)
            callbacks = [(value - empty) / 2 for value in pairs]
            figure(f"a callback of Score-P's plugin {label}, added", callbacks, "ns", target=LEFT_OUT_NS)

        if shutil.which("scorep") is None:
            print("perfield bench: scorep is not on PATH; skipping the comparison", file=sys.stderr)
            return
        program = folder / "pairs"
        build = ["scorep", "gcc", "-O2", FOLDER / "programs/pairs.c", "-o", program]
        subprocess.run(build, cwd=folder, check=True)
        plugin = {"SCOREP_SUBSTRATE_PLUGINS": "perfield", "LD_LIBRARY_PATH": LIBRARIES}
        runs = [(in_scorep(program, folder), in_scorep(program, folder, **plugin)) for _ in range(REAL_RUNS)]
        figure(
            "a function's enter and exit in Score-P", [bare["chosen"] for bare, _ in runs], "ns", target=None
        )
        for function, label in (("chosen", ""), ("other", ", of a function that is not chosen")):
            added = [measured[function] - bare[function] for bare, measured in runs]
            figure(f"the same with perfield's plugin, added{label}", added, "ns", target=PAIR_NS)


if __name__ == "__main__":
    main()
