# SPDX-License-Identifier: BSD-3-Clause
"""`perfield lab regimes`: planted regimes of runs and files, saved patterns of machines, and mistakes."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import xarray as xr
from known_runs import regime_runs

from perfield import commands
from twins import twin

TIMES = regime_runs.planted()  # a quarter of the steps takes 3 ms, the others 1 ms


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two ranks whose steps take TIMES."""
    return regime_runs.write(tmp_path_factory.mktemp("regimes") / "run", TIMES, hosts=("alpha",))


@pytest.fixture(scope="module")
def machine(run):
    """The pattern that was saved of it."""
    path = run.parent / "machine.json"
    assert commands.main(["lab", "regimes", str(run), "--regimes", "2", "--save", str(path)]) == 0
    return path


@pytest.fixture
def say(capsys):
    """Calls the command; returns what it prints."""

    def call(*words):
        assert commands.main(["lab", "regimes", *map(str, words)]) == 0
        return capsys.readouterr().out

    return call


@pytest.fixture
def refused(capsys):
    """Calls the command, which must refuse; returns its sentence."""

    def call(*words):
        assert commands.main(["lab", "regimes", *map(str, words)]) == 2
        captured = capsys.readouterr()
        assert not captured.out
        return captured.err

    return call


def test_says_how_often_how_long_and_how_much_slower(run, say):
    out = say(run, "--regimes", 2)
    slow = TIMES > 2e-3
    assert out.startswith("2 ranks, 1,500 steps: time of a step.\n")
    assert f"{100 * slow.mean():.2g} % of the steps are in the slow regime (" in out
    assert "A step takes 3.01 ms there, 3.01 times as long as in the fast one (1 ms)." in out
    assert "they would take 1 ms instead of" in out and "The slow regime lasts" in out


def test_sentences_about_another_field_do_not_call_it_the_time_of_a_step(run, say):
    out = say(run, "--field", "compute_time_s", "--regimes", 1)
    assert out.startswith("2 ranks, 1,500 steps: compute_time_s per step.\n")
    assert "All steps are of one regime; compute_time_s is " in out


def test_table_has_statistics_and_the_transition_matrix(run, say):
    lines = say(run, "--regimes", 2).splitlines()
    head = next(line for line in lines if line.startswith("regime "))
    assert re.split("  +", head) == [
        "regime",
        "mean",
        "sd",
        "share of steps",
        "lasts, in steps",
        "lasts, in time",
    ]
    at = lines.index("The next step's regime, by probability:")
    assert lines[at + 1].split() == ["from", "to", "fast", "to", "slow"]
    assert sum(map(float, lines[at + 2].split()[1:])) == pytest.approx(1, abs=2e-3)


def test_number_of_regimes_is_chosen_by_bic_and_the_table_shows_it(run, say):
    out = say(run)
    assert "log-likelihood" in out and "the one with the smallest BIC is taken." in out
    assert [line.split()[0] for line in out.splitlines() if line.endswith("chosen")] == ["2"]
    assert "BIC" not in say(run, "--regimes", 2)


def test_json_holds_regimes_intervals_transitions_and_the_model(run, say):
    out = json.loads(say(run, "--json", "--regimes", 2))
    slow = out["regimes"][1]
    assert slow["name"] == "slow" and slow["mean_s"] == pytest.approx(3e-3, rel=0.02)
    assert slow["share_interval"][0] < slow["share"] < slow["share_interval"][1]
    assert np.sum(out["transition"], axis=1) == pytest.approx([1, 1])
    assert out["machine"]["hosts"] == ["alpha"] and out["model"]["perfield_regimes"] == 1


def test_output_is_the_regime_of_each_rank_and_step(run, say, tmp_path):
    assert str(tmp_path / "regimes.nc") in say(run, "--regimes", 2, "--output", tmp_path / "regimes.nc")
    with xr.open_dataset(tmp_path / "regimes.nc", engine="scipy") as found:
        assert (found["regime"].values == (TIMES > 2e-3)).mean() > 0.99
        assert found["probability"].values.min() > 0.4


