# SPDX-License-Identifier: BSD-3-Clause
"""Answers that the server of the page keeps."""

from __future__ import annotations

import threading

import pytest

from perfield.serve.kept import Kept


def made(kept: Kept, key: str, value: object) -> bool:
    """Whether a value had to be made."""
    calls = []
    kept.get(key, lambda: calls.append(key) or value)
    return bool(calls)


def test_few_values_are_kept_and_the_oldest_makes_room():
    kept = Kept(2, 100)
    assert [made(kept, key, b"") for key in "ababcb"] == [True, True, False, False, True, False]
    assert made(kept, "a", b"")


def test_large_values_are_kept_until_others_come():
    kept = Kept(9, 100)
    assert made(kept, "huge", b"x" * 1000) and not made(kept, "huge", None)
    assert made(kept, "next", b"x" * 60) and made(kept, "third", b"x" * 60)
    assert not made(kept, "third", None) and made(kept, "huge", b"")


def test_several_who_ask_at_once_wait_for_one_making():
    kept, begun, go_on = Kept(2, 100), threading.Event(), threading.Event()
    answers = []

    def slow() -> bytes:
        begun.set()
        assert go_on.wait(60)
        return b"made once"

    def never() -> bytes:
        raise AssertionError("made twice")

    first = threading.Thread(target=lambda: answers.append(kept.get("a", slow)))
    first.start()
    assert begun.wait(60)
    second = threading.Thread(target=lambda: answers.append(kept.get("a", never)))
    second.start()
    go_on.set()
    first.join()
    second.join()
    assert answers == [b"made once"] * 2


def test_what_cannot_be_made_is_tried_again():
    kept = Kept(2, 100)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 / 0)
    assert kept.get("a", lambda: 2) == 2
