# SPDX-License-Identifier: BSD-3-Clause
"""A part of the twin: the bodies of `events` entries, slowly.

An event is a dict with EVENT_KEYS; stamps are ns on the rank's clock, 0 if not known.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

START = struct.Struct("<IIIIQQQQ")
START_KEYS = ("n", "first", "all", "packed_bytes", "lost", "lost_begin", "lost_end", "origin")
EVENT_KEYS = (
    *("kind", "flags", "call", "peer", "channel", "number", "bytes"),
    *("begun", "wait_begin", "wait_end"),
)
SEND, RECEIVE, COLLECTIVE, SYNCHRONISATION = 0, 1, 2, 3
ROOT, WILDCARD, EXCLUSIVE = 1, 8, 32
MASK64 = 2**64 - 1


def leb(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes([*out, value])


def zigzag(difference: int) -> int:
    difference &= MASK64
    return (difference << 1 ^ (MASK64 if difference >> 63 else 0)) & MASK64


def unzigzag(code: int) -> int:
    return (code >> 1 ^ -(code & 1)) & MASK64


def _stamp(value: int, base: int, before: int) -> int:
    if value == 0:
        return 0
    return 1 if value == before else zigzag(value - base) + 2


def pack_events(
    events: list[dict], *, first: int = 0, all: int | None = None, lost: tuple[int, int, int] = (0, 0, 0)
) -> bytes:
    """Body of an `events` entry. first, all : where its events lie among those of the step. lost : how many
    found no room, and when the first and the last of them began."""
    events = [dict.fromkeys(EVENT_KEYS, 0) | event for event in events]
    origin = next((event["begun"] for event in events[:1]), 0)
    out, like, peer, before = b"", {}, 0, {"begun": origin, "wait_begin": 0, "wait_end": 0}
    for event in events:
        key = event["kind"], event["call"], event["peer"]
        other = like.get(key, dict.fromkeys(EVENT_KEYS, 0))
        begun = event["begun"] or before["begun"]
        numbers = [
            event["kind"] | event["flags"] << 2,
            event["call"],
            zigzag(event["peer"] - peer),
            *(zigzag(event[name] - other[name]) for name in ("channel", "number", "bytes")),
            _stamp(event["begun"], before["begun"], before["begun"]),
            _stamp(event["wait_begin"], begun, before["wait_begin"]),
            _stamp(event["wait_end"], event["wait_begin"] or begun, before["wait_end"]),
        ]
        out += b"".join(map(leb, numbers))
        like[key], peer, before = event, event["peer"], event | {"begun": begun}
    n = len(events)
    start = START.pack(n, first, first + n if all is None else all, len(out), *lost, origin)
    return start + out + b"\0" * (-len(out) % 8)


def unpack_events(body: bytes) -> dict:
    """START_KEYS, and "events"; the inverse of pack_events."""
    start = dict(zip(START_KEYS, START.unpack_from(body)))
    data = iter(body[START.size : START.size + start["packed_bytes"]])
    events, like, peer = [], {}, 0
    before = {"begun": start["origin"], "wait_begin": 0, "wait_end": 0}
    for _ in range(start["n"]):
        kind, call = _number(data), _number(data)
        peer = _signed(peer + unzigzag(_number(data)))
        event = {"kind": kind & 3, "flags": kind >> 2, "call": call, "peer": peer}
        key = event["kind"], call, peer
        other = like.get(key, dict.fromkeys(EVENT_KEYS, 0))
        for name in ("channel", "number", "bytes"):
            event[name] = (other[name] + unzigzag(_number(data))) & MASK64
        event["begun"] = _read_stamp(data, before["begun"], before["begun"])
        begun = event["begun"] or before["begun"]
        event["wait_begin"] = _read_stamp(data, begun, before["wait_begin"])
        event["wait_end"] = _read_stamp(data, event["wait_begin"] or begun, before["wait_end"])
        events.append(event)
        like[key], before = event, event | {"begun": begun}
    if any(data):
        raise ValueError("bytes follow the events")
    return start | {"events": events}


def _number(data: Iterator[int]) -> int:
    value, shift = 0, 0
    for byte in data:
        value, shift = value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            return value
    raise ValueError("the events end too soon")


def _signed(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - 2**32 if value >> 31 else value


def _read_stamp(data: Iterator[int], base: int, before: int) -> int:
    code = _number(data)
    if code < 2:
        return before if code else 0
    return (base + unzigzag(code - 2)) & MASK64
