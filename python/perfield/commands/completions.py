# SPDX-License-Identifier: BSD-3-Clause
"""perfield setup completions: prints what makes a shell complete perfield's commands and options."""

from __future__ import annotations

import argparse

HELP = "print a script with which a shell completes commands and options"
DESCRIPTION = """\
Prints a script for a shell. For yourself:

  perfield setup completions bash > ~/.local/share/bash-completion/completions/perfield
  perfield setup completions zsh > ~/.zfunc/_perfield     with fpath+=~/.zfunc before compinit
  perfield setup completions fish > ~/.config/fish/completions/perfield.fish

Needs the package shtab: pip install 'perfield[terminal]'."""
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the shell."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the script."""
    import shtab

    from perfield.commands import COMMANDS, GROUPED, module_of, parsers

    found = parsers()
    for name in COMMANDS:
        found[name].description = module_of(name).HELP
        for value in found[name]._actions:
            if value.nargs != 0 and not value.choices:  # runs, folders, files
                value.complete = shtab.FILE
    for name in ("", *GROUPED):
        for action in found[name]._actions:
            if action.help == argparse.SUPPRESS:  # the commands, which --help lists instead
                action.help = "a command"
    print(shtab.complete(found[""], arguments.shell))
    return 0
