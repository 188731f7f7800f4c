# SPDX-License-Identifier: BSD-3-Clause
"""What messages and operations take once nobody is late, on simulated networks of known speed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from compiled.call_numbers import CALL
from hypothesis import given, settings
from hypothesis import strategies as st
from known_runs.simulated_waits import (
    Network,
    collective,
    compute,
    irecv,
    isend,
    random_programs,
    recv,
    send,
    simulate,
    step,
    wait,
)

from perfield.analysis.waits import EVENT, TransferSums, find_transfers, slow_ns, ways_of
from perfield.analysis.waits.transfers import call_and_ranks, is_operation
from perfield.fields.table import CALL_NAMES
from perfield.run.collectives import SIZE_WORDS
from twins import transfers_twin

US, MS = 1_000, 1_000_000
NETWORK = Network(latency_ns=2 * US, ns_per_byte=0.5, overhead_ns=100)


def found_in(programs, network=NETWORK):
    simulation = simulate(programs, network)
    return find_transfers(simulation.events())


def sums_of(transfers, uncertainty_ns=0.0, between=0):
    way = ways_of(transfers, np.full(len(transfers), between))
    return TransferSums.of(transfers, way, np.full(len(transfers), float(uncertainty_ns)))


def one_way(sizes, n=40, late=MS):
    """Rank 1 receives messages of these sizes again and again, and waits for each."""
    programs = [[], []]
    for _ in range(n):
        for size in sizes:
            programs[0] += [compute(late), send(1, size)]
            programs[1] += [recv(0)]
        for program in programs:
            program.append(step())
    return programs


def expected_ns(size, network=NETWORK):
    return network.latency_ns + size * network.ns_per_byte + network.overhead_ns


def test_a_message_takes_its_latency_and_bytes():
    found = found_in(one_way([8, 3000, 100_000], n=1))
    received = found[found["rank"] == 1]
    assert received["last_bytes"].tolist() == [8, 3000, 100_000] and received["is_alone"].all()
    assert received["time_ns"].tolist() == pytest.approx([expected_ns(size) for size in (8, 3000, 100_000)])
    assert set(received["partner"].tolist()) == {0}


def test_only_the_part_is_seen_that_the_receiver_was_there_for():
    # The message comes 2 µs before it is received; it takes 3.5 µs.
    found = found_in([[send(1, 2800), step()], [compute(2 * US), recv(0), step()]])
    assert not found["is_alone"].any()
    assert found["time_ns"][found["rank"] == 1] == pytest.approx(1_500)


def test_messages_that_come_together_are_not_alone():
    def waiting_for(late_ns):
        return found_in(
            [
                [irecv(1, "a"), irecv(2, "b"), wait("a", "b"), step()],
                [compute(MS), send(0, 100), step()],
                [compute(MS + late_ns), send(0, 100), step()],
            ]
        )

    for late_ns, alone in ((500, False), (10 * US, True)):
        found = waiting_for(late_ns)
        (row,) = found[found["rank"] == 0]
        assert bool(row["is_alone"]) == alone and (row["n"], row["bytes"], row["last_bytes"]) == (2, 200, 100)


def test_an_operation_takes_what_follows_its_last_member():
    programs = [[compute(rank * MS), collective("allreduce", bytes=64), step()] for rank in range(3)]
    found = found_in(programs)
    assert found["time_ns"].tolist() == pytest.approx([5_100] * 3) and set(found["partner"].tolist()) == {2}
    assert found["n"].tolist() == [3] * 3 and found["is_alone"].all()
    way = ways_of(found, np.zeros(3))
    assert is_operation(way).all() and call_and_ranks(int(way[0])) == (CALL["allreduce"], 3)


def test_operations_with_a_root_are_those_that_wait_for_it_or_of_it():
    for call, waiting in (("bcast", {0, 2}), ("reduce", {1})):
        programs = [[compute(rank * MS), collective(call, root=1), step()] for rank in range(3)]
        assert set(found_in(programs)["rank"].tolist()) == waiting


def test_operations_of_unknown_members_and_messages_without_their_other_end_are_left_out():
    simulation = simulate([[compute(MS * r), collective("barrier"), step()] for r in range(3)], NETWORK)
    events = simulation.events()
    assert len(find_transfers(events)) == 3 and not len(find_transfers(events[:2]))
    events["size"] = 0
    assert not len(find_transfers(events))
    messages = simulate(one_way([8], n=3), NETWORK).events()
    assert not len(find_transfers(messages[messages["kind"] == 1]))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_transfers_are_those_of_the_twin(seed):
    simulation = simulate(random_programs(random.Random(seed), 5, 4))
    events = simulation.events()
    found = find_transfers(events)
    names = ("step", "rank", "partner", "kind", "is_alone", "n", "bytes", "last_bytes", "time_ns")
    reported = sorted(tuple(row[name].item() for name in names) for row in found)
    twin = transfers_twin.transfers(events)
    assert [(*row[:4], bool(row[4]), *row[5:]) for row in reported] == [
        (*r[:4], bool(r[4]), *r[5:]) for r in twin
    ]


def test_baselines_find_latency_and_bandwidth_of_the_network():
    sums = sums_of(found_in(one_way([8, 1000, 3000, 30_000, 1_000_000])))
    sizes = np.array([8, 1000, 2000, 3000, 30_000, 400_000, 1_000_000])
    reported = sums.baselines.expected_ns(np.zeros(7, int), np.ones(7), sizes)
    assert reported == pytest.approx([expected_ns(size) for size in sizes], rel=0.02)
    assert np.isnan(sums.baselines.expected_ns([0, 1], [1, 1], [3_000_000, 8])).all()
    rows = {row["size"]: row for row in sums.rows(CALL_NAMES, SIZE_WORDS) if row["of"] == "messages"}
    assert list(rows) == ["63 B", "4 kB", "32 kB", "2 MB"]
    assert rows["2 MB"]["baseline_s"] == pytest.approx(expected_ns(1e6) * 1e-9, rel=0.02)
    assert rows["2 MB"]["gb_per_s"] == pytest.approx(2, rel=0.02)
    assert rows["2 MB"]["count"] == 40 and rows["2 MB"]["way"] == "within a node"
    assert sums.slow_s < 0.01 * sums.at_baseline_s


def test_what_messages_take_beyond_the_baseline_is_reported_in_the_row_of_their_size():
    """Each tenth message of 3,000 B takes 50 µs longer."""

    def extra(message):
        return 50 * US if message.bytes == 3000 and message.number % 10 == 0 else 0

    network = Network(**{**vars(NETWORK), "extra_ns": extra})
    transfers = found_in(one_way([8, 3000], n=100), network)
    sums = sums_of(transfers)
    assert sums.slow_s == pytest.approx(20 * 50e-6, rel=0.02)  # each tenth of 200
    slow = {row["size"]: row["slow_s"] for row in sums.rows(CALL_NAMES, SIZE_WORDS)}
    assert slow["4 kB"] == pytest.approx(sums.slow_s) and slow["63 B"] < 1e-6
    way = ways_of(transfers, np.zeros(len(transfers)))
    each = slow_ns(transfers, way, np.zeros(len(transfers)), sums.baselines)
    assert np.nansum(each) * 1e-9 == pytest.approx(sums.slow_s, rel=0.02)


def test_a_call_of_several_messages_may_take_as_long_as_all_of_them():
    # Rank 0 waits for four messages at once. The last one takes 6 µs longer, and the others 2 µs each.
    programs = one_way([100], n=30)
    programs += [[], [], []]
    for k in range(30):
        programs[1] += [irecv(2, "a"), irecv(3, "b"), irecv(4, "c"), wait("a", "b", "c"), step()]
        for rank in (2, 3, 4):
            programs[rank] += [compute(100 * MS * (k == 0) + MS), send(1, 100), step()]

    def extra(message):
        return 4 * US if message.sender == 4 else 0

    transfers = found_in(programs, Network(**{**vars(NETWORK), "extra_ns": extra}))
    several = transfers[transfers["n"] == 3]
    assert len(several) == 30
    sums = sums_of(transfers)
    each = slow_ns(several, ways_of(several, np.zeros(30)), np.zeros(30), sums.baselines)
    assert (each == 0).all()


def test_few_transfers_and_unsure_clocks_give_no_baseline():
    assert not sums_of(found_in(one_way([8], n=19))).baselines.knots
    transfers = found_in(one_way([8], n=40))
    assert sums_of(transfers, 500).baselines.knots and not sums_of(transfers, 600).baselines.knots
    unknown = sums_of(transfers, np.inf)
    assert not len(unknown.alone) and not len(unknown.calls) and unknown.slow_s == 0
    (row,) = sums_of(transfers, 600).rows(CALL_NAMES, SIZE_WORDS)
    assert row["baseline_s"] is None and row["slow_s"] is None and row["count"] == 40


def test_sums_of_parts_add_up_to_those_of_the_whole():
    transfers = found_in(one_way([8, 3000], n=60))
    whole = sums_of(transfers)
    parts = TransferSums.nothing()
    for part in np.array_split(transfers, 7):
        parts += sums_of(part)
    assert (parts.alone == whole.alone).all() and (parts.calls == whole.calls).all()
    assert parts.rows(CALL_NAMES, SIZE_WORDS) == whole.rows(CALL_NAMES, SIZE_WORDS)


def test_ways_do_not_share_baselines():
    transfers = found_in(one_way([8], n=60))
    transfers = transfers[transfers["rank"] == 1]
    sums = sums_of(transfers[:41]) + sums_of(transfers[41:], between=1)
    assert list(sums.baselines.knots) == [0]


def test_exchanges_are_one_transfer_and_wait_for_the_receive_that_a_partner_posts():
    programs = [[], []]
    for _ in range(30):
        for rank, program in enumerate(programs):
            program += [compute(MS + rank * MS), irecv(1 - rank, "r"), isend(1 - rank, "s", 50_000)]
            program += [wait("r", "s"), step()]
    found = found_in(programs)
    of_first = found[found["rank"] == 0]
    assert of_first["is_alone"].all() and set(of_first["kind"].tolist()) == {1}


def test_nothing_and_other_arrays():
    assert not len(find_transfers(np.zeros(0, EVENT)))
    nothing = TransferSums.nothing()
    assert nothing.rows(CALL_NAMES, SIZE_WORDS) == [] and nothing.slow_s == 0
    with pytest.raises(ValueError, match=r"expected perfield\.analysis\.waits\.EVENT"):
        find_transfers(np.zeros(3))
