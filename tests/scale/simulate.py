# SPDX-License-Identifier: BSD-3-Clause
"""Runs what the ranks of many nodes would: real recorder processes with a fake MPI and fake hosts.

    python tests/scale/simulate.py PATH --nodes 16 --ranks 64 --steps 100

The ranks of a node run at the same time, the nodes one after another, all in one run directory. Their MPI
sends nothing (fake_mpi.c), so processes share only what ranks of one node share: files, and memory in
/dev/shm. One rank of the last node runs under strace, if it is installed, which counts its calls on paths.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
_RUN_ID = "5ca1ab1e00000001"


@dataclass(frozen=True)
class Simulated:
    """A simulated run.

    path_calls : system calls of one rank on paths of the run directory, and path_calls_in_steps those between
    its second and its last but one write of entries; -1 without strace.
    """

    path: str
    n_ranks: int
    n_steps: int
    stream_bytes: int
    n_files: int
    path_calls: int
    path_calls_in_steps: int


def built(folder: Path) -> dict[str, Path]:
    """Compiles the fake MPI (as MPICH's library), the fake hosts and the program into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    flags = subprocess.run(
        [BIN / "perfield", "setup", "paths", "--cflags"], capture_output=True, text=True, check=True
    ).stdout.split()
    shown = subprocess.run(["mpicc.mpich", "-show"], capture_output=True, text=True, check=True).stdout
    headers = re.findall(r"-I\S+", shown)
    library, hosts, program = folder / "libmpich.so.12", folder / "fakenode.so", folder / "ranks"
    shared = ["gcc", "-O2", "-shared", "-fPIC"]
    for words in (
        [*shared, *headers, HERE / "fake_mpi.c", "-Wl,-soname,libmpich.so.12", "-o", library],
        [*shared, HERE.parent / "multihost/fakenode.c", "-ldl", "-o", hosts],
        [
            "gcc",
            "-O2",
            "-w",
            *headers,
            *flags,
            HERE / "ranks.c",
            library,
            f"-Wl,-rpath,{folder}",
            "-o",
            program,
        ],
    ):
        subprocess.run([str(word) for word in words], check=True)
    return {"hosts": hosts, "program": program}


def simulate(
    path: Path, nodes: int, per_node: int, steps: int, regions: int = 10, **changes: str
) -> Simulated:
    """Runs all ranks and returns what they left. changes : of the environment, such as PERFIELD_*."""
    shutil.rmtree(path, ignore_errors=True)
    parts = built(path.parent / "simulated-programs")
    counted = path.parent / "simulated-calls.txt"
    counted.unlink(missing_ok=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PERFIELD_")},
        "LD_PRELOAD": str(parts["hosts"]),
        "PERFIELD_RUN_DIRECTORY": str(path),
        "PERFIELD_RUN_ID": _RUN_ID,
        "PERFIELD_SUMMARY": "false",
        "FAKE_MPI_SIZE": str(nodes * per_node),
        "PMI_SIZE": str(nodes * per_node),
        "MPI_LOCALNRANKS": str(per_node),
        **changes,
    }
    command = [str(word) for word in (BIN / "perfield-exec", parts["program"], steps, regions)]
    for node in range(nodes):
        running = []
        for local in range(per_node):
            rank = node * per_node + local
            own = {"FAKE_NODE_NUMBER": node, "FAKE_MPI_RANK": rank}
            own |= {"PMI_RANK": rank, "MPI_LOCALRANKID": local}
            is_traced = node == nodes - 1 and local == per_node - 1 and shutil.which("strace") is not None
            trace = ["strace", "-f", "-e", "trace=%file,write,writev", "-o", str(counted)]
            running.append(
                subprocess.Popen(
                    trace * is_traced + command,
                    env={**environment, **{name: str(value) for name, value in own.items()}},
                    stdout=subprocess.DEVNULL,
                )
            )
        failed = [process.pid for process in running if process.wait() != 0]
        if failed:
            raise RuntimeError(f"{len(failed)} of {per_node} ranks of node {node} failed; expected none")
    streams = list((path / "stream").glob("*.pf"))
    calls, in_steps = _path_calls(counted, path)
    return Simulated(
        str(path), nodes * per_node, steps, sum(file.stat().st_size for file in streams),
        sum(1 for file in path.rglob("*") if file.is_file()), calls, in_steps,
    )  # fmt: skip


def _path_calls(counted: Path, run: Path) -> tuple[int, int]:
    """As Simulated says them, from the output of strace."""
    if not counted.exists():
        return -1, -1
    lines = counted.read_text(errors="replace").splitlines()
    on_path = [number for number, line in enumerate(lines) if f'"{run}' in line and "write" not in line]
    writes = [number for number, line in enumerate(lines) if "write" in line and "pfentr" in line]
    between = [number for number in on_path if len(writes) > 3 and writes[1] < number < writes[-2]]
    return len(on_path), len(between)


def opened(path: Path) -> dict[str, float]:
    """CPU and wall seconds to open a run and to read a frame, and the largest memory of this process."""
    import perfield

    marks = [(time.perf_counter(), time.process_time())]
    run = perfield.open(path)
    marks.append((time.perf_counter(), time.process_time()))
    frame = run.frame(len(run) // 2)
    marks.append((time.perf_counter(), time.process_time()))
    spent = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(marks, marks[1:])]
    return {
        "open_wall_s": spent[0][0], "open_cpu_s": spent[0][1],
        "frame_wall_s": spent[1][0], "frame_cpu_s": spent[1][1],
        "memory_GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024e-9,
        "frames": len(run), "present": int(frame.present.sum()), "ranks": run.n_ranks,
        "damage": len(run.damage),
    }  # fmt: skip


def in_own_process(path: Path) -> dict[str, float]:
    """What `opened` measures, in a fresh process."""
    text = f"import json, simulate; print(json.dumps(simulate.opened({str(path)!r})))"
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=HERE, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    """Simulates from the command line and prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    for name, value in (("nodes", 16), ("ranks", 64), ("steps", 100), ("regions", 10)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    run = simulate(given.path.absolute(), given.nodes, given.ranks, given.steps, given.regions)
    print(json.dumps({**asdict(run), **in_own_process(given.path.absolute())}, indent=1))


if __name__ == "__main__":
    main()
