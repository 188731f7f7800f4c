# SPDX-License-Identifier: BSD-3-Clause
"""Draws images of written pictures with ParaView.

ParaView runs in a separate process under a virtual display. Nothing opens on the user's screen, and a crash
in the graphics becomes an error message here.
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
from pathlib import Path
from typing import Any

from perfield.catalyst_scripts.owned_folder import OwnedFolder
from perfield.catalyst_scripts.x_display import has_display

# In MPI_Init of any program on this machine, hwloc searches displays 0 to 9 for graphics cards. If one of
# these displays closes meanwhile, the X library ends that program.
DISPLAYS = range(100, 200)
WORTH_TWO = 12  # images
SCRIPTS = Path(__file__).parents[1] / "catalyst_scripts"


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
    """Draws images of the pictures in `directory` with ParaView; returns their paths in that order.

    progress : is called after each file. folder : of the files, empty; None: images/ in `directory`, where
    images that an earlier call left are removed. look : "size", "camera" and "one_scale", as in the job of
    images.py. plots : by name, what draws those images that have "plot" into a file, meanwhile and in this
    process; where it leaves none, or is missing, there is none.

    Raises ImagesError, naming the Debian package, if ParaView's Python or Xvfb is missing, and NotOursError
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
    with display() as number, tempfile.TemporaryDirectory(prefix="perfield-images-") as place:
        drawn, done = folder or Path(place), set()
        linked = Path(place, "pictures")  # ParaView ends on a path that is not UTF-8
        linked.symlink_to(directory.resolve())
        environment = {**os.environ, "DISPLAY": number}
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
            f"ParaView drew {len(files) - len(missing)} of {len(files)} images and ended with "
            f"{code}; the .pvd files are complete. It printed last:\n{''.join(said[-8:]).strip()}"
        )
    if owned:
        owned.remove_stale()
    names = (name for image in images for name in image["files"] if name in done)
    return [(owned.path if owned else drawn) / name for name in names]


def check_drawing() -> None:
    """Raises ImagesError, naming the Debian package, if ParaView's Python or a display is missing."""
    if importlib.util.find_spec("paraview") is None:
        raise ImagesError(
            f"images need ParaView's Python modules, but {sys.executable} does not find them; install the "
            "Debian package python3-paraview, and use a virtual environment made with --system-site-packages."
        )
    if shutil.which("Xvfb") is None and not os.environ.get("DISPLAY"):
        raise ImagesError(
            "images need a display, and DISPLAY is not set: install the Debian package xvfb (a display in "
            "memory), or run perfield where DISPLAY is set."
        )
    if shutil.which("Xvfb") is None and not has_display():
        raise ImagesError(
            f"images need a display, but no X server answers at DISPLAY={os.environ['DISPLAY']}: install the "
            "Debian package xvfb (a display in memory), or set DISPLAY to a server that runs."
        )


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
    check_drawing()
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
