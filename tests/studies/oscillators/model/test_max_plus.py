# SPDX-License-Identifier: BSD-3-Clause
"""The max-plus baseline, against closed forms and the speeds of the formula for idle waves."""

from __future__ import annotations

import numpy as np
import pytest

import perfield
from perfield.analysis.idle_waves import idle_waves
from perfield.studies.oscillators.model import ModelError
from perfield.studies.oscillators.model.max_plus import LateWork, MaxPlus, WorkNoise, march
from perfield.studies.oscillators.model.topologies import by_send, chain, mesh, ring
from perfield.studies.rhythm.model import phases

DELAY = 4.5


def first_waits(steps, above=0.5 * DELAY):
    """Rank -> the first step (from 0) in which it waits for most of DELAY."""
    waits = steps.waiting_time_s.values > above
    return {rank: int(waits[:, rank].argmax()) for rank in np.flatnonzero(waits.any(axis=0))}


@pytest.mark.parametrize("bidirectional", [False, True])
def test_delay_moves_one_rank_per_step_and_stays_whole(bidirectional):
    # Closed form of t_i(n + 1) = max(t_i(n), t_{i-1}(n)[, t_{i+1}(n)]) + T.
    of = chain(18, bidirectional=bidirectional)
    steps = march(MaxPlus(of, delays=(LateWork(0, 4, DELAY),)), 30)
    assert first_waits(steps) == {rank: 3 + rank for rank in range(1, 18)}
    assert steps.waiting_time_s.max("step").values[1:] == pytest.approx(DELAY)
    assert steps.end_s.values[-1] == pytest.approx(30 + DELAY)


def test_delay_reaches_no_sender_of_a_one_directional_eager_chain():
    steps = march(MaxPlus(chain(10), delays=(LateWork(5, 2, DELAY),)), 20)
    assert first_waits(steps) == {6: 2, 7: 3, 8: 4, 9: 5}
    assert steps.end_s.values[-1, :5] == pytest.approx(20)


def test_rendezvous_carries_a_delay_to_the_sender_too():
    steps = march(MaxPlus(chain(10), protocol="rendezvous", delays=(LateWork(5, 2, DELAY),)), 20)
    assert first_waits(steps) == {rank: 1 + abs(rank - 5) for rank in range(10) if rank != 5}


@pytest.mark.parametrize(
    ("offsets", "protocol", "completion", "speed"),
    [
        ((1, -1), "eager", "together", 1),
        ((1, -1), "eager", "one_by_one", 1),
        ((1, -1), "rendezvous", "together", 1),
        ((1, -1), "rendezvous", "one_by_one", 2),
        ((1, 2), "eager", "together", 2),
        ((1, 2), "eager", "one_by_one", 3),
        ((1, 2, 3), "eager", "one_by_one", 6),
        ((1, 2, -1, -2), "rendezvous", "one_by_one", 6),
    ],
)
def test_speed_is_that_of_the_formula(offsets, protocol, completion, speed):
    # beta kappa (section 3.2): kappa is the longest distance for one MPI_Waitall, else the sum; beta is 2 for
    # rendezvous in both directions. The recursion gives beta = 2 only where messages wait for one another.
    program = MaxPlus(
        by_send(61, offsets), protocol=protocol, completion=completion, delays=(LateWork(0, 0, DELAY),)
    )
    waits = first_waits(march(program, 60))
    assert 60 / (waits[60] + 1) == pytest.approx(speed)


def test_noise_absorbs_a_delay():
    # Prototype with another generator, 40 seeds: 4.35, 3.73 and 1.23 of 4.5 periods are left.
    of, late = chain(18, bidirectional=True), (LateWork(0, 4, DELAY),)

    def left(mean):
        found = []
        for seed in range(20):
            noise = WorkNoise("exponential", mean)
            with_, without = (
                march(MaxPlus(of, noise=noise, delays=delays), 30, seed=seed) for delays in (late, ())
            )
            found.append(float((with_.end_s - without.end_s)[-1].max()))
        return np.mean(found)

    assert left(0.02) == pytest.approx(4.35, abs=0.05)
    assert left(0.1) == pytest.approx(3.73, abs=0.15)
    assert left(0.5) == pytest.approx(1.23, abs=0.5)


def test_measured_delay_hits_the_ranks_and_steps_that_max_plus_says(delayed_run):
    model = march(MaxPlus(chain(8), t_comp=0.02, delays=(LateWork(2, 10, 1.2),)), 30)
    found = first_waits(perfield.open(delayed_run).steps, 0.6)
    assert found == first_waits(model, 0.6) == {3: 10, 4: 11, 5: 12, 6: 13, 7: 14}


