# SPDX-License-Identifier: BSD-3-Clause
"""Unbound ranks, and ranks that have to share PUs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfield.topology import flat_machine, place, read_machine, sharing, unbound

MACHINES = Path(__file__).resolve().parents[1] / "fixtures" / "machines"
EIGHT = read_machine(MACHINES / "two-packages-4-cores.xml")  # 8 cores with one PU each
SIXTEEN = read_machine(MACHINES / "two-packages-2-l3-2-cores-2-pus.xml")  # 8 cores with two PUs each


def placed(machine, *places: str):
    """Ranks on "host cpuset", all on equal machines."""
    ranks = [dict(zip(("host", "cpuset"), place.split())) for place in places]
    return place(ranks, {rank["host"]: machine for rank in ranks} if machine else {})


@pytest.mark.parametrize(
    ("machine", "places", "expected"),
    [
        (EIGHT, ["n 0", "n 0-7", "n 4-7"], [False, True, True]),
        (EIGHT, ["n 0-3", "n 4-7"], [False, False]),  # hybrid ranks have their cores for themselves
        (EIGHT, ["n 0-3", "n 0-3"], [True, True]),
        (EIGHT, ["n 0-7"], [True]),
        (SIXTEEN, ["n 0-1", "n 0-1", "n 2"], [False, False, False]),  # both PUs of one core
        (None, ["n 0", "n 1"], [False, False]),
        (None, ["n 0-1", "n 0-1"], [True, True]),
    ],
)
def test_rank_is_unbound_if_nothing_ties_it_to_a_core(machine, places, expected):
    assert unbound(placed(machine, *places)).tolist() == expected


def test_rank_without_known_pus_is_neither_unbound_nor_sharing():
    placement = placed(None, "n", "n", "n")
    assert not unbound(placement).any()
    assert sharing(placement).words == ""


@pytest.mark.parametrize(
    ("machine", "places", "words"),
    [
        (flat_machine({0, 1}), ["n 0-1"] * 4, "4 ranks on 2 PUs, unbound"),
        (EIGHT, ["n 2"] * 2 + ["n 3"], "2 ranks on 1 PU, bound"),
        (EIGHT, ["n 2", "n 2", "n 2-3"], "3 ranks on 2 PUs, 1 of them unbound"),
        (EIGHT, ["a 0-1"] * 4 + ["b 0-1"] * 4, "4 ranks on 2 PUs on each of 2 nodes, unbound"),
        (
            EIGHT,
            ["a 0-1"] * 3 + ["b 0"] * 3,
            "3 ranks on 1 PU on b, and 1 more crowded node, 3 of them unbound",
        ),
        (EIGHT, ["n 0"] * 2 + ["n 1"] * 2 + ["n 2"], "4 ranks on 2 PUs, bound"),
        (EIGHT, ["n 0"] * 2 + ["n 0-7"], "2 ranks on 1 PU, bound"),
        (SIXTEEN, ["n 0,8"] * 3, "3 ranks on 2 PUs, unbound"),
    ],
)
def test_ranks_that_share_pus_are_reported(machine, places, words):
    assert sharing(placed(machine, *places)).words == f"{words}: times include scheduling"


def test_threads_that_compute_are_more_than_the_pus():
    ranks = [{"host": "n", "cpuset": "0-1", "cpusets_of_threads": ["0", "1"]}] * 2
    found = sharing(place([*ranks, {"host": "n", "cpuset": "2-3"}], {"n": EIGHT}))
    assert found.ranks.tolist() == [0, 1]
    assert found.words == "2 ranks with 4 threads on 2 PUs, unbound: times include scheduling"


def test_threads_of_one_rank_do_not_make_it_share():
    ranks = [{"host": "n", "cpuset": "0-1", "cpusets_of_threads": ["0-1"] * 4}]
    assert sharing(place(ranks, {"n": EIGHT})).words == ""


@pytest.mark.parametrize(
    ("machine", "places"),
    [
        (EIGHT, [f"n {core}" for core in range(8)]),
        (EIGHT, ["n 0-7"] * 8),
        (EIGHT, ["a 0", "b 0"]),
        (SIXTEEN, ["n 0-1"] * 2),
        (EIGHT, ["n 0-3", "n 4-7"]),
    ],
)
def test_ranks_with_enough_pus_do_not_share(machine, places):
    found = sharing(placed(machine, *places))
    assert (found.words, found.ranks.tolist()) == ("", [])


def test_involuntary_switches_of_the_sharing_ranks_are_added():
    found = sharing(placed(EIGHT, "n 0", "n 0", "n 1"))
    sentence = "2 ranks on 1 PU, bound: times include scheduling"
    assert found.with_switches(np.array([1200.0, 34.0, 99.0])) == f"{sentence} (1,234 involuntary switches)"
    assert found.with_switches(np.array([1.0, 0.0, 99.0])) == f"{sentence} (1 involuntary switch)"
    assert found.with_switches(np.array([np.nan, np.nan, 5.0])) == sentence
    assert found.with_switches(None) == sentence


def test_run_without_placed_ranks_has_nothing_to_tell():
    for ranks in ([], [None, None]):
        placement = place(ranks, {})
        assert sharing(placement).words == ""
        assert not unbound(placement).any()
