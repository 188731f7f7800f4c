# SPDX-License-Identifier: BSD-3-Clause
"""Messages to ranks that are no neighbours, bursts, and tiny messages."""

import numpy as np
import pytest
from known_runs.observed_runs import observed_run

from perfield.analysis.findings import bursts, empty_messages, messages_to_no_neighbours, tiny_messages

N = 16
ROW = [(a, a + 1) for a in range(N - 1)]
HALO = [(a, b, 60, 480_000, 0) for a in range(N) for b in (a - 1, a + 1) if 0 <= b < N]
HUB = [(a, b, 60, 6000, 0) for n in range(N) if n != 1 for a, b in ((1, n), (n, 1))]
RING = [(0, N - 1, 60, 480_000, 0), (N - 1, 0, 60, 480_000, 0)]
ALL = [(a, b, 60, 6000, 0) for a in range(N) for b in range(N) if a != b]
BUTTERFLY = [(a, a ^ 1 << bit, 60, 6000, 0) for a in range(N) for bit in range(4)]


def run_with(messages, p2p_s=0.0, **fields):
    """16 ranks in a row that exchanged these messages in 60 steps of 0.1 s, p2p_s of each in their calls."""
    sent = np.bincount([row[0] for row in messages], [row[2] for row in messages], N) / 60
    received = np.bincount([row[1] for row in messages], [row[2] for row in messages], N) / 60
    given = {"sent_count": sent, "received_count": received, "mpi_p2p_time_s": p2p_s, "neighbours": ROW}
    return observed_run(N, 60, messages=messages, **{**given, **fields})


def far(messages, **fields):
    return list(messages_to_no_neighbours.find(run_with(messages, **fields)))


def test_a_rank_that_talks_to_all_is_reported_with_those_it_does_not_touch():
    (finding,) = far([*HALO, *HUB])
    assert finding.kind == "messages to no neighbours"
    assert finding.words == (
        "Rank 1 exchanges messages with 13 ranks whose pieces of the mesh do not touch: 26 per step with "
        "2.6 kB, 43 % of all messages. No piece touches more than 2 others, so periodic boundaries do not "
        "explain that."
    )
    assert finding.ranks.tolist() == [1]
    assert len(finding.pairs) == 26
    assert {tuple(pair) for pair in finding.pairs.tolist()} >= {(1, 3), (3, 1), (1, 15)}


@pytest.mark.parametrize(
    "messages",
    [HALO, [*HALO, *RING], ALL, [*HALO, *ALL], [*HALO, *BUTTERFLY]],
    ids=["halo", "periodic", "transform", "halo and transform", "butterfly"],
)
def test_regular_patterns_are_no_finding(messages):
    assert far(messages, p2p_s=0.05) == []


def test_reduction_along_a_tree_is_no_finding():
    row = [(a, a + 1) for a in range(5)]
    halo = [(a, b, 60, 30_000, 0) for pair in row for a, b in (pair, pair[::-1])]
    tree = [(a, b, 120, 1500, 0) for a, b in ((2, 0), (3, 1), (4, 0), (5, 1), (1, 0))]  # mpi4py's of 6 ranks
    sent = np.bincount([a for a, *_ in halo + tree], [row[2] / 60 for row in halo + tree], 6)
    observed = observed_run(6, 60, messages=[*halo, *tree], neighbours=row, sent_count=sent)
    assert list(messages_to_no_neighbours.find(observed)) == []


def test_periodic_boundaries_of_a_3d_grid_are_no_finding():
    at = np.stack(np.unravel_index(np.arange(64), (4, 4, 4)), axis=1)
    apart = np.abs(at[:, None] - at[None])
    touch = np.argwhere(apart.max(axis=2) == 1)
    wrapped = np.minimum(apart, 4 - apart).max(axis=2)
    messages = [(a, b, 60, 6000, 0) for a, b in np.argwhere(wrapped == 1).tolist()]
    observed = observed_run(64, 60, messages=messages, neighbours=touch.tolist(), sent_count=26.0)
    assert len(messages) == 64 * 26 > len(touch)
    assert list(messages_to_no_neighbours.find(observed)) == []