def test_longest_time_of_all_ranks_is_one_series(run, say):
    out = say(run, "--reduce", "max", "--regimes", 2, "--json")
    slow = (TIMES > 2e-3).any(axis=0).mean()
    assert json.loads(out)["regimes"][1]["share"] == pytest.approx(slow, abs=0.01)


def test_ranks_and_steps_are_chosen(run, say):
    out = say(run, "--ranks", "1", "--steps", "100:900", "--regimes", 2)
    assert out.startswith("1 rank, 800 steps: time of a step.\n")


@pytest.mark.parametrize("emission", ["gaussian", "log-gaussian"])
def test_other_emissions_find_the_same_regimes(run, say, emission):
    out = json.loads(say(run, "--emission", emission, "--regimes", 2, "--json"))
    assert out["model"]["emission"] == emission
    assert out["regimes"][1]["share"] == pytest.approx((TIMES > 2e-3).mean(), abs=0.01)


def test_run_of_equal_steps_has_one_regime(say, tmp_path):
    path = regime_runs.write(tmp_path / "run", np.full((2, 300), 1e-3))
    assert "All steps are of one regime; they take 1 ms on average." in say(path)


def test_steps_that_write_output_are_no_slow_regime(say, tmp_path):
    def writes(rank, step, values):
        if step % 50 == 49:
            values["quantities"] = [{"region": twin.OF_RANK, "quantity": twin.FILE_WRITE, "value": 10**7}]

    times = 1e-3 * np.exp(0.02 * np.random.default_rng(0).standard_normal((2, 600)))
    times[:, 49::50] = 5e-3
    out = say(regime_runs.write(tmp_path / "run", times.round(9), change=writes))
    assert "All steps are of one regime" in out
    assert "note: 12 steps that write output are left out" in out


def test_slow_steps_of_the_program_itself_are_reported_apart(say, tmp_path):
    times = 1e-3 * np.exp(0.02 * np.random.default_rng(0).standard_normal((2, 600)))
    times[:, np.arange(600) % 20 >= 14] *= 3  # such as a coarser grid in the last six of twenty steps
    out = say(regime_runs.write(tmp_path / "run", times.round(9)), "--regimes", 2)
    assert "The slow regime begins every 20 steps: that is the program's own rhythm" in out


def test_unknown_and_negative_times_are_reported(say, tmp_path):
    times = TIMES.copy()
    times[0, 100], times[1, 200:210] = np.nan, -1
    np.save(tmp_path / "times.npy", times)
    out = say(tmp_path / "times.npy", "--regimes", 2)
    assert (
        "note: 10 of 3000 sampled times are negative" in out and "1 of 3000 sampled times is missing" in out
    )


# --- files of other tools -------------------------------------------------------------------------


def written(path, name):
    """TIMES in a file of some form."""
    import pandas as pd

    long = xr.DataArray(TIMES, dims=("rank", "step"), name="halo_s").to_dataframe().reset_index()
    long = pd.DataFrame({"rank": np.repeat([0, 1], 1500), "step": np.tile(np.arange(1500), 2)})
    target = path / name
    if name == "plain.npy":
        np.save(target, TIMES)
    elif name == "named.npz":
        np.savez(target, halo_ms=TIMES * 1e3, rank=[0, 1], step=np.arange(1500))
    elif name == "long.csv":
        long.assign(halo_us=TIMES.ravel() * 1e6).to_csv(target, index=False)
    elif name == "bare.csv":
        np.savetxt(target, TIMES.T, delimiter=",")
    elif name == "wide.csv":
        pd.DataFrame(TIMES.T, columns=["0", "1"]).to_csv(target, index=False)
    elif name == "long.parquet":
        long.assign(halo_s=TIMES.ravel()).to_parquet(target)
    return target


