# SPDX-License-Identifier: BSD-3-Clause
"""The command `perfield`: one module per subcommand, each with HELP, add_arguments() and execute().

To add a subcommand, write a module of its name here and add the name to GROUPS; studies give theirs by
themselves. A module with a function separate() removes words from the command line before argparse sees them.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import textwrap
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from perfield import extras
from perfield._bridge import version
from perfield.studies import given, loaded
from perfield.text import did_you_mean
from perfield.text.streams import give_up, prepare_streams, say

GROUPS = {
    "Every day": ("run", "report", "serve", "open", "info", "compare", "scaling"),
    "Pictures and data": ("render", "plot", "follow", "export", "import", "fields"),
    "Advice": ("steps", "placement", "balance"),
    "Studies": tuple(given("COMMANDS")),
    "Set-up": ("doctor", "demo", "config", "env", "paths", "plugin", "collect", "completions"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)

DESCRIPTION = """\
perfield shows the performance of a running MPI program as fields: on the
simulation's own mesh and on a picture of the machine, one frame per time step.

  perfield run -n 8 ./a.out input.txt    measure a program on 8 ranks
  perfield report                        what costs time, where and why
  perfield serve                         look at the run in a browser
  perfield open                          look at the run in ParaView
  perfield compare before after          what changed between two runs

Without a name, they take the newest run here.
Under a launcher of your own: mpirun -n 8 perfield-exec ./a.out input.txt"""
MORE = "`perfield help` lists all commands, `perfield help run` explains one."
WIDTH = 80


STEPS_HELP = '"all" (default), or frame numbers from 0 and ranges, as for render: 0,10,20:50:5'


class CommandError(Exception):
    """A subcommand cannot continue; the text says why, and what to do."""


def module_of(name: str) -> ModuleType:
    """The module of a subcommand."""
    return loaded(given("COMMANDS").get(name, f"{__name__}.{name}"))


def words(text: str) -> list[str]:
    """The words of a list that is separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def parser(names: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """Returns the parser of the command line; it loads the modules of the subcommands `names`."""
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(
        "perfield",
        usage="perfield [-h] [--version] COMMAND ...",
        description=DESCRIPTION,
        formatter_class=raw,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"perfield {version}")
    subparsers = top.add_subparsers(prog="perfield", metavar="COMMAND", help=argparse.SUPPRESS, required=True)
    modules = {name: module_of(name) for name in names}
    top.epilog = "\n\n".join(_listed(group, modules) for group in GROUPS if {*GROUPS[group]} & {*names})
    for name, module in modules.items():
        description = getattr(module, "DESCRIPTION", module.HELP)
        subparser = subparsers.add_parser(
            name, help=module.HELP, description=description, formatter_class=raw, allow_abbrev=False
        )
        module.add_arguments(subparser)
        options = [option for action in subparser._actions for option in action.option_strings]
        subparser.set_defaults(execute=module.execute, command=name, known_options=options)
    return top


def _listed(group: str, modules: Mapping[str, ModuleType]) -> str:
    """The commands of a group with what they are for."""
    lines = [f"{group}:"]
    for name in (name for name in GROUPS[group] if name in modules):
        indent = {"initial_indent": f"  {name:<12}", "subsequent_indent": " " * 14}
        lines += textwrap.wrap(modules[name].HELP, WIDTH, **indent)
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Runs the command line `argv` (without the program's name); returns the exit code.

    An error in the user's input or files (OSError, ValueError) becomes a sentence on stderr and exit code 2,
    as does an error of perfield's own; `python -X dev -m perfield.commands` raises that.
    """
    prepare_streams()
    code, end = 0, None
    try:
        try:
            code = _run(argv)
        except SystemExit as stop:  # --help, or an error that argparse has printed
            end = stop
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output, such as `head`, has ended
        give_up(sys.stdout)
    except OSError as error:
        if not code:
            say(f"perfield: the output cannot be written ({error.strerror}).")
        give_up(sys.stdout)
        return 2
    except KeyboardInterrupt:
        return 130
    if end is not None:
        raise end
    return code


def exit_code(returncode: int) -> int:
    """The exit code of a command for that of its child: as a shell gives it where a signal ended the child; 0
    where that was because the reader of our output has ended."""
    if returncode >= 0:
        return returncode
    return 0 if returncode == -signal.SIGPIPE else 128 - returncode


def _nearest(word: str, known: Iterable[str]) -> str:
    near = did_you_mean(word, known, most=1)
    return f"; {near}" if near else "."


def _not_known(word: str, arguments: argparse.Namespace) -> str:
    more = f"`perfield help {arguments.command}` lists what it takes."
    if not word.startswith("-"):
        return f"the word {word} is one too many. {more}"
    option = word.partition("=")[0]
    return f"there is no option {option}{_nearest(option, arguments.known_options)} {more}"


def _run(argv: list[str] | None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    names, foreign = COMMANDS, None
    if not words:
        print(f"{DESCRIPTION}\n{MORE}")
        return 0
    if words[0] == "help":
        words = [*words[1:2], "--help"]
    if not words[0].startswith("-") and words[0] not in COMMANDS:
        say(f"perfield: there is no command {words[0]}{_nearest(words[0], COMMANDS)} {MORE}")
        return 2
    if words[0] in COMMANDS:
        names = words[:1]
        module = module_of(words[0])
        if hasattr(module, "separate"):
            words[1:], foreign = module.separate(words[1:])
    arguments, unknown = parser(names).parse_known_args(words)
    if unknown:
        say(f"perfield {arguments.command}: {_not_known(unknown[0], arguments)}")
        return 2
    arguments.words = foreign
    try:
        return arguments.execute(arguments) or 0
    except BrokenPipeError:
        raise
    except ModuleNotFoundError as error:
        from perfield.pictures import NEEDS_VTK

        lacks = extras.is_bare(error) and extras.missing(error)
        why = NEEDS_VTK if lacks == "vtk" else extras.words(error)
        say(f"perfield {arguments.command}: {f'this {why}' if lacks else error}")
        return 2
    except (CommandError, OSError, ValueError, ImportError) as error:
        say(f"perfield {arguments.command}: {error}")
        return 2
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        say(f"perfield {arguments.command}: {_own_error(error)}")
        return 2


def _own_error(error: Exception) -> str:
    """A sentence on an error of perfield itself."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"this is an error in perfield, not in what you gave: {type(error).__name__}: {error} "
        f"({Path(last.filename).name}, line {last.lineno}). Please report it with the output of "
        f"python3 -X dev -m perfield.commands {shlex.join(sys.argv[1:])}"
    )
