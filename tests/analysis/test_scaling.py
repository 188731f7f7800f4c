# SPDX-License-Identifier: BSD-3-Clause
"""How runs of different numbers of ranks compare: kinds of scaling, factors, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_runs.scaling_runs import measured

from perfield.analysis.scaling import kind_of, scaling
from perfield.analysis.scaling_laws import STRONG, WEAK, ScalingError, strong_time


def test_same_cells_in_all_are_strong_and_same_cells_per_rank_are_weak():
    assert kind_of([measured(n) for n in (1, 2, 4)]) == (
        STRONG,
        "all ranks together have 8,000 cells in each run",
    )
    kind, because = kind_of([measured(n, cells=500 * n) for n in (1, 2, 4)])
    assert kind == WEAK and because == "each rank has about 500 cells in each run"


def test_points_and_instructions_count_where_cells_are_unknown():
    for what in ("points", "instructions"):
        runs = [measured(n, sizes={what: 1000 + 20 * n}) for n in (1, 2, 4)]
        assert kind_of(runs)[0] == STRONG
        assert kind_of([measured(n, sizes={what: 1000 * n}) for n in (1, 2, 4)])[0] == WEAK


def test_entries_that_add_up_to_the_same_number_are_strong():
    runs = [measured(n, sizes={}, calls={"task": 64.0, "step": float(n)}) for n in (1, 2, 4)]
    assert kind_of(runs) == (STRONG, "all ranks together enter 'task' 64 times a step in each run")


def test_as_many_entries_of_each_rank_show_nothing():
    with pytest.raises(ScalingError, match=r"size of the problem of these runs is unknown.*--strong.*--weak"):
        kind_of([measured(n, sizes={}, calls={"iterate": 50.0 * n}) for n in (1, 2)])


def test_mixture_of_strong_and_weak_is_refused_with_the_sizes():
    runs = [measured(1), measured(2), measured(4, cells=16000)]
    with pytest.raises(ScalingError, match=r"mix strong and weak.*run-1: 8,000 on 1.*run-4: 16,000 on 4"):
        scaling(runs)
    assert scaling(runs, WEAK).kind == WEAK


def test_serial_share_and_speedup_of_known_runs():
    found = scaling([measured(n) for n in (1, 2, 4, 8)])
    assert found.steps.fit.serial_share == pytest.approx(0.1, abs=1e-5)
    assert found.steps.speedup[-1] == pytest.approx(1 / (0.1 + 0.9 / 8))
    assert found.regions["parallel"].efficiency == pytest.approx([1, 1, 1, 1])
    assert found.regions["serial"].fit.serial_share == pytest.approx(1)
    assert found.whole.time_s == pytest.approx(10 * found.steps.time_s + 5)
    assert found.memory_mean_bytes.tolist() == [1, 1.5, 2.5, 4.5]
    assert found.memory_largest_bytes.tolist() == [1, 2, 4, 8]


def test_product_of_the_factors_is_the_efficiency():
    found = scaling([measured(n) for n in (1, 2, 4, 8)])
    factors = found.load_balance * found.communication_efficiency * found.computation_scaling
    assert factors / factors[0] == pytest.approx(found.steps.efficiency)
    assert found.load_balance[-1] == pytest.approx((1 / 8) / (0.1 + 0.9 / 8))


def test_output_steps_are_left_out_and_reported():
    runs = []
    for n in (1, 2, 4):
        run = measured(n)
        is_output = np.arange(10) % 3 == 0
        runs.append(replace(run, step_s=np.where(is_output, 7.0, run.step_s), is_output=is_output))
    found = scaling(runs)
    assert found.steps.time_s == pytest.approx(strong_time(np.array([1, 2, 4]), 0.1))
    assert found.n_output.tolist() == [4, 4, 4]
    assert "Steps that write output are left out: 4 of 10 in run-1, 4 of 10 in run-2" in found.notes[0]


def test_region_of_some_steps_costs_its_share_of_a_step():
    often = np.where(np.arange(10) % 2 == 0, 0.4, np.nan)
    runs = [measured(n, regions={"sometimes": often / n}) for n in (1, 2)]
    assert scaling(runs).regions["sometimes"].time_s == pytest.approx([0.2, 0.1])


def test_region_that_a_run_never_entered_is_reported():
    runs = [measured(1), measured(2), measured(4, regions={})]
    found = scaling(runs)
    assert found.regions["serial"].n_ranks.tolist() == [1, 2]
    assert any("Not every run entered parallel and serial" in note for note in found.notes)


def test_region_of_output_steps_alone_is_left_out_silently():
    is_output = np.arange(10) == 3
    write = np.where(is_output, 1.0, np.nan)
    found = scaling([measured(n, regions={"write": write}, is_output=is_output) for n in (1, 2)])
    assert not found.regions and not any("write:" in note or "entered" in note for note in found.notes)


def test_whole_runs_count_only_with_as_many_steps():
    assert scaling([measured(1), measured(2, steps=11)]).whole is None


def test_unknown_memory_and_compute_time_are_nan():
    unknown = np.full(10, np.nan)
    lacking = {"compute_mean_s": unknown, "compute_largest_s": unknown, "memory_bytes": np.full(1, np.nan)}
    found = scaling([measured(n, **lacking) for n in (1, 2, 4)])
    for values in (found.load_balance, found.computation_scaling, found.memory_mean_bytes):
        assert np.isnan(values).all()
    assert found.steps.speedup[-1] > 1


def test_ranks_that_share_cores_are_reported_once():
    words = "{} ranks on 2 PUs, unbound: times include scheduling"
    runs = [measured(n, sharing=words.format(n) if n > 2 else "") for n in (8, 1, 2, 4)]
    (note,) = scaling(runs).notes
    assert note == f"Ranks share PUs in runs of 4 and 8 ranks. In run-8, {words.format(8)}."


@pytest.mark.parametrize(
    ("runs", "answer"),
    [
        ([measured(1)], "1 run was given; name at least two"),
        ([measured(4), measured(4)], "all 2 runs have 4 ranks; add runs of other numbers"),
        ([measured(1), measured(2, program="cool")], "run-1 ran heat, but run-2 ran cool"),
        ([measured(1), measured(2, steps=0)], "run-2 has no finished step.*perfield info run-2"),
        ([measured(1), measured(2, steps_end="solve")], "run-1 end at the program's own step call.*at solve"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(runs, answer):
    with pytest.raises(ScalingError, match=answer):
        scaling(runs)