@pytest.mark.parametrize(
    "name", ["plain.npy", "named.npz", "long.csv", "bare.csv", "wide.csv", "long.parquet"]
)
def test_files_of_other_tools_have_the_same_regimes(say, tmp_path, name):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    out = say(written(tmp_path, name), "--regimes", 2)
    assert out.startswith("2 ranks, 1,500 steps: ")
    assert "A step takes 3.01 ms there, 3.01 times as long as in the fast one (1 ms)." in out


def test_single_series_and_chosen_part_of_a_file(say, tmp_path):
    np.save(tmp_path / "one.npy", TIMES[0])
    assert say(tmp_path / "one.npy", "--regimes", 2).startswith("1 rank, 1,500 steps")
    out = say(written(tmp_path, "plain.npy"), "--ranks", "1", "--steps", "200:1400", "--regimes", 2)
    assert out.startswith("1 rank, 1,200 steps")


def test_files_without_the_array_or_column_are_refused(refused, tmp_path):
    np.savez(tmp_path / "two.npz", a=TIMES, b=TIMES)
    assert "has the arrays 'a' and 'b'; choose one with --field" in refused(tmp_path / "two.npz")
    assert "has no array 'c'" in refused(tmp_path / "two.npz", "--field", "c")
    (tmp_path / "words.csv").write_text("0,1\nfast,slow\n")
    assert "'0' in " in refused(tmp_path / "words.csv") and "holds no numbers" in refused(
        tmp_path / "words.csv"
    )
    (tmp_path / "empty.csv").write_text("")
    assert "is not a table of timings" in refused(tmp_path / "empty.csv")
    (tmp_path / "twice.csv").write_text("rank,step,time_s\n0,1,2\n0,1,3\n")
    assert "several times of rank 0 in step 1" in refused(tmp_path / "twice.csv")
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY")
    assert "is not a NumPy file of numbers" in refused(tmp_path / "broken.npy")
    assert "does not exist" in refused(tmp_path / "absent.parquet")
    np.save(tmp_path / "cube.npy", np.ones((2, 3, 4)))
    assert "timings have 3 dimensions" in refused(tmp_path / "cube.npy")
    (tmp_path / "timings.txt").write_text("1 2 3")
    assert "neither a run directory nor a file of timings" in refused(tmp_path / "timings.txt")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.full((2, 500), -1e-3), "no value above 0"),
        (np.full((2, 500), np.nan), "time"),
        (np.ones((2, 5)), "few"),
    ],
)
def test_timings_that_carry_no_regimes_are_refused_in_a_sentence(refused, tmp_path, values, words):
    values = values + np.random.default_rng(0).random(values.shape) * 1e-4
    np.save(tmp_path / "bad.npy", values)
    out = refused(tmp_path / "bad.npy")
    assert words in out and "Traceback" not in out and out.rstrip().endswith(".")


@pytest.mark.parametrize("wrong", ["", "a", "0.5"])
@pytest.mark.parametrize("axis", ["rank", "step"])
def test_numbers_of_ranks_and_steps_that_are_none_are_refused(refused, tmp_path, axis, wrong):
    rows = [{"rank": 0, "step": k, "time_ms": 1.0, axis: wrong if k == 3 else k % 2} for k in range(20)]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (tmp_path / "bad.csv").write_text("\n".join(lines))
    out = refused(tmp_path / "bad.csv")
    assert f"'{axis}' in {tmp_path / 'bad.csv'} holds {wrong or 'nan'}; expected whole numbers" in out


def test_complex_numbers_are_no_times(refused, tmp_path):
    np.save(tmp_path / "bad.npy", np.full((2, 500), 1e-3j))
    assert "'time' in" in refused(tmp_path / "bad.npy") and "holds no numbers" in refused(
        tmp_path / "bad.npy"
    )


