# SPDX-License-Identifier: BSD-3-Clause
"""Output steps, and ranks that use files for others."""

from dataclasses import replace

import numpy as np
import pytest
from known_runs.observed_runs import observed_run, plain_placement

from perfield.analysis.findings import (
    calls_on_files,
    io_by_one_rank_per_node,
    io_through_few_ranks,
    output_steps,
)
from perfield.analysis.findings.finding import Finding

EVERY_20TH = (np.arange(60) % 20 == 19)[:, None]
WRITE_S = 0.5


def run_of_writers(writers, waits=True, seed=0, **more):
    """Writers take 0.5 s for 100 MB in every 20th step; the others wait for them unless given."""
    here = EVERY_20TH * np.isin(np.arange(8), writers)
    compute = 0.1 * (1 + 0.02 * np.random.default_rng(seed).standard_normal((60, 8)))
    step = compute.max(axis=1, keepdims=True) + EVERY_20TH * WRITE_S + 0.001
    fields = {
        "compute_time_s": compute,
        "step_time_s": np.broadcast_to(step, (60, 8)),
        "waiting_time_s": step - compute - WRITE_S * here - 0.001 if waits else np.zeros((60, 8)),
        "io_time_s": WRITE_S * here,
        "io_write_bytes": 1e8 * here,
    }
    return observed_run(**{**fields, **more})


def only(module, observed) -> Finding:
    (finding,) = module.find(observed)
    return finding


def test_output_steps_are_reported_as_the_closing_lines_do():
    finding = only(output_steps, run_of_writers(range(8)))
    assert finding.kind == "output steps"
    assert finding.words.startswith("The program writes every 20 steps (3 of 60), 800 MB each time. ")
    assert "take 5.8" in finding.words
    assert finding.steps.tolist() == [19, 39, 59]
    assert finding.saved_s == pytest.approx(1.5, rel=0.05)
    assert finding.chance == pytest.approx(0.001)


def test_irregular_output_steps_are_counted():
    observed = run_of_writers(range(8))
    moved = np.r_[np.delete(np.arange(60), 19)[:10], 19, np.delete(np.arange(60), 19)[10:]]
    shuffled = replace(
        observed,
        totals={name: values[moved] for name, values in observed.totals.items()},
        largest={name: values[moved] for name, values in observed.largest.items()},
    )
    assert "writes in 3 of 60 steps," in only(output_steps, shuffled).words


def test_writing_in_every_step_and_more_at_the_end_names_no_steps():
    last = np.arange(60)[:, None] == 59
    first = np.arange(8) == 0
    every = run_of_writers([0], io_write_bytes=1e5 * first + 4e6 * last * first, io_time_s=0.02 * first)
    finding = only(io_through_few_ranks, every)
    assert "Rank 0 writes all of the 10 MB that the 8 ranks write in files; the others wait" in finding.words
    assert not len(finding.steps)


def test_steps_that_write_but_take_no_longer_are_no_finding():
    quick = observed_run(io_write_bytes=1e8 * EVERY_20TH, io_time_s=0.0)
    assert list(output_steps.find(quick)) == []


def test_a_single_output_step_is_no_finding():
    once = np.arange(60)[:, None] == 30
    observed = observed_run(io_write_bytes=1e8 * once, step_time_s=0.1 + once, compute_time_s=0.1)
    assert list(output_steps.find(observed)) == []


def test_output_steps_that_a_writer_explains_are_no_finding_of_their_own():
    observed = run_of_writers([3])
    assert list(output_steps.find(observed)) != []
    longer = observed.tables["io_time_s"] * 8 / 7
    assert list(output_steps.find(replace(observed, tables={**observed.tables, "io_time_s": longer}))) == []


def test_one_rank_that_writes_for_all_is_reported_before_its_output_steps():
    observed = run_of_writers([3])
    finding = only(io_through_few_ranks, observed)
    assert finding.kind == "I/O through few ranks"
    assert finding.words == (
        "Rank 3 writes all of the 300 MB that the 8 ranks write in files, every 20 steps (3 of 60); the "
        "others wait for that."
    )
    assert finding.ranks.tolist() == [3]
    assert finding.steps.tolist() == [19, 39, 59]
    assert finding.saved_s == pytest.approx(1.5 * 7 / 8, rel=0.01)
    assert only(output_steps, observed).saved_s < finding.saved_s


def test_a_quarter_of_the_ranks_is_few():
    assert only(io_through_few_ranks, run_of_writers([3, 5])).words.startswith(
        "Ranks 3 and 5 write all of the 600 MB that"
    )


def test_ranks_that_all_write_are_no_finding():
    assert list(io_through_few_ranks.find(run_of_writers(range(8)))) == []


def test_three_of_eight_writers_are_not_few():
    assert list(io_through_few_ranks.find(run_of_writers([1, 3, 5]))) == []


def test_ranks_that_wait_in_a_collective_file_call_count_as_waiting():
    observed = run_of_writers([3], waits=False, io_time_s=WRITE_S * EVERY_20TH)
    assert only(io_through_few_ranks, observed).ranks.tolist() == [3]


