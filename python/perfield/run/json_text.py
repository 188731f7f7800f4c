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


def _clean(value: Any) -> Any:
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


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