def test_infinite_and_negative_times_belong_to_no_regime(say, tmp_path):
    values = np.where(np.arange(1000) % 100 < 50, 1e-3, 3e-3) * np.exp(
        0.02 * np.random.default_rng(1).standard_normal((2, 1000))
    )
    values[0, :3] = np.inf, -1.0, -np.inf
    np.save(tmp_path / "holes.npy", values)
    out = json.loads(say(tmp_path / "holes.npy", "--regimes", 2, "--json"))
    assert [one["mean_s"] for one in out["regimes"]] == pytest.approx([1e-3, 3e-3], rel=0.01)
    assert all(np.isfinite(one["mean_s_interval"]).all() for one in out["regimes"])
    assert "1 of 2000 sampled times is negative" in out["notes"][0]


def test_constant_times_have_one_regime_and_no_table_of_choices(say, tmp_path):
    np.save(tmp_path / "constant.npy", np.full((2, 500), 1e-3))
    out = say(tmp_path / "constant.npy")
    assert "one regime, and nothing was fitted" in out and "(none)" not in out


def test_options_that_make_no_sense_are_refused(refused, run, tmp_path):
    assert "--regimes many: expected a number from 1 to 8, or auto" in refused(run, "--regimes", "many")
    assert "--regimes 0: expected a number" in refused(run, "--regimes", "0")
    assert "has no field or region 'wait'" in refused(run, "--field", "wait")
    assert "has no rank 9" in refused(run, "--ranks", "9")
    assert "is not a directory; make it first" in refused(run, "--save", tmp_path / "no" / "machine.json")
    (tmp_path / "there.json").write_text("{}")
    assert "exists already and was left as it is" in refused(run, "--save", tmp_path / "there.json")
    assert "--regimes 40: expected a number from 1 to 8" in refused(run, "--regimes", "40")
    assert "the longest times of all ranks have no place in the machine" in refused(
        run, "--regimes", 2, "--reduce", "max", "--by", "node"
    )


# --- patterns of machines -------------------------------------------------------------------------


def test_saved_pattern_says_where_when_and_how_long(machine):
    about = json.loads(machine.read_text())["machine"]
    assert about["hosts"] == ["alpha"] and about["measured"].startswith("2023-11-14T22:13:20")
    assert about["command"] == "./heat heat.input" and about["field"] == "step_time_s"
    assert about["mean_s"] == pytest.approx([1e-3, 3e-3], rel=0.02)
    assert about["dwell_steps"] == pytest.approx([20, 1 / 0.15], rel=0.25)
    assert about["dwell_s"] == pytest.approx(np.multiply(about["dwell_steps"], about["mean_s"]))


def test_same_machine_shows_the_same_pattern(run, machine, say):
    out = say(run, "--against", machine)
    assert "Compared with alpha, 2023-11-14:" in out
    assert "The slow regime occurs as often as before" in out and "takes" not in out.partition("Compared")[2]


def test_busier_machine_is_reported_from_the_saved_pattern(machine, say, tmp_path):
    busy = np.where(np.arange(1500) % 10 < 7, 3e-3, 1e-3) * np.exp(
        0.02 * np.random.default_rng(1).standard_normal((2, 1500))
    )
    path = regime_runs.write(tmp_path / "busy", busy.round(9))
    out = say(path, "--against", machine)
    assert "The slow regime occurs more often: in 70 % of the steps, before in 2" in out
    against = json.loads(say(path, "--against", machine, "--json"))["against"]
    assert against["machine"]["hosts"] == ["alpha"] and against["sentences"]


def test_machine_that_was_never_slow_is_reported_from_the_saved_pattern(machine, say, tmp_path):
    noise = 0.02 * np.random.default_rng(1).standard_normal((2, 600))
    np.save(tmp_path / "quiet.npy", 1e-3 * np.exp(noise - noise.mean()))
    out = say(tmp_path / "quiet.npy", "--against", machine)
    assert "The model has 2 regimes, but no step is in the slow one.\n" in out
    assert "All steps are in the fast regime; they take 1 ms on average.\n" in out
    assert "nan" not in out


def test_times_far_beyond_the_slow_regime_do_not_fit(refused, machine, tmp_path):
    path = regime_runs.write(tmp_path / "longer", regime_runs.planted(seed=3, faster=0.01).round(9))
    out = refused(path, "--against", machine)
    assert (
        "do not fit the pattern of alpha, 2023-11-14: nearly all are in its slow regime, and a step takes"
        in out
    )


