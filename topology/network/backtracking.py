# SPDX-License-Identifier: BSD-3-Clause
"""How often Python's `re` may try again on some names: `(a+)+b` doubles its tries with each letter of a name.

Python cannot end a match that takes too long, so a pattern is looked at before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import comb, inf
from typing import Any

try:
    from re import _parser as parser  # since Python 3.11
except ImportError:
    import sre_parse as parser

_MOST_PIECES = 1 << 10  # of a pattern whose repeats are written out
_IN_CATEGORY = {
    "CATEGORY_DIGIT": str.isdigit,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": lambda letter: letter.isalnum() or letter == "_",
}


class _Unbounded(Exception):
    """A piece of the pattern whose tries cannot be bounded by counting."""


@dataclass(frozen=True)
class _Piece:
    """A letter, or a repeat of one. letter : as the parser gives it; None: may be any."""

    letter: tuple[Any, Any] | None
    is_repeat: bool = False
    may_be_empty: bool = False
    ways: int = 1  # of a choice between several texts
    ends: bool = False  # the end of the name


def most_tries(pattern: str, names: Iterable[str]) -> float:
    """How often `re.compile(pattern).match` tries again at most, over all names; inf: nobody knows.

    Counts the ways to share a name's letters among repeats. A repeat that must end where the next piece
    begins has one way: `r\\d+c\\d+` takes as many tries as a name has letters. Raises re.error, OverflowError
    or RecursionError if the pattern is none.
    """
    names = list(names)
    parsed = parser.parse(pattern)
    both_cases = bool(parsed.state.flags & re.IGNORECASE)
    letters = set("".join(names))
    if both_cases:
        letters |= {letter.swapcase() for letter in letters}
    try:
        pieces = list(_pieces(parsed))
    except _Unbounded:
        return inf
    repeats = sum(
        _may_try_again(piece, following, letters) for piece, following in zip(pieces, [*pieces[1:], None])
    )
    ways = 1
    for piece in pieces:
        ways *= piece.ways
    return float(sum(ways * comb(len(name) + repeats, repeats) for name in names))


def _pieces(parsed: Any) -> Iterator[_Piece]:
    """The pieces of a pattern in their order, those of groups among them."""
    for kind, value in parsed:
        name = str(kind)
        if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            yield _Piece((name, value))
        elif name == "AT":
            yield _Piece(None, ends="END" in str(value), may_be_empty="END" not in str(value))
        elif name == "SUBPATTERN":
            yield from _pieces(value[-1])
        elif name == "BRANCH":
            yield _Piece(None, may_be_empty=True, ways=len(value[1]))
            for choice in value[1]:
                yield from map(_any, _pieces(choice))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            yield from _repeated(*value)
        else:  # looks ahead, or refers to another group
            raise _Unbounded


def _repeated(least: int, most: int, parsed: Any) -> Iterator[_Piece]:
    inner = list(_pieces(parsed))
    if len(inner) == 1 and not inner[0].is_repeat and inner[0].letter:
        yield _Piece(inner[0].letter, is_repeat=least != most, may_be_empty=least == 0)
    elif most == 1:
        yield _Piece(None, may_be_empty=True, ways=2)
        yield from map(_any, inner)
    elif any(piece.is_repeat or piece.ways > 1 for piece in inner):
        if least != most or most * len(inner) > _MOST_PIECES:
            raise _Unbounded
        yield from inner * most
    else:  # of several letters
        yield _Piece(None, is_repeat=True, may_be_empty=least == 0)


def _any(piece: _Piece) -> _Piece:
    """A piece that may be left out, so that what follows it begins elsewhere, too."""
    return _Piece(None, piece.is_repeat, True, piece.ways)


def _may_try_again(piece: _Piece, following: _Piece | None, letters: set[str]) -> bool:
    """Whether a repeat may end at several places of a name, and the match continue."""
    if not piece.is_repeat or following is None or following.ends:
        return False
    if piece.letter is None or following.letter is None or following.may_be_empty:
        return True
    return any(_matches(piece.letter, letter) and _matches(following.letter, letter) for letter in letters)


def _matches(one: tuple[Any, Any], letter: str) -> bool:
    """Whether a piece of one letter matches it; True where that is not known."""
    kind, value = str(one[0]), one[1]
    if kind == "LITERAL":
        return ord(letter) == value
    if kind == "NOT_LITERAL":
        return ord(letter) != value
    if kind == "RANGE":
        return value[0] <= ord(letter) <= value[1]
    if kind == "CATEGORY":
        name = str(value).replace("UNI_", "")
        known = _IN_CATEGORY.get(name.replace("NOT_", ""))
        return known is None or known(letter) != ("NOT_" in name)
    if kind == "IN":
        is_negated = str(value[0][0]) == "NEGATE"
        return any(_matches(choice, letter) for choice in value[is_negated:]) != is_negated
    return True
