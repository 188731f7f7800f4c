# SPDX-License-Identifier: BSD-3-Clause
"""The command `perfield`: one module per subcommand, each with HELP, add_arguments() and execute().

To add a subcommand, write a module of its name here and add the name to GROUPS; studies give theirs by
themselves, as `perfield lab NAME`. A module with a function separate() removes words from the command line
before argparse sees them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import sys
import textwrap
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from perfield import extras

try:
    from perfield._bridge import version
except ImportError as error:  # its modules need NumPy
    if not isinstance(error.__cause__, ModuleNotFoundError):
        raise
    sys.exit(f"perfield {extras.words(error.__cause__)}")
from perfield.studies import given, loaded
from perfield.text import did_you_mean
from perfield.text.streams import give_up, prepare_streams, say

GROUPS = {
    "Every day": (
        *("run", "report", "serve", "open", "info", "compare", "scaling"),
        *("render", "plot", "export", "import", "doctor"),
    ),
    "Advice": ("steps", "placement", "balance"),
    "More": ("follow", "fields", "demo"),
    "Lab": tuple(f"lab {name}" for name in given("COMMANDS")),
    "Set-up": tuple(
        f"setup {name}" for name in ("paths", "config", "env", "plugin", "collect", "completions")
    ),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
GROUPED = {  # first word of a command of two words -> what the commands behind it are for
    "lab": "Studies of the timings of runs, and experiments.",
    "setup": "Paths for compilers, settings, job scripts, ParaView's plugin, your shell.",
}
SHORT = {name.split()[-1]: name for name in COMMANDS}
FORMER = {  # command -> options that are called otherwise now
    "info": {"--cells": "--topology"},
    "scaling": {"--by": "--regions"},
    "render": {"--movie": "--film"},
    "plot": {"--film": "--phases", "--frame": "--reference", "--format": "--to"},
    "import": {"--regions": "--only"},
    "steps": {"--most": "--rows"},
    "placement": {"--bind": "--bind-to"},
    "balance": {"--field": "--case-field"},
    "lab rhythm": {"--model": "--oscillators"},
    "lab hide": {"--ranks": "-n", "--model": "--setting"},
    "lab inject": {"--messages": "--draws"},
}

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
MORE = "`perfield help all` lists all commands, `perfield help run` explains one."
WIDTH = 80


STEPS_HELP = '"all" (default), or numbers of steps and ranges without their ends: 0,10,20:50:5'


class CommandError(Exception):
    """A subcommand cannot continue; the text says why, and what to do."""


def module_of(name: str) -> ModuleType:
    """The module of a subcommand."""
    group, _, last = name.rpartition(" ")
    return loaded(given("COMMANDS")[last] if group == "lab" else f"{__name__}.{last}")


def name_of(words: Sequence[str]) -> str:
    """The name with which a command line begins: one word, or two where the first is of GROUPED."""
    return " ".join(words[: 1 + (words[0] in GROUPED)])


def words(text: str) -> list[str]:
    """The words of a list that is separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def parsers(names: Sequence[str] = COMMANDS) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the subcommands `names`, whose modules it loads, by name; "" is that of the whole
    command line, and each word of GROUPED that `names` need has one, too."""
    look = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    hidden = {"metavar": "COMMAND", "help": argparse.SUPPRESS, "required": True}  # an epilog lists them
    modules = {name: module_of(name) for name in names}
    usage = "perfield [-h] [--version] COMMAND ..."
    found = {"": argparse.ArgumentParser("perfield", usage=usage, description=DESCRIPTION, **look)}
    found[""].add_argument("--version", action="version", version=f"perfield {version}")
    listed = [_listed(group, modules) for group in GROUPS if {*GROUPS[group]} & {*names}]
    found[""].epilog = "\n\n".join(listed if {*names} >= {*COMMANDS} else [*listed, MORE])
    behind = {"": found[""].add_subparsers(prog="perfield", **hidden)}
    for name, module in modules.items():
        first, _, last = name.rpartition(" ")
        if first not in found:
            words = {"usage": f"perfield {first} [-h] COMMAND ...", "description": GROUPED[first]}
            found[first] = behind[""].add_parser(first, help=GROUPED[first], **words, **look)
            found[first].epilog = _listed(next(group for group in GROUPS if name in GROUPS[group]), modules)
            behind[first] = found[first].add_subparsers(prog=f"perfield {first}", **hidden)
        description = getattr(module, "DESCRIPTION", module.HELP)
        found[name] = behind[first].add_parser(last, help=module.HELP, description=description, **look)
        module.add_arguments(found[name])
        options = [option for action in found[name]._actions for option in action.option_strings]
        found[name].set_defaults(execute=module.execute, command=name, known_options=options)
    return found


def _listed(group: str, modules: Mapping[str, ModuleType]) -> str:
    """The commands of a group with what they are for."""
    names = [name for name in GROUPS[group] if name in modules]
    width = max(12, *(len(name) + 1 for name in names)) + 2
    lines = [f"{group}:"]
    for name in names:
        indent = {"initial_indent": f"  {name}".ljust(width), "subsequent_indent": " " * width}
        lines += textwrap.wrap(modules[name].HELP, WIDTH, **indent)
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Runs the command line `argv` (without the program's name); returns the exit code.

    An error in the user's input or files (OSError, ValueError) becomes a sentence on stderr and exit code 2,
    as does an error of perfield's own; `python -X dev -m perfield.commands` raises that.
    """
    prepare_streams()
    _import_matplotlib_elsewhere()
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


