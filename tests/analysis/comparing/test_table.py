# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons of made-up measurements whose answer is known."""

from __future__ import annotations

import re

import numpy as np
import pytest

from perfield.analysis.comparing import Measured, compare
from perfield.analysis.comparing.words import in_words


def measured(
    name: str,
    solve_ms: float = 3.0,
    hot_ms: float = 0.0,
    n_steps: int = 60,
    written: bool = False,
    writing_ms: float = 10.0,
    hot: int = 2,
    seed: int = 0,
) -> Measured:
    """Four ranks that solve and then wait for the slowest of them. hot_ms : what rank `hot` solves longer.
    written : every 20th step writes 1 MB for
    writing_ms."""
    random = np.random.default_rng(seed)
    solve = 1e-3 * (solve_ms * random.normal(1, 0.02, (n_steps, 4)))
    solve[:, hot] += 1e-3 * hot_ms
    writes = np.arange(n_steps) % 20 == 10 if written else np.zeros(n_steps, bool)
    files = np.where(writes, 1e-3 * writing_ms, 0.0)
    step = solve.max(axis=1) + 1e-4 + files
    waiting = step[:, None] - solve - files[:, None]
    return Measured(
        name=name,
        ranks=np.arange(4),
        positions=np.arange(n_steps),
        chosen=np.ones(n_steps, bool),
        tables={
            "step_time_s": np.repeat(step[:, None], 4, axis=1).astype(np.float32),
            "compute_time_s": solve.astype(np.float32),
            "mpi_time_s": waiting.astype(np.float32),
        },
        means={
            "step_time_s": step,
            "compute_time_s": solve.mean(axis=1),
            "waiting_time_s": waiting.mean(axis=1),
            "io_time_s": files,
            "solve_time_s": solve.mean(axis=1),
            "solve_self_time_s": solve.mean(axis=1),
            "write_time_s": files,
            "write_self_time_s": files,
        },
        sums={"sent_bytes": np.full(n_steps, 4096.0), "io_write_bytes": np.where(writes, 1e6, 0.0)},
        unbalanced={"solve": solve.max(axis=1) - solve.mean(axis=1)},
        regions={"solve": "solve", "write": "write"},
    )


def rows(comparison) -> dict:
    return {row.key: row for row in comparison.rows}


def test_a_region_that_computes_longer_is_named_with_its_share():
    found = compare(measured("A"), measured("B", solve_ms=4.5, seed=1))
    assert found.verdict.startswith("B takes 48 % more time per step than A (")
    assert found.verdict.endswith("; most of it in solve, and most of it computing.")
    solve = rows(found)["solve_time_s"]
    assert solve.beyond_chance and solve.change.share == pytest.approx(0.5, abs=0.02)
    assert solve.change.share_low < 0.5 < solve.change.share_high


def test_a_faster_run_takes_less_time():
    found = compare(measured("A", solve_ms=4.5), measured("B", seed=1))
    assert found.verdict.startswith("B takes 33 % less time per step than A (")


def test_waiting_for_one_rank_is_reported_with_the_region_that_it_computes_in():
    found = compare(measured("A"), measured("B", hot_ms=9.0, seed=1))
    assert "times as long per step as A" in found.verdict
    assert "most of it waiting in MPI, as ranks differ more in what they compute in solve" in found.verdict
    imbalance = rows(found)["imbalance"]
    assert imbalance.beyond_chance and imbalance.change.after == pytest.approx(12 / 5.25, rel=0.02)


def test_runs_that_differ_by_chance_alone_are_not_distinguished():
    found = compare(measured("A"), measured("B", seed=1))
    assert "may be chance" in found.verdict
    assert not any(row.beyond_chance for row in found.rows)


def test_false_alarms_are_rare_in_whole_tables():
    tables = [compare(measured("A", seed=2 * n), measured("B", seed=2 * n + 1)) for n in range(60)]
    assert sum(any(row.beyond_chance for row in one.rows) for one in tables) <= 3


def test_output_steps_are_left_out_and_compared_apart():
    found = compare(measured("A", written=True), measured("B", written=True, seed=1))
    known = rows(found)
    assert known["step_time_s"].change.before < 4e-3
    assert known["output_steps"].change.before == known["output_steps"].change.after == 3
    assert known["output_step_time_s"].change.before > 12e-3
    assert "io_write_bytes" not in known  # 0 in all other steps


