# SPDX-License-Identifier: BSD-3-Clause
"""perfield open: starts ParaView with the pictures of a run, and writes them first if none exist."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from perfield.catalyst_scripts.layouts import LAYOUTS
from perfield.catalyst_scripts.x_display import has_display
from perfield.commands import CommandError, render
from perfield.commands._mesh import add_mesh_options, mesh_words
from perfield.commands._newest import add_run, run_path

HELP = "look at a run in ParaView"
DESCRIPTION = """\
Starts ParaView with the pictures of a run. If none exist, or --mesh names a mesh,
writes them first, as `perfield render RUN` does.

  perfield open perfield-run               mesh and machine side by side, at the same step
  perfield open perfield-run --topology    the machine alone
  perfield open perfield-run --geometry    the mesh alone

Choose another array in ParaView's toolbar: title, legend and the other view follow.
Select a cell (key S, then drag): both views mark its rank and say where it sits.
The filter "layout" arranges the nodes of the machine: its script begins with the
layout's name. With --separate the other view keeps its own array."""

LAYOUT_HELP = "how to arrange the nodes of the machine (as the pictures were rendered)"
PICTURES = ("geometry", "topology")
# For a user who has not set it: otherwise a window of welcome covers the pictures and stops the script. Qt
# reads such defaults from XDG_CONFIG_DIRS; the user's own settings are read and written as always.
DEFAULTS = "[General]\nGeneralSettings.ShowWelcomeDialog=false\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run and the choice of pictures."""
    add_run(parser)
    parser.add_argument("--geometry", action="store_true", help="show the mesh alone")
    parser.add_argument("--topology", action="store_true", help="show the machine alone")
    parser.add_argument("--separate", action="store_true", help="let each view keep its own array")
    parser.add_argument("--layout", choices=LAYOUTS, help=LAYOUT_HELP)
    add_mesh_options(parser)
    parser.add_argument("-o", "--output", metavar="DIR", help="where the pictures are (RUN/pictures)")


def execute(arguments: argparse.Namespace) -> int:
    """Starts ParaView, waits for its end and returns its exit code."""
    from perfield.paraview.plugin import FILE, write_plugin

    arguments.run = run_path(arguments.run)
    directory = Path(arguments.output) if arguments.output else Path(arguments.run, "pictures")
    if not pictures_of(directory) or mesh_words(arguments):
        _write(arguments)
    there = pictures_of(directory)
    names = [name for name in PICTURES if getattr(arguments, name)] or there
    for name in names:
        if name not in there:
            raise CommandError(
                f"{directory} has no {name} picture; write it with: perfield render {arguments.run} --{name}"
            )
    program = shutil.which("paraview")
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise CommandError(
            f"there is no display here. Copy {directory} to a machine with ParaView 5.11 or newer (rsync "
            f"-a) and open {names[0]}.pvd there, or log in with ssh -X; perfield render {arguments.run} "
            "--images draws images without one."
        )
    if program is None:
        raise CommandError(
            f"the program paraview is not in PATH; install the Debian package paraview, or open "
            f"{directory / names[0]}.pvd with a ParaView 5.11 or newer elsewhere."
        )
    try:
        str(directory.resolve()).encode()
    except UnicodeEncodeError as error:
        raise CommandError(
            f"ParaView cannot read {directory.resolve()}, a path that is not UTF-8; copy it to another name, "
            f"and open {names[0]}.pvd there."
        ) from error
    script = Path(__file__).parents[1] / "catalyst_scripts" / f"{names[0] if len(names) == 1 else 'both'}.py"
    paths = [str(script.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "PERFIELD_PICTURES": str(directory.resolve())}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    if arguments.layout:
        environment["PERFIELD_LAYOUT"] = arguments.layout
    if arguments.separate:
        environment["PERFIELD_SEPARATE"] = "1"
    with tempfile.TemporaryDirectory(prefix="perfield-open-") as place:
        Path(place, "ParaView.ini").write_text(DEFAULTS, encoding="utf-8")
        others = os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg"
        environment["XDG_CONFIG_DIRS"] = os.pathsep.join([place, others])
        plugins = [
            str(write_plugin(Path(place, "plugins", FILE)).parent),
            os.environ.get("PV_PLUGIN_PATH", ""),
        ]
        environment["PV_PLUGIN_PATH"] = os.pathsep.join(filter(None, plugins))
        sys.stdout.flush()  # what render said comes before what ParaView says
        code = subprocess.run([program, f"--script={script}"], env=environment, check=False).returncode
    if code and not os.environ.get("WAYLAND_DISPLAY") and not has_display():
        print(
            f"perfield open: no X server answers at DISPLAY={os.environ['DISPLAY']}, so ParaView has no "
            "window; set DISPLAY to one that runs, or log in again with ssh -X.",
            file=sys.stderr,
        )
    return code


def pictures_of(directory: Path) -> list[str]:
    """The pictures in a directory, according to its pictures.json."""
    from perfield.catalyst_scripts.pictures_json import FILE, read_description
    from perfield.catalyst_scripts.safe_open import safe_read

    try:
        layers = read_description(safe_read(directory / FILE, directory))["layers"]
    except (OSError, ValueError):
        return []
    there = {layer.partition("/")[0] for layer in layers}
    return [name for name in PICTURES if name in there and (directory / f"{name}.pvd").exists()]


def _write(arguments: argparse.Namespace) -> None:
    parser = argparse.ArgumentParser()
    render.add_arguments(parser)
    output = ["-o", arguments.output] if arguments.output else []
    render.execute(parser.parse_args([str(arguments.run), *output, *mesh_words(arguments)]))
