# SPDX-License-Identifier: BSD-3-Clause
"""The programs of testcase/rhythm: their numbers, their messages, their delays, and bad input."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import perfield

SMALL = {
    "pisolver": ["--size", 1000],
    "stream_triad": ["--size", 1000],
    "schoenauer_triad": ["--size", 1000],
    "jacobi": ["--size", 20, "--columns", 30],
    "gauss_seidel": ["--size", 20, "--columns", 30],
}
SLEEP_S = 0.01
STEPS = 16
DELAY = 5, 8, 60  # rank, step, periods
EAGER, HELD_UNTIL_SEEN, RENDEZVOUS = 128, 1024, 65536  # bytes, for Open MPI's shared memory


@pytest.fixture(scope="module")
def slept(rhythm_run):
    """slept(n_ranks, *options, sleep_s=SLEEP_S): the steps of a pisolver that sleeps in place of working."""

    def run(n_ranks: int, *options: object, sleep_s: float = SLEEP_S):
        words = ["--sleep", sleep_s, "--steps", STEPS, *options]
        return perfield.open(rhythm_run(n_ranks, "pisolver", *words)).steps

    return run


def steps_hit(steps) -> dict[int, int]:
    """Rank -> the step, counted from 1, in which it waited for most of DELAY."""
    waits = steps.waiting_time_s.values[1:]  # in the first step, ranks of gauss_seidel wait for their start
    return {
        rank: int(waits[:, rank].argmax()) + 2
        for rank in range(waits.shape[1])
        if waits[:, rank].max() > 0.5 * DELAY[2] * SLEEP_S
    }


def printed(run, program: Path, n_ranks: int, *words: object) -> str:
    """What the program printed on standard output, if it found its numbers and messages right."""
    result = run(n_ranks, program, *words)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="session")
def programs(mpi, rhythm_programs, build_case) -> Path:
    """The folder of the programs, built with this MPI."""
    return rhythm_programs if mpi.name == "openmpi" else build_case("rhythm")


# MPICH starts and ends programs several times as fast as Open MPI.
in_mpich = pytest.mark.parametrize("mpi", ["mpich"], indirect=True)


@pytest.mark.long
@pytest.mark.parametrize("program", SMALL)
def test_numbers_are_those_of_the_closed_form(program, mpi, programs):
    # The program compares them itself, and exits with 1 if they are wrong.
    text = printed(mpi.run, programs / program, 3, "--steps", 5, *SMALL[program])
    assert "messages: 10 arrived, 0 of them from the wrong rank or step" in text


@pytest.mark.long
@in_mpich
def test_pisolver_is_off_pi_by_the_midpoint_rules_error(mpi, programs):
    text = printed(mpi.run, programs / "pisolver", 4, "--steps", 3, "--size", 1000)
    pi = float(re.search("pi is (.*),", text)[1])
    np.testing.assert_allclose(pi - np.pi, 1 / 4000**2 / 12, rtol=0.01)  # width^2 / 12


@pytest.mark.long
@in_mpich
def test_gauss_seidel_reduces_the_residual(mpi, programs):
    text = printed(mpi.run, programs / "gauss_seidel", 3, "--steps", 60, *SMALL["gauss_seidel"])
    first, last = re.search(r"residual fell from (\S+) to (\S+),", text).groups()
    assert float(last) < 1e-10 * float(first)


@pytest.mark.long
@in_mpich
@pytest.mark.parametrize(("program", "words"), [("jacobi", ["--send-to", "1,-1"]), ("gauss_seidel", [])])
def test_a_solver_has_the_same_bits_on_any_number_of_ranks(program, words, mpi, programs):
    checksums = {
        re.search(r"checksum (\w{16})", text)[1]
        for n in (1, 4)
        for text in [printed(mpi.run, programs / program, n, "--size", 60 // n, "--columns", 30, *words)]
    }
    assert len(checksums) == 1


@pytest.mark.long
@in_mpich
@pytest.mark.parametrize(
    "words",
    [
        ["--topology", "ring"],
        ["--send-to", "1,-1,-2"],
        ["--topology", "none"],
        ["--send-to", "-1", "--waits"],
    ],
)
def test_jacobi_is_right_for_each_topology(words, mpi, programs):
    printed(mpi.run, programs / "jacobi", 4, *SMALL["jacobi"], *words)


@pytest.mark.parametrize(
    ("topology", "offsets", "calls_in_rank_2"),
    [("chain", [1], 3), ("ring", [1, -1], 5), ("chain", [1, -1, -2], 7), ("ring", [-2, 2], 5)],
)
def test_messages_are_those_of_the_closed_form(topology, offsets, calls_in_rank_2, rhythm_run):
    n, size = 5, 200
    words = ["--size", 1000, "--steps", 2, "--topology", topology, "--bytes", size]
    run = perfield.open(rhythm_run(n, "pisolver", *words, "--send-to", ",".join(map(str, offsets))))
    targets = {(rank, rank + offset) for rank in range(n) for offset in offsets}
    if topology == "ring":
        targets = {(rank, target % n) for rank, target in targets}
    expected = {(rank, target, 1, size) for rank, target in targets if 0 <= target < n}
    for frame in run.frames():
        messages = {
            tuple(int(m[key]) for key in ("source", "target", "count", "bytes")) for m in frame.messages
        }
        assert messages == expected
    assert run.steps.mpi_call_count.values[:, 2].tolist() == [calls_in_rank_2] * 2  # and one MPI_Waitall


@pytest.mark.long
def test_waits_waits_for_each_request(rhythm_run):
    words = ["--size", 1000, "--steps", 2, "--send-to", "1,-1", "--waits"]
    steps = perfield.open(rhythm_run(3, "pisolver", *words)).steps
    assert steps.mpi_call_count.values[0].tolist() == [4, 8, 4]  # as many MPI_Wait as Irecv and Isend


def test_a_delay_sleeps_on_its_rank_in_its_step(slept):
    times = slept(8, "--delay", *DELAY, "--bytes", EAGER).region_time_s.sel(region="injected_delay").values
    rank, step, periods = DELAY
    assert np.argwhere(times > 0).tolist() == [[step - 1, rank]]
    assert times[step - 1, rank] >= periods * SLEEP_S


@pytest.mark.parametrize(
    ("words", "hit"),
    [
        (["--bytes", EAGER], {6: 8, 7: 9}),
        (["--bytes", RENDEZVOUS], {4: 8, 3: 9, 2: 10, 1: 11, 0: 12, 6: 8, 7: 9}),
        (["--send-to", "1,-1"], {4: 8, 3: 9, 2: 10, 1: 11, 0: 12, 6: 8, 7: 9}),
        (["--send-to", "1", "--topology", "ring"], {6: 8, 7: 9, 0: 10, 1: 11, 2: 12, 3: 13, 4: 14}),
        (["--send-to", "1,2"], {6: 8, 7: 8}),
    ],
)
def test_a_delay_reaches_ranks_in_the_steps_of_the_closed_form(words, hit, slept):
    assert steps_hit(slept(8, "--delay", *DELAY, *words)) == hit


def test_a_message_that_its_receiver_has_not_seen_holds_its_sender(slept):
    hit = steps_hit(slept(8, "--delay", *DELAY, "--bytes", HELD_UNTIL_SEEN))
    # A receiver that a busy machine keeps inside MPI sees messages of later steps, too.
    assert hit.pop(4) >= DELAY[1]
    assert hit == {6: 8, 7: 9}


def test_a_delay_hits_all_later_ranks_of_gauss_seidel_in_the_same_step(rhythm_run):
    words = ["--sleep", SLEEP_S, "--steps", STEPS, "--columns", 10, "--delay", *DELAY]
    hit = steps_hit(perfield.open(rhythm_run(8, "gauss_seidel", *words)).steps)
    assert hit == {6: DELAY[1], 7: DELAY[1]}


def test_a_delay_of_real_work_lasts_so_many_median_steps(rhythm_run):
    words = ["--steps", 12, "--size", 1000000, "--topology", "none", "--delay", 1, 10, 100]
    steps = perfield.open(rhythm_run(2, "pisolver", *words)).steps
    assert "timed_sleep" not in steps.region
    times = steps.region_time_s.sel(region="injected_delay").values
    assert np.argwhere(times > 0).tolist() == [[9, 1]]
    # The program's periods contain its work, and steps contain its periods; a busy machine resumes it late.
    before = steps.isel(step=slice(9), rank=1)
    work = np.median(before.region_time_s.sel(region="work"))
    assert 100 * work <= times[9, 1] < 100 * np.median(before.step_time_s) + 0.3


def test_a_run_says_that_its_work_was_a_sleep(slept):
    steps = slept(8, "--delay", *DELAY, "--bytes", EAGER)
    assert "work" not in steps.region
    assert (steps.region_time_s.sel(region="timed_sleep").values >= SLEEP_S).all()
    assert (steps.region_count.sel(region="timed_sleep").values == 1).all()


def splitmix64(x: int, key: int) -> int:
    """A twin of the programs' hash (Steele, Lea and Flood, 2014)."""
    mask = 2**64 - 1
    x = (x + 0x9E3779B97F4A7C15 * (key + 1)) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def test_noise_follows_from_seed_step_and_rank(slept):
    sleep_s = 0.02
    steps = slept(3, "--noise", 1.5, "--seed", 7, "--topology", "none", sleep_s=sleep_s)
    bits = [[splitmix64(splitmix64(7, step), rank) for rank in range(3)] for step in range(1, STEPS + 1)]
    planned = sleep_s * (1 - 1.5 * np.log1p(-((np.array(bits, dtype=np.uint64) >> np.uint64(11)) / 2**53)))
    late = steps.region_time_s.sel(region="timed_sleep").values - planned
    assert late.min() > -1e-6  # a sleep lasts at least as long as asked
    assert np.median(late) < 0.5 * sleep_s  # and a busy machine resumes its rank late