def test_times_of_another_program_are_not_taken_for_slow_ones(refused, machine, tmp_path):
    path = regime_runs.write(tmp_path / "faster", regime_runs.planted(seed=3, faster=2.0).round(9))
    for option in ("--against", "--follow"):
        out = refused(path, option, machine)
        assert (
            "these times do not fit the pattern of alpha, 2023-11-14: in its slow regime a step takes" in out
        )
        assert "a pattern is of one program on one machine" in out


def test_ranks_that_share_cpus_are_reported(say, tmp_path):
    def together(rank, values):
        values.update(monotonic_ns=10**12, group="heat", cpuset="0")

    path = regime_runs.write(tmp_path / "run", TIMES, change_rank=together)
    assert "times include scheduling, and so do regimes" in say(path, "--regimes", 2)


def test_pattern_of_another_field_version_or_kind_is_refused(refused, run, machine, tmp_path):
    assert "is a pattern of 'step_time_s'" in refused(run, "--field", "waiting_time_s", "--against", machine)
    for option, value in (("--regimes", 3), ("--emission", "gaussian")):
        out = refused(run, option, value, "--against", machine)
        assert f"holds a fitted model, so {option} has no meaning; leave it out" in out
    assert "is of each rank's times" in refused(run, "--reduce", "max", "--against", machine)
    assert "does not exist; `perfield lab regimes RUN --save" in refused(
        run, "--against", tmp_path / "no.json"
    )
    newer = {**json.loads(machine.read_text()), "perfield_regimes": 2}
    (tmp_path / "newer.json").write_text(json.dumps(newer))
    assert "has version 2, but this perfield reads version 1" in refused(
        run, "--against", tmp_path / "newer.json"
    )
    model = {k: v for k, v in json.loads(machine.read_text()).items() if k != "machine"}
    (tmp_path / "model.json").write_text(json.dumps(model))
    assert "does not say where and when it was measured" in refused(run, "--against", tmp_path / "model.json")
    broken = json.loads(machine.read_text())
    broken["machine"]["share"] = [1, "half"]
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    assert "broken.json: this pattern of a machine has no list of numbers of share" in refused(
        run, "--against", tmp_path / "broken.json"
    )
    assert f"{tmp_path} is not a file" in refused(run, "--against", tmp_path)
    (tmp_path / "text.json").write_text("no JSON")
    assert "this is not a model of regimes" in refused(run, "--against", tmp_path / "text.json")


# --- while it runs --------------------------------------------------------------------------------


def test_follow_classifies_all_steps_and_says_who_is_slow(run, machine, say, tmp_path):
    out = say(run, "--follow", machine, "--output", tmp_path / "followed.nc")
    assert "steps 0 to 1499: " in out and "The run has finished: " in out
    with xr.open_dataset(tmp_path / "followed.nc", engine="scipy") as found:
        assert (found["regime"].values == (TIMES > 2e-3)).mean() > 0.98


def test_follow_as_json_is_a_line_for_each_step(run, machine, say):
    lines = [json.loads(line) for line in say(run, "--follow", machine, "--json").splitlines()]
    assert [line["step"] for line in lines] == list(range(1500))
    assert np.mean([line["regime"] for line in lines]) == pytest.approx((TIMES > 2e-3).mean(), abs=0.02)


def test_follow_refuses_what_it_cannot_follow(refused, run, machine, tmp_path):
    assert "leave out --steps" in refused(run, "--follow", machine, "--steps", "0:10")
    assert "leave out --save" in refused(run, "--follow", machine, "--save", tmp_path / "new.json")
    assert "leave out --events" in refused(run, "--follow", machine, "--events")
    assert "leave out --by" in refused(run, "--follow", machine, "--by", "rank")
    np.save(tmp_path / "times.npy", TIMES)
    assert "--follow needs a run" in refused(tmp_path / "times.npy", "--follow", machine)
