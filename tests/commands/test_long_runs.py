# SPDX-License-Identifier: BSD-3-Clause
"""Commands on a run whose ranks add up ever more steps, each by itself: values are those of one step."""

from __future__ import annotations

import json

import pytest
from known_runs import mixed_spans

import perfield
from perfield import commands
from twins import twin

N_STEPS, LONGEST = 512, 64


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs that differ in nothing but how many steps their entries add up."""
    folder = tmp_path_factory.mktemp("long")

    def steady(rank, step, values):
        values["regions"][0] = twin.region_row(1, 1_000_000 * (rank + 1))
        values["measured_ns"] = 5_000_000
        values["calls"] = []
        values["quantities"] = [{"region": twin.OF_RANK, "quantity": twin.FILE_WRITE, "value": 100_000}]

    spans = {rank: [1] * N_STEPS for rank in range(4)}
    mixed_spans.write(folder / "even", spans, run_id=1, change=steady)
    growing = [1] * 256 + [8] * 16 + [LONGEST] * 2
    later = [1] * 384 + [LONGEST] * 2
    spans = {0: growing, 1: later, 2: growing, 3: later}
    mixed_spans.write(folder / "long", spans, run_id=2, change=steady)
    return folder / "even", folder / "long"


def out_of(capsys, *words: object) -> str:
    assert commands.main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def test_the_length_of_frames_is_no_change_of_the_program(runs, capsys):
    found = json.loads(out_of(capsys, "compare", *runs, "--json"))
    row = next(row for row in found["rows"] if row["key"] == "compute_time_s")
    assert row["before"] == pytest.approx(row["after"], rel=1e-6)


def test_info_says_how_long_frames_are(runs, capsys):
    said = out_of(capsys, "info", runs[1])
    assert "512 on 4 ranks" in said and f"{LONGEST} steps share an entry" in said


def test_a_report_has_no_finding_of_the_lengths_of_frames(runs, capsys):
    even, long = (json.loads(out_of(capsys, "report", run, "--json", "--no-pictures")) for run in runs)
    assert [each["kind"] for each in long["findings"]] == [each["kind"] for each in even["findings"]]


def test_pictures_show_the_mean_of_a_step(runs, capsys, tmp_path):
    last = perfield.open(runs[1]).frame(-1).label
    words = ("--topology", "--steps", f"1,{last}", "--fields", "compute_time_s", "-o", tmp_path)
    out_of(capsys, "render", runs[1], *words)
    titles = [step["title"] for step in json.loads((tmp_path / "pictures.json").read_text())["steps"]]
    assert "mean of" not in titles[0] and f"mean of {LONGEST} steps" in titles[1]
