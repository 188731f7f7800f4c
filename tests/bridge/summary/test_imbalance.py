# SPDX-License-Identifier: BSD-3-Clause
"""The summary on imbalance: it names what was planted, and nobody where only chance differs."""

from __future__ import annotations

import math
import random
import re

import numpy as np
import pytest
from known_runs.runs_with_imbalance import WITHOUT_PU, noisy, placed, waits_for_pus, with_cpu_time, write

import perfield
from perfield import _bridge
from perfield.analysis.chance import differences
from perfield.analysis.imbalance import FIELDS, imbalance_of
from perfield.derived.observe import observe
from twins import twin


def lines_of(path) -> dict[str, str]:
    """Lines of the summary by their label."""
    return {line[:11].strip(): line[11:] for line in _bridge.summary_lines(str(path))}


def test_cell_counts_explain_a_rank_with_twice_the_cells(tmp_path):
    path = write(tmp_path / "run", noisy([1, 2, 1, 1]), sizes=[[512, 1024, 512, 512]], hosts=("a", "b"))
    lines = lines_of(path)
    assert next(iter(lines)) == "imbalance"
    assert re.fullmatch(r"1\.6., costs .* \(\d+ %\): rank 1 is slowest, on host a", lines["imbalance"])
    assert list(lines)[1] == "why" and lines["why"] == "cell counts explain a factor of 1.60"


def test_costlier_cells_are_reported_where_cells_are_equal(tmp_path):
    path = write(tmp_path / "run", noisy([1, 1, 3, 1]), sizes=[[512] * 4])
    assert lines_of(path)["why"] == "as many cells as others, but each costs 3.0 times as much"


def test_cells_that_do_not_explain_are_reported_with_their_cost(tmp_path):
    path = write(tmp_path / "run", noisy([1, 1, 4, 1]), sizes=[[500, 600, 550, 500]])
    assert lines_of(path)["why"] == "2.3 % more cells than the mean, but each costs 3.9 times as much"


def test_ghost_cells_explain_where_cells_are_equal(tmp_path):
    sizes = [[512] * 4, [100, 210, 110, 90]]
    path = write(tmp_path / "run", noisy([1, 2, 1.1, 0.9]), sizes=sizes)
    assert lines_of(path)["why"].startswith("ghost cells explain a factor of 1.6")


def test_cells_of_another_rank_explain_nothing(tmp_path):
    path = write(tmp_path / "run", noisy([1, 2, 1, 1]), sizes=[[1024, 512, 512, 512]])
    assert "explain" not in lines_of(path).get("why", "")


def test_cells_explain_only_what_they_cost(tmp_path):
    """Half of each rank's time has nothing to do with cells: 1.5 / 1.125, though cells would give 1.6."""
    path = write(tmp_path / "run", noisy([1, 1.5, 1, 1]), sizes=[[512, 1024, 512, 512]])
    assert lines_of(path)["why"] == "cell counts explain a factor of 1.33"


def test_small_differences_of_cells_do_not_explain_large_ones_of_time(tmp_path):
    """Cells and time go together, but 1 % more cells do not make twice the time."""
    path = write(tmp_path / "run", noisy([1, 2, 1, 1]), sizes=[[5000, 5100, 5000, 5000]])
    assert lines_of(path)["why"] == "1.5 % more cells than the mean, but each costs 2.0 times as much"


def test_two_ranks_are_too_few_for_an_explanation(tmp_path):
    path = write(tmp_path / "run", noisy([1, 2]), sizes=[[512, 1024]])
    said = lines_of(path)["why"]
    assert said == "33 % more cells than the mean (2 ranks are too few to test whether that is why)"


def test_explanations_are_left_out_without_cells(tmp_path):
    lines = lines_of(write(tmp_path / "run", noisy([1, 2, 1, 1])))
    assert lines["imbalance"].endswith(": rank 1 is slowest") and "why" not in lines


def test_most_ranks_are_not_called_slowest(tmp_path):
    """Rank 0 hands out work: the others are slowest together, so the line names it."""
    line = lines_of(write(tmp_path / "run", noisy([0.4, 1, 1, 1])))["imbalance"]
    assert re.fullmatch(r"1\.\d+, costs .*: rank 0 computes (39|4\d) % of the others' mean", line)


