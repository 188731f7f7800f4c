# SPDX-License-Identifier: BSD-3-Clause
"""What the fields of run.json, of entries in JSON and of mesh descriptions hold: one table for the border.

Readers behind it trust these fields: each is of its kind or absent. A table of our own does that in one pass
over millions of entries, keeps what is right in a damaged one, and adds nothing to what must be installed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from perfield import _bridge

MOST = 1 << 62
"""Whole numbers are below it, so that their sums and differences fit into 64 bits."""


@dataclass(frozen=True)
class Kind:
    """What a field may hold. words : for sentences: "a text". fits : whether a value is of this kind."""

    words: str
    fits: Callable[[Any], bool]
    inner: Mapping[str, Kind] | None = None
    """Of the fields of an object, or of the objects in a list."""
    needed: tuple[str, ...] = ()
    """Fields without which an object counts as absent."""


def _is_whole(value: Any) -> bool:
    return type(value) is int and -MOST < value < MOST


def _is_of_64_bits(value: Any) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _is_number(value: Any) -> bool:
    return _is_finite(value) and abs(value) < MOST


def _list(one: Kind, words: str) -> Kind:
    return Kind(words, lambda value: type(value) is list and all(map(one.fits, value)))


def _objects(words: str, needed: tuple[str, ...], **inner: Kind) -> Kind:
    return Kind(words, lambda value: type(value) is list, inner, needed)


def _object(needed: tuple[str, ...] = (), **inner: Kind) -> Kind:
    return Kind("an object", lambda value: type(value) is dict, inner, needed)


TEXT = Kind("a text", lambda value: type(value) is str)
PATH = Kind("a text without zero bytes", lambda value: type(value) is str and "\0" not in value)
WHOLE = Kind("a whole number below 2^62", _is_whole)
NUMBER = Kind("a finite number below 2^62", _is_number)
FLAG = Kind("true or false", lambda value: type(value) is bool)
TEXTS = _list(TEXT, "a list of texts")
PATHS = _list(PATH, "a list of texts without zero bytes")
WHOLES = _list(WHOLE, "a list of whole numbers below 2^62")
OBJECT = Kind("an object", lambda value: type(value) is dict)


def _object_of(one: Kind, words: str) -> Kind:
    return Kind(words, lambda value: type(value) is dict and all(map(one.fits, value.values())))


COUNTS = _object_of(WHOLE, "an object of whole numbers below 2^62")
HEX = Kind("a hexadecimal number of 64 bits", lambda value: type(value) is str and _is_hex(value))


def _is_hex(text: str) -> bool:
    try:
        return 0 <= int(text, 16) < 1 << 64
    except ValueError:
        return False


def _is_caller(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and type(value[1]) is int and _is_whole(value[0])


def _are_regimes(value: Any) -> bool:
    return WHOLES.fits(value) and len(value) > 0


def _row(names: str, kind: Kind) -> dict[str, Kind]:
    return dict.fromkeys(names.split(), kind)


FIELDS: dict[str, Kind] = {
    **_row(
        "program group host host_long boot_id pid_namespace time_namespace cpuset clock mpi perfield name "
        "file unit scope over_steps over_threads help reason method start sync_error token "
        "topology_addr topology_pattern label step_call found",
        TEXT,
    ),
    **_row(
        "rank size pid realtime_ns monotonic_ns realtime_error_ns sum_every id line block steps "
        "dropped_messages dropped_regions bytes_written perfield_ns perfield_bytes missing missing_of_mesh "
        "start_ns reference_rank once first_ns last_ns not_followed places_not_followed found_steps "
        "found_in_setup found_every found_returns",
        WHOLE,
    ),
    "armed_at": Kind("a whole number of 64 bits", _is_of_64_bits),
    **_row("offset_ns drift_ppb round_trip_ns wander_ppb uncertainty_ns", NUMBER),
    **_row("used", FLAG),
    **_row("sources regions_unmatched regions_not_entered regions_known cpusets_of_threads", TEXTS),
    **_row("command", PATHS),
    **_row("compared_ns dims", WHOLES),
    **_row("working_directory arguments", PATH),
    "periodic": _list(Kind("", lambda value: value in (0, 1)), "a list of true and false"),
    "configuration": OBJECT,
    "device_choice": _object_of(TEXT, "an object of texts"),
    "devices": _objects("a list of devices", ("file",), file=PATH, pci=TEXT),
    **_row("hooks faults dropped_events", COUNTS),
    "injected": _object(
        model=_object(("regime", "field"), field=TEXT, regime=Kind("a list of regimes", _are_regimes)),
        mean_s=NUMBER,
    ),
}
"""The fields of run.json and of entries, as docs/stream.md lists them; others may hold anything."""

OF_TYPE: dict[str, dict[str, Kind]] = {
    "communicator": {"name": WHOLE},
    "sites": {
        "modules": TEXTS,
        "sites": _objects(
            "a list of call sites", ("call", "hash"), call=TEXT, hash=HEX, hits=WHOLE, first_ns=WHOLE,
            last_ns=WHOLE, rhythm=_list(WHOLES, "a list of levels"),
            callers=_list(Kind("", _is_caller), "a list of modules and addresses"),
        ),
    },
    "modules": {
        "modules": _objects(
            "a list of loaded files", ("begin", "end", "bias"), begin=HEX, end=HEX, bias=HEX, path=PATH,
            build_id=TEXT,
        ),
        "functions": _objects("a list of functions", ("begin", "end", "name"), begin=HEX, end=HEX, name=TEXT),
    },
    "mesh": {
        "block": WHOLE,
        "kind": TEXT,
        "extent": Kind("six numbers of points", lambda value: WHOLES.fits(value) and _is_extent(value)),
        **_row("origin spacing", Kind("three finite numbers",
                                      lambda value: len(value) == 3 and all(map(_is_finite, value)))),
        "arrays": _objects(
            "a list of arrays", ("role", "type", "tuples", "offset"), role=TEXT, type=TEXT, name=TEXT,
            association=Kind("point or cell", lambda value: value in ("point", "cell")),
            **_row("tuples components offset", Kind("a whole number, not negative",
                                                    lambda value: _is_whole(value) and value >= 0)),
        ),
    },
}  # fmt: skip
"""What differs or nests in entries of a type. "mesh" is the description in a mesh or field entry."""


def _is_extent(numbers: list[int]) -> bool:
    return len(numbers) == 6 and all(-(1 << 31) <= number < 1 << 31 for number in numbers)


def checked(type: str, values: Any) -> tuple[dict[str, Any], list[str]]:
    """The fields of an entry that are of their kinds, and a piece of a sentence on each that is left out.

    type : of the entry, or "run.json".
    """
    if not isinstance(values, dict):
        return {}, [f"holds {_shown(values)}, expected an object of JSON"]
    wrong: list[str] = []
    kept = _kept(values, OF_TYPE.get(type, _NOTHING), FIELDS if type != "mesh" else _NOTHING, "", wrong)
    if type == "run.json" and "configuration" in kept:
        kept["configuration"] = _kept(kept["configuration"], _settings(), _NOTHING, "configuration.", wrong)
    return kept, wrong


_NOTHING: dict[str, Kind] = {}


def _kept(
    values: dict, own: Mapping[str, Kind], shared: Mapping[str, Kind], where: str, wrong: list[str]
) -> dict:
    kept = {}
    for key, value in values.items():
        kind = own.get(key) or shared.get(key)
        if value is None and kind is not None:  # not known
            continue
        if kind is not None and not _fits(kind, value):
            wrong.append(f"has {where}{_name(key)} {_shown(value)}, expected {kind.words}")
            continue
        if kind is not None and kind.inner is not None:
            listed = _whole_objects(kind, value, f"{where}{key}", wrong)
            if type(value) is dict and not listed:
                continue
            value = listed if type(value) is list else listed[0]
        kept[key] = value
    return kept


def _fits(kind: Kind, value: Any) -> bool:
    try:
        return kind.fits(value)
    except TypeError:  # a number where a list is wanted
        return False


def _whole_objects(kind: Kind, value: dict | list, where: str, wrong: list[str]) -> list[dict]:
    """An object, or those of a list, without the ones that lack what they need."""
    found = []
    for number, one in enumerate(value if type(value) is list else [value]):
        at = f"{where}[{number}]" if type(value) is list else where
        if type(one) is not dict:
            wrong.append(f"has {at} {_shown(one)}, expected an object")
            continue
        inner = _kept(one, kind.inner, _NOTHING, f"{at}.", wrong)
        lacking = [key for key in kind.needed if key not in inner]
        if lacking:
            wrong.append(f"has {at} without a usable {' and '.join(lacking)}")
        else:
            found.append(inner)
    return found


def _name(key: str) -> str:
    return key if key.isidentifier() and len(key) < 40 else _shown(key)


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else text[:37] + "..."


@cache
def _settings() -> dict[str, Kind]:
    """The kind of each key of the configuration, by its default."""
    by_type = {bool: FLAG, int: NUMBER, float: NUMBER, str: TEXT, list: TEXTS}
    return {row["key"]: by_type[type(json.loads(row["default"]))] for row in _bridge.load_config()[0]}
