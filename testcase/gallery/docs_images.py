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
from collections.abc import Mapping
from pathlib import Path

PERFIELD = Path(sys.executable).parent / "perfield"
TOP = Path(__file__).resolve().parents[2]
HEAT3D = TOP / "demo/heat3d/perfield-run/pictures/images"  # of make demo
# Which file of docs/images each picture becomes.
OF_HEAT3D = {
    "01_geometry_*.png": "heat3d-mesh.png",
    "02_topology_*.png": "heat3d-machine.png",
    "03_heat_map.png": "heat3d-heat-map.png",
}
OF_OPENFOAM = {
    "*_geometry_compute_time_s_mean.png": "dambreak-computing.png",
    "*_geometry_waiting_time_s_mean.png": "dambreak-waiting.png",
    "*_topology_compute_time_s_mean.png": "dambreak-machine.png",
}


def perfield(folder: Path, *words: str | Path) -> None:
    """Runs a command in a folder. Raises CalledProcessError."""
    subprocess.run([str(word) for word in (PERFIELD, *words)], cwd=folder, check=True, stdout=sys.stderr)


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


def copy(images: Path, files: Mapping[str, str], output: Path) -> None:
    """Copies the one image that fits each pattern."""
    for pattern, target in files.items():
        (image,) = images.glob(pattern)
        shutil.copyfile(image, output / target)
        print(output / target)


def main() -> int:
    """Draws and copies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, nargs="?", default=TOP / "docs/images")
    output = parser.parse_args().output
    copy(HEAT3D, OF_HEAT3D, output)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        perfield(folder, "demo")
        run, drawn = folder / "perfield-demo", folder / "pictures"
        pages(run, output)
        perfield(folder, "render", "--images", run, "-o", drawn, "--fields", "compute_time_s,waiting_time_s")
        copy(drawn / "images", OF_OPENFOAM, output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