@pytest.mark.parametrize("n_ranks, steps", [(2, 20), (4, 100), (4, 7), (32, 60)])
@pytest.mark.parametrize("seed", range(10))
def test_noise_names_nobody(tmp_path, n_ranks, steps, seed):
    """Equal ranks with much noise: an imbalance, but nobody's."""
    lines = lines_of(write(tmp_path / "run", noisy([1] * n_ranks, steps, 0.3, seed)))
    assert ": no rank is clearly slower" in lines["imbalance"]
    assert "why" not in lines and "where" not in lines and "most on" not in lines["waiting"]


def test_noise_names_no_rank(tmp_path):
    line = lines_of(write(tmp_path / "run", noisy([1] * 4, 100, 0.3)))["imbalance"]
    assert re.fullmatch(r"1\.\d\d: no rank is clearly slower", line)


@pytest.mark.parametrize("seed", range(10))
def test_slow_noise_names_nobody(tmp_path, seed):
    """Each rank drifts for tens of steps: its steps are not independent, and the test knows."""
    source = random.Random(seed)
    state, compute = [0.0] * 4, []
    for _ in range(200):
        state = [0.95 * x + source.gauss(0, 0.1) for x in state]
        compute.append([1e6 * math.exp(x) for x in state])
    line = lines_of(write(tmp_path / "run", compute))["imbalance"]
    assert "is slowest" not in line and "are slowest" not in line


@pytest.mark.parametrize("n_ranks", [2, 4, 8])
def test_noise_that_lasts_for_some_steps_is_no_moving_hot_spot(n_ranks):
    source = np.random.default_rng(7)
    patterns = []
    for _ in range(100):
        noise = source.standard_normal((140, n_ranks))
        for step in range(1, 140):
            noise[step] = 0.8 * noise[step - 1] + 0.6 * noise[step]
        patterns.append(differences(np.exp(0.3 * noise[80:])).pattern)
    assert patterns.count("moving") <= 1


