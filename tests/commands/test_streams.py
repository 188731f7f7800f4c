# SPDX-License-Identifier: BSD-3-Clause
"""No command ends with a traceback, whatever its streams, locale, environment and paths are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from drivers.command_streams import CONDITIONS, ended

from perfield.commands import COMMANDS
from twins import twin

RUN = Path(os.fsdecode(b"lauf_\xfc"), "run")  # a Latin-1 name
GONE = RUN.with_name("gone")
# A line for each command: one that prints what it can of a run, or a sentence on what is missing.
LINES = {
    "run": ("-n", "1", f"{GONE}"),
    "lab inject": ("--trace", f"{GONE}", "-n", "1", "true"),
    "info": (f"{RUN}", "--waits", "--regions", "--ranks", "--messages"),
    "render": (f"{RUN}", "--steps", "1", "--topology"),
    "open": (f"{RUN}",),
    "serve": (f"{GONE}",),
    "follow": (f"{RUN}", "--every", "0"),
    "plot": (f"{RUN}", "--only", "imbalance"),
    "report": (f"{RUN}", "--text"),
    "compare": (f"{RUN}", "--steps", "3", "4"),
    "scaling": (f"{RUN}", f"{GONE}"),
    "lab rhythm": (f"{RUN}", "--output", f"{RUN.with_name('rhythm.nc')}"),
    "lab hide": ("--from", f"{GONE}"),
    "lab oscillate": ("--config", f"{GONE}"),
    "lab sliders": (f"{GONE}",),
    "balance": (f"{RUN}", "--metis", f"{RUN.with_name('graph')}"),
    "export": (f"{RUN}", "--to", "perfetto", "-o", f"{RUN.with_name('out')}"),
    "import": (f"{GONE}",),
    "setup env": (f"{GONE}",),
    "setup config": (),
    "setup paths": (),
    "setup plugin": (),
    "setup completions": ("bash",),
}
WRITTEN = ("rhythm.nc", "graph", "out")


CODES = (0, 1, 2, 126, 127)  # the last two: of a program that does not start
STARTERS = ("run", "lab inject", "setup collect", "setup env")  # print by another program, or nothing
ALSO_HELP = ("ascii", "stdout closed", "full disk", "reader ended")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a run below a path that is not UTF-8; its texts hold letters that ASCII lacks."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / RUN.parent).mkdir()
    twin.write_run(folder / RUN, ranks=2, steps=6, regions=("löse", "tausche"))
    return folder


def test_each_command_has_a_line_or_takes_a_run():
    assert set(LINES) <= set(COMMANDS)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_command_ends_with_a_traceback(place, condition):
    wrong = {}
    for name in COMMANDS:
        first = name.split()
        lines = [[*first, *LINES.get(name, (f"{RUN}",))], *[[*first, "--help"]] * (condition in ALSO_HELP)]
        for words in lines:
            code, _, err = ended(words, condition, place)
            for written in WRITTEN:
                (place / RUN.parent / written).unlink(missing_ok=True)
            reported = [line for line in err.splitlines() if line]
            if any(word in err for word in ("Traceback", "Error", "error in perfield")) or code not in CODES:
                wrong[" ".join(words)] = code, err
            elif code == 2 and not reported and condition not in ("stderr closed", "all closed"):
                wrong[" ".join(words)] = code, "no sentence"
            elif condition == "full disk" and name not in STARTERS and (code, len(reported)) != (2, 1):
                wrong[" ".join(words)] = code, err
    assert not wrong


def test_paths_keep_their_bytes_and_units_are_plain(place):
    code, out, err = ended(["info", f"{RUN}"], "ascii", place)
    assert code == 0 and not err and "µ" not in out
    assert "lauf_\xfc/run" in out, "the path as the file system has it"
    code, _, err = ended(["info", f"{GONE}"], "utf-8", place)
    assert code == 2 and err.startswith("perfield info: lauf_\xfc/gone does not exist")


def test_closed_streams_lead_nowhere_and_files_keep_off_their_numbers(place):
    assert ended(["info", f"{RUN}"], "stdout closed", place) == (0, "", "")
    assert ended(["setup", "paths"], "a file is opened", place)[0] == 0


def test_streams_that_break_end_quietly_or_with_a_sentence(place):
    assert ended(["info", f"{RUN}"], "reader ended", place) == (0, "", "")
    code, _, err = ended(["info", f"{RUN}"], "full disk", place)
    assert code == 2 and "No space left on device" in err and len(err.splitlines()) == 1
