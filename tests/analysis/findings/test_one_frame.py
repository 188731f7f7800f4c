# SPDX-License-Identifier: BSD-3-Clause
"""A run that is one frame: who computes longest, who waits for whom, files and places are asked, and what no
test can show is marked as not proven."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.observed_runs import observed_run, plain_placement

import perfield
from perfield.analysis.findings import answers, calls_on_files, imbalance, ranked, slow_nodes, waited_for
from perfield.report import report
from perfield.report.text import as_text
from twins import twin


def one_frame(costs, **fields):
    """One frame in which ranks compute so many s."""
    return observed_run(len(costs), 1, compute_time_s=np.array([costs], float), **fields)


def test_slowest_rank_is_named_and_not_proven():
    (found,) = imbalance.find(one_frame([1, 1, 3.3, 1]))
    assert found.ranks.tolist() == [2] and found.chance is None
    assert found.words.startswith("Rank 2 computes 2.1 times as long as the mean of all ranks")
    assert found.unproven == "one number per rank allows no test against chance"
    assert found.saved_s == pytest.approx(3.3 - 6.3 / 4, rel=1e-6)


def test_ranks_within_five_percent_of_the_longest_are_named_together():
    (found,) = imbalance.find(one_frame([1, 1, 3.3, 3.2]))
    assert found.ranks.tolist() == [2, 3]


def test_differences_below_a_tenth_name_nobody():
    assert not list(imbalance.find(one_frame([1, 1, 1.1, 1])))


def test_cells_explain_one_frame_by_a_test_over_ranks():
    cells = np.array([[512, 512, 1024, 512, 512, 512, 512, 512.0]])
    (found,) = imbalance.find(one_frame(cells[0] / 100 + 0.01 * np.arange(8), cells=cells))
    assert found.kind == "imbalance by cells" and found.unproven


def test_regions_of_one_frame_are_named():
    solve = np.array([[0.2, 0.2, 2.5, 0.2]])
    (found,) = imbalance.find(one_frame([1, 1, 3.3, 1], solve_time_s=solve, regions=["solve"]))
    assert found.regions == ("solve",)


def test_rank_waited_for_is_named():
    run = one_frame(
        [1, 1, 1, 1],
        step_time_s=[[3.0] * 4],
        waiting_time_s=[[2.0, 2.0, 0, 2.0]],
        waited_for_time_s=[[0, 0, 6.0, 0]],
        waits=[(rank, 2, 1, 2.0) for rank in (0, 1, 3)],
    )
    (found,) = waited_for.find(run)
    assert found.ranks.tolist() == [2] and found.unproven and found.chance is None


def test_slow_node_of_one_frame_is_proven_by_its_ranks():
    """The test is over ranks, so one frame is enough."""
    costs = [1.0, 1.01, 0.99, 1.0, 1.5, 1.51, 1.49, 1.5, 1.0, 1.01, 0.99, 1.0]
    run = one_frame(costs, placement=plain_placement(12))
    (found,) = slow_nodes.find(run)
    assert found.hosts == ("n2",) and found.chance < 1e-3 and not found.unproven
    assert not list(imbalance.find(run))


def test_files_of_one_frame_are_asked():
    run = one_frame(
        [1, 1, 1, 1],
        step_time_s=[[3.0] * 4],
        waiting_time_s=[[0, 2.0, 2.0, 2.0]],
        io_time_s=[[2.0, 0, 0, 0]],
        io_write_bytes=[[2000, 0, 0, 0]],
        io_write_count=[[500, 0, 0, 0]],
    )
    (found,) = calls_on_files.find(run)
    assert found.ranks.tolist() == [0] and found.unproven and "500 calls move 2 kB" in found.words
    assert found.kind in [finding.kind for finding in ranked(answers(run))]


def test_summary_and_report_of_a_run_without_steps_name_one_rank(tmp_path):
    def computing(rank, kind):
        ns = 2_000_000_000
        waits = {"call": 45, "time_class": 2, "count": 1, "ns": 0 if rank == 2 else 1_500_000_000}
        return {"end_ns": ns, "measured_ns": ns, "calls": [waits]}

    path = twin.write_run(tmp_path / "run", steps=0, outside=computing)
    made = report(perfield.open(path))
    line = dict(made.lines)["imbalance"]
    assert ", costs " in line and line.endswith(": rank 2 is slowest; not proven: one frame")
    text = as_text(made)
    assert "Rank 2 computes 2.29 times as long as the mean of all ranks" in text
    assert "Not proven: one number per rank allows no test against chance." in text
    assert "Do some ranks compute longer" not in text.partition("Not checked")[2]