def test_a_corner_with_as_many_partners_as_an_inner_rank_is_no_finding():
    at = np.stack(np.unravel_index(np.arange(N), (4, 4)), axis=1)
    touch = np.argwhere(np.abs(at[:, None] - at[None]).max(axis=2) == 1).tolist()
    halo = [(a, b, 60, 6000, 0) for a, b in touch]
    assert far([*halo, *((0, b, 600, 6000, 0) for b in range(11, 16))], neighbours=touch) == []
    assert len(far([*halo, *((0, b, 600, 6000, 0) for b in range(6, 16))], neighbours=touch)) == 1


def test_fewer_far_messages_than_steps_are_no_finding():
    assert far([(a, b, 2, 2000, 0) for a, b, *_ in HUB]) == []


def test_few_messages_to_far_ranks_are_reported_only_if_they_cost_time():
    rare = [(a, b, 6, 6000, 0) for a, b, *_ in HUB]
    many = [(a, b, 600, 6000, 0) for a, b, *_ in HALO]
    # Rank 1 makes 3 of its 40 calls for them, and each takes 1 ms.
    assert far([*many, *rare]) == []
    (finding,) = far([*many, *rare], p2p_s=0.04)
    assert finding.saved_s == pytest.approx(60 * 0.04 * 156 / (4 * 600 + 30 * 6), rel=1e-6)


def test_empty_messages_to_far_ranks_are_not_reported_twice():
    nothing = [(a, b, n, 0, n) for a, b, n, *_ in HUB]
    assert far([*HALO, *nothing]) == []


def test_ranks_without_a_piece_are_no_finding():
    assert far([*HALO, *HUB], neighbours=[(a, a + 1) for a in range(2, N - 1)]) == []


def test_without_a_mesh_the_question_is_not_asked():
    assert not run_with(HALO, neighbours=None).has("neighbours")
    assert run_with(HALO).has("neighbours")


def tiny(messages, **fields):
    return list(tiny_messages.find(run_with(messages, **fields)))


MANY_TINY = [(4, 5, 60 * 100, 60 * 100 * 8, 0), (5, 4, 60 * 25, 60 * 25 * 16, 0)]


def test_many_tiny_messages_are_reported_with_their_pairs():
    (finding,) = tiny(MANY_TINY, p2p_s=0.02)
    assert finding.kind == "tiny messages"
    # All calls of both ranks take 20 ms in each step of 0.1 s; two of 125 messages would remain.
    saved_s = 60 * 0.02 * 123 / 125
    assert finding.saved_s == pytest.approx(saved_s, rel=1e-6)
    assert finding.words == (
        "2 pairs of ranks exchange many tiny messages: 125 per step, of 9.6 B on average; most go from rank "
        "4 to rank 5: 100 per step."
    )
    assert finding.pairs.tolist() == [[4, 5], [5, 4]]


def test_tiny_messages_of_one_pair_are_reported_without_most():
    (finding,) = tiny(MANY_TINY[:1], p2p_s=0.02)
    assert finding.words == "Many tiny messages go from rank 4 to rank 5: 100 per step, of 8 B on average."


def test_tiny_messages_beside_large_ones_are_reported():
    large = 60 * 5
    mixed = [(4, 5, 60 * 100 + large, 60 * 100 * 8 + large * 1_000_000, 0, 60 * 100)]
    (finding,) = tiny(mixed, p2p_s=0.02)
    assert finding.words == (
        "Many tiny messages go from rank 4 to rank 5: 100 per step, of less than 512 B each, in addition "
        "to larger ones."
    )
    assert tiny([(*mixed[0][:5], 60 * 19)], p2p_s=0.02) == []


def test_time_without_a_pu_does_not_make_messages_dear():
    fields = {"p2p_s": 0.02, "cpu_user_time_s": 2e-4, "cpu_system_time_s": 2e-4}
    assert tiny(MANY_TINY, **fields) == []
    assert len(tiny(MANY_TINY, **{**fields, "cpu_user_time_s": 0.02})) == 1


def test_tiny_messages_whose_calls_cost_little_are_no_finding():
    assert tiny(MANY_TINY, p2p_s=1e-4) == []


def test_few_steps_do_not_say_what_messages_cost():
    sent = 125 / 2 * np.isin(np.arange(N), (4, 5))
    few = observed_run(
        N, 9, messages=MANY_TINY, sent_count=sent, received_count=sent, mpi_p2p_time_s=0.02, neighbours=ROW
    )
    assert list(tiny_messages.find(few)) == []