def test_rows_of_several_steps_say_the_same_ranks_and_steps():
    single = run_of_writers([3])
    pairs = {name: np.nansum(table.reshape(30, 2, 8), axis=1) for name, table in single.tables.items()}
    joined = replace(single, row=np.arange(60) // 2, tables=pairs)
    one, other = only(io_through_few_ranks, single), only(io_through_few_ranks, joined)
    assert (one.words, one.steps.tolist()) == (other.words, other.steps.tolist())
    assert one.saved_s == pytest.approx(other.saved_s, rel=1e-6)


def test_a_writer_that_nobody_waits_for_is_no_finding():
    assert list(io_through_few_ranks.find(run_of_writers([7], waits=False))) == []


def test_a_slow_log_is_no_finding():
    log = EVERY_20TH * (np.arange(8) == 0)
    assert list(io_through_few_ranks.find(run_of_writers([0], io_write_bytes=200.0 * log))) == []


def test_ranks_that_read_for_others_are_reported_so():
    observed = run_of_writers([0])
    read = observed.tables["io_write_bytes"]
    nothing = np.zeros(60)
    observed = replace(
        observed,
        tables={**observed.tables, "io_read_bytes": read, "io_write_bytes": 0 * read},
        totals={**observed.totals, "io_read_bytes": read.sum(axis=1), "io_write_bytes": nothing},
    )
    assert only(io_through_few_ranks, observed).words.startswith("Rank 0 reads all of the 300 MB")
    assert only(io_through_few_ranks, observed).picture.field == "io_read_bytes"


def test_the_first_rank_of_each_node_that_writes_is_reported_by_its_node():
    observed = run_of_writers([0, 4], placement=plain_placement(8))
    finding = only(io_by_one_rank_per_node, observed)
    assert finding.kind == "I/O by one rank per node"
    assert finding.words == (
        "On each of 2 nodes the first rank writes far more than the others: ranks 0 and 4 account for all of "
        "600 MB, every 20 steps (3 of 60); the others wait for that."
    )
    assert finding.ranks.tolist() == [0, 4]
    assert finding.hosts == ("n1", "n2")
    assert list(io_through_few_ranks.find(observed)) == []


def test_another_rank_of_each_node_is_not_called_the_first():
    observed = run_of_writers([1, 6], placement=plain_placement(8))
    assert "nodes one rank writes far more" in only(io_by_one_rank_per_node, observed).words


def test_a_rank_that_writes_more_than_the_others_of_its_node_is_reported():
    observed = run_of_writers([0, 4], placement=plain_placement(8))
    all_write = observed.tables["io_write_bytes"] + 2e7 * EVERY_20TH
    observed = replace(observed, tables={**observed.tables, "io_write_bytes": all_write.astype(np.float32)})
    assert only(io_by_one_rank_per_node, observed).ranks.tolist() == [0, 4]


@pytest.mark.parametrize("writers", [[0], [0, 1], range(8), [0, 4, 5]])
def test_other_writers_are_not_one_per_node(writers):
    observed = run_of_writers(writers, placement=plain_placement(8))
    assert list(io_by_one_rank_per_node.find(observed)) == []


def test_nodes_whose_writers_write_different_amounts_are_not_alike():
    observed = run_of_writers([0, 4], placement=plain_placement(8))
    written = observed.tables["io_write_bytes"] * np.where(np.arange(8) == 4, np.float32(0.01), 1)
    observed = replace(observed, tables={**observed.tables, "io_write_bytes": written.astype(np.float32)})
    assert list(io_by_one_rank_per_node.find(observed)) == []
    assert only(io_through_few_ranks, observed).ranks.tolist() == [0]


def test_writers_on_an_only_node_are_not_one_per_node():
    observed = run_of_writers([0], placement=plain_placement(8, per_node=8))
    assert list(io_by_one_rank_per_node.find(observed)) == []
    assert len(list(io_through_few_ranks.find(observed))) == 1


def logging(log_s, n_steps=60, **more):
    """Rank 0 writes 50 lines of 40 bytes in each step; all write 0.5 MB every 20 steps."""
    first = np.arange(8) == 0
    compute = 0.1 * (1 + 0.02 * np.random.default_rng(1).standard_normal((n_steps, 8)))
    step = np.broadcast_to(compute.max(axis=1, keepdims=True) + log_s + 0.001, (n_steps, 8))
    fields = {
        "compute_time_s": compute,
        "step_time_s": step,
        "waiting_time_s": step - compute - log_s * first - 0.001,
        "io_time_s": log_s * first + 1e-4 * EVERY_20TH[:n_steps],
        "io_write_bytes": 2000 * first + 5e5 * EVERY_20TH[:n_steps],
        "io_write_count": 50 * first + 1 * EVERY_20TH[:n_steps],
    }
    return observed_run(n_steps=n_steps, **{**fields, **more})


def test_log_of_one_rank_is_found_by_its_time_where_all_write_as_many_bytes():
    finding = only(calls_on_files, logging(0.4))
    assert finding.kind == "file calls of few ranks" and finding.ranks.tolist() == [0]
    assert (
        "Rank 0 spends 24 s in calls on files, 79 % of its time: 3,000 calls move 1.62 MB." in finding.words
    )
    assert finding.saved_s == pytest.approx(60 * 0.4 * 7 / 8, rel=0.01)
    assert not list(io_through_few_ranks.find(logging(0.4)))


@pytest.mark.parametrize("run", [logging(1e-5), run_of_writers([0]), run_of_writers(range(8))])
def test_short_logs_and_ranks_that_write_for_all_are_no_costly_calls(run):
    assert not list(calls_on_files.find(run))
