# SPDX-License-Identifier: BSD-3-Clause
"""Draws the images of docs/images that show heat3d, the recorded run of OpenFOAM, and its motorBike.

Needs Chromium and ffmpeg; the hosts of the film are namespaces, which need root. The motorBike needs
OpenFOAM, and minutes for its mesh.

make docs-images
make docs-images DOCS_IMAGES=motorbike
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import motorbike
from runs import MOTORBIKE, MOVING, NotMadeError, OpenFoamMissingError, environment, measure, prepare

PERFIELD = Path(sys.executable).parent / "perfield"
TOP = Path(__file__).resolve().parents[2]
HEAT3D = TOP / "demo/heat3d/perfield-run/pictures/images"  # of make demo
HOT_STEP = "13"
READY = "document.body.dataset.ready === 'true'"
FOUND = "perfield.findings.cards?.length > 0"


def perfield(folder: Path, *words: str | Path) -> None:
    """Runs a command in a folder. Raises CalledProcessError."""
    command = [str(word) for word in (PERFIELD, *words)]
    subprocess.run(command, cwd=folder, env=environment(), check=True, stdout=sys.stderr)


def screenshot(address: str, size: str, file: Path, *steps: str) -> None:
    """What Chromium shows of a page. steps : JavaScript, each repeated until it is true."""
    from drivers.driven_chromium import opened_tab  # of tests/, which `runs` makes known

    with tempfile.TemporaryDirectory() as place, opened_tab(address, Path(place), size, webgl=True) as tab:
        for step in steps:
            tab.until(step)
        file.write_bytes(tab.picture())
    print(file)


def pages(run: Path, output: Path) -> None:
    """The view in the browser and the top of the report."""
    words = [PERFIELD, "serve", run, "--no-browser", "--token", "none", "--port", "0"]
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True) as server:
        address = re.search(r"http://\S+/", server.stdout.readline())[0]
        screenshot(address, "1500,1037", output / "serve.png", READY, FOUND)
        server.terminate()
    page = run.parent / "report.html"
    perfield(run.parent, "report", run.name, "-o", page.name)
    screenshot(page.as_uri(), "1100,987", output / "report.png", "document.readyState === 'complete'")


def side_by_side(drawn: Path, names: tuple[str, str], file: Path) -> None:
    """Joins two images of some pictures."""
    left, right = (next((drawn / "images").glob(f"*_{name}_*.png")) for name in names)
    join = ["ffmpeg", "-loglevel", "error", "-y", "-i", left, "-i", right, "-filter_complex", "hstack", file]
    subprocess.run([str(word) for word in join], check=True)
    print(file)


def moving(folder: Path, output: Path) -> None:
    """Mesh and machine of 16 nodes side by side: one step, and a film of all; and messages between nodes.

    Raises NotMadeError.
    """
    run, drawn, film = folder / "perfield-run", folder / "pictures", folder / "film.gif"
    measure(MOVING, folder, run)
    words = ("render", run, "-o", drawn, "--fields", "compute_time_s")
    perfield(folder, *words, "--steps", "all", "--film", film, "--size", "1200x720", "--fps", "6")
    shutil.copyfile(film, output / "moving.gif")
    perfield(folder, *words, "--steps", HOT_STEP, "--images", "--size", "640x500")
    side_by_side(drawn, ("geometry", "topology"), output / "moving.png")
    lines = ("--topology", "--images", "--fields", "hops", "--steps", HOT_STEP)
    perfield(folder, "render", run, "-o", drawn, *lines)
    shutil.copyfile(next((drawn / "images").glob("*_messages_*")), output / "node-pairs.png")
    print(*(output / name for name in ("moving.gif", "node-pairs.png")), sep="\n")


def faces(run: Path, drawn: Path, file: Path) -> None:
    """What the pieces of the dam break send each other in its slowest step."""
    words = ("--geometry", "--images", "--fields", "sent_bytes", "--steps", "100")
    perfield(run.parent, "render", run, "-o", drawn, *words)
    shutil.copyfile(next((drawn / "images").glob("*_messages_*")), file)
    print(file)


def heat_map(_: Path, output: Path) -> None:
    """Ranks by steps of heat3d, which `make demo` drew."""
    shutil.copyfile(HEAT3D / "03_heat_map.png", output / "heat3d-heat-map.png")


def dam_break(folder: Path, output: Path) -> None:
    """The images of the recorded run."""
    perfield(folder, "demo")
    run = folder / "perfield-demo"
    pages(run, output)
    words = ("--fields", "compute_time_s,alpha.water", "--steps", "103", "--view", "cut", "--size", "720x540")
    perfield(folder, "render", run, "-o", folder / "cut", "--geometry", "--images", *words)
    side_by_side(folder / "cut", ("alpha_water", "compute_time_s"), output / "dambreak-cut.png")
    faces(run, folder / "pictures", output / "message-faces.png")


def motor_bike(folder: Path, output: Path) -> None:
    """The motorBike on two ranks, each bound to its core. Raises NotMadeError."""
    case = folder / "motorBike"
    try:
        prepare(MOTORBIKE, case, 2)
    except (OpenFoamMissingError, RuntimeError) as error:
        raise NotMadeError(str(error)) from error
    perfield(case, "run", "--bind-to", "core", "-n", "2", "--", MOTORBIKE.solver, "-parallel")
    motorbike.draw(case / "perfield-run", output / "motorbike.png")
    print(output / "motorbike.png")


PARTS = {"heat3d": heat_map, "film": moving, "dambreak": dam_break, "motorbike": motor_bike}


def main() -> int:
    """Draws and copies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"some of {', '.join(PARTS)} (all)")
    parser.add_argument("--output", type=Path, default=TOP / "docs/images", help="the folder (docs/images)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.parts if name not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    for name in arguments.parts or PARTS:
        with tempfile.TemporaryDirectory() as made:
            try:
                PARTS[name](Path(made), arguments.output)
            except NotMadeError as error:
                print(f"no images of {name}: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
