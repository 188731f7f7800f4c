# SPDX-License-Identifier: BSD-3-Clause
"""No command ends with a traceback, whatever its streams, locale, environment and paths are."""

from __future__ import annotations

import importlib
import io
import multiprocessing
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import twin
from perfield.commands import COMMANDS, main
from perfield.commands._streams import prepare_streams

RUN = Path(os.fsdecode(b"lauf_\xfc"), "run")  # a Latin-1 name
GONE = RUN.with_name("gone")
# A line for each command: one that prints what it can of a run, or a sentence on what is missing.
LINES = {
    "run": ("-n", "1", f"{GONE}"),
    "inject": ("--trace", f"{GONE}", "-n", "1", "true"),
    "info": (f"{RUN}", "--waits", "--regions", "--ranks", "--messages"),
    "render": (f"{RUN}", "--steps", "0", "--topology"),
    "open": (f"{RUN}",),
    "serve": (f"{GONE}",),
    "follow": (f"{RUN}", "--every", "0"),
    "plot": (f"{RUN}", "--only", "imbalance"),
    "report": (f"{RUN}", "--text"),
    "compare": (f"{RUN}", "--steps", "2", "3"),
    "scaling": (f"{RUN}", f"{GONE}"),
    "rhythm": (f"{RUN}", "--output", f"{RUN.with_name('rhythm.nc')}"),
    "hide": ("--from", f"{GONE}"),
    "oscillate": ("--config", f"{GONE}"),
    "sliders": (f"{GONE}",),
    "balance": (f"{RUN}", "--metis", f"{RUN.with_name('graph')}"),
    "export": (f"{RUN}", "--to", "perfetto", "-o", f"{RUN.with_name('out')}"),
    "import": (f"{GONE}",),
    "env": (f"{GONE}",),
    "config": (),
    "paths": (),
    "plugin": (),
}
WRITTEN = ("rhythm.nc", "graph", "out")


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
CODES = (0, 1, 2, 126, 127)  # the last two: of a program that does not start
STARTERS = ("run", "inject", "collect", "env")  # print by another program, or nothing
ALSO_HELP = ("ascii", "stdout closed", "full disk", "reader ended")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a run below a path that is not UTF-8; its texts hold letters that ASCII lacks."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / RUN.parent).mkdir()
    twin.write_run(folder / RUN, ranks=2, steps=6, regions=("löse", "tausche"))
    for name in COMMANDS:
        importlib.import_module(f"perfield.commands.{name}")
    import perfield.report  # loaded once for all children

    assert perfield.report
    return folder


def ended(words: list[str], change: Callable[[], None], place: Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command in a process of its own, which this one forks."""
    files = [place / "stdout", place / "stderr"]

    def child() -> None:
        os.chdir(place)
        os.environ["PERFIELD_RUN_DIRECTORY"] = "none"
        for number, path in ((0, Path("/dev/null")), (1, files[0]), (2, files[1])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), number)
        encoded("utf-8")()
        change()
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()  # as Python does at its end
        sys.stderr.flush()
        sys.exit(code)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    code = process.exitcode
    for name in WRITTEN:
        (place / RUN.parent / name).unlink(missing_ok=True)
    return code, *(path.read_bytes().decode("latin-1") for path in files)


def test_each_command_has_a_line_or_takes_a_run():
    assert set(LINES) <= set(COMMANDS)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_command_ends_with_a_traceback(place, condition):
    wrong = {}
    for name in COMMANDS:
        lines = [[name, *LINES.get(name, (f"{RUN}",))], *[[name, "--help"]] * (condition in ALSO_HELP)]
        for words in lines:
            code, _, err = ended(words, CONDITIONS[condition], place)
            told = [line for line in err.splitlines() if line]
            if any(word in err for word in ("Traceback", "Error", "error in perfield")) or code not in CODES:
                wrong[" ".join(words)] = code, err
            elif code == 2 and not told and condition not in ("stderr closed", "all closed"):
                wrong[" ".join(words)] = code, "no sentence"
            elif condition == "full disk" and name not in STARTERS and (code, len(told)) != (2, 1):
                wrong[" ".join(words)] = code, err
    assert not wrong


def test_paths_keep_their_bytes_and_units_are_plain(place):
    code, out, err = ended(["info", f"{RUN}"], encoded("ascii"), place)
    assert code == 0 and not err and "µ" not in out
    assert "lauf_\xfc/run" in out, "the path as the file system has it"
    code, _, err = ended(["info", f"{GONE}"], encoded("utf-8"), place)
    assert code == 2 and err.startswith("perfield info: lauf_\xfc/gone does not exist")


def test_closed_streams_lead_nowhere_and_files_keep_off_their_numbers(place):
    assert ended(["info", f"{RUN}"], closed(1), place) == (0, "", "")

    def opens() -> None:
        closed(0, 1, 2)()
        prepare_streams()
        with (place / "stdout").open() as opened:
            assert opened.fileno() > 2

    assert ended(["paths"], opens, place)[0] == 0


def test_streams_that_break_end_quietly_or_with_a_sentence(place):
    assert ended(["info", f"{RUN}"], to_nobody, place) == (0, "", "")
    code, _, err = ended(["info", f"{RUN}"], replaced(1, "/dev/full"), place)
    assert code == 2 and "No space left on device" in err and len(err.splitlines()) == 1
