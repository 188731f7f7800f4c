# SPDX-License-Identifier: BSD-3-Clause
"""The run that a command works on: the one named, else the newest of those that perfield made here."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from perfield.commands import CommandError
from perfield.configuration import in_force
from perfield.text import in_list, printable


def add_run(parser: argparse.ArgumentParser) -> None:
    """Adds the argument RUN, which may be left out."""
    parser.add_argument(
        "run", metavar="RUN", nargs="?", help="a run directory (default: the newest one here)"
    )


def run_path(named: str | None) -> Path:
    """The run directory `named`; if None, the newest in which something was measured, and a line on stderr
    that says which.

    Raises CommandError if there is none.
    """
    if named is not None:
        return Path(named)

    wanted = Path(in_force("run_directory"))
    every = runs_of(wanted)
    runs = [path for path in every if holds_anything(path)] or every
    if not runs:
        others = sorted(printable(file.parent.name) for file in Path().glob("*/run.json"))
        what = f"name one of the others, {in_list(others)}" if others else "name a run directory"
        raise CommandError(
            f"found no run {wanted}, {wanted}-2, ... here; {what}, or measure a program: "
            "perfield run -n 8 ./a.out"
        )
    among = f", the newest of {len(runs)} runs" if len(runs) > 1 else ""
    newer = every[every.index(runs[-1]) + 1 :]
    empty = f"; {newer[-1]} is newer, but nothing was measured there yet" if newer else ""
    print(f"perfield: using {runs[-1]}{among}{empty}", file=sys.stderr)
    return runs[-1]


def holds_anything(path: Path) -> bool:
    """Whether a rank wrote to a run, or keeps it on its node: not after `perfield setup env` alone."""
    return any(file.lstat().st_size for file in (path / "stream").glob("*.pf")) or any(
        (path / "stream").glob(".staged-*")
    )


def runs_of(wanted: Path) -> list[Path]:
    """The run directories `wanted`, `wanted`-2, ... that exist, in the order of their starts."""
    from perfield.run.directory import read_info

    name = re.compile(re.escape(wanted.name) + r"(-[1-9]\d*)?")
    folder = wanted.parent
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        if not name.fullmatch(path.name):
            continue
        try:
            found.append((int(read_info(path)[0]["start_ns"]), path))
        except (OSError, ValueError, KeyError, TypeError):
            continue  # no run
    return [path for _, path in sorted(found)]
