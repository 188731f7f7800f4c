# SPDX-License-Identifier: BSD-3-Clause
"""Names, and lists of names and ranks, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def printable(text: str) -> str:
    """Text without control characters and broken bytes, which names may hold: these become "\\x1b"."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shortened(text: str, most: int) -> str:
    """Printable text without line breaks; a part in its middle is left out beyond `most` characters."""
    text = " ".join(printable(text).split())
    end = most // 3
    return text if len(text) <= most else f"{text[: most - 3 - end]}...{text[-end:]}"


def start(sentence: str) -> str:
    """The sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def first_sentence(words: str) -> str:
    """The first of several sentences, without its full stop."""
    return words.partition(". ")[0].rstrip(".")


def in_list(names: Sequence[str], most: int = 3) -> str:
    """Names: "a", "a and b", "a, b, c and 4 more"."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def in_ranks(ranks: np.ndarray, most: int = 3) -> str:
    """Ranks: "rank 2", "ranks 2 and 5", "ranks 0, 1, 2 and 4 more"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {in_list([str(rank) for rank in ranks], most)}"


def first_of(items: Sequence[object], most: int = 8) -> str:
    """The first of many things: "0, 1, 2, ..."."""
    return ", ".join(map(str, items[:most])) + ", ..." * (len(items) > most)


def begin_of_list(text: str, most: int = 40) -> str:
    """A list such as "0-3,8", cut behind a comma beyond `most` characters: "0-3,..."."""
    return text if len(text) <= most else f"{text[: most - 4].rpartition(',')[0]},..."


def did_you_mean(name: str, known: Iterable[str], most: int = 3) -> str:
    """A question about the known names that are nearest to one: "did you mean a or b?"; "" without such."""
    from difflib import get_close_matches  # rarely needed

    near = get_close_matches(name, list(known), most)
    return f"did you mean {' or '.join(near)}?" if near else ""