def test_slower_output_is_reported_although_other_steps_are_equal():
    before = measured("A", written=True, n_steps=200)
    after = measured("B", written=True, n_steps=200, writing_ms=40.0, seed=1)
    found = compare(before, after)
    assert "may be chance" in found.verdict
    assert found.verdict.endswith(" times as long.") and "A step that writes output takes 3." in found.verdict


def test_an_output_step_differs_from_an_ordinary_one_by_what_it_writes():
    run = measured("", written=True)
    found = compare(run.of("step 9", np.array([9])), run.of("step 10", np.array([10])))
    assert found.verdict.startswith("step 10 takes ") and " per step" not in found.verdict
    assert "most of it in write, and most of it files" in found.verdict
    known = rows(found)
    assert known["io_write_bytes"].beyond_chance and known["write_time_s"].beyond_chance
    assert not known["solve_time_s"].beyond_chance


def test_two_ordinary_steps_do_not_differ():
    run = measured("", written=True)
    found = compare(run.of("step 8", np.array([8])), run.of("step 9", np.array([9])))
    assert not any(row.beyond_chance for row in found.rows)
    assert "may be chance" in found.verdict or "scatter" in found.verdict


def test_runs_of_one_step_have_no_test():
    found = compare(measured("A", n_steps=1), measured("B", solve_ms=6.0, n_steps=1))
    assert "too few steps to say whether that is chance" in found.verdict
    assert all(row.change.chance is None for row in found.rows)


def test_other_numbers_of_ranks_are_compared_by_their_sums_too():
    half = measured("B")
    half = Measured(
        **{
            **vars(half),
            "ranks": np.arange(2),
            "tables": {name: table[:, :2] for name, table in half.tables.items()},
        }
    )
    known = rows(compare(measured("A"), half))
    assert known["all_ranks_compute_time_s"].change.share == pytest.approx(-0.5, abs=0.02)


def test_efficiencies_multiply():
    known = rows(compare(measured("A"), measured("B", hot_ms=9.0)))
    balance, communication, parallel = (
        known[name].change.after
        for name in ("load_balance", "communication_efficiency", "parallel_efficiency")
    )
    assert balance * communication == pytest.approx(parallel)
    assert balance == pytest.approx(5.25 / 12, rel=0.02)


def test_work_that_moves_to_another_rank_is_reported_although_the_step_takes_as_long():
    found = compare(measured("A", hot_ms=9.0), measured("B", hot_ms=9.0, hot=0, seed=1))
    assert "may be chance" in found.verdict
    assert [one.rank for one in found.ranks] in ([0, 2], [2, 0])
    assert " Of 4 ranks, rank " in found.verdict and " per step, rank " in found.verdict
    assert found.verdict.count(" ms more") == found.verdict.count(" ms less") == 1


def test_ranks_that_all_change_alike_are_not_listed():
    found = compare(measured("A"), measured("B", solve_ms=4.5, seed=1))
    assert len(found.ranks) == 4 and "ranks" not in found.verdict


def test_ranks_are_rarely_named_by_chance():
    named = [compare(measured("A", seed=2 * n), measured("B", seed=2 * n + 1)).ranks for n in range(60)]
    assert not any(named)


def test_equal_runs_take_exactly_as_long():
    assert compare(measured("A"), measured("B")).verdict == "B takes exactly as long per step as A."


def test_other_bytes_are_reported_where_no_time_changed():
    more = measured("B", seed=1)
    more = Measured(**{**vars(more), "sums": {**more.sums, "sent_bytes": np.full(60, 5120.0)}})
    found = compare(measured("A"), more)
    assert found.verdict.endswith(" Beyond chance: bytes sent, all ranks, by +25 %.")


