# SPDX-License-Identifier: BSD-3-Clause
"""perfield collect: moves what is staged on this host into its run directory."""

from __future__ import annotations

import argparse
import subprocess
from os import PathLike

from perfield.commands.paths import perfield_exec

HELP = "move what is staged on this host into the run directory"
DESCRIPTION = """\
With `stage` set, a node's files lie on its own disk until the last of its ranks
moves them into the run directory. What ranks that were killed left there is
moved by this command, called once on each node; the notes in the run directory
say what lies where. It may be called again, and by several at once.

  perfield collect perfield-run
  srun --ntasks-per-node=1 perfield collect perfield-run
  srun --ntasks-per-node=1 perfield-exec --collect perfield-run    (no Python there)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run."""
    add = parser.add_argument
    add("run", metavar="RUN", nargs="?", help="a run directory; else the configured run_directory")


def collect(run: str | PathLike[str], quietly: bool = False) -> int:
    """Collects what is staged on this host; returns perfield-exec's exit code.

    quietly : only trouble is told, on stderr.
    """
    output = subprocess.DEVNULL if quietly else None
    return subprocess.run(
        [str(perfield_exec()), "--collect", str(run)], stdout=output, check=False
    ).returncode


def execute(arguments: argparse.Namespace) -> int:
    """Collects; returns 1 if something that lies here could not be moved, 2 if RUN is no run directory."""
    from perfield.configuration import in_force

    return collect(arguments.run or in_force("run_directory"))
