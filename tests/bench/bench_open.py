# SPDX-License-Identifier: BSD-3-Clause
"""How long `perfield open` takes until both pictures show, and where the time goes.

The pictures of 64 ranks on 8 nodes exist already; Mesa draws them on the processor. Wall time grows when
other programs use the cores; CPU seconds, of all threads of ParaView, hardly do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import report

sys.path.insert(0, str(report.REPOSITORY / "tests"))  # the fake run
RANKS, HOSTS, STEPS, REPEATS = 64, tuple("abcdefgh"), 50, 3
TARGET_S = 15.0
MACHINE = report.REPOSITORY / "tests/fixtures/machines/two-packages-4-cores.xml"

# Stands in for the program paraview in PATH: runs the same script in the real one, and notes the time.
STAND_IN = """\
#!/bin/sh
PERFIELD_SCRIPT="${{1#--script=}}" exec {paraview} --script={timed}
"""
TIMED = """\
import json, os, sys, time

def passed():
    began = float(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return [float(open("/proc/uptime").read().split()[0]) - began, time.process_time()]

marks = {"start of the program": passed()}
import in_gui
marks["Python modules"] = passed()
script = os.environ["PERFIELD_SCRIPT"]
exec(compile(open(script).read(), script, "exec"), {"__name__": "__main__"})  # ends with pictures drawn
marks["pictures"] = passed()
open(os.environ["PERFIELD_MARKS"], "w").write(json.dumps(marks))
os._exit(0)
"""


def opened(run: Path, folder: Path, display: str) -> dict[str, list[float]]:
    """Starts ParaView as `perfield open` does; returns wall and CPU seconds at the end of each part."""
    (folder / "timed.py").write_text(TIMED)
    program = folder / "paraview"
    program.write_text(STAND_IN.format(paraview=shutil.which("paraview"), timed=folder / "timed.py"))
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "DISPLAY": display,
        "HOME": str(folder),
        "PERFIELD_MARKS": str(folder / "marks.json"),
    }
    command = [sys.executable, "-m", "perfield.commands", "open", str(run)]
    subprocess.run(command, env=environment, check=True, stdout=sys.stderr, timeout=300)
    return json.loads((folder / "marks.json").read_text())


def main() -> None:
    """Prints wall and CPU seconds until the pictures show, and the CPU seconds of each part."""
    import perfield
    from perfield.output.images import display
    from perfield.output.picture_series import PictureSeries
    from perfield.pictures.geometry_picture import GeometryOptions
    from perfield.pictures.pieces import choose_pieces
    from perfield.pictures.topology_picture import topology_scene
    from twins import twin

    if not shutil.which("paraview") or not shutil.which("Xvfb"):
        print("perfield open needs the programs paraview and Xvfb here", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="perfield-bench-") as place, display() as number:
        folder = Path(place)
        cores = {rank: {"cpuset": str(rank % 8)} for rank in range(RANKS)}
        path = twin.write_run(
            folder / "run",
            RANKS,
            STEPS,
            hosts=HOSTS,
            blocks=(4, 4, 4),
            change_rank=lambda rank, values: values.update(cores[rank]),
        )
        for host in HOSTS:
            (path / "machine" / f"{host}.xml").write_text(MACHINE.read_text())
        run = perfield.open(path)
        options = GeometryOptions(pieces=choose_pieces(run))
        PictureSeries(run, list(range(0, STEPS, 3)), path / "pictures", options, topology_scene(run)).write()
        print(f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr)
        all_marks = [opened(path, folder, number) for _ in range(REPEATS)]
    what = f"perfield open, {RANKS} ranks on {len(HOSTS)} nodes"
    report.figure(
        f"{what}: until the pictures show", [m["pictures"][0] for m in all_marks], "s", target=TARGET_S
    )
    report.figure(
        f"{what}: CPU until the pictures show", [m["pictures"][1] for m in all_marks], "s", target=TARGET_S
    )
    for n, part in enumerate(all_marks[0]):
        before = [list(marks.values())[n - 1][1] if n else 0.0 for marks in all_marks]
        spent = [marks[part][1] - begin for marks, begin in zip(all_marks, before)]
        report.figure(f"{what}: CPU of the {part}", spent, "s", target=None)


if __name__ == "__main__":
    main()
