# SPDX-License-Identifier: BSD-3-Clause
"""Where the browser view shows a finding: its step, field and rank, or the nearest that the run has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import perfield
from perfield.analysis.findings import Finding, Picture
from perfield.report import report
from perfield.report.text import as_text
from perfield.report.view import View, view_of
from twins import twin

ANY = Picture("machine")
NONE = np.zeros(0, np.int64)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The report of a run of 8 steps."""
    path = twin.write_run(tmp_path_factory.mktemp("view") / "run", ranks=4, steps=8)
    return report(perfield.open(path))


def about(picture=ANY, ranks=NONE, steps=NONE, pairs=()) -> Finding:
    """A finding about these ranks, steps and pairs."""
    its = {"ranks": np.array(ranks), "steps": np.array(steps), "pairs": np.array(pairs, int).reshape(-1, 2)}
    return Finding("imbalance", "Words.", 0.5, "Balance.", picture, **its)


def test_the_view_shows_what_the_finding_names(made):
    named = view_of(about(Picture("heat_map", "compute_time_s", 6), ranks=[2, 3], steps=[1]), made)
    assert named == View(6, "compute_time_s", 2)
    assert named.address == "http://localhost:8017/#frame=6&field=compute_time_s&rank=2"
    assert view_of(about(Picture("machine", "sent_count", 1)), made) == View(1, "sent_count")


def test_without_a_step_the_view_shows_one_of_middling_height(made):
    shown = view_of(about(Picture("heat_map", "compute_time_s"), pairs=[(3, 1)]), made)
    largest = made.observed.largest["compute_time_s"]
    assert largest[shown.frame] == np.sort(largest)[len(largest) // 2]
    assert shown.rank == 3
    assert view_of(about(steps=[2]), made) == View(2)


def test_steps_in_which_nothing_happens_are_not_shown(made):
    few = np.zeros(8)
    few[[1, 5, 6]] = 30, 10, 20
    observed = replace(made.observed, largest={**made.observed.largest, "io_write_bytes": few})
    writes = Picture("heat_map", "io_write_bytes")
    assert view_of(about(writes), replace(made, observed=observed)).frame == 6
    assert view_of(about(writes, steps=[0, 5]), replace(made, observed=observed)).frame == 5


def test_fields_and_steps_that_the_run_lacks_are_left_out(made):
    missing = Picture("mesh", "compute_time_per_cell_s", 900)
    assert view_of(about(missing, ranks=[1]), made) == View(None, None, 1)
    assert view_of(about(Picture("message_matrix")), made) is None


def test_text_says_the_command_once_where_a_finding_has_a_place(made):
    some = replace(made, findings=(about(ranks=[1]), about(ranks=[2])))
    assert as_text(some).count(f"perfield serve {made.run.path}") == 1
    none = replace(made, findings=(about(),))
    assert "perfield serve" not in as_text(none)
