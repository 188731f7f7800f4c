# SPDX-License-Identifier: BSD-3-Clause
"""perfield open with the real ParaView: both pictures show, and the mouse picks a rank in both."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

import numpy as np
import pytest

from perfield.output.images import display
from twins import twin

pytestmark = [
    pytest.mark.long,  # test_picks.py picks without a window
    pytest.mark.skipif(not shutil.which("paraview"), reason="ParaView is not installed"),
    pytest.mark.skipif(not shutil.which("xdotool"), reason="xdotool is not installed"),
]
PICKED, LEGEND_HIGH = (255, 0, 255), (253, 231, 36)
PANELS = 320  # pixels at the left of ParaView's window that no view takes
PATIENCE_S = 300


@pytest.fixture
def window(bin_dir, tmp_path):
    """Starts ParaView with the pictures of a run; gives the display once the legends of both views show."""
    path = twin.write_run(tmp_path / "run", ranks=4, steps=3)
    with display() as number:
        environment = {**os.environ, "DISPLAY": number, "HOME": str(tmp_path)}
        command = [str(bin_dir / "perfield"), "open", str(path)]
        with subprocess.Popen(command, env=environment, start_new_session=True) as process:
            try:
                wait(lambda: legends(number) == 2, process)
                yield number
            finally:
                os.killpg(process.pid, 9)


def wait(condition, process=None):
    """Waits until a condition holds; returns what it gives."""
    until = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert process is None or process.poll() is None, "ParaView ended"
        assert time.monotonic() < until, "nothing happened in ParaView's window"
        time.sleep(0.5)
    return found


def screen(number):
    """The pixels of a display, uint8 (height, width, 3)."""
    from PIL import ImageGrab

    return np.asarray(ImageGrab.grab(xdisplay=number).convert("RGB"))


def pixels(number, colour):
    """Columns and rows of pixels of a colour."""
    rows, columns = np.nonzero((np.abs(screen(number).astype(int) - colour) < 8).all(axis=2))
    return columns, rows


def legends(number):
    """How many legends show: columns of colour, as wide as a few pixels, that are apart from one another."""
    columns, _ = pixels(number, LEGEND_HIGH)
    return 0 if not len(columns) else 1 + int((np.diff(np.unique(columns)) > 100).sum())


def on_mesh(number, legend, top):
    """A pixel of the mesh: of all with a colour that lie between ParaView's panels and the left legend."""
    part = screen(number)[top : top + 250, PANELS : legend - 20].astype(int)
    rows, columns = np.nonzero(np.ptp(part, axis=2) > 60)
    assert len(rows), "the mesh shows"
    return int(np.median(columns)) + PANELS, int(np.median(rows)) + top


def mouse(number, *words):
    subprocess.run(["xdotool", *map(str, words)], env={**os.environ, "DISPLAY": number}, check=True)


def test_pick_in_the_mesh_marks_the_machine_too(window):
    legend, rows = pixels(window, LEGEND_HIGH)
    middle = (legend.min() + legend.max()) // 2
    x, y = on_mesh(window, legend.min(), rows.max())
    names = subprocess.run(
        ["xdotool", "search", "--onlyvisible", "--name", "ParaView"],
        env={**os.environ, "DISPLAY": window},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    mouse(window, "windowfocus", "--sync", names[-1])
    assert not len(pixels(window, PICKED)[0])

    def picked():
        mouse(window, "mousemove", x, y, "key", "s")
        mouse(window, "mousemove", x - 2, y - 2, "mousedown", 1, "mousemove", x, y, "mousemove", x + 2, y + 2)
        mouse(window, "mouseup", 1)
        time.sleep(2)
        columns, _ = pixels(window, PICKED)
        return (columns < middle).any() and (columns > middle).any()

    wait(picked)
