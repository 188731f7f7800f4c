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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# In MPI_Init of any program on this machine, hwloc searches displays 0 to 9 for graphics cards. If one of
# these displays closes meanwhile, the X library ends that program.
DISPLAYS = range(100, 200)
SCRIPTS = Path(__file__).parents[1] / "catalyst_scripts"


class ImagesError(OSError):
    """Drawing images failed; the text says what is missing."""


def draw_images(
    directory: Path, images: Sequence[dict[str, Any]], progress: Callable[[], None] = lambda: None
) -> list[Path]:
    """Draws images into `directory`/images with ParaView; returns their paths.

    progress : is called after each file. Numbered images that an earlier call left are removed.

    Raises ImagesError, naming the Debian package, if ParaView's Python or Xvfb is missing.
    """
    if importlib.util.find_spec("paraview") is None:
        raise ImagesError(
            f"images need ParaView's Python modules, but {sys.executable} does not find them; install the "
            "Debian package python3-paraview, and use a virtual environment made with --system-site-packages."
        )
    with display() as number, tempfile.TemporaryDirectory(prefix="perfield-images-") as place:
        job = Path(place, "job.json")
        job.write_text(json.dumps({"pictures": str(directory), "images": list(images)}), encoding="utf-8")
        environment = {**os.environ, "DISPLAY": number}
        command = [sys.executable, str(SCRIPTS / "images.py"), str(job)]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    files = [directory / "images" / name for image in images for name in image["files"]]
    missing = [path.name for path in files if not path.exists()]
    if result.returncode or missing:
        said = "\n".join((result.stdout + result.stderr).strip().splitlines()[-8:])
        raise ImagesError(
            f"ParaView drew {len(files) - len(missing)} of {len(files)} images and ended with "
            f"{result.returncode}; the .pvd files are complete. It printed last:\n{said}"
        )
    return files


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
    xvfb = shutil.which("Xvfb")
    if xvfb is None:
        if not os.environ.get("DISPLAY"):
            raise ImagesError(
                "images need a display, and DISPLAY is not set: install the Debian package xvfb (a display "
                "in memory), or run perfield where DISPLAY is set."
            )
        yield os.environ["DISPLAY"]
        return
    server, number = _start_display(xvfb)
    try:
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()
