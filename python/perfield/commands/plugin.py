# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup plugin: writes the plugin for ParaView, and prints how to load it."""

from __future__ import annotations

import argparse
import shlex
import shutil
from pathlib import Path

from perfield.commands import CommandError

HELP = "write the plugin with which ParaView opens runs itself"
DESCRIPTION = """\
Writes the plugin for ParaView: a reader of run.json, and filters such as Messages
of ranks. It is one XML file, which names this installation of perfield, so write it
again when perfield moves. `perfield open` loads it automatically.

  perfield setup plugin                         for you: ~/.local/share/perfield/perfield.xml
  perfield setup plugin -o /opt/perfield.xml    for all users of this machine

ParaView's Python must have the version of the Python that runs this command."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the file to write."""
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="where to write it, a name in .xml")


def execute(arguments: argparse.Namespace) -> int:
    """Writes the plugin and prints what to do with it."""
    from perfield.paraview.plugin import default_path, write_plugin

    if arguments.output is not None and arguments.output.suffix != ".xml":
        raise CommandError(f"-o {arguments.output}: ParaView loads only files whose names end in .xml.")
    try:
        path = write_plugin(arguments.output)
    except OSError as error:
        raise CommandError(
            f"{arguments.output or default_path()} cannot be written ({error.strerror}); name another place "
            "with -o."
        ) from error
    print(f"wrote {path}")
    print("load it in ParaView: Tools > Manage Plugins > Load New; tick Auto Load to have it always")
    print(f"or start ParaView with it: PV_PLUGIN_PATH={shlex.quote(str(path.parent))} paraview")
    print("then open the run.json of a run directory; the filters are in Filters > perfield")
    if shutil.which("paraview") is None:
        print("note: the program paraview is not in PATH here; the Debian package paraview has it")
    return 0