@pytest.mark.parametrize("kind", ["exponential", "uniform", "half_normal"])
def test_noise_has_its_mean_and_depends_on_the_seed_alone(kind):
    noise = WorkNoise(kind, 0.3)
    drawn = noise.drawn(7, 3, 100_000)
    assert drawn.min() >= 0
    assert drawn.mean() == pytest.approx(0.3, rel=0.02)
    np.testing.assert_array_equal(noise.drawn(7, 3, 10), drawn[:10])
    assert (noise.drawn(8, 3, 10) != drawn[:10]).all()


def test_given_noise_is_added_to_the_work():
    extra = np.zeros((3, 2))
    extra[1, 0] = 0.5
    steps = march(MaxPlus(chain(2), noise=extra), 3)
    np.testing.assert_allclose(steps.end_s.values, [[1, 1], [2.5, 2.5], [3.5, 3.5]], rtol=1e-15)


def test_a_step_lasts_its_work_and_its_transfer():
    eager = march(MaxPlus(ring(6), t_comp=2.0, t_comm=0.25), 4)
    np.testing.assert_allclose(eager.end_s.values[:, 0], 2.25 * np.arange(1, 5), rtol=1e-15)
    assert eager.waiting_time_s.values == pytest.approx(0.25)


def test_phases_of_a_march_follow_its_delay():
    steps = march(MaxPlus(mesh((3, 4)), delays=(LateWork(0, 1, DELAY),)), 12)
    found = phases(steps, np.array([1.0, 2.0, 6.0])).phase.values / (2 * np.pi)
    assert found[:, 0] == pytest.approx(1)
    assert found[0, 1] < 1.2 and found[11, 1] == pytest.approx(2)


def test_idle_wave_of_a_march_is_found_as_in_a_run():
    noise = WorkNoise("exponential", 0.01)
    steps = march(MaxPlus(chain(18), noise=noise, delays=(LateWork(2, 10, DELAY),)), 40)
    columns = ("begin_s", "end_s", "compute_time_s", "waiting_time_s", "receiver", "sender")
    wave, *others = idle_waves(*(steps[name].values for name in columns))
    assert (wave.rank, wave.step, others) == (2, 10, [])
    assert wave.delay_s == pytest.approx(DELAY, rel=0.05)
    (front,) = wave.fronts
    assert front.direction == "forward" and front.ranks.tolist() == list(range(3, 18))
    assert front.speed_per_step == pytest.approx(1.0)


def test_one_march_takes_100000_ranks():
    steps = march(MaxPlus(chain(100_000, bidirectional=True), delays=(LateWork(0, 0, DELAY),)), 3)
    assert first_waits(steps) == {1: 0, 2: 1, 3: 2}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: MaxPlus(chain(3), protocol="telepathy"),
            "'telepathy' is unknown; choose eager or rendezvous.",
        ),
        (lambda: MaxPlus(chain(3), completion="never"), "'never' is unknown; choose together or one_by_one."),
        (lambda: MaxPlus(chain(3), t_comp=-1.0), "t_comp has the shape () and a least value of -1 s; give"),
        (
            lambda: MaxPlus(chain(3), delays=(LateWork(3, 0, 1.0),)),
            "rank 3 is to be late, but there are only 0",
        ),
        (
            lambda: march(MaxPlus(chain(3), delays=(LateWork(1, 9, 1.0),)), 5),
            "in step 9, but the last one is 4;",
        ),
        (lambda: LateWork(1, -1, 1.0), "a delay of 1 s in step -1 makes no sense"),
        (lambda: WorkNoise("pink", 1.0), "the noise 'pink' is unknown; choose one of exponential"),
        (lambda: WorkNoise("uniform", -1.0), "noise of mean -1 s makes no sense"),
        (lambda: march(MaxPlus(chain(3)), 0), "0 steps are nothing to look at"),
        (lambda: march(MaxPlus(chain(3), noise=np.zeros((2, 3))), 5), "noise has the shape (2, 3); give"),
        (lambda: march(MaxPlus(chain(3), noise=np.full((2, 3), -2.0)), 2), "make work end before it began"),
    ],
)
def test_what_makes_no_sense_is_reported_in_a_sentence(make, sentence):
    with pytest.raises(ModelError) as raised:
        make()
    assert sentence in str(raised.value)
