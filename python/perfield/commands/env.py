# SPDX-License-Identifier: BSD-3-Clause
"""perfield env: the environment that perfield-exec would give a program, for job scripts."""

from __future__ import annotations

import argparse
import subprocess

from perfield.commands.paths import perfield_exec

HELP = "print what perfield-exec sets, as export lines for job scripts"
DESCRIPTION = """\
Claims a run directory and prints the environment of a measured program as
export lines, for job scripts that cannot put perfield-exec before the program:

  eval "$(perfield env ./a.out)"
  srun -n 64 ./a.out

The lines hold for one run: ask again before the next. Only this host is
described for the topology picture; perfield-exec describes all of them.

A program that was built with Score-P gets perfield's plugin for it, too;
--scorep says so where the program's file does not tell."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the program and its arguments."""
    parser.usage = "perfield env [-h] [--scorep] PROGRAM [ARGS ...]"
    parser.add_argument("--scorep", action="store_true", help="the program was built with Score-P")
    parser.add_argument("program", metavar="PROGRAM", help="the program that will be started")
    add = parser.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="and its arguments")
    add.required = False  # so that an error asks for PROGRAM alone


def execute(arguments: argparse.Namespace) -> int:
    """Prints the export lines; returns perfield-exec's exit code, 1 if the program cannot be measured."""
    options = ["--print", "--scorep"] if arguments.scorep else ["--print"]
    command = [str(perfield_exec()), *options, "--", arguments.program, *arguments.arguments]
    return subprocess.run(command, check=False).returncode
