# SPDX-License-Identifier: BSD-3-Clause
"""Functions and source lines of addresses, as addr2line (or llvm-symbolizer) finds them in a program."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perfield.symbols.files import demangled, of_fortran, symbols_of

SCRIPT = "python:"  # begins the path of what is a function of a script: python:main:/home/me/flow.py
MOST_S = 120.0  # for all addresses in a file, which may be any
_OPTIONS = {
    "addr2line": ["-f", "-C", "-e"],
    "llvm-symbolizer": ["--output-style=GNU", "--no-inlines", "-f", "-C", "-e"],
}


@dataclass(frozen=True)
class SourceLine:
    """Where an address lies: function ("" if its name is not known), file and line ("", 0: not known)."""

    function: str
    file: str
    line: int


def tool() -> str | None:
    """The tool to use; None if none is installed."""
    return next((name for name in _OPTIONS if shutil.which(name)), None)


def source_lines(addresses: Iterable[tuple[str, int]]) -> dict[tuple[str, int], SourceLine]:
    """Source lines of return addresses (path of the program or library, address in it), and of lines of
    scripts (see SCRIPT). Addresses in missing files are left out, without a tool all addresses.
    """
    name = tool()
    wanted: dict[str, set[int]] = defaultdict(set)
    found = {}
    for path, offset in addresses:
        if path.startswith(SCRIPT):
            found[path, offset] = _of_script(path, offset)
        else:
            wanted[path].add(offset)
    for path, offsets in wanted.items():
        if name and Path(path).is_file():
            for offset, line in zip(sorted(offsets), _ask(name, path, sorted(offsets))):
                found[path, offset] = line
    return found


def _of_script(path: str, line: int) -> SourceLine:
    function, _, file = path.removeprefix(SCRIPT).partition(":")
    return SourceLine(Path(file).stem if function == "<module>" else function.strip("<>"), file, line)


def _ask(name: str, path: str, offsets: list[int]) -> list[SourceLine]:
    # A return address is behind the call, perhaps in the next line: one byte before it is still the call.
    words = _said([name, *_OPTIONS[name], path], (max(offset - 1, 0) for offset in offsets))
    lines = []
    for function, place, symbol in zip(words[0::2], words[1::2], _symbols(path, offsets)):
        file, _, number = place.partition(" (")[0].rpartition(":")
        known = number.isdigit() and int(number) > 0 and not file.startswith("??")
        if file.startswith("??"):  # else it has debug information
            function = symbol
        lines.append(
            SourceLine(
                "" if function.startswith("??") else of_fortran(function),
                file if known else "",
                int(number) if known else 0,
            )
        )
    return lines


def _symbols(path: str, offsets: list[int]) -> list[str]:
    """The function around each return address, "" where no symbol covers it. Without debug information the
    tools name the nearest symbol before an address, though a stripped file may lack the right one."""
    symbols = symbols_of(path)
    return (
        demangled(symbols.of([max(offset - 1, 0) for offset in offsets])) if symbols else [""] * len(offsets)
    )


def _said(command: list[str], addresses: Iterable[int]) -> list[str]:
    """The lines that a tool prints for addresses; none if it takes too long for them."""
    text = "".join(f"{address:#x}\n" for address in addresses)  # there may be too many for a command line
    pipes = {"capture_output": True, "text": True, "errors": "replace"}
    try:
        return subprocess.run(command, input=text, check=False, timeout=MOST_S, **pipes).stdout.splitlines()
    except subprocess.TimeoutExpired:
        return []


def inlined_functions(path: str, addresses: list[int]) -> list[list[str]]:
    """The functions at each address of instructions in a file, those that were inlined there first, then the
    one that they are in; empty where debug information and symbols name none, and without a tool."""
    name = tool()
    found: list[list[str]] = [[] for _ in addresses]
    if name is None or not addresses or not Path(path).is_file():
        return found
    options = ["--output-style=GNU"] if name == "llvm-symbolizer" else []
    lines = iter(_said([name, *options, "-a", "-i", "-f", "-C", "-e", path], addresses))
    number = -1
    for line in lines:
        if line.startswith("0x"):
            number += 1
            continue
        place = next(lines, "")
        # Without a place it is the nearest symbol before the address, wherever that ends: see _symbols.
        if 0 <= number < len(found) and not line.startswith("??") and not place.startswith("??"):
            found[number].append(of_fortran(line))
    return found
