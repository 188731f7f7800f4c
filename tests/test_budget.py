# SPDX-License-Identifier: BSD-3-Clause
"""The shares of CPU time that the tests in folders may take."""

from __future__ import annotations

from pathlib import Path

from budget import OF_OTHERS, SHARES, excesses

TESTS = Path(__file__).resolve().parent


def test_folders_within_their_shares_are_not_named():
    shares = {**SHARES, "tests/small": OF_OTHERS}
    others = {f"tests/other{n}": OF_OTHERS for n in range((100 - sum(shares.values())) // OF_OTHERS)}
    assert not excesses({**shares, **others})


def test_folder_beyond_its_share_is_named_with_both_percentages():
    folders = {"tests/bridge/sources": 30, **{f"tests/other{n}": 5 for n in range(14)}}
    (sentence,) = excesses(folders)
    assert sentence.startswith("tests/bridge/sources took 30% of the CPU time of all tests, and 20% is the")


def test_shares_are_of_folders_that_exist_and_leave_room_for_the_others():
    assert all((TESTS.parent / folder).is_dir() for folder in SHARES)
    assert sum(SHARES.values()) < 70
