# SPDX-License-Identifier: BSD-3-Clause
"""Shows the frames of a run in ParaView's pipelines, in a process of its own.

It reads the run directory and nothing else, so it cannot disturb the program. `perfield follow` starts it, as
a process of its own and without MPI: a client that pauses the live connection keeps ParaView in its own code,
where only another process can end it, and MPI cannot be started on every login node.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

from perfield.catalyst.alone import Alone
from perfield.catalyst.conditions import check_paraview
from perfield.catalyst.errors import PicturesEnded, UnfitError, reason
from perfield.catalyst.times import ShownTimes
from perfield.catalyst_scripts.pipeline_options import from_settings
from perfield.configuration import focus_ranks
from perfield.follow.frames import NewFrames
from perfield.follow.opening import open_when_there
from perfield.follow.settings import FolderError, claim, not_used, settings_of
from perfield.follow.status import Status, in_words
from perfield.run import Frame, RunDirectory

NICE = 10  # beside a program on the same node


class Host:
    """The pipelines of one run. given : as `Stage` takes it. status : takes sentences."""

    def __init__(self, run: RunDirectory, given: dict[str, Any], status: Status):
        check_paraview("install perfield for a Python that has it (`perfield render` needs VTK alone)")
        from perfield.catalyst.stage import Stage  # loads VTK
        from perfield.pictures.geometry_picture import GeometryOptions

        self._run, self._status = run, status
        focus, note = focus_ranks(run)
        if note:
            status.note(note)
        options = GeometryOptions(focus=focus)
        alone = Alone()
        self._stage = Stage(given, alone, alone, run, lambda _, words: status.note(words), options)
        self._times = ShownTimes()
        self._versions = None

    def show(self, frame: Frame) -> None:
        """Shows one frame. Raises PicturesEnded if a pipeline fails."""
        versions = frame.mesh_version.tolist()
        if versions != self._versions:
            self._versions = versions
            self._stage.geometry.mesh_changed()
        blocks, machine = self._stage.datasets(frame, self._run, frame)
        self._stage.show(frame, self._times.of(frame.index, frame.time), blocks, machine)

    def rest(self) -> None:
        """Completes the lists of what was written, while no frame waits."""
        self._stage.pipelines.list_extracts()

    def finish(self) -> None:
        """Completes what was written, and says what was not shown."""
        self._stage.finish()
        if self._stage.geometry.missing:
            self._status.note(f"no geometry: {self._stage.geometry.missing}")


def follow(path: Path, wait_s: float, newest: bool, asked: dict[str, Any]) -> int:
    """Shows a run until it ends or a signal comes; returns the exit code.

    wait_s : s that the run may take to begin. newest : as for `NewFrames`. asked : as for `settings_of`.
    """
    os.nice(NICE)
    ended = threading.Event()
    _set_when_asked_to_end(ended)
    parent = os.getppid()

    def wait(seconds: float) -> bool:
        return ended.wait(seconds) or os.getppid() != parent

    run = open_when_there(path, wait_s, wait)
    if run is None:
        return 0
    given = settings_of(run, asked)
    fields = from_settings({"fields": given["fields"]}).fields
    frames = NewFrames(run, given["every"], newest, float(given["patience"]), fields=fields)
    status = Status(frames)
    if unused := not_used(run, given):
        status.note(f"note: {unused}")
    try:
        lock = claim(Path(given["folder"]), None if "folder" in asked else run.path)
        host = Host(run, given, status)
    except (PicturesEnded, UnfitError, FolderError) as error:
        status.note(f"{reason(error)}.")
        return 2
    _set_when_asked_to_end(ended)  # ParaView took the signals
    try:
        code, why = _show_all(run, host, frames, status, wait)
    finally:
        host.finish()
        lock.close()
    for sentence in run.damage:
        status.note(f"note: {sentence}")
    status.note(f"{why}; {in_words(frames)}.")
    return code


def _set_when_asked_to_end(ended: threading.Event) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())


def _show_all(run: RunDirectory, host: Host, frames: NewFrames, status: Status, wait: Any) -> tuple[int, str]:
    """Shows frames until none will follow; returns the exit code and why it ended."""
    is_over = False
    while True:
        frame = frames.take()
        while frames.notes:
            status.note(f"{frames.notes.pop(0)}.")
        if frame is not None:
            try:
                host.show(frame)
            except PicturesEnded as error:
                return 1, f"the pictures end at step {int(frame.label)}: {reason(error)}"
        elif is_over:
            return 0, f"the run {'has finished' if run.state == 'finished' else 'was killed'}"
        else:
            host.rest()
            is_over = frames.have_ended  # what was written until now is read once more
        status.say_when_due()
        if wait(0 if frame is not None or is_over else frames.pause_s):
            return 0, "ended on request"
        frames.refresh(at_once=frame is None)
