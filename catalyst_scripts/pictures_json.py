# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the pipelines take from pictures.json, so that a damaged one costs a sentence.

It imports nothing but Python's library: ParaView runs it without perfield.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

FILE = "pictures.json"
_WHOLE = re.compile(r"-?[0-9]{1,18}")
MOST = 1e300
"""Numbers are below it, so that sums and differences of a few are finite."""


@dataclass(frozen=True)
class Kind:
    """What a value may be. words : for sentences. types : of Python. items : how many a list has; None: any.

    fields : what an object needs. may : what it may have. each : the kind of other items. among : the texts
    that it may be. keys_are_whole : whether the keys of an object are whole numbers.
    """

    words: str
    types: tuple[type, ...]
    fields: dict[str, Kind] = field(default_factory=dict)
    may: dict[str, Kind] = field(default_factory=dict)
    each: Kind | None = None
    items: int | None = None
    among: tuple[str, ...] = ()
    keys_are_whole: bool = False


def _row(names: str, kind: Kind) -> dict[str, Kind]:
    return dict.fromkeys(names.split(), kind)


def _list(words: str, each: Kind, items: int | None = None) -> Kind:
    return Kind(words, (list,), each=each, items=items)


def _or_null(kind: Kind) -> Kind:
    return replace(kind, words=f"{kind.words} or null", types=(*kind.types, type(None)))


TEXT = Kind("a text", (str,))
WHOLE = Kind("a whole number", (int,))
NUMBER = Kind("a number", (int, float))
TRUE_OR_FALSE = Kind("true or false", (bool,))
ENDS = _list("two numbers", NUMBER, 2)
BEYOND = Kind("an object", (dict,), {"peak": NUMBER, "scale": _or_null(ENDS)})
ARRAY = Kind(
    "an object", (dict,),
    {"range": ENDS, "association": Kind("a text", (str,), among=("POINTS", "CELLS")),
     "components": WHOLE, "absent": TRUE_OR_FALSE, **_row("title unit", TEXT)},
    {"scale": _or_null(ENDS), "whole": TRUE_OR_FALSE, "beyond": Kind("an object", (dict,), each=BEYOND),
     "names": Kind("an object", (dict,), each=TEXT, keys_are_whole=True),
     "values": _list("a list of numbers", NUMBER)},
)  # fmt: skip
LAYER = Kind(
    "an object", (dict,),
    {"bounds": _or_null(_list("six numbers", NUMBER, 6)), "arrays": Kind("an object", (dict,), each=ARRAY)},
    {"spread": _or_null(_list("three numbers", NUMBER, 3))},
)  # fmt: skip
STEP = Kind(
    "an object", (dict,), {"frame": WHOLE, "shown_at": NUMBER, **_row("title mesh_age fields_age", TEXT)}
)
DESCRIPTION = Kind(
    "an object", (dict,),
    {
        "steps": _list("a list of steps", STEP),
        **_row("run view", TEXT),
        "explode": _or_null(NUMBER),
        "places": Kind("an object", (dict,), _row("host core", _list("a list of texts", TEXT))),
        "own_fields": Kind("an object", (dict,), each=TEXT),
        "layers": Kind("an object", (dict,), each=LAYER),
    },
    _row("mesh_way layout", TEXT),
)  # fmt: skip
"""What pictures.json holds, as far as pipelines read it."""


def read_description(data: bytes) -> dict[str, Any]:
    """The content of pictures.json. Raises ValueError: a sentence without its subject, the file."""
    try:
        found = json.loads(data)
    except RecursionError:
        raise ValueError(f"nests too deep; {_ADVICE}") from None
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}; {_ADVICE}") from None
    if wrong := _wrong(found, DESCRIPTION, ""):
        raise ValueError(f"{wrong}; {_ADVICE}")
    return found


_ADVICE = "`perfield render RUN` writes it again"


def _wrong(value: Any, kind: Kind, where: str) -> str:
    """What is wrong with a value, or in it; "" if nothing is."""
    at = f" at {where}" if where else ""
    if type(value) not in kind.types:
        return f"has {_shown(value)}{at}, expected {kind.words}"
    if type(value) in (int, float) and abs(value) >= MOST:
        return f"has {_shown(value)}{at}, expected {kind.words} below {MOST:g}"
    if kind.items is not None and type(value) is list and len(value) != kind.items:
        return f"has {len(value)} items{at}, expected {kind.words}"
    if kind.among and value not in kind.among:
        return f"has {_shown(value)}{at}, expected {' or '.join(kind.among)}"
    if kind.keys_are_whole and (others := [key for key in value if not _WHOLE.fullmatch(key)]):
        return f"has the key {_shown(others[0])}{at}, expected whole numbers"
    lacking = [name for name in kind.fields if name not in value] if type(value) is dict else []
    if lacking:
        return f"lacks {lacking[0]}{at}"
    known = kind.fields | kind.may
    for name, one in _inside(value):
        inner = known.get(name, kind.each)
        if inner is not None and (wrong := _wrong(one, inner, f"{where}/{name:.40}")):
            return wrong
    return ""


def _inside(value: Any) -> Iterable[tuple[str, Any]]:
    if type(value) is dict:
        return value.items()
    return ((str(n), one) for n, one in enumerate(value)) if type(value) is list else ()


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else text[:37] + "..."