def test_a_line_whose_interval_leaves_out_zero_never_says_no():
    said = set()
    for seed in range(1, 60, 2):
        found = compare(measured("A", n_steps=20, seed=seed), measured("B", n_steps=20, seed=seed + 1))
        lines = in_words(found, [])
        for row in found.rows:
            if row.change.low is None:
                continue
            (line,) = [line for line in lines if line.startswith(f"  {row.words} ")]
            holds_zero = row.change.low <= 0 <= row.change.high
            answer = line.split()[-1]
            assert answer == ("yes" if row.beyond_chance else "no" if holds_zero else "perhaps")
            said.add(answer)
        assert any(line.startswith("perhaps: ") for line in lines) == any(
            line.endswith(" perhaps") for line in lines
        )
    assert {"no", "perhaps"} <= said


def test_a_change_that_is_not_quite_beyond_chance_is_reported_with_its_probability():
    verdicts = []
    for seed in range(1, 200, 2):
        found = compare(measured("A", n_steps=20, seed=seed), measured("B", n_steps=20, seed=seed + 1))
        step = next(row for row in found.rows if row.key == "step_time_s")
        if 0.01 < step.change.chance < 0.05:
            verdicts.append(found.verdict)
    assert verdicts and all(", but that may be chance (probability " in words for words in verdicts)


def test_intervals_of_efficiencies_stay_within_what_a_share_can_change():
    moving = measured("B", seed=1)
    hot = np.arange(60) // 15
    moving.tables["mpi_time_s"][:] = 0.9 * moving.tables["step_time_s"]
    moving.tables["mpi_time_s"][np.arange(60), hot] = 0
    known = rows(compare(measured("A"), moving))
    for key in ("load_balance", "communication_efficiency", "parallel_efficiency"):
        assert -1 <= known[key].change.low <= known[key].change.high <= 1
    assert known["load_balance"].change.high - known["load_balance"].change.low > 0.5


def test_a_slow_step_is_no_change_where_some_ordinary_steps_are_as_slow():
    run = measured("", n_steps=150)
    run.means["step_time_s"][[20, 60, 100, 140]] += 30e-3
    found = compare(run.of("step 19", np.array([19])), run.of("step 20", np.array([20])))
    step = rows(found)["step_time_s"]
    assert not step.beyond_chance and step.change.chance == pytest.approx(3 / 149)


def test_a_better_balance_is_reported_where_no_time_and_no_amount_changed():
    before, after = measured("A", hot_ms=9.0), measured("B", seed=1)
    after = Measured(**{**vars(after), "means": before.means, "unbalanced": before.unbalanced})
    known = rows(compare(before, after))["load_balance"]
    assert known.beyond_chance and known.change.before < 0.5 < 0.9 < known.change.after
    words = f" Beyond chance: {known.words}, {100 * known.change.after:.0f} % instead of "
    assert f"{words}{100 * known.change.before:.0f} %." in compare(before, after).verdict


def test_several_steps_take_and_one_takes():
    run = measured("", n_steps=40)
    some = run.of("steps 0 to 19", np.arange(20)), run.of("steps 20 to 39", np.arange(20, 40))
    assert compare(*some).verdict.startswith("steps 20 to 39 take about as long per step as steps 0 to 19")
    one = compare(run.of("step 3", np.array([3])), run.of("step 4", np.array([4])))
    assert one.verdict.startswith("step 4 takes 2.5 % more time than step 3 (0.9 % less to 6.0 % more), but ")


def test_steps_that_differ_much_are_not_called_alike_for_want_of_more_of_them():
    run = measured("", n_steps=40)
    run.means["step_time_s"][[20, 30, 35]] *= 4.0
    found = compare(run.of("step 3", np.array([3])), run.of("step 20", np.array([20])))
    assert re.match(
        r"step 20 takes \d(\.\d+)? times as long as step 3.*, but that may be chance", found.verdict
    )


def test_frames_count_as_often_as_they_hold_steps():
    before, after = measured("A", n_steps=40), measured("B", n_steps=40, seed=1)
    spans = np.where(np.arange(40) < 8, 1.0, 16.0)
    found = rows(compare(before, Measured(**{**vars(after), "spans": spans})))
    step = after.means["step_time_s"]
    assert found["step_time_s"].change.after == pytest.approx(np.average(step, weights=spans))
    compute = after.tables["compute_time_s"].astype(float)
    largest, mean = (np.average(of(compute, axis=1), weights=spans) for of in (np.max, np.mean))
    assert found["imbalance"].change.after == pytest.approx(largest / mean)