def _import_matplotlib_elsewhere() -> None:
    """Lets matplotlib read no `matplotlibrc` in the current directory, which may be that of somebody else's
    run: its settings name programs that matplotlib calls (animation.ffmpeg_path, text.usetex)."""
    if not os.path.lexists("matplotlibrc"):
        return
    here = os.open(".", os.O_PATH | os.O_CLOEXEC)
    try:
        os.chdir("/")
        with contextlib.suppress(ImportError):
            import_module("matplotlib")
    finally:
        os.fchdir(here)
        os.close(here)


def exit_code(returncode: int) -> int:
    """The exit code of a command for that of its child: as a shell gives it where a signal ended the child; 0
    where that was because the reader of our output has ended."""
    if returncode >= 0:
        return returncode
    return 0 if returncode == -signal.SIGPIPE else 128 - returncode


def _not_known(word: str, arguments: argparse.Namespace) -> str:
    more = f"`perfield help {arguments.command}` lists what it takes."
    if not word.startswith("-"):
        rows = word.isdecimal() and "--rows" in arguments.known_options
        return f"unexpected argument {word}{f'; --rows {word} sets a number of rows' * rows}. {more}"
    option = word.partition("=")[0]
    if (now := FORMER.get(arguments.command, {}).get(option)) is not None:
        return f"the option {option} is called {now}. {more}"
    near = did_you_mean(option, arguments.known_options, most=1)
    return f"there is no option {option}{f'; {near}' if near else '.'} {more}"


def _no_command(name: str) -> str:
    """A sentence on a name that is not a command: the whole name, or the nearest."""
    from difflib import get_close_matches  # rarely needed

    if name in SHORT:
        return f"the command {name} is called `perfield {SHORT[name]}`."
    near = get_close_matches(name.split()[-1], [*SHORT, *GROUPED], 1)
    return f"there is no command {name}{f'; did you mean {SHORT.get(*near, *near)}?' if near else '.'} {MORE}"


def _run(argv: list[str] | None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words:
        print(f"{DESCRIPTION}\n{MORE}")
        return 0
    asks = words[0] == "help"
    words = words[asks:] or ["--help"]
    name, foreign = name_of(words), None
    if asks and name == "all":
        names, words = COMMANDS, ["--help"]
    elif name.startswith("-"):
        names = GROUPS["Every day"]
    elif words[0] in GROUPED and (len(words) == 1 or words[1].startswith("-")):
        names, words = [one for one in COMMANDS if one.split()[0] == words[0]], [words[0], "--help"]
    elif name in COMMANDS:
        names, words = [name], words[len(name.split()) :]
        if asks:
            words = ["--help"]
        elif hasattr(module_of(name), "separate"):
            words, foreign = module_of(name).separate(words)
        words = [*name.split(), *words]
    else:
        say(f"perfield: {_no_command(name)}")
        return 2
    arguments, unknown = parsers(names)[""].parse_known_args(words)
    if foreign:
        unknown = unknown or [word for word in foreign[1] if word in FORMER.get(name, {})]
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

        is_vtk = extras.is_bare(error) and extras.missing(error) == "vtk"
        why = NEEDS_VTK if is_vtk else extras.words(error)
        say(f"perfield {arguments.command}: {f'this {why}' if why != str(error) else error}")
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
