# SPDX-License-Identifier: BSD-3-Clause
"""`perfield compare --regimes`: planted changes within the same regimes, and its answers to mistakes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from known_runs import regime_runs

from perfield import commands

N_STEPS = 1200


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of two ranks; the second is 5 % faster in all regimes."""
    folder = tmp_path_factory.mktemp("compared")
    regime_runs.write(folder / "old", regime_runs.planted(2, N_STEPS, seed=1), run_id=1)
    times = regime_runs.planted(2, N_STEPS, seed=2, faster=1 / 0.95).round(9)
    regime_runs.write(folder / "new", times, run_id=2)
    return folder / "old", folder / "new"


def compare(*words: object) -> int:
    return commands.main(["compare", *map(str, words)])


def test_first_line_says_how_much_faster_the_fast_regime_is(runs, capsys):
    assert compare(*runs, "--regimes", 2) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("In the fast regime new takes ") and " % less per step than old (-" in lines[0]
    assert "before: old, 2 ranks, 1,200 steps" in lines
    rows = {line.partition("  ")[0]: line for line in lines}
    assert rows["in the fast regime"].endswith("yes") and "share of steps in the slow regime" in rows


def test_json_holds_improvements_shares_and_the_pooled_model(runs, capsys):
    assert compare(*runs, "--regimes", 2, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    fast, slow = found["regimes"]
    assert fast["share"] == pytest.approx(0.05, abs=0.005) and fast["low"] < fast["share"] < fast["high"]
    assert slow["share"] == pytest.approx(0.05, abs=0.03)
    assert sum(one["before"] for one in found["shares"]) == pytest.approx(1)
    assert found["model"]["perfield_regimes"] == 1 and found["n_steps"] == [N_STEPS, N_STEPS]


def test_halves_of_one_run_do_not_differ(runs, capsys):
    assert compare(runs[0], "--regimes", 2, "--steps", "0:600", "600:1200") == 0
    out = capsys.readouterr().out
    assert "In the fast regime part 0:600 and part 600:1200 do not differ by more than chance" in out


def test_steps_and_field_are_chosen_for_both(runs, capsys):
    assert compare(*runs, "--regimes", 2, "--steps", "100:1100", "--field", "step_time_s") == 0
    assert "after:  new, 2 ranks, 1,000 steps" in capsys.readouterr().out


def test_runs_that_cannot_be_compared_by_regimes_are_refused(runs, capsys, tmp_path):
    def refused(*words):
        assert compare(*words) == 2
        captured = capsys.readouterr()
        assert not captured.out
        return captured.err

    assert "leave out --images" in refused(*runs, "--regimes", "--images")
    assert "compares two runs, or two parts of one" in refused(runs[0], "--regimes")
    assert "--regimes few: expected a number" in refused(*runs, "--regimes", "few")
    assert "are the same run" in refused(runs[0], runs[0], "--regimes", 2)
    level = 1e-3 * np.exp(0.02 * np.random.default_rng(0).standard_normal((2, 2, 600)))
    for number, times in enumerate(level):
        regime_runs.write(tmp_path / f"quiet{number}", (times * (1 + number)).round(9), run_id=5 + number)
    quiet = tmp_path / "quiet0", tmp_path / "quiet1"
    assert "are too few for 2 regimes" in refused(*quiet, "--regimes", "--steps", "0:300")
    assert "nothing separates the machine's state from the program's change" in refused(*quiet, "--regimes")


def test_another_number_of_ranks_is_reported(runs, tmp_path, capsys):
    regime_runs.write(tmp_path / "three", regime_runs.planted(3, N_STEPS, seed=3), run_id=9)
    assert compare(runs[0], tmp_path / "three", "--regimes", 2) == 0
    assert "note: old has 2 ranks and three 3 ranks: the longest time of more" in capsys.readouterr().out
