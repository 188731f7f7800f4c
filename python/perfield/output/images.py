# SPDX-License-Identifier: BSD-3-Clause
"""Draws images of written pictures with VTK, pip's or Debian's.

VTK runs in a separate process: under a virtual display, on the user's display, or in memory by EGL or OSMesa,
whichever is there. Nothing opens on the user's screen, and a crash in the graphics becomes an error message.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from perfield.catalyst_scripts.owned_folder import OwnedFolder
from perfield.catalyst_scripts.x_display import has_display
from perfield.child_python import run_code
from perfield.pictures import NEEDS_VTK

# In MPI_Init of any program on this machine, hwloc searches displays 0 to 9 for graphics cards. If one of
# these displays closes meanwhile, the X library ends that program.
DISPLAYS = range(100, 200)
WORTH_TWO = 12  # images
SCRIPTS = Path(__file__).parents[1] / "catalyst_scripts"
IN_MEMORY = {"vtkEGLRenderWindow": "EGL", "vtkOSOpenGLRenderWindow": "OSMesa"}  # VTK's windows
TRY = """
import vtkmodules.vtkRenderingOpenGL2
from vtkmodules.vtkRenderingCore import vtkRenderer, vtkRenderWindow
window = vtkRenderWindow()
window.SetOffScreenRendering(1)
window.AddRenderer(vtkRenderer())
window.Render()
print(window.GetClassName())
"""


class ImagesError(OSError):
    """Drawing images failed; the text says what is missing."""


def draw_images(
    directory: Path,
    images: Sequence[dict[str, Any]],
    progress: Callable[[], None] = lambda: None,
    folder: Path | None = None,
    look: Mapping[str, Any] | None = None,
    plots: Mapping[str, Callable[[Path], None]] | None = None,
) -> list[Path]:
    """Draws images of the pictures in `directory`; returns their paths in that order.

    progress : is called after each file. folder : of the files, empty; None: images/ in `directory`, where
    images that an earlier call left are removed. look : "size", "camera" and "one_scale", as in the job of
    images.py. plots : by name, what draws those images that have "plot" into a file, meanwhile and in this
    process; where it leaves none, or is missing, there is none.

    Raises ImagesError, naming the package, if VTK or all that it could draw with is missing, and NotOursError
    if images/ is not perfield's.
    """
    check_drawing()
    owned = OwnedFolder(directory / "images") if folder is None else None
    shown = [image for image in images if "plot" not in image]
    files = [name for image in shown for name in image["files"]]
    plotted = {image["files"][0]: (plots or {}).get(image["plot"]) for image in images if "plot" in image}
    for name in (*files, *plotted) if owned else ():
        owned.check(name)
    parts = divided(shown, processes(len(files)))
    with where_to_draw() as variables, tempfile.TemporaryDirectory(prefix="perfield-images-") as place:
        drawn, done = folder or Path(place), set()
        linked = Path(place, "pictures")  # VTK takes no path that is not UTF-8
        linked.symlink_to(directory.resolve())
        environment = os.environ | variables
        if len(parts) > 1:
            environment.setdefault("LP_NUM_THREADS", "1")  # of Mesa, which draws

        def draw(n: int) -> tuple[int, list[str]]:
            job = Path(place, f"job{n}.json")
            described = {"pictures": str(linked), "images": shown, "draw": parts[n]}
            described |= {"folder": str(drawn), **(look or {})}
            job.write_text(json.dumps(described), encoding="utf-8")
            command = [sys.executable, str(SCRIPTS / "images.py"), str(job)]
            said = []
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            with subprocess.Popen(command, env=environment, text=True, errors="replace", **pipes) as process:
                for line in process.stdout:
                    name = line.rstrip("\n")
                    if name in files:
                        if owned:
                            owned.take(drawn / name, name)
                        done.add(name)
                        progress()
                    else:
                        said.append(line)
            return process.returncode, said

        with ThreadPoolExecutor(len(parts)) as pool:
            drawing = [pool.submit(draw, n) for n in range(len(parts) if files else 0)]
            for name, plot in plotted.items():
                if plot is not None:
                    plot(drawn / name)
                if (drawn / name).exists():
                    if owned:
                        owned.take(drawn / name, name)
                    done.add(name)
                progress()
            results = [part.result() for part in drawing]
    missing = [name for name in files if name not in done]
    failed = next((result for result in results if result[0]), None)
    if failed or missing:
        code, said = failed or results[0]
        raise ImagesError(
            f"VTK drew {len(files) - len(missing)} of {len(files)} images and ended with "
            f"{code}; the .pvd files are complete. It printed last:\n{''.join(said[-8:]).strip()}"
        )
    if owned:
        owned.remove_stale()
    names = (name for image in images for name in image["files"] if name in done)
    return [(owned.path if owned else drawn) / name for name in names]


def check_drawing() -> str:
    """Where images are drawn: "in Xvfb", "on the display :0", "by EGL" or "by OSMesa".

    Raises ImagesError, naming the package, if VTK or all of these are missing.
    """
    if importlib.util.find_spec("vtkmodules") is None:
        raise ImagesError(f"drawing images {NEEDS_VTK}")
    lacking = _lacking_display()
    if not lacking:
        return "in Xvfb" if shutil.which("Xvfb") else f"on the display {os.environ['DISPLAY']}"
    if not window_in_memory():
        raise ImagesError(
            f"{lacking} VTK from pip (9.4 or later) draws without one, with the Debian package libosmesa6, "
            "or with libegl1 and libgl1-mesa-dri."
        )
    return f"by {IN_MEMORY[window_in_memory()]}"


def _lacking_display() -> str:
    """A sentence that names the Debian package if there is no display; else ""."""
    if shutil.which("Xvfb"):
        return ""
    if not os.environ.get("DISPLAY"):
        return (
            "images need a display, and DISPLAY is not set: install the Debian package xvfb (a display in "
            "memory), or run perfield where DISPLAY is set."
        )
    if not has_display():
        return (
            f"images need a display, but no X server answers at DISPLAY={os.environ['DISPLAY']}: install the "
            "Debian package xvfb (a display in memory), or set DISPLAY to a server that runs."
        )
    return ""


@cache
def window_in_memory() -> str:
    """The class of VTK's window that draws without a display, by EGL or OSMesa; "" if there is none.

    A child tries it, as VTK ends a program in which it has nothing to draw with.
    """
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    look = {"env": environment, "capture_output": True, "text": True, "timeout": 60, "check": False}
    try:
        answer = subprocess.run(run_code(sys.executable, TRY), **look)
    except (OSError, subprocess.SubprocessError):
        return ""
    name = answer.stdout.strip()
    return name if not answer.returncode and name in IN_MEMORY else ""


@contextlib.contextmanager
def where_to_draw() -> Iterator[dict[str, str]]:
    """Yields the variables of the environment by which VTK finds where to draw."""
    if _lacking_display():
        yield {"VTK_DEFAULT_OPENGL_WINDOW": window_in_memory()}
        return
    with display() as number:
        yield {"DISPLAY": number}


def processes(n_images: int) -> int:
    """How many processes draw: two where a core is free for the second, and its start is worth it."""
    free = len(os.sched_getaffinity(0)) - os.getloadavg()[0]
    return 2 if n_images >= WORTH_TWO and free >= 1.5 else 1


def divided(images: Sequence[dict[str, Any]], parts: int) -> list[list[tuple[int, int]]]:
    """Divides the images of all steps into parts of equal numbers.

    Each part holds pairs of an image's number and a step's. Images of one layer and of one step stay together
    where they can, as they share what takes long to make and to read.
    """
    pairs = [(number, place) for number, image in enumerate(images) for place in range(len(image["files"]))]
    pairs.sort(
        key=lambda pair: (images[pair[0]]["layer"], images[pair[0]]["steps"][pair[1]]["shown_at"], pair)
    )
    size = max(1, -(-len(pairs) // parts))
    return [pairs[begin : begin + size] for begin in range(0, len(pairs), size)] or [[]]


def _is_taken(number: int) -> bool:
    """Whether an X server holds this display.

    Containers that share a network have one set of abstract sockets, but each its own /tmp.
    """
    socket = f"/tmp/.X11-unix/X{number}"
    try:
        abstract = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        abstract = []
    return f"@{socket}" in abstract or Path(socket).exists()


def _start_display(xvfb: str) -> tuple[subprocess.Popen, int]:
    """Starts a virtual display; returns it and its number. Raises ImagesError if none starts."""
    for number in DISPLAYS:
        if _is_taken(number):
            continue
        reading, writing = os.pipe()
        command = [xvfb, f":{number}", "-displayfd", str(writing), "-screen", "0", "1920x1200x24"]
        quiet = subprocess.DEVNULL
        server = subprocess.Popen(
            [*command, "-nolisten", "tcp", "-noreset"],
            pass_fds=[writing],
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
        )
        os.close(writing)
        with os.fdopen(reading) as pipe:
            if pipe.readline().strip():
                return server, number
        code = server.wait()
        if not _is_taken(number):  # it failed, not because others were faster
            raise ImagesError(
                f"{xvfb} gave no display and ended with {code}; try it by hand, or set DISPLAY and "
                "take it out of PATH."
            )
    raise ImagesError(
        f"displays {DISPLAYS[0]} to {DISPLAYS[-1]} are all taken; remove old sockets in /tmp/.X11-unix."
    )


@contextlib.contextmanager
def display() -> Iterator[str]:
    """Yields the value for DISPLAY: a virtual display that lives as long as the `with`.

    Without Xvfb it is the user's display. Raises ImagesError, naming the Debian package, if there is neither.
    """
    if lacking := _lacking_display():
        raise ImagesError(lacking)
    xvfb = shutil.which("Xvfb")
    if xvfb is None:
        yield os.environ["DISPLAY"]
        return
    server, number = _start_display(xvfb)
    try:
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()
