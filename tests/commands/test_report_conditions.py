# SPDX-License-Identifier: BSD-3-Clause
"""perfield report --json and --fail-if, as a continuous integration uses them."""

from __future__ import annotations

import json

import pytest

import perfield
from perfield.commands import main
from twins import twin


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A run of 4 ranks, which differ."""
    return str(twin.write_run(tmp_path_factory.mktemp("report") / "run", ranks=4, steps=5))


def test_json_is_printed_and_no_page_is_written(path, capsys):
    assert main(["report", path, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["run"]["ranks"] == 4
    assert printed.err == ""
    assert not (twin.Path(path) / "analysis" / "report.html").exists()


def test_condition_that_holds_exits_with_1_and_says_the_value(path, capsys):
    words = ["--json", "--fail-if", "ranks == 4", "--fail-if", "ranks > 4", "--fail-if", "steps < 10"]
    assert main(["report", path, *words]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["numbers"]["ranks"] == 4
    assert printed.err.splitlines() == [
        "perfield report: fails: ranks is 4, so 'ranks == 4' holds",
        "perfield report: fails: steps is 5, so 'steps < 10' holds",
    ]


def test_fields_have_a_mean_per_step_and_rank_and_that_of_the_largest_rank(path, capsys):
    values = perfield.open(path).values(["solve_time_s"])[:, 0].mean(axis=0)
    words = ["--fail-if", "solve_time_s > 0", "--fail-if", "solve_time_s.max > 0ms", "--fail-if", "rank > 9"]
    assert main(["report", path, "--json", *words]) == 1
    mean, largest = (float(line.split(" is ")[1].split()[0]) for line in capsys.readouterr().err.splitlines())
    assert values.max() > values.mean()
    assert (mean, largest) == (pytest.approx(values.mean()), pytest.approx(values.max()))


def test_conditions_that_do_not_hold_exit_with_0(path, capsys):
    words = ["--fail-if", "imbalance > 100", "--fail-if", "solve.time_s > 1min"]
    assert main(["report", path, "--text", *words]) == 0
    assert capsys.readouterr().err == ""


def test_finding_that_is_not_proven_exits_with_3_and_says_what_would_have_been_found(path, capsys):
    """Five steps show no trend of memory, whatever it does."""
    grows = "finding:'growing memory'.count > 0"
    assert main(["report", path, "--json", "--fail-if", grows, "--fail-if", "steps < 2"]) == 3
    printed = capsys.readouterr()
    assert json.loads(printed.out)["numbers"]["finding:'growing memory'.count"] is None
    (line,) = printed.err.splitlines()
    assert line.startswith(f"perfield report: '{grows}' is not proven: ")
    assert main(["report", path, "--json", "--fail-if", grows, "--fail-if", "steps < 10"]) == 1
    assert capsys.readouterr().err.startswith("perfield report: fails: steps is 5")


def test_finding_that_a_no_denies_is_0(path, capsys):
    assert main(["report", path, "--json", "--fail-if", "finding:'far device'.count > 0"]) in (0, 2)
    assert main(["report", path, "--json", "--fail-if", "finding:'output steps'.count > 0"]) == 0
    assert capsys.readouterr().err.count("not proven") == 0


def test_file_of_a_page_that_is_not_written_is_refused(path, tmp_path, capsys):
    assert main(["report", path, "--json", "-o", str(tmp_path / "report.json")]) == 2
    assert "-o names the page, but --text and --json write none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("imbalanc > 1.3", "no number 'imbalanc' of 'imbalanc > 1.3'; the nearest name"),
        ("imbalance", "'imbalance' is no condition"),
        ("imbalance > a lot", "'a lot' in 'imbalance > a lot' is not a number"),
        ("between_nodes_bytes > 3 s", "has another unit"),
    ],
)
def test_condition_that_cannot_be_checked_exits_with_2_and_prints_no_report(path, condition, reason, capsys):
    assert main(["report", path, "--json", "--fail-if", condition]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert reason in printed.err