def test_large_few_or_empty_messages_are_not_tiny():
    large = [(4, 5, 60 * 100, 60 * 100 * 1000, 0)]
    few = [(4, 5, 60 * 19, 60 * 19 * 8, 0)]
    empty = [(4, 5, 60 * 100, 0, 60 * 100)]
    assert [tiny(messages, p2p_s=0.05) for messages in (large, few, empty)] == [[], [], []]


BURST = (np.arange(60) % 20 == 10)[:, None]


def run_with_bursts(mpi_s=0.5, compute_s=0.1, io_s=0.0, n=1000.0, **fields):
    """Every 20th step takes mpi_s longer in MPI; compute_s and io_s are of each rank and step."""
    given = {
        "compute_time_s": np.broadcast_to(compute_s, (60, 1)),
        "io_time_s": np.broadcast_to(io_s, (60, 1)),
        "mpi_time_s": 0.01 + mpi_s * BURST,
        "sent_count": 2 + n * BURST,
        **fields,
    }
    step = given["compute_time_s"] + given["io_time_s"] + given["mpi_time_s"]
    step = step * (1 + 0.01 * np.random.default_rng(0).standard_normal((60, 1)))
    return observed_run(N, 60, **{**given, "step_time_s": step})


def burst(**fields):
    return list(bursts.find(run_with_bursts(**fields)))


def test_a_burst_of_messages_is_reported_with_its_steps_and_cost():
    (finding,) = burst()
    assert finding.kind == "burst of messages"
    assert finding.steps.tolist() == [10, 30, 50]
    assert finding.saved_s == pytest.approx(1.5, rel=0.02)
    assert finding.words.startswith(
        "Messages come in bursts every 20 steps (3 of 60): 16,000 per step, against 32 in the others. "
    )
    assert not finding.words.endswith("write output.")


def test_a_burst_in_output_steps_says_so_and_leaves_out_the_time_in_files():
    (finding,) = burst(io_s=0.3 * BURST, io_write_bytes=1e6 * BURST)
    assert finding.words.endswith(" They are the steps that write output.")
    assert finding.saved_s == pytest.approx(1.5, rel=0.05)


def test_steps_that_compute_longer_are_not_blamed_on_their_messages():
    assert burst(mpi_s=0.001, compute_s=0.1 + 0.5 * BURST) == []


def test_steps_that_do_more_of_everything_are_no_burst():
    longer = {"mpi_s": 4.0, "n": 18.0, "compute_s": 0.1 + 0.9 * BURST}  # ten times the messages and computing
    assert burst(**longer) == []
    assert "without computing as much more" in bursts.sees(run_with_bursts(**longer)).words
    assert len(burst(**{**longer, "n": 1000.0})) == 1


def test_a_burst_that_takes_no_time_is_no_finding():
    assert burst(mpi_s=0.0) == []


def test_twice_as_many_messages_are_no_burst():
    assert burst(n=2.0) == []


def test_messages_in_a_third_of_the_steps_are_no_burst():
    third = (np.arange(60) % 3 == 0)[:, None]
    assert burst(sent_count=2 + 1000.0 * third, mpi_time_s=0.01 + 0.5 * third) == []


def test_a_message_of_some_ranks_is_no_burst():
    assert burst(sent_count=BURST * (np.arange(N) < 8)) == []
    assert len(burst(sent_count=2 * BURST)) == 1


def test_a_burst_of_empty_messages_is_only_reported_as_empty():
    messages = [(0, 1, 48_000, 0, 48_000)]
    observed = run_with_bursts(messages=messages, empty=16_000.0 * BURST[:, 0])
    assert list(bursts.find(observed)) == []
    assert len(list(empty_messages.find(observed))) == 1


def test_messages_of_a_burst_are_reported_once():
    messages = [*HALO, *((a, 0, 3000, 24_000, 0) for a in range(1, N))]
    observed = run_with_bursts(
        messages=messages,
        neighbours=ROW,
        received_count=2 + 1000.0 * BURST,
        mpi_p2p_time_s=0.01 + 0.5 * BURST,
    )
    assert len(list(bursts.find(observed))) == 1
    assert list(tiny_messages.find(observed)) == []
    assert list(messages_to_no_neighbours.find(observed)) == []
