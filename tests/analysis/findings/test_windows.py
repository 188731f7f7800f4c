# SPDX-License-Identifier: BSD-3-Clause
"""Frames that are windows of the clock are called so in findings, too."""

from __future__ import annotations

from dataclasses import replace

from known_runs.observed_runs import observed_run

from perfield.analysis.findings import Answer, Finding
from perfield.analysis.findings.finding import Picture
from perfield.analysis.findings.sight import Sight
from perfield.analysis.findings.windows import in_windows, speaks_of_windows


def test_findings_of_windows_speak_of_windows_and_leave_names_alone():
    words = (
        "Steps take 2 s in 3 of 4 steps, from step to step; ranks march in step. See perfield steps --use."
    )
    finding = Finding("noise", words, 1.0, "Look at perfield_step.", Picture("heat_map"))
    asked = (
        Answer("Do steps get slower?", (finding,)),
        Answer("Why?", (), sight=Sight("In 40 time steps.", False)),
    )
    found, unseen = map(in_windows, asked)
    assert found.question == "Do windows get slower?"
    assert found.findings[0].words == (
        "Windows take 2 s in 3 of 4 windows, from window to window; ranks march in step. "
        "See perfield steps --use."
    )
    assert found.findings[0].remedy == "Look at perfield_step."
    assert unseen.sight == Sight("In 40 time steps.", False)


def test_a_region_called_step_keeps_its_name():
    run = replace(observed_run(regions={"solve": "solve"}), has_windows=True)
    assert speaks_of_windows(run) and not speaks_of_windows(replace(run, has_windows=False))
    assert not speaks_of_windows(replace(run, regions={"s": "Solver::step"}))
