# SPDX-License-Identifier: BSD-3-Clause
"""perfield follow: shows a running program in ParaView's pipelines, from beside it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perfield.catalyst_scripts.pipeline_options import PIPELINES, nearest
from perfield.child_python import run_module
from perfield.commands import CommandError
from perfield.commands._looks import add_looks
from perfield.commands._newest import runs_of
from perfield.configuration import in_force

HELP = "show each step of a running program in ParaView"
DESCRIPTION = """\
Reads the frames of a run as the program writes them, runs ParaView's pipelines
on them, and keeps RUN/follow/geometry.pvd and topology.pvd complete.
It only reads what the program writes. The program never waits for it.

  perfield follow perfield-run                         until the run ends; it may begin later
  perfield follow perfield-run --live localhost:22222  ParaView shows each step
  perfield follow perfield-run --newest --images       skip what it has no time to draw
  perfield follow perfield-run --script images_only --camera top --size 1920x1080
  perfield follow perfield-run --script mine.py        a pipeline of your own

For --live, start Catalyst > Connect in ParaView, before or after. On a login
node, tunnel to it: ssh -R 22222:localhost:22222 login. The run may be at any
stage. Your [catalyst] settings are the defaults of these options; those of the
run are not: they may name scripts and hosts of somebody else."""

LIVE_HELP = "host:port of the ParaView in which Catalyst > Connect waits"
SCRIPT_HELP = """\
a Catalyst pipeline: your own file, or geometry, topology, both (default), images_only,
extracts_only or live; may be given again"""
EVERY_HELP = "show one frame in N (1)"
NEWEST_HELP = "show only the newest frame, and count those passed over (default: show all)"
IMAGES_HELP = "also draw images, under a display in memory"
EXTRACTS_HELP = "write no .pvd: for --live, --images or --script alone"
WAIT_HELP = "how long to wait for a run that has not begun (600)"
END_S = 5.0  # that ParaView has to end after Ctrl-C


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run and what to show of it."""
    add = parser.add_argument
    add("run", metavar="RUN", nargs="?", help="a run directory (default: the newest here, or the next)")
    add("--live", metavar="HOST:PORT", help=LIVE_HELP)
    add("--script", metavar="FILE", action="append", help=SCRIPT_HELP)
    add("--every", metavar="N", type=int, help=EVERY_HELP)
    add_looks(parser, "fields", "camera", "size")
    add("--newest", action="store_true", help=NEWEST_HELP)
    add("--images", action="store_true", default=None, help=IMAGES_HELP)
    add("--no-extracts", action="store_true", help=EXTRACTS_HELP)
    add("--wait", metavar="SECONDS", type=float, default=600.0, help=WAIT_HELP)
    add("-o", "--output", metavar="DIR", type=Path, help="where to write (RUN/follow)")


def execute(arguments: argparse.Namespace) -> int:
    """Starts the process that shows the run, and ends it on Ctrl-C; returns its exit code."""
    path = Path(arguments.run or in_force("run_directory"))
    if arguments.run is None and (runs := runs_of(path)):
        path = runs[-1]
        print(f"perfield: using {path}", file=sys.stderr)
    asked = _asked(arguments)
    with _display(_may_draw(arguments)) as environment:
        words = run_module(sys.executable, "perfield.follow", json.dumps({"run": str(path), **asked}))
        return _supervise(subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL))


def _may_draw(arguments: argparse.Namespace) -> bool:
    """Whether the options or the settings here ask for images, or name pipelines."""
    keys = "catalyst_images", "catalyst_scripts"
    return bool(arguments.images or arguments.script or any(map(in_force, keys)))


def _asked(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, as settings of pipelines. Raises CommandError for those that cannot be."""
    if arguments.every is not None and arguments.every < 1:
        raise CommandError(f"--every {arguments.every}: expected a number of frames from 1.")
    if arguments.live is not None and not re.fullmatch(r".+:\d{1,5}", arguments.live):
        raise CommandError(f"--live {arguments.live}: expected host:port, such as localhost:22222.")
    given = {
        "live": arguments.live,
        "scripts": [_script(name) for name in arguments.script] if arguments.script else None,
        "every": arguments.every,
        "fields": arguments.fields,
        "camera": arguments.camera,
        "size": arguments.size,
        "images": arguments.images,
        "extracts": False if arguments.no_extracts else None,
        "folder": str(arguments.output.absolute()) if arguments.output else None,
    }
    always = {"newest": arguments.newest, "wait": arguments.wait}
    return {key: value for key, value in given.items() if value is not None} | always


def _script(name: str) -> str:
    """The full path of a pipeline, or the name of one of perfield's. Raises CommandError if it is neither."""
    if name in PIPELINES:
        return name
    if not Path(name).exists():
        own = ", ".join(PIPELINES)
        near = nearest(name, PIPELINES)
        advice = f"{near} Name" if near else "name"
        raise CommandError(
            f"--script {name}: there is no such file; {advice} a pipeline of your own, or one of {own}."
        )
    return str(Path(name).resolve())


@contextlib.contextmanager
def _display(is_needed: bool) -> Iterator[dict[str, str]]:
    """The environment for ParaView: with a display in memory if one is needed and can be had."""
    if not is_needed:
        yield dict(os.environ)
        return
    from perfield.output.images import ImagesError, display

    with contextlib.ExitStack() as stack:
        environment = {**os.environ, "LP_NUM_THREADS": "1"}  # of Mesa, which draws: it leaves cores alone
        try:
            environment["DISPLAY"] = stack.enter_context(display())
        except ImagesError as error:
            print(f"perfield follow: {error}", file=sys.stderr)
        yield environment


def _supervise(process: subprocess.Popen) -> int:
    """Waits for the process. A signal is passed on; one that ParaView does not answer ends it hard.

    ParaView waits in its own code while a live client has paused it.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(timeout=END_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
            process.wait()
            print(
                "perfield follow: ParaView was still busy, or paused by its client, and was ended; the "
                ".pvd files are complete, without the last second.",
                file=sys.stderr,
            )
            return 0
    finally:
        signal.signal(signal.SIGTERM, before)
    if code < 0:
        name = signal.Signals(-code).name
        raise CommandError(
            f"ParaView ended with {name} while it showed the run; the run and the .pvd files are unharmed. "
            "Its last output is above."
        )
    return code
