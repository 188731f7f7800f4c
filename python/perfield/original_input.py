# SPDX-License-Identifier: BSD-3-Clause
"""Converts the input files of the original plug-in and of its adaptor into a perfield.toml.

docs/original-plugin.md lists all keys.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

TEXT_LIMIT = 1_000_000  # bytes read of an input file; real ones have a dozen lines


@dataclass(frozen=True)
class Counterpart:
    """The setting that replaces a key of the original plug-in, or the reason why none does.

    setting : a key of perfield.toml, "" for none. literal : converts the value to a TOML literal; raises
    ValueError, whose text is what was expected. note : what a reader of the new file must know.
    """

    setting: str = ""
    literal: Callable[[str], str] = str
    note: str = ""


def _switch(value: str) -> bool:
    if value not in ("0", "1"):
        raise ValueError("0 or 1")
    return value == "1"


def _boolean(value: str) -> str:
    return "true" if _switch(value) else "false"


def _steps(value: str) -> str:
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        raise ValueError("a whole number from 1 on")
    return str(int(value))


def _real(value: str) -> str:
    try:
        return repr(float(value))
    except ValueError:
        raise ValueError("a number") from None


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)  # each text of JSON is one of TOML


def _no_regions(value: str) -> str:
    _switch(value)
    return "[]"


_LOG = Counterpart(note="`perfield render` draws the pictures, and prints what it does")
_RENEWED = Counterpart(note="messages are always counted per step; keeping a table of peers costs nothing")
_LAYER = Counterpart(note="all layers of the picture are written; ParaView shows and hides each of them")

PLUGIN = {
    "print_log": Counterpart("log", _boolean),
    "clock_resolution": Counterpart(note="the clock's frequency is measured while the program runs"),
    "measuring_frequency": Counterpart("measure_every", _steps),
    "measurements": Counterpart(
        "regions",
        _no_regions,
        "regions that a pipeline_next call arms are measured; without such calls, none",
    ),
    "communication": Counterpart("messages", _boolean),
    "renew_comm": _RENEWED,
    "topology_mode": Counterpart(
        note="`perfield render` draws the mesh and the machine from one measurement"
    ),
    "python_script": Counterpart(
        note="ParaView pipelines are in catalyst_scripts/; `perfield render` needs none of them"
    ),
}

ADAPTOR = {
    "print_log": _LOG,
    "inter_node_offset": Counterpart("inter_node_offset", _real),
    "network_topology": Counterpart("network_topology", _boolean),
    "topology_file": Counterpart("topology_file", _text),
    "measurements": _LAYER,
    "communication": _LAYER,
    "comm_offset": Counterpart("comm_offset", _real),
    "renew_comm": _RENEWED,
    "periodic_BC": Counterpart("periodic_BC", _boolean),
}


def converted(paths: list[Path]) -> tuple[str, list[str]]:
    """Returns the text of a perfield.toml and a list of errors, a sentence each.

    paths : the plug-in's file, its adaptor's, or both; their keys say which is which. A file that cannot
    be read is one of the errors.
    """
    names = " and ".join(path.name for path in paths)
    settings: dict[str, str] = {}
    left_out, complaints = [], []
    for path in paths:
        entries = list(_entries(path, complaints))
        own = {key for _, key, _ in entries}
        table = ADAPTOR if own & (ADAPTOR.keys() - PLUGIN.keys()) else PLUGIN
        seen: set[str] = set()
        for line, key, value in entries:
            where = f"{path.name}:{line}"
            if key not in table:
                near = difflib.get_close_matches(key, table, 1)
                meant = f"; is {near[0]} meant?" if near else ""
                complaints.append(f"{where}: there was no key {key}{meant}")
                continue
            if key in seen:
                complaints.append(f"{where}: {key} was given before; the first one is taken")
                continue
            seen.add(key)
            here = table[key]
            if not here.setting:
                left_out.append(f"# {key} = {value}: {here.note}")
                continue
            try:
                comment = f"  # {key} = {value}" + (f": {here.note}" if here.note else "")
                settings[here.setting] = f"{here.setting} = {here.literal(value)}{comment}"
            except ValueError as expected:
                complaints.append(f"{where}: found {key} = {value}; expected {expected}")
    lines = [f"# from {names} of the original plug-in", *settings.values()]
    if left_out:
        lines += ["", "# without counterpart:", *left_out]
    return "\n".join(lines) + "\n", complaints


def _entries(path: Path, complaints: list[str]) -> Iterator[tuple[int, str, str]]:
    """(line number, key, value) of each line that sets a key; other errors go to `complaints`."""
    try:
        with path.open("rb") as file:
            text = file.read(TEXT_LIMIT).decode("utf-8", "replace")
    except OSError as error:
        complaints.append(f"{path} cannot be read ({error.strerror}); name only the files that are there")
        return
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].strip()
        if not said:
            continue
        key, equals, value = (part.strip() for part in said.partition("="))
        if not equals or not key or not value:
            complaints.append(f"{path.name}:{number}: found {said!r}; expected key = value")
            continue
        yield number, key, "".join(c if c.isprintable() else "?" for c in value)
