# SPDX-License-Identifier: BSD-3-Clause
"""Writes the manual pages, for `make man`: man_pages.py FOLDER makes FOLDER/man1/perfield.1 and others.

Each holds what --help prints, whose lines are made for 80 columns.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from perfield._bridge import version
from perfield.commands import COMMANDS, module_of, parsers


def page(name: str, about: str, text: str) -> str:
    """A manual page in troff: the name, a line about it, and a text as it is."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    shown = "\n".join("\\&" + line for line in lines)  # \& keeps . and ' at the beginning from being requests
    head = f'.TH {name.upper()} 1 "" "perfield {version}" "perfield"\n.SH NAME\n{name} \\- {about}\n'
    return f"{head}.SH DESCRIPTION\n.nf\n{shown}\n.fi\n"


def write(folder: Path) -> None:
    """Writes the pages of perfield, of each of its commands and of perfield-exec."""
    about = "the performance of running MPI programs as fields"
    pages = {"perfield": page("perfield", about, parsers()[""].format_help())}
    for name in COMMANDS:
        title = f"perfield-{name.replace(' ', '-')}"
        pages[title] = page(title, module_of(name).HELP, parsers([name])[name].format_help())
    command = [Path(sys.executable).with_name("perfield-exec"), "--help"]
    launcher = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pages["perfield-exec"] = page(
        "perfield-exec", "run a program and measure it, under any launcher", launcher
    )
    (folder / "man1").mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / "man1" / f"{name}.1").write_text(text)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "78"  # the width of argparse's lines; man indents them
    write(Path(sys.argv[1]))
