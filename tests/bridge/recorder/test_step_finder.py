# SPDX-License-Identifier: BSD-3-Clause
"""Time steps of programs that report none, from the order of their collective operations."""

from __future__ import annotations

import random

import pytest

from perfield._bridge import found_steps

DEPTH = {name: 4 for name in "abcdefgs"} | {"O": 6, "N": 3}  # output deeper, a norm nearer to main


def closed(sites: str) -> list[int]:
    """Where steps close in a sequence of sites, each a letter."""
    return found_steps([(ord(site), DEPTH.get(site, 4)) for site in sites])


def steps(sites: str) -> tuple[str, int]:
    """Which site closes steps, and how many without the first, which ends setup."""
    where = closed(sites)
    (site,) = {sites[at] for at in where} or {"-"}
    return site, max(len(where) - 1, 0)


SETUP = "xyzxxw"


@pytest.mark.parametrize(
    ("sites", "expected"),
    [
        ("a" * 60, ("a", 57)),
        (SETUP + "a" * 60, ("a", 56)),
        (SETUP + "ab" * 60, ("a", 57)),  # two sums in each step
        (SETUP + ("i" * 3 + "N") * 60, ("N", 57)),  # three iterations and a norm
        (SETUP + ("iij" * 7 + "N") * 40, ("N", 37)),
        ("aaaaO" * 12, ("a", 45)),  # output at each fourth step
        ("aaaaaaaaaac" * 6, ("a", 57)),  # a sum at each tenth step
        ("aac" * 20, ("a", 37)),  # each second step does more
        ("", ("-", 0)),
        ("abcdefgh", ("-", 0)),
        ("aaaa", ("-", 0)),  # too few to be steps
    ],
)
def test_outermost_loop_gives_steps(sites, expected):
    assert steps(sites) == expected


def test_iterations_until_convergence_are_no_steps():
    chance = random.Random(3)
    sites = SETUP + "".join("i" * chance.randint(20, 60) + "N" for _ in range(30))
    site, n = steps(sites)
    assert site == "N" and 25 <= n <= 28


def test_long_inner_loops_leave_the_sequence():
    sites = ("ij" * 1500 + "N") * 12
    assert steps(sites)[0] == "N" and steps(sites)[1] >= 5


def test_a_loop_in_setup_closes_no_steps():
    assert steps("s" * 12 + "a" * 40) == ("a", 32)  # once it covers half of the sequence
    assert steps("a" * 40 + "s" * 12) == ("a", 37)  # nor one in teardown
    assert steps("s" * 12 + "abcdefgh" * 2) == ("-", 0)


def test_another_phase_takes_no_steps_back():
    assert steps("a" * 100 + "b" * 150)[0] == "a"


def test_steps_follow_from_the_order_alone():
    """Ranks whose sites have other names close the same steps."""
    sites = SETUP + "aabN" * 30
    other = sites.translate(str.maketrans("xyzwab", "qrtupv"))
    assert closed(sites) == closed(other)


def test_more_sites_than_there_is_room_for_close_nothing():
    assert found_steps([(number, 3) for number in range(1000)]) == []
