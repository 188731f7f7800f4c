# SPDX-License-Identifier: BSD-3-Clause
"""The critical path of logged steps, as a field of frames, as a table and in sums."""

import numpy as np
import pytest
from known_runs.simulated_waits import collective, compute, recv, send, simulate, step
from known_runs.waiting_runs import with_waits, write_waiting_run

import perfield
from perfield.analysis.waits import IN_MPI, NO_REGION, words
from perfield.derived import critical_path
from perfield.derived.critical_path import path_sums
from perfield.fields.waits import ON_PATH

MS = 1_000_000


def before_any_message(n_steps=6):
    """Rank 1 computes 20 ms before its only message of a step, rank 0 then 5 ms, rank 2 hardly."""
    programs = [[], [], []]
    for _ in range(n_steps):
        programs[0] += [compute(MS), recv(1), compute(5 * MS), collective("barrier"), step()]
        programs[1] += [compute(20 * MS), send(0), collective("barrier"), step()]
        programs[2] += [compute(MS), collective("barrier"), step()]
    return simulate(programs)


def positions(run):
    return np.arange(len(run))


def of_frame(run, number):
    return with_waits(run).frame(number).values[ON_PATH]


def test_ranks_on_the_path_add_up_to_the_step(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", before_any_message(), lambda step: step == 3))
    on_path = of_frame(run, 3)
    assert on_path / 1e-3 == pytest.approx([5, 20, 0], abs=0.3)  # s to ms; the messages take some
    assert on_path.sum() == pytest.approx(run.frame(3).values["step_time_s"].max(), rel=0.02)


def test_work_before_the_first_message_of_a_step_is_on_the_path(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", before_any_message(), lambda step: step == 3))
    table = run.critical_path(3)
    of_rank = table[table["rank"] == 1].set_index("region")["time_s"]
    assert of_rank.to_dict() == {"solve": pytest.approx(0.020, rel=0.01)}
    assert set(table["step"]) == {3}


def test_steps_without_a_log_have_no_path(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", before_any_message(), lambda step: step == 3))
    assert np.isnan(of_frame(run, 2)).all()
    assert not len(run.critical_path(2)) and not len(run.critical_path([0, 1]))
    with pytest.raises(KeyError, match="step 99"):
        run.critical_path(99)


def test_path_goes_on_through_consecutive_logged_steps(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", before_any_message()))
    table = run.critical_path().compute()
    whole = table["time_s"].sum()
    begin, end = run.steps["begin_s"].to_numpy(), run.steps["end_s"].to_numpy()
    assert whole == pytest.approx(end.max() - begin.min(), rel=1e-3)
    assert set(table["step"]) == set(range(6))


def test_frames_that_join_steps_have_no_path(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", before_any_message()))
    assert np.isnan(of_frame(run.at_span(2), 1)).all()


def test_ranks_without_stamps_have_no_time_on_the_path(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", before_any_message(), without=[2]))
    assert np.isnan(of_frame(run, 3)).tolist() == [False, False, True]


def test_programs_that_step_each_for_themselves_have_no_path(tmp_path):
    def of_two_programs(rank, values):
        values["group"] = "ocean" if rank else "air"

    run = perfield.open(
        write_waiting_run(tmp_path / "run", before_any_message(), change_rank=of_two_programs)
    )
    assert len(run.groups) == 2 and not len(run.critical_path().compute())


def test_sums_say_rank_region_gain_and_efficiency(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", before_any_message(), lambda step: step > 1))
    sums = path_sums(run, positions(run))
    assert sums.n_steps == 4
    assert sums.on_path_s / sums.length_s == pytest.approx([0.2, 0.8, 0], abs=0.02)
    # A step computes 6, 20 and 1 ms; balanced, 9 each. Rank 0 then waits until 9 for the message of rank 1.
    found = sums.efficiency
    assert found.load_balance == pytest.approx(9 / 20, abs=0.02)
    assert found.serialisation == pytest.approx(20 / 25, abs=0.02)
    assert found.parallel == pytest.approx(9 / 25, abs=0.02)
    assert 0 < sums.gain_s <= sums.length_s - sums.computing_s.mean() + 1e-6
    assert sums.region_on_path_s[0] == pytest.approx(sums.length_s, rel=0.03)  # `solve` is all computation
    assert sums.region_gain_s == {0: pytest.approx(sums.gain_s, rel=0.05)}
    assert (sums.n_of_run, sums.on_path_in_s.shape) == (6, (3, 3))
    assert sums.run_s == pytest.approx(run.steps["step_time_s"].sum("step").max().to_numpy())


def test_path_lies_in_the_regions_of_each_rank_and_step(tmp_path):
    """Rank 1 is in `flux`, then rank 0 in `solve`; in the second step the other way round."""
    programs = [[collective("barrier")] for _ in range(2)]
    for first, second in (("flux", "solve"), ("solve", "flux")):
        programs[0] += [recv(1), compute(5 * MS, second), collective("barrier"), step()]
        programs[1] += [compute(20 * MS, first), send(0), collective("barrier"), step()]
    run = perfield.open(write_waiting_run(tmp_path / "run", simulate(programs)))
    found = (
        run.critical_path().compute().query("time_s > 0.001").set_index(["step", "rank", "region"])["time_s"]
    )
    expected = {(0, 1, "flux"): 0.02, (0, 0, "solve"): 0.005, (1, 1, "solve"): 0.02, (1, 0, "flux"): 0.005}
    assert found.to_dict() == pytest.approx(expected, rel=0.01)


def test_sums_of_long_runs_take_some_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(critical_path, "EVENTS_OF_SUMS", 1)
    run = perfield.open(write_waiting_run(tmp_path / "run", before_any_message(), lambda step: step % 2 == 0))
    assert path_sums(run, positions(run)).n_steps == 1


def test_a_run_without_logs_has_no_sums(tmp_path):
    run = perfield.open(write_waiting_run(tmp_path / "run", before_any_message(), lambda step: False))
    assert path_sums(run, positions(run)).efficiency is None


def test_steps_of_which_too_little_is_explained_have_no_path(tmp_path):
    # Rank 1, for which rank 0 waits, is of a version without stamps.
    programs = [[recv(1), compute(5 * MS), step()] * 6, [compute(20 * MS), send(0), step()] * 6]
    run = perfield.open(write_waiting_run(tmp_path / "run", simulate(programs), without=[1]))
    assert np.isnan(of_frame(run, 3)).all() and not len(run.critical_path().compute())
    sums = path_sums(run, positions(run))
    assert sums.explained < 0.5 and sums.efficiency is None
    parts = ["solve", NO_REGION, IN_MPI]
    (reported,) = words.path_sentences(sums, parts)
    assert reported.startswith("Only ") and reported.endswith("too little to follow their critical path.")
    assert not words.path_rows(sums, parts, 10)
