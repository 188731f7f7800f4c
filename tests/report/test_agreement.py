# SPDX-License-Identifier: BSD-3-Clause
"""The first finding says what the closing lines say of the same run."""

from __future__ import annotations

import json
import re

import pytest
from compiled.call_numbers import call_row
from known_runs.runs_with_imbalance import WITHOUT_PU, noisy, placed, with_cpu_time, write

import perfield
from perfield import _bridge
from perfield.commands import main
from perfield.plots import figures
from perfield.plots.style import new_figure
from perfield.report import report
from perfield.report.charts import read_source
from perfield.report.facts import numbers
from perfield.report.text import as_text
from perfield.text import in_seconds
from twins import twin


def moving(costs):
    """Another rank is twenty times as slow for three steps each."""
    compute = noisy(costs)
    for step, of_ranks in enumerate(compute):
        of_ranks[step // 3 % len(costs)] *= 20
    return compute


@pytest.mark.parametrize(
    "compute, cells, said, kind, ranks, words",
    [
        (
            noisy([1, 2, 1, 1]),
            [512, 1024, 512, 512],
            ["rank 1 is slowest", "cell counts explain a factor of 1.60"],
            "imbalance by cells",
            [1],
            "cell counts explain a factor of 1.6 (",
        ),
        (
            noisy([1, 1, 3, 3]),
            [512] * 4,
            ["ranks 2 and 3 are slowest", "as many cells as others, but each costs 3.0 times as much"],
            "imbalance by cost per cell",
            [2, 3],
            "each has as many cells as others, but each costs 3",
        ),
        (
            noisy([1, 1, 4, 1]),
            [500, 600, 550, 500],
            ["rank 2 is slowest", "2.3 % more cells than the mean, but each costs 3.9 times as much"],
            "imbalance by cost per cell",
            [2],
            "2.3 % more cells than the mean, but each costs 3.88",
        ),
        (
            moving([1] * 6),
            [512] * 6,
            ["the slowest rank changes", "6 of 6 ranks in turn, 3 steps each"],
            "imbalance that moves",
            [],
            "6 of 6 ranks are slowest in turn, for 3 steps on average",
        ),
        (
            noisy([0.4, 1, 1, 1]),
            [512] * 4,
            ["rank 0 computes 40 % of the others' mean", None],
            "imbalance",
            [0],
            "Rank 0 computes 40 % of what the other ranks do on average.",
        ),
    ],
)
def test_the_first_finding_agrees_with_the_closing_lines(tmp_path, compute, cells, said, kind, ranks, words):
    path = write(tmp_path / "run", compute, sizes=[cells])
    lines = {line[:11].strip(): line[11:] for line in _bridge.summary_lines(str(path))}
    assert [lines["imbalance"].split(": ")[1], lines.get("why")] == said
    first = report(perfield.open(path)).findings[0]
    assert (first.kind, first.ranks.tolist()) == (kind, ranks) and words in first.words


def test_a_run_whose_ranks_differ_by_chance_has_no_imbalance_in_lines_and_findings(tmp_path):
    path = write(tmp_path / "run", noisy([1] * 8, spread=0.3), sizes=[[512] * 8])
    assert "no rank is clearly slower" in next(iter(_bridge.summary_lines(str(path))))
    assert not [finding for finding in report(perfield.open(path)).findings if "imbalance" in finding.kind]


def test_a_slow_node_holds_the_ranks_that_the_closing_lines_name(tmp_path):
    costs = [1.0] * 4 + [1.5] * 4 + [1.0] * 4
    path = write(tmp_path / "run", noisy(costs), hosts=("a", "b", "c"))
    assert any(
        "on host b" in line for line in _bridge.summary_lines(str(path)) if line.startswith("imbalance")
    )
    first = report(perfield.open(path)).findings[0]
    assert first.kind == "slow node" and first.hosts == ("b",) and first.ranks.tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize(
    ("in_turn_ms", "span", "share"), [(10, 1, 33), (0, 5, 43)], ids=["longest in turn", "five steps in one"]
)
def test_output_costs_the_same_share_of_the_elapsed_time_in_both(tmp_path, in_turn_ms, span, share):
    def change(rank, step, values):
        is_output = step in {3, 7, 11}
        longer_ms = 30 * is_output + in_turn_ms * (step % 2 == rank % 2)
        values.update(measured_ns=(10 + longer_ms) * 1_000_000)
        values["calls"] = [call_row("file_write", count=1, ns=1000, bytes_out=1_000_000)] * is_output

    path = twin.write_run(tmp_path / "run", ranks=2, steps=12, sum_every=span, change_step=change)
    output = next(line for line in _bridge.summary_lines(str(path)) if line.startswith("output"))
    assert output.endswith(f"cost {share} % of the time")  # 90 of 270 or 210 ms
    found = [finding for finding in report(perfield.open(path)).findings if finding.kind == "output steps"]
    assert f"cost 90 ms, {share} % of the time" in found[0].words
    assert found[0].saved_s == pytest.approx(0.09)


def test_numbers_are_the_same_in_summary_info_report_and_plots(tmp_path, capsys):
    """Rank 0 computes 30 ms in each step, the others 10, and all share two PUs, which leave 3 of 33 ms."""

    work = [30_000_000, 10_000_000, 10_000_000, 10_000_000]
    change = with_cpu_time(work, [0] * 4)
    path = write(
        tmp_path / "run",
        [[float(ns) for ns in work]] * 20,
        more=WITHOUT_PU,
        change=change,
        change_rank=placed(["0-1"] * 4),
    )
    lines = {line[:11].strip(): line[11:] for line in _bridge.summary_lines(str(path))}
    run = perfield.open(path)
    made = report(run)
    reported = numbers(made)

    assert main(["info", str(path), "--regions", "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert [line[11:] for line in info["lines"]][:-1] == [text for _, text in made.lines]

    saved = 20 * 3e-3
    ratio = float(re.match(r"[\d.]+", lines["imbalance"])[0])
    assert (ratio, reported["imbalance"]) == (pytest.approx(2), pytest.approx(2, rel=1e-3))
    assert ", costs 60.0 ms (9.1 %): " in lines["imbalance"]
    assert made.findings[0].saved_s == pytest.approx(saved, rel=1e-3) == reported["savings_s"]
    assert in_seconds(saved) == "60 ms" and "up to 60 ms, 9.1 % of all steps" in as_text(made)
    [region] = [row for row in info["regions"] if row["name"] == "solve"]
    assert (
        region["balancing_saves_s"] == pytest.approx(saved, rel=1e-3) == reported["solve.balancing_saves_s"]
    )
    assert "(balancing it would save 60.0 ms)" in lines["where"]

    for source in (None, read_source(made)):
        drawn = [new_figure() for _ in range(2)]
        for figure, draw in zip(drawn, (figures.imbalance_figure, figures.regions_figure)):
            draw(run, None, figure, source=source)
        texts = [
            text.get_text() for figure in drawn for axes in figure.axes for text in (axes.title, *axes.texts)
        ]
        assert sum("60 ms" in text for text in texts) == 3, "the head, the whole step, and the region"

    shares = re.findall(r"[\d.]+(?= %)", lines["efficiency"])
    for share, name in zip(shares, ("parallel_efficiency", "load_balance", "communication_efficiency")):
        assert 100 * reported[name] == pytest.approx(float(share), abs=0.51), name
