# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup collect: moves this host's staged files into their run directory."""

from __future__ import annotations

import argparse
import subprocess
from os import PathLike

from perfield.commands import exit_code
from perfield.commands._newest import add_run, run_path
from perfield.commands.paths import perfield_exec

HELP = "move this host's staged files into the run directory"
DESCRIPTION = """\
With `stage` set, each node keeps its files on its own disk until its last rank
moves them into the run directory. If ranks were killed, call this command once
on each node to move their files. The run directory lists which files lie where.
You may repeat it, or run it several times at once.

  perfield setup collect perfield-run
  srun --ntasks-per-node=1 perfield setup collect perfield-run
  srun --ntasks-per-node=1 perfield-exec --collect perfield-run    (no Python there)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run."""
    add_run(parser)


def collect(run: str | PathLike[str], quietly: bool = False) -> int:
    """Moves this host's staged files into the run; returns perfield-exec's exit code.

    quietly : prints errors only, on stderr.
    """
    output = subprocess.DEVNULL if quietly else None
    command = [str(perfield_exec()), "--collect", str(run)]
    return exit_code(subprocess.run(command, stdout=output, check=False).returncode)


def execute(arguments: argparse.Namespace) -> int:
    """Collects; returns 1 if a file on this host could not be moved, 2 if RUN is not a run directory."""
    return collect(run_path(arguments.run))
