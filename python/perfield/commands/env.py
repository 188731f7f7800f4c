# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup env: prints the environment that perfield-exec would give a program, for job scripts."""

from __future__ import annotations

import argparse
import subprocess

from perfield.commands import exit_code
from perfield.commands.paths import perfield_exec

HELP = "print the variables that perfield-exec sets, as export lines for job scripts"
DESCRIPTION = """\
For job scripts that cannot put perfield-exec before the program: claims a run
directory, and prints the environment of a measured program as export lines.

  eval "$(perfield setup env ./a.out)"
  srun -n 64 ./a.out

The lines are valid for one run; call this again before the next. The topology
picture of such a run shows this host only; perfield-exec describes all hosts.

A program built with Score-P also gets perfield's Score-P plug-in. Add --scorep if
perfield cannot see in the program file that Score-P is in it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the program and its arguments."""
    parser.usage = "perfield setup env [-h] [--scorep] PROGRAM [ARGS ...]"
    parser.add_argument("--scorep", action="store_true", help="the program was built with Score-P")
    parser.add_argument("program", metavar="PROGRAM", help="the program that will be started")
    add = parser.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="its arguments")
    add.required = False  # then the error for a missing PROGRAM names PROGRAM alone


def execute(arguments: argparse.Namespace) -> int:
    """Prints the export lines; returns perfield-exec's exit code, 1 if the program cannot be measured."""
    options = ["--print", "--scorep"] if arguments.scorep else ["--print"]
    command = [str(perfield_exec()), *options, "--", arguments.program, *arguments.arguments]
    return exit_code(subprocess.run(command, check=False).returncode)
