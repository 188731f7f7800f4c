# SPDX-License-Identifier: BSD-3-Clause
"""Parses the JSON of run directories, whatever the file holds."""

from __future__ import annotations

import json
import re
from typing import Any

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")  # also half of a character that is whole
MOST_LEVELS = 64
"""Levels of lists and objects that a text may nest; perfield writes three."""


class NestedTooDeepError(ValueError):
    """A JSON text nests deeper than MOST_LEVELS, so code that walks it could exhaust Python's stack."""


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Lone surrogates, which no file, page or terminal takes, become "?". Raises NestedTooDeepError if it nests
    too deep, another ValueError if it is not JSON.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise NestedTooDeepError(_too_deep()) from None
    if text.count("[") + text.count("{") > MOST_LEVELS and not _levels_end(value):
        raise NestedTooDeepError(_too_deep())
    return _clean(value) if _SURROGATE.search(text) else value


def well_typed(values: dict[str, Any]) -> dict[str, Any]:
    """The values of an entry or of run.json without known keys whose value is of another type than theirs.

    So a damaged value counts as absent. Texts lose lone surrogates, which no file or terminal takes.
    """
    if all(map(_is_plain, values, values.values())):
        return values
    return {key: _clean(value) for key, value in values.items() if _fits(key, value)}


def _is_plain(key: str, value: Any) -> bool:
    """Whether a value surely fits and needs no cleaning; a fast answer for nearly all."""
    kind = type(value)
    if kind is str:
        return _KIND.get(key, str) is str and value.isascii()
    if kind is int:
        return _KIND.get(key, int) is int and -(1 << 63) <= value < 1 << 63
    if kind is dict:
        return _KIND.get(key) is dict
    if kind is list:
        return _KIND.get(key) is list and all(type(item) is str and item.isascii() for item in value)
    return kind is bool and key not in _KIND


def _fits(key: str, value: Any) -> bool:
    if key in _TEXTS:
        return isinstance(value, str)
    if key in _NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63
    if key in _LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return key not in _OBJECTS or isinstance(value, dict)


def _clean(value: Any) -> Any:
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


# The types of the keys that docs/stream.md lists.
# fmt: off
_TEXTS = frozenset((
    "program", "group", "host", "host_long", "boot_id", "pid_namespace", "cpuset", "clock", "mpi",
    "perfield", "name", "file", "unit", "scope", "over_steps", "over_threads", "help", "reason", "method",
    "start", "working_directory", "sync_error", "topology_addr", "topology_pattern",
))
_NUMBERS = frozenset((
    "rank", "size", "pid", "realtime_ns", "monotonic_ns", "realtime_error_ns", "sum_every", "id", "line",
    "block", "armed_at", "steps", "dropped_messages", "dropped_regions", "bytes_written", "perfield_ns",
    "perfield_bytes", "missing", "missing_of_mesh", "start_ns",
))
_LISTS = frozenset(("sources", "command", "regions_unmatched", "regions_not_entered", "regions_known"))
_OBJECTS = frozenset(("configuration", "hooks", "faults", "dropped_events", "device_choice"))
# fmt: on
_KIND = {
    key: kind
    for keys, kind in ((_TEXTS, str), (_NUMBERS, int), (_LISTS, list), (_OBJECTS, dict))
    for key in keys
}


def _too_deep() -> str:
    return f"its lists and objects nest deeper than {MOST_LEVELS} levels, expected fewer"


def _levels_end(value: Any) -> bool:
    """Whether a value nests at most MOST_LEVELS levels."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        inner = [outer for outer in level if isinstance(outer, (dict, list))]
        if not inner:
            return True
        level = [v for outer in inner for v in (outer.values() if isinstance(outer, dict) else outer)]
    return False
