# SPDX-License-Identifier: BSD-3-Clause
"""What the MPI wrappers say of each message and collective, heard by a function of the program itself.

Both ends of a message must know it by the same channel and number, or not know its number.
"""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
N = 4  # ranks
WILDCARD = 2
ROOT_FLAG = 1
LISTENS = ("-rdynamic", "-ldl", "-lpthread")  # to link listener.c
ALONE = {"threads", "freed"}  # cases that are a run of their own
ENVIRONMENT = {"PERFIELD_SUMMARY": "false", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
CALLS = {
    int(n): name
    for n, name in re.findall(
        r"^PERFIELD_CALL\((\d+), (\w+),", (ROOT / "bridge/format/calls.def").read_text(), re.M
    )
}


@dataclass
class Heard:
    """What the ranks reported: lists of lines, each a dict.

    names : label of a communicator -> its names, with the ranks of the world that gave them.
    """

    sends: list[dict] = field(default_factory=list)
    arrivals: list[dict] = field(default_factory=list)
    collectives: list[dict] = field(default_factory=list)
    synchronised: list[dict] = field(default_factory=list)
    names: dict[str, dict[int, set[int]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )

    def places(self) -> tuple[dict, dict]:
        """(sender, receiver, bytes) -> places (channel, number), of both ends."""
        ends: tuple[dict, dict] = defaultdict(list), defaultdict(list)
        for row in self.sends:
            ends[0][row["rank"], row["peer"], row["bytes"]].append((row["channel"], row["number"]))
        for row in self.arrivals:
            ends[1][row["peer"], row["rank"], row["bytes"]].append((row["channel"], row["number"]))
        return ends


def read(folder: Path) -> dict[str, Heard]:
    """Name of a case -> what listener.c heard of it."""
    cases: dict[str, Heard] = defaultdict(Heard)
    for path in folder.glob("heard.*"):
        rank, sends, text = -1, {}, path.read_text()
        names = re.findall(r"^case (.*)$", text, re.M)
        parts = [part.splitlines() for part in re.split(r"^case .*\n", text, flags=re.M)]
        for heard, line in ((cases[name], line) for name, part in zip(names, parts) for line in part):
            kind, rest = line.split(" ", 1)
            if kind == "communicator":
                name, _, _, label = rest.split(" ", 3)
                heard.names[label][int(name)].add(rank)
                continue
            words = [int(word) for word in rest.split()]
            if kind == "world":
                rank = words[0]
            elif kind == "send":
                keys = ("call", "peer", "bytes", "begun", "channel", "number", "serial")
                row = dict(zip(keys, words, strict=True), rank=rank, waits=[])
                sends[row["serial"]] = row
                heard.sends.append(row)
            elif kind == "sent":
                assert words[:2] == [sends[words[2]][key] for key in ("call", "peer")]
                sends[words[2]]["waits"].append(tuple(words[3:]))
            elif kind == "arrived":
                keys = ("peer", "flags", "bytes", "posted", "wait_begin", "wait_end", "channel", "number")
                heard.arrivals.append(dict(zip(keys, words, strict=True), rank=rank))
            elif kind == "collective":
                keys = ("call", "name", "number", "flags", "out", "into", "begun", "wait_begin", "wait_end")
                heard.collectives.append(dict(zip(keys, words, strict=True), rank=rank))
            elif kind == "synchronised":
                keys = ("call", "peer", "flags", "entered", "left", "channel", "number")
                row = dict(zip(keys, words, strict=True), rank=rank)
                heard.synchronised.append(row | {"call": CALLS[row["call"]]})
    return cases


@pytest.fixture(scope="session")
def hear(mpi, build_c, bin_dir, listener, programs):
    """hear(case, name="channels.c"): what four ranks say in a case of channels.c or epochs.c, with each MPI.

    The cases of a program are one run, but those of ALONE.
    """

    @functools.cache
    def run(name: str, *alone: str) -> dict[str, Heard]:
        program = build_c(programs / name, str(listener), *LISTENS, by=mpi)
        result = mpi.run(N, bin_dir / "perfield-exec", program, *alone, env=ENVIRONMENT)
        assert result.returncode == 0, f"{name} failed:\n{result.stdout}\n{result.stderr}"
        assert not result.stdout
        assert "more channels" not in result.stderr
        return read(result.cwd)

    return lambda case, name="channels.c": run(name, *ALONE.intersection([case]))[case]


SMALL_AND_LARGE = pytest.mark.parametrize("size", ["", " large"])


def compare(heard: Heard, may_be_unknown=lambda row: False) -> int:
    """Compares both ends of each message; returns how many numbers are not known.

    may_be_unknown(key) : whether the receive of that message, (sender, receiver, bytes), may have none.
    """
    sent, arrived = heard.places()
    assert sent
    assert sent.keys() == arrived.keys()
    unknown = 0
    for key, places in sent.items():
        assert len(places) == len(arrived[key])
        for one, other in zip(sorted(places), sorted(arrived[key]), strict=True):
            assert one[0] == other[0] != 0, f"{key}: channels {one[0]} and {other[0]}"
            if other[1]:
                assert one[1] == other[1], f"{key} is number {one[1]} and {other[1]}"
            else:
                assert may_be_unknown(key), f"the receive of {key} has no number"
                unknown += 1
    assert all(number for places in sent.values() for _, number in places)
    return unknown


@SMALL_AND_LARGE
def test_both_ends_number_interleaved_tags_alike(hear, size):
    heard = hear(f"tags{size}")
    compare(heard)
    channels = {(row["rank"], row["peer"], row["channel"]) for row in heard.sends}
    assert len(channels) == N * N * 3  # tags
    for key in channels:
        numbers = [row["number"] for row in heard.sends if (row["rank"], row["peer"], row["channel"]) == key]
        assert sorted(numbers) == list(range(1, len(numbers) + 1))


def test_communicators_have_names_equal_on_all_ranks_and_messages_of_their_own(hear):
    heard = hear("communicators")
    compare(heard)
    everyone = set(range(N))
    expected = {
        **dict.fromkeys(("dup", "dup of dup", "second dup", "turned", "cart", "graph", "world"), everyone),
        **dict.fromkeys(("dist_graph", "intercomm", "merged", "idup", "dup of idup"), everyone),
        **{"dup of intercomm": everyone, "lower": {0, 1}, "upper": {2, 3}, "three": {0, 2, 3}},
        **{"create": {0, 2, 3}, "create_group": {0, 2, 3}, "row 0": {0, 1}, "row 1": {2, 3}},
        **{f"self {rank}": {rank} for rank in range(N)},
    }
    names = []
    for label, ranks in expected.items():
        (reported,) = heard.names[label].items()
        assert reported[1] == ranks, label
        names.append(reported[0])
    assert len(set(names)) == len(names)
    assert 0 not in names


def test_communicators_that_come_and_go_do_not_fill_the_table(hear):
    heard = hear("communicators")  # the table that was full would be reported
    assert len({row["channel"] for row in heard.sends}) > 2000


@SMALL_AND_LARGE
def test_wildcards_have_numbers_wherever_their_order_is_known(hear, size):
    heard = hear(f"wildcards{size}")
    # By tag: (senders, messages of each) in the order of channels.c. Tags 5 and 7 mix.
    unknown_of = Counter()

    def may_be_unknown(key) -> bool:
        (place,) = heard.places()[0][key]
        unknown_of[place[0]] += 1
        return True

    compare(heard, may_be_unknown)
    channels = [row["channel"] for row in heard.sends if row["rank"] == 1]
    in_order = list(dict.fromkeys(channels))  # 1, 2, 3, 4, 5, 6, 7, 99
    mixed = {in_order[4], in_order[6]}
    assert set(unknown_of) <= mixed
    # Known again once no order is in doubt: the last three messages of these tags.
    last = max(row["number"] for row in heard.sends if row["channel"] == in_order[4])
    for channel in mixed:
        last = max(row["number"] for row in heard.sends if row["channel"] == channel)
        known = {row["number"] for row in heard.arrivals if row["channel"] == channel}
        assert {last - 2, last - 1, last} <= known
    # Of those completed in the order of their posts, all.
    assert 0 < unknown_of[in_order[4]] <= 4
    assert 0 < unknown_of[in_order[6]] <= 8
    wild = {row["channel"] for row in heard.arrivals if row["flags"] & WILDCARD}
    assert wild >= {in_order[0], in_order[1], in_order[2]}
    assert in_order[3] not in wild


@SMALL_AND_LARGE
def test_persistent_requests_take_their_numbers_when_they_start(hear, size):
    heard = hear(f"persistent{size}")
    compare(heard)
    starts = [row for row in heard.sends if CALLS[row["call"]] == "start"]
    assert len(starts) == N * 4 * 3
    assert all(len(row["waits"]) == 1 for row in starts)


def test_partitioned_requests_are_channels_of_their_own(hear, mpi):
    if mpi.name == "openmpi":
        pytest.skip("Open MPI has partitioned communication from 5.0 on")
    compare(hear("partitioned"))


@SMALL_AND_LARGE
def test_each_completion_says_once_who_was_waited_for(hear, size):
    heard = hear(f"completions{size}")
    compare(heard)
    assert len(heard.sends) == len(heard.arrivals) == N * 9 * 3
    for row in heard.sends:
        ((begin, end),) = row["waits"]
        assert row["begun"] <= begin <= end
    for row in heard.arrivals:
        assert 0 < row["posted"] < row["wait_begin"] <= row["wait_end"]
    if size:  # the program waits for them later than it sends
        later = [row for row in heard.sends if row["waits"][0][0] > row["begun"]]
        assert len(later) == len(heard.sends)


def test_cancelled_receives_take_no_number(hear):
    heard = hear("cancelled")
    # The receives around the one that the program asks to cancel have none; later ones do.
    compare(heard, lambda key: key[:2] == (1, 0))
    sends = [row for row in heard.sends if row["rank"] == 1]
    eight = sends[4]["channel"]
    assert {row["number"] for row in heard.arrivals if row["channel"] == eight} == {1, 2, 3}
    four = [row["number"] for row in heard.arrivals if row["channel"] == sends[0]["channel"]]
    assert {4, 8, 12} <= set(four)


def test_numbers_go_on_while_measuring_is_paused(hear):
    heard = hear("paused")
    sent, arrived = heard.places()
    both = sent.keys() & arrived.keys()
    for key in both:
        assert sent[key] == arrived[key]
        assert all(number for _, number in sent[key])
    # Rank 1 reported nothing of two rounds, rank 2 of two others.
    assert len([row for row in heard.sends if row["rank"] == 1]) < len(
        [row for row in heard.sends if row["rank"] == 3]
    )
    last = max(number for (s, r, _), places in sent.items() if (s, r) == (1, 2) for _, number in places)
    assert last == 6


def test_matched_messages_keep_the_place_of_their_probe(hear):
    compare(hear("matched"))


def test_threads_with_tags_of_their_own_number_alike_and_others_have_no_number(hear):
    heard = hear("threads")
    sent, arrived = heard.places()
    assert len(sent) == N * 4 * 200
    known: Counter = Counter()
    wrong: Counter = Counter()
    for key, places in sent.items():
        ((channel, number),), ((of_receive, received),) = places, arrived[key]
        assert channel == of_receive
        if number and received:
            (known if number == received else wrong)[key[0], channel] += 1
    # Around the first call of a channel's second thread, at each end, one message of each may have
    # another's number.
    assert all(n <= 2 * 2 for n in wrong.values()), wrong
    full = [n for n in known.values() if n == 200]
    assert len(full) == N * 2  # tags 1 and 3 of each rank


def test_more_channels_than_the_table_holds_have_numbers(hear):
    heard = hear("many")
    assert len(heard.sends) == 10_000
    assert compare(heard) == 0


def test_collectives_have_the_same_numbers_on_all_ranks(hear):
    heard = hear("collectives")
    by_place = defaultdict(list)
    for row in heard.collectives:
        by_place[row["name"], row["number"]].append(row)
    halves = {row["name"] for row in heard.collectives if row["out"] == 4 * 4 and row["flags"] & ROOT_FLAG}
    (world,) = {row["name"] for row in heard.collectives if CALLS[row["call"]] == "barrier"}
    assert len(halves) == 2
    paused = 0
    assert 0 not in {number for _, number in by_place}
    for (name, number), rows in by_place.items():
        assert len({row["call"] for row in rows}) == 1, f"{name}, {number}"
        assert len({row["rank"] for row in rows}) == len(rows)
        members = N // 2 if name in halves else N
        if len(rows) < members and CALLS[rows[0]["call"]] == "allreduce":
            paused += 1  # rank 1 did not measure then
        else:
            assert len(rows) == members
        for row in rows:
            assert 0 < row["begun"] <= row["wait_begin"] <= row["wait_end"]
    assert paused == 1
    roots = {
        (CALLS[row["call"]], row["name"] == world, row["rank"])
        for row in heard.collectives
        if row["flags"] & ROOT_FLAG
    }
    assert roots == {
        *{("bcast", True, 2), ("reduce", True, 3), ("ibcast", True, 1)},
        *{("bcast", False, 2), ("bcast", False, 3)},
    }
    calls = Counter(CALLS[row["call"]] for row in heard.collectives)
    assert calls["fence"] == 2 * 2 * N
    for call in ("ibarrier", "iallreduce", "ibcast"):
        rows = [row for row in heard.collectives if CALLS[row["call"]] == call]
        assert len(rows) == 2 * N
    (of_window,) = {row["name"] for row in heard.collectives if CALLS[row["call"]] == "fence"}
    assert of_window not in {world, *halves}
    (of_puts,) = {row["channel"] for row in heard.sends if CALLS[row["call"]] == "put"}
    assert of_puts not in {0, of_window}  # a window has a name of its own


def test_neighbourhood_collectives_are_messages_with_numbers(hear):
    heard = hear("collectives")
    ends = [], []
    for row in heard.sends:
        if CALLS[row["call"]] == "neighbor_alltoall":
            ends[0].append((row["rank"], row["peer"], row["channel"], row["number"], row["bytes"]))
            assert len(row["waits"]) == 1
    for row in heard.arrivals:
        ends[1].append((row["peer"], row["rank"], row["channel"], row["number"], row["bytes"]))
    assert sorted(ends[0]) == sorted(ends[1])
    assert len(set(ends[0])) == len(ends[0]) == N * (2 + 4) * 3
    # The fifth operation, with the same neighbour on both sides.
    assert {1, 2, 9, 10} <= {number for _, _, _, number, _ in ends[0]}
    assert 0 not in {number for _, _, _, number, _ in ends[0]}


def epochs(heard: Heard) -> dict[tuple, dict[str, dict]]:
    """(origin, target, channel of the begin, number) -> call -> its row; each has all four calls."""
    found: dict[tuple, dict[str, dict]] = defaultdict(dict)
    for row in heard.synchronised:
        by_origin = row["call"] in ("win_start", "win_complete")
        ends = (row["rank"], row["peer"]) if by_origin else (row["peer"], row["rank"])
        channel = row["channel"] ^ 2 if row["call"] in ("win_complete", "win_wait") else row["channel"]
        calls = found[(*ends, channel, row["number"])]
        assert row["call"] not in calls
        calls[row["call"]] = row
    return found


def test_both_sides_number_epochs_alike(hear):
    heard = hear("rounds", name="epochs.c")
    found = epochs(heard)
    ring = {(a, b) for a in range(N) for b in ((a + 1) % N, (a - 1) % N)}
    channels = {channel for _, _, channel, _ in found}
    assert len(channels) == 2  # windows
    assert all(channel % 2 == 0 for channel in channels)  # those of messages are odd
    assert set(found) == {(a, b, c, n) for a, b in ring for c in channels for n in range(1, 7)}
    for calls in found.values():
        assert set(calls) == {"win_post", "win_start", "win_complete", "win_wait"}
        for row in calls.values():
            assert 0 < row["entered"] <= row["left"]
    puts = [row for row in heard.sends if CALLS[row["call"]] == "put"]
    assert {row["channel"] for row in puts} == channels
    assert not heard.arrivals


def test_epochs_are_counted_while_measuring_is_paused(hear):
    found = epochs(hear("paused", name="epochs.c"))
    assert {number for *_, number in found} == set(range(1, 7))
    for (origin, target, _, number), calls in found.items():
        expected = {"win_post", "win_start", "win_complete", "win_wait"}
        if number in (3, 4) and origin == N - 2:  # rank 1 of the windows
            expected -= {"win_start", "win_complete"}
        if number in (3, 4) and target == N - 2:
            expected -= {"win_post", "win_wait"}
        assert set(calls) == expected


def test_groups_that_are_freed_are_forgotten(hear):
    heard = hear("groups", name="epochs.c")
    found = epochs(heard)
    assert all(len(calls) == 4 for calls in found.values())
    partners = defaultdict(list)
    for row in heard.synchronised:
        if row["call"] == "win_start":
            partners[row["rank"]].append(row["peer"])
    for rank, peers in partners.items():  # 4 ranks the other way round: the partners are the same
        assert peers == [rank ^ (1 + round % 3) for round in range(12)]


def test_locks_say_their_target_and_kind(hear):
    heard = hear("locks", name="epochs.c")
    for rank in range(N):
        reported = [
            (row["call"], row["peer"], row["flags"], row["channel"])
            for row in heard.synchronised
            if row["rank"] == rank
        ]
        right, left = (rank - 1) % N, (rank + 1) % N  # in the windows' order
        first, second = reported[0][3], reported[3][3]
        assert first != second
        assert reported == [
            *(("lock", right, 0, first), ("flush", right, 0, first), ("unlock", right, 0, first)),
            *(("lock", left, 1, second), ("unlock", left, 0, second)),
            ("unlock", left, 0, second),  # of a lock that is not checked, which never waits
            *(("lock", -1, 0, second), ("flush", -1, 0, second), ("unlock", -1, 0, second)),
            ("unlock", -1, 0, second),
        ]
        assert len({row["channel"] for row in heard.synchronised}) == 2
    assert all(row["number"] == 0 for row in heard.synchronised)


def test_windows_without_a_name_have_no_numbers(hear):
    heard = hear("unnamed", name="epochs.c")
    assert {row["call"] for row in heard.synchronised} >= {"win_post", "win_wait", "lock", "unlock"}
    assert {(row["channel"], row["number"]) for row in heard.synchronised} == {(0, 0)}
    assert all(row["peer"] == row["rank"] ^ 1 for row in heard.synchronised)


def test_a_window_that_is_freed_amid_an_epoch_leaves_the_next_one_right(hear, mpi):
    if mpi.name == "mpich":
        pytest.skip("MPICH aborts such a program, with or without perfield")
    found = epochs(hear("freed", name="epochs.c"))
    calls = defaultdict(list)
    for (*_, channel, number), of_epoch in found.items():
        calls[channel].append((number, len(of_epoch)))
    assert sorted(calls.values()) == [[(1, 2)] * N, [(1, 4)] * N]


def test_windows_that_come_and_go_have_names_of_their_own(hear):
    heard = hear("many", name="epochs.c")
    found = epochs(heard)
    assert all(len(calls) == 4 for calls in found.values())
    assert {number for *_, number in found} == {1}
    assert len({channel for _, _, channel, _ in found}) == 100
