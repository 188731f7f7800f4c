# SPDX-License-Identifier: BSD-3-Clause
"""Time steps of programs that report none, from the order of their collective operations."""

from __future__ import annotations

import random

import pytest

from perfield._bridge import found_steps, paced_steps, returns_per_step

DEPTH = {name: 4 for name in "abcdefgs"}
DEPTH |= {"O": 6, "P": 6, "Q": 5, "N": 3}  # output deeper, a norm nearer to main


def closed(sites: str) -> list[int]:
    """Where steps close in a sequence of sites, each a letter. Dots are messages."""
    met, where, without_message = [], [], set()
    for at, site in enumerate(sites):
        if site == ".":
            without_message.clear()
            continue
        met.append((ord(site), DEPTH.get(site, 4), site in without_message))
        where.append(at)
        without_message.add(site)
    return [where[at] for at in found_steps(met)]


def steps(sites: str) -> tuple[str, int]:
    """Which site closes steps, and how many without the first, which ends setup."""
    where = closed(sites)
    (site,) = {sites[at] for at in where} or {"-"}
    return site, max(len(where) - 1, 0)


SETUP = "xyzxxw"
GMRES = "".join("." + "i" * n + "j" for n in range(1, 7))  # the nth iteration has n sums, and a norm


@pytest.mark.parametrize(
    ("sites", "site", "n"),
    [
        ("a" * 60, "a", 60),
        (SETUP + "a" * 60, "a", 60),
        (SETUP + "ab" * 60, "a", 60),  # two sums in each step
        (SETUP + ("i" * 3 + "N") * 60, "N", 60),  # three iterations and a norm
        (SETUP + ("iij" * 7 + "N") * 40, "N", 40),
        (SETUP + ("i" * 25 + "bcd") * 40, "b", 40),  # a solver of 25 iterations, and what follows it
        (SETUP + ("i" * 160 + "N") * 40, "N", 40),
        (SETUP + ("iiiiiiiiiiiia" * 6 + "bc") * 20, "a", 120),  # a solver, and diagnostics each sixth step
        ("".join(GMRES * (2 if n % 3 == 0 else 1) + "N" for n in range(30)), "N", 30),
        ("aaaaO" * 12, "a", 48),  # output at each fourth step
        (("a" * 12 + "bcdO") * 12, "a", 144),  # refinement, with calls deeper in the program
        ("aaaaaaaaaac" * 6, "a", 60),  # a sum at each tenth step
        ("aac" * 20, "a", 40),  # each second step does more
        (SETUP + "ababcdefgjklmno" * 20, "c", 20),  # two iterations of a solver, and what follows it
        (SETUP + "...aaaaa" * 20, "a", 20),  # several sums in a row in each step
        (SETUP + "...aaaaaa" * 20, "a", 20),
        (SETUP + "..a" * 20, "a", 20),
    ],
)
def test_outermost_loop_gives_steps(sites, site, n):
    """The first three to six teach the finder the loop."""
    found, number = steps(sites)
    assert found == site and n - 6 <= number <= n - 3


@pytest.mark.parametrize("setup", ["", SETUP])
def test_steps_stay_whole_where_each_second_does_far_more_inside(setup):
    site, n = steps(setup + "abacdefgjklmnob" * 20)
    assert site == "a" and n >= 40 - 9


def test_balancing_that_resets_no_count_of_iterations_is_no_step():
    """As in GROMACS: a sum after each tenth step, and at some steps amid these the load is balanced."""
    sites = [SETUP * 9, "OPQa"]
    for step in range(1, 400):
        sites += "OP", "a" * (step % 10 == 0)
        sites += (
            "b" * (step % 160 == 39 or step in (79, 259)),
            "c" * (step > 60 and step % 40 == 29),
            "Q" * (step % 100 == 0),
        )
    site, n = steps("".join(sites))
    assert site in "OP" and n > 340


def test_balancing_deeper_than_the_shallowest_call_of_a_step_is_no_step():
    site, n = steps(SETUP * 9 + ("OPa" * 39 + "bQOPa") * 15)
    assert site in "OPa" and n > 550


def test_setup_may_have_more_sites_than_there_is_room_for():
    """As long as setup is the larger part, nothing closes."""
    site, number = steps("".join(map(chr, range(1000, 1150))) + (3 * "i" + "N") * 80)
    assert site == "N" and number > 40


def test_time_steps_of_hundreds_of_sites_are_found():
    """As in CP2K: a few of them are deeper in the program than the iterations of the solver."""
    once = [(site, 15 + site % 11, False) for site in range(140)]
    deeper = [(site, 29, False) for site in range(140, 150)]
    solver = [(site, 27, False) for site in range(150, 155)]
    sites = ([(200, 14, False)] + once[:70] + 5 * solver + deeper + once[70:]) * 16
    where = found_steps(sites)
    assert {sites[at][0] for at in where} == {200} and len(where) >= 12


@pytest.mark.parametrize("sites", ["", "abcdefgh", "aaaa", "s" * 12 + "abcdefgh" * 2])
def test_too_few_turns_of_a_loop_are_no_steps(sites):
    assert steps(sites) == ("-", 0)


def test_iterations_until_convergence_are_no_steps():
    chance = random.Random(3)
    sites = SETUP + "".join("i" * chance.randint(20, 60) + "N" for _ in range(30))
    site, n = steps(sites)
    assert site in "Ni" and 24 <= n <= 28  # or the first iteration


