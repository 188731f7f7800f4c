# SPDX-License-Identifier: BSD-3-Clause
"""Timings of a run by rank and step: any field, some ranks and steps, and what is left out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from known_runs import mixed_spans, regime_runs

import perfield
from perfield.studies.regimes.model import REGIME, TIME, RegimeError, largest
from perfield.studies.regimes.of_run import Arriving, regimes_of_run, timings_of_run
from twins import twin

TIMES = np.arange(1, 25).reshape(3, 8) * 1e-3


def opened(path, time_s=TIMES, **options):
    return perfield.open(regime_runs.write(path / "run", time_s, **options))


def test_default_is_the_time_of_each_rank_and_step(tmp_path):
    found = timings_of_run(opened(tmp_path))
    np.testing.assert_allclose(found[TIME], TIMES, atol=2e-9)
    assert found["rank"].values.tolist() == [0, 1, 2] and found["step"].values.tolist() == list(range(8))
    assert found[TIME].attrs["long_name"] == "time of a step" and found.attrs["left_out"] == ""


def test_ranks_steps_and_reduction_choose(tmp_path):
    run = opened(tmp_path)
    some = timings_of_run(run, ranks=[2, 0], steps=slice(2, 4))
    np.testing.assert_allclose(some[TIME], TIMES[[0, 2], 2:5], atol=2e-9)
    assert some["rank"].values.tolist() == [0, 2] and some["step"].values.tolist() == [2, 3, 4]
    longest = timings_of_run(run, reduce="max")
    np.testing.assert_allclose(longest[TIME], TIMES.max(axis=0, keepdims=True), atol=2e-9)
    assert longest["rank"].values.tolist() == [-1] and longest.attrs["n_ranks"] == 3


def test_field_is_any_time_or_the_name_of_a_region(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", ranks=3, steps=4))
    solve = 1e-3 * np.arange(1, 4)[:, None] + 1e-6 * np.arange(4)
    for field in ("solve_time_s", "solve"):
        found = timings_of_run(run, field)
        np.testing.assert_allclose(found[TIME], solve, rtol=1e-9)
        assert found.attrs["field"] == "solve_time_s"
    assert (timings_of_run(run, "waiting_time_s")[TIME] > 0).any()


def test_steps_of_an_entry_that_adds_up_several_are_reported_apart(tmp_path):
    found = timings_of_run(opened(tmp_path, sum_every=4))
    np.testing.assert_allclose(found[TIME], TIMES / 4, atol=2e-9)
    assert found["span"].values.tolist() == [4] * 8 and largest(found)["span"].values.tolist() == [4] * 8


def test_lost_entries_are_unknown(tmp_path):
    times = TIMES.copy()
    times[1, 3] = np.nan
    found = timings_of_run(opened(tmp_path, times))[TIME].values
    assert np.isnan(found[1, 3]) and np.isfinite(np.delete(found.ravel(), 11)).all()


def test_steps_that_write_output_are_left_out_with_a_note(tmp_path):
    def writes(rank, step, values):
        if step == 5:
            values["quantities"] = [{"region": twin.OF_RANK, "quantity": twin.FILE_WRITE, "value": 10**7}]

    found = timings_of_run(opened(tmp_path, change=writes))
    assert np.isnan(found[TIME].values[:, 5]).all() and np.isfinite(found[TIME].values[:, :5]).all()
    assert found.attrs["left_out"] == "1 step that writes output is left out"


def test_largest_group_is_read_and_that_is_reported(tmp_path):
    def grouped(rank, values):
        values.update(monotonic_ns=10**12, group="io" if rank == 2 else "solver")

    found = timings_of_run(opened(tmp_path, change_rank=grouped))
    assert found["rank"].values.tolist() == [0, 1]
    assert "only the 2 ranks of group 'solver' are read" in found.attrs["left_out"]


def test_measured_steps_that_are_apart_are_reported(tmp_path):
    found = timings_of_run(opened(tmp_path, config={"measure_every": 10}))
    assert "one step in 10 was measured" in found.attrs["left_out"]


def test_injected_latencies_are_reported(tmp_path):
    path = regime_runs.write(tmp_path / "run", TIMES)
    info = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**info, "injected": {"seed": 1}}))
    assert "its regimes are not the machine's own" in timings_of_run(perfield.open(path)).attrs["left_out"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"field": "slove"}, "has no field or region 'slove'; did you mean solve"),
        ({"field": "sent_bytes"}, "'sent_bytes' is in B; regimes are of times"),
        ({"ranks": [7]}, "has no rank 7; choose some of the ranks 0 to 3"),
        ({"ranks": []}, "has ranks, but none was chosen"),
        ({"steps": slice(90, 99)}, "none of the steps 90 to 99; it measured the steps 0 to 4"),
        ({"reduce": "mean"}, "cannot be reduced by 'mean'; choose max"),
    ],
)
def test_what_the_run_lacks_is_refused(tmp_path, options, words):
    run = perfield.open(twin.write_run(tmp_path / "run"))
    with pytest.raises(RegimeError, match=words):
        timings_of_run(run, **options)


def test_run_without_steps_is_refused(tmp_path):
    run = perfield.open(twin.write_run(tmp_path / "run", steps=0))
    with pytest.raises(RegimeError, match="measured no step"):
        timings_of_run(run)


def test_regimes_of_a_run_are_those_that_were_planted(tmp_path):
    times = regime_runs.planted()
    found, fitted = regimes_of_run(opened(tmp_path, times), n_regimes=2)
    assert (found[REGIME].values == (times > 2e-3)).mean() > 0.99
    assert fitted.model.n_regimes == 2 and found.attrs["field"] == "step_time_s"
    assert found.attrs["model"] == fitted.model.to_json()


def test_arriving_steps_are_given_once_and_only_when_all_ranks_closed_them(tmp_path):
    def live(rank, values):
        twin.live_rank(rank, values)
        values.update(monotonic_ns=10**12)

    times = TIMES.copy()
    times[2, 5:] = np.nan  # not yet written
    run = opened(tmp_path, times, ended=False, change_rank=live)
    arriving = Arriving(run)
    first = arriving.read()
    np.testing.assert_allclose(first[TIME], times[:, :5], atol=2e-9)
    assert arriving.read().sizes["step"] == 0
    longest = Arriving(run, reduce="max").read()
    np.testing.assert_allclose(longest[TIME], largest(first)[TIME])


def test_arriving_steps_of_a_growing_run_fit_together(tmp_path):
    def live(rank, values):
        twin.live_rank(rank, values)
        values.update(monotonic_ns=10**12)

    times = np.tile(TIMES, 4)
    run = opened(tmp_path, times, ended=False, change_rank=live)
    (stream,) = (tmp_path / "run" / "stream").glob("*.pf")
    whole = stream.read_bytes()
    stream.write_bytes(whole[: len(whole) * 6 // 10])  # in the midst of an entry
    arriving = Arriving(perfield.open(run.path))
    first = arriving.read()
    stream.write_bytes(whole)
    second = arriving.read()
    assert 0 < first.sizes["step"] < 32 and second.sizes["step"] == 32 - first.sizes["step"]
    both = np.concatenate([first[TIME], second[TIME]], axis=1)
    np.testing.assert_allclose(both, times, atol=2e-9)
    assert second["step"].values[0] == first.sizes["step"]


def test_arriving_steps_go_on_where_a_long_entry_of_another_rank_joins_those_before(tmp_path):
    options = {"hosts": ("a", "b"), "ended": False, "change_rank": twin.live_rank}
    run = perfield.open(mixed_spans.write(tmp_path / "run", {0: [1] * 8, 1: [8]}, **options))
    streams, late = sorted((run.path / "stream").glob("*.pf")), {}
    for path, rank, kept in zip(streams, (0, 1), (4, 0)):
        late[path] = path.read_bytes()
        path.write_bytes(late[path][: run.places(rank=rank).offset[kept]])
    arriving = Arriving(perfield.open(run.path), ranks=[0])
    assert arriving.read()["step"].values.tolist() == [0, 1, 2, 3]
    for path, content in late.items():
        path.write_bytes(content)
    assert arriving.read()["step"].values.tolist() == [7]
