# SPDX-License-Identifier: BSD-3-Clause
"""Runs commands of perfield with odd streams, locales and environments, each in a process of its own.

A server that has loaded all commands, and has no threads, forks these processes: a fork of the tests' own
process could wait for ever for a lock that another of its threads held.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import sys
from collections.abc import Callable
from pathlib import Path

from perfield.commands import COMMANDS, main, module_of
from perfield.text.streams import prepare_streams


def encoded(name: str) -> Callable[[], None]:
    """Streams as Python opens them in a locale of this encoding."""

    def change() -> None:
        for number, stream in ((1, "stdout"), (2, "stderr")):
            setattr(sys, stream, io.TextIOWrapper(io.FileIO(number, "w", closefd=False), encoding=name))

    return change


def closed(*numbers: int) -> Callable[[], None]:
    """Descriptors that were closed when the command began; Python then has no such stream."""

    def change() -> None:
        for number in numbers:
            os.close(number)
            setattr(sys, ("stdin", "stdout", "stderr")[number], None)

    return change


def replaced(number: int, path: str) -> Callable[[], None]:
    """A descriptor that leads elsewhere."""

    def change() -> None:
        os.dup2(os.open(path, os.O_WRONLY), number)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8")

    return change


def to_nobody() -> None:
    """A pipe whose reader has ended."""
    reading, writing = os.pipe()
    os.dup2(writing, 1)
    os.close(reading)
    os.close(writing)
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8")


def environment(**values: str | None) -> Callable[[], None]:
    def change() -> None:
        for name, value in values.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    return change


CONDITIONS = {
    "ascii": encoded("ascii"),
    "latin-1": encoded("latin-1"),
    "stdout closed": closed(1),
    "stderr closed": closed(2),
    "all closed": closed(0, 1, 2),
    "full disk": replaced(1, "/dev/full"),
    "reader ended": to_nobody,
    "bare environment": environment(
        **{"TERM": "dumb", "COLUMNS": "1", "LINES": "1", "TZ": ":/nonexistent/zone"},
        **{"HOME": None, "XDG_DATA_HOME": None, "XDG_CONFIG_HOME": None},
    ),
}
OTHERS = {"utf-8": encoded("utf-8")}
# What commands import when they need it, where it is installed.
LATE = ("scipy.stats", "xarray", "matplotlib.pyplot", "distributed", "bokeh.server.server")


def open_after_all_closed() -> None:
    """Opens a file where all streams are closed."""
    closed(0, 1, 2)()
    prepare_streams()
    with Path("stdout").open() as opened:
        assert opened.fileno() > 2


OTHERS["a file is opened"] = open_after_all_closed


def _child(words: list[str], condition: str, place: Path) -> None:
    os.chdir(place)
    os.environ["PERFIELD_RUN_DIRECTORY"] = "none"
    for number, path in ((0, "/dev/null"), (1, "stdout"), (2, "stderr")):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), number)
    encoded("utf-8")()
    (CONDITIONS | OTHERS)[condition]()
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()  # as Python does at its end
    sys.stderr.flush()
    sys.exit(code)


def ended(words: list[str], condition: str, place: Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr (read as Latin-1) of a command that runs in the folder `place`.

    condition : a name of CONDITIONS or OTHERS.
    """
    context = multiprocessing.get_context("forkserver")
    modules = (module_of(name).__name__ for name in COMMANDS)
    context.set_forkserver_preload([*LATE, "perfield.report", *modules])
    process = context.Process(target=_child, args=(words, condition, place))
    process.start()
    process.join()
    texts = ((place / name).read_bytes().decode("latin-1") for name in ("stdout", "stderr"))
    return process.exitcode, *texts
