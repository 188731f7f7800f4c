# SPDX-License-Identifier: BSD-3-Clause
"""Draws the images of docs/images that show heat3d and the recorded run of OpenFOAM. Needs Chromium.

make docs-images
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PERFIELD = Path(sys.executable).parent / "perfield"
TOP = Path(__file__).resolve().parents[2]
HEAT = ["--minds", "2", "2", "2", "--points", "32", "32", "32", "--steps", "40", "--exchange", "isend"]
# Of each run: the fields that are drawn, and which file of docs/images each picture becomes.
DRAWN = {
    "demo": (
        "compute_time_s,waiting_time_s",
        {
            "*_geometry_compute_time_s_mean.png": "dambreak-computing.png",
            "*_geometry_waiting_time_s_mean.png": "dambreak-waiting.png",
            "*_topology_compute_time_s_mean.png": "dambreak-machine.png",
        },
    ),
    "heat3d": (
        "",
        {
            "01_geometry_*.png": "heat3d-mesh.png",
            "02_topology_*.png": "heat3d-machine.png",
            "03_heat_map.png": "heat3d-heat-map.png",
        },
    ),
}


def perfield(folder: Path, *words: str | Path) -> None:
    """Runs a command in a folder. Raises CalledProcessError."""
    subprocess.run([str(word) for word in (PERFIELD, *words)], cwd=folder, check=True, stdout=sys.stderr)


def measured(folder: Path) -> dict[str, Path]:
    """The runs, by name, in a folder."""
    perfield(folder, "demo")
    heat = ("--oversubscribe", "-n", "8", "--", TOP / "build/heat3d/heat3d", *HEAT, "--hot-spot")
    perfield(folder, "run", "--run-directory", "heat3d", *heat)
    return {"demo": folder / "perfield-demo", "heat3d": folder / "heat3d"}


def screenshot(address: str, size: str, file: Path) -> None:
    """What Chromium shows of a page. Raises CalledProcessError."""
    words = ["--headless=new", "--no-sandbox", "--enable-unsafe-swiftshader", "--hide-scrollbars"]
    words += [f"--window-size={size}", "--virtual-time-budget=15000", f"--screenshot={file}"]
    subprocess.run(["chromium", *words, address], check=True, stderr=subprocess.DEVNULL, timeout=120)
    print(file)


def pages(run: Path, output: Path) -> None:
    """The view in the browser and the top of the report."""
    words = [PERFIELD, "serve", run, "--no-browser", "--token", "none", "--port", "0"]
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True) as server:
        address = re.search(r"http://\S+/", server.stdout.readline())[0]
        screenshot(address, "1500,950", output / "serve.png")
        server.terminate()
    page = run.parent / "report.html"
    perfield(run.parent, "report", run.name, "-o", page.name)
    screenshot(page.as_uri(), "1100,900", output / "report.png")


def main() -> int:
    """Measures, draws and copies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, nargs="?", default=TOP / "docs/images")
    output = parser.parse_args().output
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        runs = measured(folder)
        pages(runs["demo"], output)
        for name, path in runs.items():
            fields, files = DRAWN[name]
            drawn = folder / f"{name}-pictures"
            words = ["--fields", fields] if fields else []
            perfield(folder, "render", "--images", path, "-o", drawn, *words)
            for pattern, target in files.items():
                (image,) = (drawn / "images").glob(pattern)
                shutil.copyfile(image, output / target)
                print(output / target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
