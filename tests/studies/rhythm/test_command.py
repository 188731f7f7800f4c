# SPDX-License-Identifier: BSD-3-Clause
"""`perfield lab rhythm`: sentences, table, JSON and Dataset of planted rhythms, and mistakes."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from known_runs import rhythm_runs

from perfield import commands
from perfield.studies.rhythm.model import course, phases
from perfield.studies.rhythm.words import sentences
from twins import twin


@pytest.fixture
def say(tmp_path, capsys):
    """Calls the command on a run with these stamps; returns what it prints."""

    def call(stamps, *options, **written):
        path = rhythm_runs.write(tmp_path / "run", stamps, **written)
        assert commands.main(["lab", "rhythm", str(path), *map(str, options)]) == 0
        return capsys.readouterr().out

    return call


def refused(capsys, *words):
    assert commands.main(["lab", "rhythm", *map(str, words)]) == 2
    return capsys.readouterr().err


def test_says_that_ranks_march_in_step(say):
    out = say(rhythm_runs.waiting(4, 50, period_s=0.02))
    assert out.startswith("4 ranks, 50 steps of 20 ms, from 0 s to 1 s.\n")
    assert "From the start, 4 ranks are synchronised" in out


def test_times_below_a_microsecond_have_their_unit(say):
    assert "time in ns" in say(rhythm_runs.waiting(4, 20, period_s=2e-8))


def test_says_when_ranks_were_furthest_apart_and_since_when_they_are_in_step(say):
    out = say(rhythm_runs.waiting(8, 100, delay=(2, 30, 10.0)))
    assert "Since 45.4 s, 8 ranks are synchronised" in out
    assert "They were furthest apart at 36.6 s (step 32): 3.64 steps." in out
    assert "R fell from 1.00 to 0.35 within 661 ms, at 30 s (step 30), while rank" in out


def test_says_how_far_each_rank_of_a_wavefront_is_behind(say):
    out = say(rhythm_runs.even(10, 50, behind_s=0.3 * np.arange(10)))
    assert "10 ranks are a wavefront: each is 0.3 step behind the one before it" in out


def test_says_that_r_does_not_see_whole_steps(say):
    out = say(rhythm_runs.even(6, 50, behind_s=np.arange(6.0)))
    assert "R = 1.00 does not see the whole steps between them" in out


def test_says_that_ranks_drift_apart(say):
    out = say(rhythm_runs.drifting(4, 200))
    assert "The ranks drift apart: from 0 s to 200 s rank 0 steadily gained 5.82 steps on rank 3, 3 %" in out
    assert "Messages lead from rank 3 to rank 0, yet did not hold it back." in out  # a ring


def test_says_which_steps_are_evaluated_where_most_ranks_ended_early(say):
    stamps = rhythm_runs.waiting(4, 50)
    for rank in range(3):
        del stamps[rank][30:]
    assert "30 steps of 1 s (of 50: those in which most ranks have a phase), from 0 s to" in say(stamps)


def test_counts_steps_from_where_ranks_have_phases():
    found = phases(rhythm_runs.steps_of(rhythm_runs.even(3, 20)), samples=200)
    summary = course(found.assign(phase=found["phase"].where(found["time"] > 10)))
    assert np.isnan(summary.moments[0].step)
    assert next(iter(sentences(summary))).startswith("3 ranks, 9 steps of 1 s,")


def test_single_rank_gets_a_sentence_and_no_table(say):
    out = say(rhythm_runs.even(1, 50))
    assert "A single rank has no rhythm with others" in out
    assert "spread" not in out


def test_says_which_rank_ended_early(say):
    stamps = rhythm_runs.waiting(4, 50)
    del stamps[1][20:]
    assert "Rank 1 ended early (at 19.9 s, after 20 steps); it counts only until then." in say(stamps)


def test_says_how_far_ranks_that_exchange_messages_are_apart(say):
    out = say(rhythm_runs.even(4, 50, behind_s=[0, 0.2, 0.4, 0.6]))  # a ring
    assert "exchange messages, the furthest two are typically 0.60 steps apart at the end" in out


def test_run_without_messages_says_nothing_of_them(say):
    def silent(rank, step, values):
        values["messages"] = []

    assert "exchange messages" not in say(rhythm_runs.even(3, 20), change=silent)


def test_drift_of_ranks_without_messages_is_put_down_to_that(say):
    def silent(rank, step, values):
        values["messages"] = []

    out = say(rhythm_runs.drifting(4, 200), change=silent)
    assert "No messages between these ranks are known that could make the fast ones wait." in out


def test_warns_of_uncertain_clocks(say):
    about = {"realtime_error_ns": 50_000_000}
    out = say(rhythm_runs.even(2, 20), hosts=("a", "b"), rank_values=about)
    assert "Clocks of nodes make phases uncertain by up to 0.1 steps" in out


def test_says_that_ranks_share_cpus(say):
    def together(rank, values):
        values.update(monotonic_ns=10**12, cpuset="0")

    out = say(rhythm_runs.even(4, 20), change_rank=together)
    assert "4 ranks on 1 PU, bound: times include scheduling, and so do phases." in out


def test_says_that_clocks_were_never_compared(say):
    about = {"realtime_error_ns": -1}
    out = say(rhythm_runs.even(2, 20), hosts=("a", "b"), rank_values=about)
    assert "How well the clocks of the nodes agree is unknown" in out


def test_each_group_of_ranks_is_evaluated_alone(say):
    def grouped(rank, values):
        values.update(monotonic_ns=10**12, group="io" if rank > 1 else "solver")

    fine, coarse = rhythm_runs.even(2, 40), rhythm_runs.even(2, 20, period_s=2.0)
    out = say({**fine, 2: coarse[0], 3: coarse[1]}, change_rank=grouped)
    assert out.startswith("solver:\n2 ranks, 40 steps of 1 s") and "\nio:\n2 ranks, 20 steps of 2 s" in out
    assert "drift" not in out


def test_running_run_is_evaluated_now(say):
    def live(rank, values):
        twin.live_rank(rank, values)
        values.update(monotonic_ns=10**12)

    out = say(rhythm_runs.waiting(3, 20), ended=False, change_rank=live)
    assert "3 ranks, 20 steps of 1 s" in out and "3 ranks are synchronised" in out


def test_table_has_the_wanted_rows(say):
    lines = say(rhythm_runs.waiting(3, 50), "--rows", 4).splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("time in s"))
    assert lines[head + 1 :] == [
        "     0.00     0    0.00  1.00      3  synchronised",
        "    16.53    17    0.00  1.00      3  synchronised",
        "    33.47    33    0.00  1.00      3  synchronised",
        "    50.00    50    0.00  1.00      3  synchronised",
    ]


def test_chosen_ranks_and_steps(say):
    out = json.loads(say(rhythm_runs.even(6, 40), "--ranks", "1-2,5", "--steps", "10:30", "--json"))
    (group,) = out["groups"]
    assert (group["n_ranks"], round(group["begin_s"]), round(group["end_s"])) == (3, 10, 30)


def test_json_has_the_course_and_the_sentences(say):
    out = json.loads(say(rhythm_runs.drifting(4, 200), "--json"))
    (group,) = out["groups"]
    assert (out["state"], group["drift"]["fast"], group["drift"]["slow"]) == ("finished", 0, 3)
    assert len(group["moments"]) == 10 and group["words"] in group["sentences"]
    assert any("drift apart" in sentence for sentence in group["sentences"])


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_dataset_holds_phases_and_metrics(say, tmp_path, ending):
    reader = {"engine": "scipy"}
    if ending == ".zarr":
        pytest.importorskip("zarr", reason="zarr is not installed here")
        reader = {"engine": "zarr", "consolidated": False}
    target = tmp_path / f"rhythm{ending}"
    say(rhythm_runs.waiting(3, 50), "--output", target)
    with xr.open_dataset(target, **reader) as found:
        assert found.phase.dims == ("oscillator", "time") and found.attrs["source"] == "run"
        assert {"order_parameter", "spread", "entropy", "phase_gradient", "phase_uncertainty"} <= set(found)
        assert float(found.spread.max()) == pytest.approx(0, abs=1e-9)


def test_sentences_need_no_matplotlib(delayed_run):
    hidden = "import sys; sys.modules['matplotlib'] = None; from perfield.commands import main; "
    words = [sys.executable, "-c", hidden + "sys.exit(main(sys.argv[1:]))", "lab", "rhythm", delayed_run]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "The delay travelled" in done.stdout and "The model's formula" in done.stdout


def test_says_where_a_delay_began_and_how_far_it_travelled(delayed_run, capsys):
    assert commands.main(["lab", "rhythm", str(delayed_run)]) == 0
    out = capsys.readouterr().out
    assert "A delay began on rank 2 in step 11" in out
    assert "The delay travelled forward through 5 ranks at 1 rank per step" in out
    assert "The model's formula beta kappa / (t_comp + t_comm) gives 1 rank per step, " in out
    assert "overstates" not in out


def test_formula_that_overstates_measured_speeds_is_reported_to_do_so(rhythm_run, capsys):
    words = ("--send-to", "1,-1", "--bytes", 100_000)
    path = rhythm_run(8, "pisolver", "--sleep", 0.02, "--steps", 30, "--delay", 5, 11, 60, *words)
    assert commands.main(["lab", "rhythm", str(path)]) == 0
    out = capsys.readouterr().out
    assert "gives 2 ranks per step" in out and "It overstates speeds measured with rendezvous" in out


def test_model_of_the_run_says_its_parameters_and_what_it_predicts(delayed_run, capsys):
    assert commands.main(["lab", "rhythm", str(delayed_run), "--oscillators", "--json"]) == 0
    model = json.loads(capsys.readouterr().out)["model"]
    assert any(sentence.strip().startswith("v_p = ") for sentence in model)
    assert "It starts at" in model[-1] and "measured are" in model[-1]


def test_page_is_drawn(say, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed here")
    say(rhythm_runs.waiting(4, 50), "--plot", tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_reported_with_their_remedy(tmp_path, capsys):
    path = rhythm_runs.write(tmp_path / "run", rhythm_runs.even(2, 5))
    one = rhythm_runs.write(tmp_path / "one", rhythm_runs.even(2, 1))
    none = twin.write_run(tmp_path / "none", steps=0)
    taken = tmp_path / "taken.nc"
    taken.touch()
    assert "expected ranks such as 0-7,12" in refused(capsys, path, "--ranks", "3-1")
    assert "no rank 2; choose some of the ranks 0 to 1" in refused(capsys, path, "--ranks", "0-2")
    assert "a rhythm needs at least two; measure more steps" in refused(capsys, one)
    assert "lists MPI calls that could close steps" in refused(capsys, none)
    assert "ends in .nc or .zarr" in refused(capsys, path, "-o", tmp_path / "rhythm.txt")
    assert "end it in .png or .svg" in refused(capsys, path, "--plot", tmp_path / "page.txt")
    assert "exists already" in refused(capsys, path, "-o", taken)
    assert "is not a directory; make it first" in refused(capsys, path, "-o", tmp_path / "absent/rhythm.nc")