@pytest.mark.parametrize("stay", [3, 8])
def test_two_ranks_that_are_slowest_in_turn_are_reported_as_moving(stay):
    compute = np.array(noisy([1] * 2, 60))
    compute[np.arange(60), np.arange(60) // stay % 2] *= 2
    assert differences(compute).pattern == "moving"


@pytest.mark.parametrize("stay", [1, 5])
def test_moving_hot_spot_is_reported_as_moving(tmp_path, stay):
    compute = noisy([1] * 8, 40)
    for step, of_ranks in enumerate(compute):
        of_ranks[step // stay % 8] *= 20
    lines = lines_of(write(tmp_path / "run", compute))
    assert lines["imbalance"].endswith("): the slowest rank changes")
    assert lines["why"] == f"8 of 8 ranks in turn{', 5 steps each' if stay == 5 else ''}"


def test_cells_explain_a_moving_hot_spot(tmp_path):
    """A refined region wanders from rank to rank; each step has the cells of its own mesh."""
    compute = noisy([1] * 4, 80, 0.02)
    for step, of_ranks in enumerate(compute):
        of_ranks[step // 4 % 4] *= 3

    def cells(rank, step, values):
        values["quantities"][-1]["value"] = 300 if rank == step // 4 % 4 else 100

    line = lines_of(write(tmp_path / "run", compute, sizes=[[0] * 4], change=cells))["why"]
    assert line == "4 of 4 ranks in turn, 4 steps each; cell counts explain a factor of 2.00"


def test_ranks_that_cannot_be_distinguished_are_named_together(tmp_path):
    lines = lines_of(write(tmp_path / "run", noisy([1, 1, 2, 1, 1, 2, 1, 1])))
    assert lines["imbalance"].endswith(": ranks 2 and 5 are slowest")


def test_slowest_ranks_leave_out_those_clearly_below(tmp_path):
    line = lines_of(write(tmp_path / "run", noisy([1.98, 0.94, 0.28, 0.28])))["imbalance"]
    assert line.endswith(": rank 0 is slowest")


def test_few_steps_say_so(tmp_path):
    line = lines_of(write(tmp_path / "run", noisy([1, 1.2, 1], 1)))["imbalance"]
    assert line.endswith(": no rank is clearly slower in so few steps")
    path = twin.write_run(tmp_path / "whole", steps=0, outside=lambda rank, kind: {"cpu_user_ns": 10**6})
    line = lines_of(path)["imbalance"]
    assert line.endswith(": no rank is clearly slower; not proven: one frame")


def test_long_first_step_does_not_hide_the_slowest_rank(tmp_path):
    compute = noisy([1, 1, 1, 2])
    compute[0] = [1e9 * x for x in (2, 1, 1, 1)]
    line = lines_of(write(tmp_path / "a", compute))["imbalance"]  # the first step is most of the run
    assert " in most steps, 1.60 in all, costs " in line
    assert line.endswith(": rank 3 is slowest in 59 of 60 steps")
    compute[0] = [2e7] * 4
    assert lines_of(write(tmp_path / "b", compute))["imbalance"].endswith(": rank 3 is slowest")


def test_efficiency_is_that_of_pop(tmp_path):
    """Useful: 1 and 3 of 4 ms in each step. Files count as useful, as POP counts them."""
    compute = [[1e6, 3e6]] * 20

    def slow_network(rank, step, values):
        values["measured_ns"] = 4_000_000
        values["calls"][0]["ns"] = 4_000_000 - int(compute[step][rank])

    line = lines_of(write(tmp_path / "run", compute, change=slow_network))["efficiency"]
    assert line.startswith(
        "parallel 50 % = load balance 67 % x communication 75 % (POP, of sums over the steps"
    )


def test_compute_time_in_no_region_is_reported(tmp_path):
    """Step 4 ms; 1 ms waiting and 0.6 ms computing in `solve`, the rest in no region."""

    def little(rank, step, values):
        values["measured_ns"] = 4_000_000
        values["regions"] = [twin.region_row(1, 1_600_000)]
        values["calls"][0]["ns"] = 1_000_000
        values["quantities"][0]["value"] = 1_000_000

    line = lines_of(write(tmp_path / "run", [[3e6] * 2] * 5, change=little))["where"]
    assert line == "80 % of compute time is in no region"


def test_nested_regions_with_calls_give_a_limit(tmp_path):
    """1.5 ms of calls in all, 1 ms of them in `solve`, around `exchange` with 0.5 ms: these 0.5 ms may be the
    same, so 1.0 to 1.5 ms of the regions' 2 ms are calls, and 1.5 to 2 of 2.5 ms computing lie outside."""

    def nested(rank, step, values):
        values["measured_ns"] = 4_000_000
        values["regions"] = [twin.region_row(1, 2_000_000, 1_000_000), twin.region_row(2, 1_000_000)]
        values["calls"][0]["ns"] = 1_500_000
        values["quantities"] = [
            {"region": region, "quantity": twin.WAIT, "value": ns}
            for region, ns in ((1, 1_000_000), (2, 500_000))
        ]

    line = lines_of(write(tmp_path / "run", [[3e6] * 2] * 5, change=nested))["where"]
    assert line == "at least 60 % of compute time is in no region"


def test_regions_that_hold_the_computing_are_not_missed(tmp_path):
    assert "where" not in lines_of(write(tmp_path / "run", noisy([1] * 4, 20, 0.3)))


@pytest.mark.parametrize(
    "cpus, reported",
    [
        (["0-1"] * 4, "4 ranks on 2 PUs, unbound: times include scheduling"),
        (["0", "0", "1", "2"], "2 ranks on 1 PU, bound: times include scheduling"),
        (["0", "1", "2", "3"], None),
        (["0-3"] * 4, None),
        (["0-1", "1-2", "2,0", "7"], None),
    ],
)
def test_ranks_that_share_pus_are_reported(tmp_path, cpus, reported):
    path = write(tmp_path / "run", [[1e6] * 4] * 5, change_rank=placed(cpus))
    assert lines_of(path).get("cores") == reported


def test_equal_pus_of_two_hosts_are_not_shared(tmp_path):
    cpus = placed(["0", "1", "0", "1"])
    assert "cores" not in lines_of(
        write(tmp_path / "run", [[1e6] * 4] * 5, change_rank=cpus, hosts=("a", "b"))
    )


def delayed(path, compute, cpus=("0", "1", "2", "3"), **of_rank) -> dict[str, str]:
    """Closing lines of ranks that wait for PUs."""
    written = write(
        path,
        compute,
        more=WITHOUT_PU,
        change=waits_for_pus(**of_rank),
        change_rank=placed(cpus),
    )
    return lines_of(written)


def test_wait_for_a_pu_is_no_work(tmp_path):
    """Rank 1 computes 2.5 ms in each step, 1.5 ms of them without a PU, by a quota."""
    wait = [0, 1_500_000, 0, 0]
    lines = delayed(tmp_path / "run", noisy([1, 2.5, 1, 1]), run_delay_time=wait, throttled_time=wait)
    assert ": no rank is clearly slower" in lines["imbalance"]
    assert re.fullmatch(
        r"ranks waited 90.0 ms for a PU, 2. % of their time outside MPI and files, most on rank 1 \(.. %\); "
        r"a CPU quota stopped rank 1 for 90.0 ms",
        lines["cores"],
    )


def test_slowest_rank_is_named_where_others_wait_for_pus(tmp_path):
    """No region is named: its time contains the waiting."""
    lines = delayed(tmp_path / "run", noisy([1, 1.5, 1, 2]), run_delay_time=[0, 500_000, 0, 0])
    assert lines["imbalance"].endswith(": rank 3 is slowest")
    assert "quota" not in lines["cores"] and "where" not in lines


def test_wait_for_a_pu_in_mpi_delays_no_computing(tmp_path):
    wait = [300_000] * 4
    lines = delayed(tmp_path / "run", noisy([1, 2, 1, 1]), run_delay_time=wait, mpi_without_pu=wait)
    assert lines["imbalance"].endswith(": rank 1 is slowest")
    assert "cores" not in lines


WORK = [30_000_000, 10_000_000, 10_000_000, 10_000_000]


@pytest.mark.parametrize(
    "cpus, cpu_ns, saved",
    [
        (["0-1"] * 4, WORK, "60.0 ms (9.1 %)"),
        (["0-1"] * 3 + ["4"], WORK, "260 ms (39 %)"),
        (["0", "1", "2", "3"], WORK, "300 ms (45 %)"),
        (["0-1"] * 4, [500_000] * 4, "300 ms (45 %)"),
    ],
    ids=["shared", "one apart", "apart", "asleep"],
)
@pytest.mark.parametrize("waited_ns", [0, 200_000], ids=["", "delayed"])
def test_balancing_saves_no_more_than_shared_pus_leave(tmp_path, cpus, cpu_ns, saved, waited_ns):
    """30 ms on one rank and 10 ms on three need two PUs for 30 ms of the 33 that a step takes, and three PUs
    for 20. How long ranks waited for PUs does not change that. Ranks that sleep leave theirs to others."""
    change = with_cpu_time(cpu_ns, [0, *[waited_ns] * 3])
    compute = [[float(ns) for ns in WORK]] * 20
    path = write(tmp_path / "run", compute, more=WITHOUT_PU, change=change, change_rank=placed(cpus))
    assert f", costs {saved}: " in lines_of(path)["imbalance"]
    found = imbalance_of(observe(perfield.open(path), (*FIELDS, "step_time_s"))).found  # findings agree
    assert found.saved == pytest.approx(float(saved.split()[0]) * 1e-3, rel=1e-3)


def test_threads_that_share_pus_are_reported(tmp_path):
    path = write(tmp_path / "run", [[1e6] * 2] * 5, change_rank=placed(["0", "0-1"]))
    (stream,) = (path / "stream").iterdir()
    for rank in range(2):
        moved = {"cpuset": "0-1", "cpusets_of_threads": ["0", "1"]}
        writer = twin.Writer(stream, rank)
        writer.sequence = 1000
        writer.add("place", twin.json_body(moved))
    assert lines_of(path)["cores"].startswith("2 ranks with 4 threads on 2 PUs, unbound: ")


def test_containers_of_one_node_share_its_pus(tmp_path):
    def boxed(rank, values):
        values |= {"cpuset": "0", "boot_id": "12345678-1"}

    lines = lines_of(write(tmp_path / "run", [[1e6] * 2] * 5, change_rank=boxed, hosts=("box0", "box1")))
    assert lines["cores"].startswith("2 ranks on 1 PU, bound: ")
    assert lines["steps"].startswith("5 on 2 ranks, ")


def test_steps_that_some_rank_did_not_close_do_not_count(tmp_path):
    """Rank 1 ends after ten steps. Rank 0 would be alone in the later ones, at the mean."""

    def stop(rank, step, values):
        return not (rank == 1 and step >= 10)

    path = write(tmp_path / "run", [[1e6, 3e6]] * 40, change=stop)
    assert lines_of(path)["imbalance"].startswith("1.50, costs ")


def test_place_of_a_rank_without_its_first_entry_does_no_harm(tmp_path):
    path = write(tmp_path / "run", [[1e6] * 2] * 5)
    (stream,) = (path / "stream").iterdir()
    twin.Writer(stream, 7).add("place", twin.json_body({"cpuset": "0"}))
    assert "next" in lines_of(path)
