# SPDX-License-Identifier: BSD-3-Clause
"""perfield completions: prints what makes a shell complete perfield's commands and options."""

from __future__ import annotations

import argparse

HELP = "print a script with which a shell completes commands and options"
DESCRIPTION = """\
Prints a script for a shell. For yourself:

  perfield completions bash > ~/.local/share/bash-completion/completions/perfield
  perfield completions zsh > ~/.zfunc/_perfield     with fpath+=~/.zfunc before compinit
  perfield completions fish > ~/.config/fish/completions/perfield.fish

Needs the package shtab: pip install 'perfield[terminal]'."""
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the shell."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the script."""
    import shtab

    from perfield.commands import module_of, parser

    top = parser()
    for action in top._actions:
        if action.help == argparse.SUPPRESS:  # the commands, which --help lists by groups instead
            action.help = "a command"
            for name, command in action.choices.items():
                command.description = module_of(name).HELP
                for value in command._actions:
                    if value.nargs != 0 and not value.choices:  # runs, folders, files
                        value.complete = shtab.FILE
    print(shtab.complete(top, arguments.shell))
    return 0
