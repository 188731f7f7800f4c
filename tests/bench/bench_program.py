# SPDX-License-Identifier: BSD-3-Clause
"""What perfield adds to a whole program: the heat case and OpenFOAM's icoFoam.

The overhead is computed from the number of events, the measured cost of each, and perfield's own time.
Alternating pairs of runs check it, and on one rank a count of instructions.
"""

from __future__ import annotations

import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import programs
from report import REPOSITORY, figure

from perfield import _bridge

HEAT = REPOSITORY / "build/heat3d/heat3d"
# 20,000 points and three neighbours per rank.
RANKS = 8
GRID = ["--minds", 2, 2, 2, "--points", 80, 40, 50, "--exchange", "isend", "--print-log", 0]
STEPS = 1000
MESSAGES_PER_SECOND = 1000
PAIRS = 20
LIMIT = 1.0  # percent
STEP_TYPE, FIELD_TYPE = 5, 8


def event_ns(folder: Path) -> tuple[float, float]:
    """Cost of a region's enter and exit and of a counted call with its message, ns."""
    events = programs.build("events.c", folder)

    def median(what: str, measured: bool) -> float:
        return statistics.median(map(float, programs.run(1, events, what, measured=measured).split()))

    return median("regions", True), median("messages", True) - median("messages", False)


def own_seconds(run: Path, region_ns: float, call_ns: float) -> tuple[float, float, float]:
    """perfield's CPU time and the program's, both in s, and the number of messages sent, over all ranks.

    Closings count by their median, separately for those that stored fields: a closing during which the rank
    lost its core says nothing about perfield.
    """
    own = cpu = messages = 0.0
    for stream in (run / "stream").glob("*.pf"):
        index = _bridge.StreamIndex(str(stream))
        index.refresh()
        places = index.places
        chosen = places[(places["type"] == STEP_TYPE) & (places["kind"] == 0)]
        read = _bridge.read_steps(str(stream), chosen["offset"], chosen["reference_offset"])
        fixed = read["steps"]
        # The next step's entry holds the cost of a closing.
        storing = np.isin(chosen["index"], stored_fields(run) + 1)
        for closings in (fixed["perfield_ns"][storing], fixed["perfield_ns"][~storing]):
            own += float(np.median(closings)) * len(closings) if len(closings) else 0.0
        own += read["regions"]["count"].sum() * region_ns + read["calls"]["count"].sum() * call_ns
        cpu += float(fixed["cpu_user_ns"].sum() + fixed["cpu_system_ns"].sum())
        messages += float(read["messages"]["count"].sum()) / 2  # each is counted once sent and once received
    return own / 1e9, cpu / 1e9, messages


def stored_fields(run: Path) -> np.ndarray:
    """Numbers of the steps that stored the heat case's field."""
    numbers = [np.zeros(0, np.uint64)]
    for file in (run / "mesh").glob("*.pf"):
        index = _bridge.StreamIndex(str(file))
        index.refresh()
        numbers.append(index.places["index"][index.places["type"] == FIELD_TYPE])
    return np.unique(np.concatenate(numbers))


def cpu_seconds(n: int, *argv: object, measured: bool, folder: Path) -> float:
    """CPU time of a run including all its ranks, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    programs.run(n, *argv, measured=measured, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def instructions(steps: int, measured: bool, folder: Path) -> int:
    """Instructions that the heat case executes on one rank, counted by valgrind."""
    grid = ["--minds", 1, 1, 1, "--points", 20, 40, 25, "--exchange", "isend", "--print-log", 0]
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes"]
    command += ["perfield-exec"] if measured else []
    result = subprocess.run(
        [str(word) for word in [*command, HEAT, *grid, "--steps", steps]],
        env=programs.ENVIRONMENT,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    # valgrind also follows Open MPI's daemon and lstopo: count only processes that became the heat case.
    commands = dict(re.findall(r"==(\d+)== Command: (.*)", result.stderr))
    counts = re.findall(r"==(\d+)== Collected : (\d+)", result.stderr)
    return sum(int(count) for process, count in counts if str(HEAT) in commands[process])


def cavity(folder: Path) -> None:
    """Prepares icoFoam's cavity in `folder`, 100 x 100 cells on two ranks."""
    sys.path.insert(0, str(REPOSITORY / "testcase/openfoam"))
    import cases

    cases.N_RANKS = 2
    cases.prepare(cases.CASES["icoFoam"], folder)
    blocks = folder / "system/blockMeshDict"
    blocks.write_text(blocks.read_text().replace("(20 20 1)", "(100 100 1)"))
    for key, value in {"deltaT": "0.001", "endTime": "0.1", "writeInterval": "1000"}.items():
        cases.set_entry(folder / "system/controlDict", key, value)
    for tool in (["blockMesh"], ["decomposePar", "-force"]):
        subprocess.run(tool, cwd=folder, env=cases.environment(), check=True, stdout=subprocess.DEVNULL)


def newest_run(folder: Path) -> Path:
    """The newest run directory in `folder`."""
    return max(folder.glob("perfield-run*"), key=lambda path: path.stat().st_mtime_ns)


def main() -> None:
    """Prints all figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        region_ns, call_ns = event_ns(folder)
        heat = [HEAT, *GRID, "--steps", STEPS]
        full, scaled, pairs = [], [], []
        for _ in range(PAIRS):
            bare = cpu_seconds(RANKS, *heat, measured=False, folder=folder)
            pairs.append(100 * (cpu_seconds(RANKS, *heat, measured=True, folder=folder) / bare - 1))
            own, cpu, messages = own_seconds(newest_run(folder), region_ns, call_ns)
            full.append(100 * own / cpu)
            scaled.append(100 * own / messages * MESSAGES_PER_SECOND)
            shutil.rmtree(newest_run(folder))
        figure("heat3d, 1,000 messages per rank and second, computed", scaled, "% CPU", target=LIMIT)
        figure("heat3d, as fast as it goes, computed", full, "% CPU", target=None)
        figure("heat3d, as fast as it goes, 20 alternating pairs", pairs, "% CPU", target=None)
        if shutil.which("valgrind"):
            # Subtracting two run lengths removes start and end.
            counted = [
                instructions(300, measured, folder) - instructions(100, measured, folder)
                for measured in (False, True)
            ]
            figure(
                "heat3d, one rank, as fast as it goes, instructions added",
                [100 * (counted[1] / counted[0] - 1)],
                "%",
                target=None,
            )
        if shutil.which("icoFoam"):
            case = folder / "cavity"
            cavity(case)
            shares = []
            for _ in range(5):
                programs.run(
                    2, "icoFoam", "-parallel", measured=True, cwd=case, WM_PROJECT_DIR="/usr/share/openfoam"
                )
                own, cpu, _ = own_seconds(newest_run(case), region_ns, call_ns)
                shares.append(100 * own / cpu)
                shutil.rmtree(newest_run(case))
            figure("icoFoam, cavity of 100 x 100 cells, computed", shares, "% CPU", target=LIMIT)


if __name__ == "__main__":
    main()