def test_unequal_ranks_without_messages_drift_apart(slept):
    sleep_s = 0.02
    steps = slept(3, "--unequal", 1, "--topology", "none", sleep_s=sleep_s)
    shortest = steps.step_time_s.min("step").values  # a busy machine makes others longer
    np.testing.assert_allclose(shortest, sleep_s * np.array([1, 1.5, 2]), rtol=0.1)
    ends = steps.end_s.values[-1]
    assert ends[2] > ends[1] > ends[0]


def test_gauss_seidel_starts_as_a_wavefront(rhythm_run):
    words = ["--sleep", SLEEP_S, "--steps", 5, "--columns", 10]
    steps = perfield.open(rhythm_run(4, "gauss_seidel", *words)).steps
    after = steps.end_s.values - steps.begin_s.values.min()
    number, rank = np.indices(after.shape)
    assert (after > (number + 1 + rank) * SLEEP_S).all()  # each rank is a step behind the one before it


@pytest.mark.long
@in_mpich
@pytest.mark.parametrize(
    ("program", "words", "sentence"),
    [
        ("pisolver", "--nosuch", "'--nosuch' is not an option; --help lists them."),
        ("pisolver", "--columns 5", "'--columns' is not an option; --help lists them."),
        ("pisolver", "--steps many", "--steps needs a whole number, not 'many'."),
        ("pisolver", "--steps 0", "--steps must be at least 1."),
        ("pisolver", "--delay 2 1 5 --sleep 1", "--delay names rank 2, but the ranks are 0 to 1."),
        (
            "pisolver",
            "--delay 1 3 5",
            "must name one of 4 to 100 (the steps before it show how long a period is).",
        ),
        ("pisolver", "--delay 1 3", "--delay needs PERIODS, too, but the command ends there."),
        ("pisolver", "--delay 1 30 0", "--delay needs more than 0 periods."),
        ("pisolver", "--send-to 2", "--send-to reaches no other rank of 2; use smaller offsets, more ranks,"),
        ("pisolver", "--send-to 0", "--send-to 0 would make each rank send to itself; leave 0 out."),
        ("pisolver", "--topology star", "--topology 'star' is unknown; choose chain, ring or none."),
        ("pisolver", "--bytes 8", "--bytes must be at least 16: a message holds its sender's rank and step."),
        ("pisolver", "--sleep 0", "--sleep needs more than 0 seconds."),
        ("pisolver", "--sleep 1 --size 5", "--size means nothing with --sleep; leave one of them out."),
        ("pisolver", "--unequal 1", "--unequal needs --sleep SECONDS: real work is the same on all ranks."),
        ("pisolver", "--noise -1", "--noise must not be negative."),
        (
            "jacobi",
            "--bytes 80",
            "--bytes 80 is too small: a message holds 1000 numbers and needs 8016 bytes;",
        ),
        ("gauss_seidel", "--topology ring", "use --topology chain with positive offsets, or --lagged."),
    ],
)
def test_a_wrong_option_is_reported_in_a_sentence(program, words, sentence, mpi, programs):
    result = mpi.run(2, programs / program, *words.split())
    assert result.returncode == 2
    assert result.stderr.startswith(f"{program}: ") and sentence in result.stderr
