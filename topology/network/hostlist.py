# SPDX-License-Identifier: BSD-3-Clause
"""Host lists as Slurm writes them: `taurusi[6001-6016,6020],login1` names eighteen hosts."""

from __future__ import annotations

import re
from itertools import product
from math import prod

from .model import NetworkError

MOST_HOSTS = 1 << 20
"""How many hosts a network may name: more than six times those of the largest machine."""

_MOST_PIECES = 64  # brackets of a name, and what is between them
_ITEM = re.compile(r"(?:[^][,]|\[[^][]*\])+")
_PIECE = re.compile(r"\[([^]]*)\]|([^[]+)")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_Range = "tuple[int, int, int]"  # first number, last number, number of digits


def expand_hosts(text: str, most: int = MOST_HOSTS) -> list[str]:
    """The hosts of a host list, in its order. An item may have several brackets: `rack[0-1]n[01-16]`.

    Numbers keep the leading zeros of the first number of their range. Raises NetworkError for what is no
    host list, for a range that runs backwards, and for more than `most` hosts.
    """
    if "[" not in text and "]" not in text:
        hosts = [host for host in map(str.strip, text.split(",")) if host]
        _check(text, len(hosts), most)
        return hosts
    hosts: list[str] = []
    items, rest = split_hosts(text)
    if rest:
        raise NetworkError(
            f"the host list {short(text)} has a bracket without its counterpart; "
            "write a form such as 'n[1-4,7]'."
        )
    for item in items:
        found = _PIECE.findall(item)
        if len(found) > _MOST_PIECES:
            raise NetworkError(
                f"the host list {short(text)} has a name of {len(found):,} pieces, expected at most "
                f"{_MOST_PIECES}; write a form such as 'n[1-4,7]'."
            )
        pieces = [literal or _ranges(bracket, text) for bracket, literal in found]
        _check(text, len(hosts) + prod(map(_size, pieces)), most)
        hosts += map("".join, product(*map(_written_out, pieces)))
    return hosts


def split_hosts(text: str) -> tuple[list[str], str]:
    """The items of a host list, and what follows the last one that is whole."""
    items, at = [], 0
    while at < len(text):
        item = _ITEM.match(text, at)
        end = item.end() if item else at
        if end < len(text) and text[end] != ",":
            return items, text[at:]
        if item and item.group().strip():
            items.append(item.group().strip())
        at = end + 1
    return items, ""


def short(text: str) -> str:
    """A text in quotes, cut to what a sentence can hold."""
    text = text if len(text) <= 60 else text[:57] + "..."
    return f"'{text}'" if text.isprintable() else repr(text)


def _ranges(bracket: str, text: str) -> list[_Range]:
    ranges = []
    for piece in bracket.split(","):
        found = _RANGE.fullmatch(piece.strip())
        if not found:
            raise NetworkError(
                f"the host list {short(text)} has {short(piece)} in a bracket, expected a number or a range; "
                "write a form such as 'n[1-4,7]'."
            )
        low, high = found.group(1), found.group(2) or found.group(1)
        if int(high) < int(low):
            raise NetworkError(
                f"the host list {short(text)} has the range {low}-{high}, which runs backwards; "
                f"write {high}-{low}."
            )
        ranges.append((int(low), int(high), len(low)))
    return ranges


def _size(piece: str | list[_Range]) -> int:
    return 1 if isinstance(piece, str) else sum(high - low + 1 for low, high, _ in piece)


def _written_out(piece: str | list[_Range]) -> list[str]:
    if isinstance(piece, str):
        return [piece]
    return [f"{number:0{width}}" for low, high, width in piece for number in range(low, high + 1)]


def _check(text: str, size: int, most: int) -> None:
    if size > most:
        raise NetworkError(
            f"the host list {short(text)} names {size:,} hosts, expected at most {most:,}; "
            "correct its ranges."
        )
