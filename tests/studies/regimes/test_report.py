# SPDX-License-Identifier: BSD-3-Clause
"""What a report says about the regimes of a run."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs import regime_runs

import perfield
from perfield.report import report
from perfield.report.facts import facts
from perfield.report.sections import nothing_found, sections
from perfield.studies.regimes import report as of_report
from twins import twin


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The report of two ranks that a planted model slows down in a quarter of the steps."""
    path = tmp_path_factory.mktemp("regimes") / "run"
    return report(perfield.open(regime_runs.write(path, regime_runs.planted(n_steps=600))))


def section(made):
    return next((each for each in sections(made) if each.name == "regimes"), None)


def test_section_says_how_long_steps_take_in_each_regime_and_how_often(made):
    table, follows = section(made).tables
    fast, slow = table.rows
    times = regime_runs.planted(n_steps=600)
    is_slow = times > 2e-3
    assert (fast[0], slow[0]) == ("fast", "slow")
    said = [float(row[1].split()[0]) * {"ms": 1e-3, "µs": 1e-6}[row[1].split()[1]] for row in (fast, slow)]
    assert said == pytest.approx([times[~is_slow].mean(), times[is_slow].mean()], rel=0.01)
    assert float(slow[3].split(" %")[0]) == pytest.approx(100 * is_slow.mean(), abs=1.5)
    assert [row[0] for row in follows.rows] == ["fast", "slow"]
    assert "fall into 2 regimes" in section(made).words[0]


def test_facts_hold_the_same_numbers(made):
    fast, slow = facts(made)["regimes"]
    assert (fast["name"], slow["name"]) == ("fast", "slow")
    assert fast["mean_s_low"] < fast["mean_s"] < fast["mean_s_high"] < slow["mean_s_low"]
    assert sum(fast["next"]) == pytest.approx(1) and fast["share"] + slow["share"] == pytest.approx(1)


def test_report_without_findings_points_to_the_slow_phases(made):
    assert nothing_found(made).endswith('see "Fast and slow phases".')


def test_image_shows_the_heat_maps_and_the_sums(made):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from perfield.report.charts import plots

    images, missing = plots(made)
    (image,) = [each for each in images if each.name == "regimes"]
    assert not missing and "sum of the fastest steps" in image.alt


def test_run_of_few_steps_has_no_regimes(tmp_path):
    short = report(perfield.open(twin.write_run(tmp_path / "run", ranks=4, steps=5)))
    assert section(short) is None and facts(short)["regimes"] == []


def test_equal_steps_are_said_to_form_one_regime(tmp_path):
    level = report(perfield.open(regime_runs.write(tmp_path / "run", np.full((2, 600), 1e-3))))
    assert "no slow phases stand out" in section(level).words[0] and not section(level).images
    assert "see" not in nothing_found(level)


def test_of_many_times_some_ranks_are_taken_and_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(of_report, "MOST_TIMES", 2 * 300)
    many = report(perfield.open(regime_runs.write(tmp_path / "run", regime_runs.planted(5, 300))))
    assert next(iter(many.studied.values())).times["rank"].values.tolist() == [0, 4]
    assert "of 2 ranks" in section(many).words[0]


def test_ranks_that_are_taken_step_together(tmp_path, monkeypatch):
    monkeypatch.setattr(of_report, "MOST_TIMES", 2 * 300)
    path = regime_runs.write(
        tmp_path / "run",
        regime_runs.planted(5, 300),
        change_rank=lambda rank, values: values.update(group="first" if rank < 2 else "second"),
    )
    assert of_report.read(perfield.open(path)).times["rank"].values.tolist() == [2, 4]