def test_long_inner_loops_leave_the_sequence():
    sites = ("ij" * 1500 + "N") * 12
    assert steps(sites)[0] == "N" and steps(sites)[1] >= 5


@pytest.mark.parametrize(("step", "closes"), [("ab", "a"), ("abcd", "a"), ("aab", "a"), ("iiiN", "N")])
def test_a_loop_of_several_calls_keeps_its_steps_beyond_the_sequence(step, closes):
    site, n = steps(step * 3000)
    assert site == closes and n > 2_990 * step.count(closes)


def test_output_replaces_no_steps_that_left_the_sequence():
    site, n = steps(("a" * 10 + "b") * 600)
    assert site == "a" and n > 5_900


def test_a_loop_in_setup_or_teardown_closes_no_steps():
    site, n = steps("s" * 12 + "a" * 40)
    assert site == "a" and 28 <= n <= 34  # once it covers half of the sequence
    site, n = steps("a" * 40 + "s" * 12)
    assert site == "a" and 34 <= n <= 37


def test_a_long_loop_in_setup_gives_way_to_a_longer_one():
    site, n = steps("s" * 100 + "a" * 150)
    assert site == "a" and n >= 45
    assert steps("s" * 100 + "...aaaaa" * 60)[0] == "a"


def test_steps_follow_from_the_order_alone():
    """Ranks whose sites have other names close the same steps."""
    sites = SETUP + "aabN" * 30
    other = sites.translate(str.maketrans("xyzwab", "qrtupv"))
    assert closed(sites) == closed(other)


def test_more_sites_than_there_is_room_for_close_nothing():
    assert found_steps([(number, 3, False) for number in range(1000)]) == []


@pytest.mark.parametrize("behind", [0, 1, 5])
def test_short_steps_are_several_hits_each_the_same_on_all_ranks(behind):
    first, other = paced_steps([10_000 * hit for hit in range(20_000)], behind)  # 10 us each, 1 ms at least
    assert first == other
    gaps = [b - a for a, b in zip(first, first[1:], strict=False)]
    assert set(gaps[:10]) == {1} and set(gaps[-10:]) == {128} and len(first) < 300


def test_steps_that_get_longer_are_closed_more_often_again():
    late = 10_000 * 5_000
    stamps = [10_000 * hit if hit < 5_000 else late + 2_000_000 * (hit - 5_000) for hit in range(50_000)]
    first, other = paced_steps(stamps, 2)
    assert first == other and {b - a for a, b in zip(first[-10:], first[-9:], strict=False)} == {1}


def test_steps_of_a_millisecond_are_closed_each():
    assert paced_steps([1_000_000 * hit for hit in range(1_000)], 0)[0] == list(range(1, 1_001))


@pytest.mark.parametrize(
    ("sites", "site"),
    [
        (
            SETUP + "i" * 80 + "iR" + "iiiR" * 5 + "iiR" * 4,
            "i",
        ),  # a solver that restarts once it has converged
        ("uvwxyz" + "N" * 6 + "klmnopqrst", "N"),  # between setup and teardown of many calls
    ],
)
def test_calls_of_a_solver_and_of_setup_take_no_steps_back(sites, site):
    assert steps(sites)[0] == site


# Between two returns of a call: partners of the messages, and MPI calls.
PLUS_X, PLUS_Y, NOBODY = 3, 5, 7


@pytest.mark.parametrize(
    ("step", "returns"),
    [
        ([(PLUS_X, 1)], 1),
        ([(PLUS_X, 2), (PLUS_Y, 2), (NOBODY, 2)], 3),  # an exchange along x, y and z
        ([(PLUS_X, 1), (PLUS_X, 1), (PLUS_Y, 1), (PLUS_Y + PLUS_X, 5)], 4),
        ([(PLUS_X, 1), (PLUS_X + PLUS_Y, 3)], 2),  # the same partner twice in a row, then other calls
        ([(PLUS_X, 2), (PLUS_X + PLUS_Y, 5)], 1),  # each second step does more
        ([(PLUS_X, 2)] * 9 + [(PLUS_X + PLUS_Y, 5)], 1),  # so does each tenth
        ([(PLUS_X, 2)] * 6 + [(PLUS_X + PLUS_Y, 5)], 7),
    ],
)
def test_partners_show_how_many_returns_make_a_step(step, returns):
    assert returns_per_step(step * 40) == returns
    for begins in range(len(step)):
        assert returns_per_step(step[begins:] + step * 40) == returns


def test_a_list_exchanged_now_and_then_hides_no_step():
    step = [(PLUS_X, 1), (PLUS_Y, 1), (NOBODY, 4)]
    longer = [(PLUS_X, 1), (PLUS_Y, 1), (PLUS_X + PLUS_Y, 9)]
    assert returns_per_step((step * 9 + longer) * 3) == 3


def test_too_few_returns_say_nothing():
    assert returns_per_step([(PLUS_X, 2)] * 2) == returns_per_step([(PLUS_X, 1), (PLUS_Y, 1)] * 2) == 0


def test_partners_that_never_recur_take_each_return_as_a_step():
    assert returns_per_step([(n * n, 2) for n in range(200)]) == 1
