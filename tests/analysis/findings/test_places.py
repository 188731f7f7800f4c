# SPDX-License-Identifier: BSD-3-Clause
"""Findings about where slow ranks sit: in the machine, in the mesh, or anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from known_runs.observed_runs import boxes_of_grid, observed_run, placement_at, plain_placement

from perfield.analysis.chance import differences
from perfield.analysis.findings import answers, imbalance, imbalance_place, slow_nodes
from perfield.topology import Network

GRID = [(8 * y + x, 8 * y + x + 1) for y in range(8) for x in range(7)]
GRID += [(8 * y + x, 8 * y + x + 8) for y in range(7) for x in range(8)]


def run_of(factors, *, noise=0.03, n_steps=40, seed=0, **fields):
    """Ranks that compute 0.1 s times their factor, with noise of ranks and steps, in two regions."""
    random = np.random.default_rng(seed)
    factors = np.array(factors, float)
    factors = factors * np.exp(noise / 3 * random.standard_normal(len(factors)))
    compute = 0.1 * factors * np.exp(noise * random.standard_normal((n_steps, len(factors))))
    fields = {"a_time_s": 0.4 * compute, "b_time_s": 0.6 * compute, "regions": ["a", "b"], **fields}
    return observed_run(len(factors), n_steps, compute_time_s=compute, **fields)


def only(found):
    """The one finding."""
    (one,) = found
    return one


def test_a_slow_node_is_named_instead_of_its_ranks():
    run = run_of([1] * 8 + [1.4] * 4 + [1] * 4, placement=plain_placement(16))
    found = only(slow_nodes.find(run))
    assert found.kind == "slow node" and found.hosts == ("n3",) and found.ranks.tolist() == [8, 9, 10, 11]
    assert found.words.startswith("Node n3 is slow: all 4 ranks there compute 1.4")
    assert found.saved_s == pytest.approx(40 * 0.1 * 0.4, rel=0.1) and found.picture.kind == "machine"
    assert not list(imbalance.find(run))


def test_a_slow_node_is_found_where_cells_differ():
    cells = np.array([500, 900, 700, 600] * 4, float)
    run = run_of(cells / 600 * np.repeat([1, 1.4, 1, 1], 4), cells=cells, placement=plain_placement(16))
    found = only(slow_nodes.find(run))
    assert found.hosts == ("n2",) and " times as long per cell as the others" in found.words


def test_all_slow_nodes_below_one_switch_are_a_slow_switch():
    hosts = {"n1": 0, "n2": 0, "n3": 1, "n4": 1}
    network = Network(("leaf1", "leaf2", "top"), ((0, 2), (1, 2)), hosts)
    run = run_of([1] * 8 + [1.3] * 8, placement=plain_placement(16, network=network))
    found = only(slow_nodes.find(run))
    assert found.kind == "slow switch" and found.hosts == ("n3", "n4")
    assert "Nodes n3 and n4, all nodes below switch leaf2, are slow" in found.words


def test_a_node_with_one_costly_rank_is_not_slow():
    run = run_of([1] * 5 + [3] + [1] * 10, placement=plain_placement(16))
    assert not list(slow_nodes.find(run)) and only(imbalance.find(run)).ranks.tolist() == [5]


def test_ranks_that_differ_in_one_region_only_do_different_work():
    costly = np.repeat([1, 1, 1.5, 1], 4)
    run = run_of(
        costly, placement=plain_placement(16), a_time_s=0.05 * np.ones(16), b_time_s=0.1 * costly - 0.05
    )
    assert not list(slow_nodes.find(run))


def test_ranks_that_share_pus_make_no_slow_node():
    places = (
        [("n1", f"{2 * core}") for core in range(4)]
        + [("n2", "0")] * 4
        + [("n3", f"{2 * core}") for core in range(4)]
    )
    run = run_of([1] * 4 + [1.5] * 4 + [1] * 4, placement=placement_at(*places))
    assert not list(slow_nodes.find(run))


@pytest.mark.parametrize("seed", range(20))
def test_noise_of_ranks_makes_no_slow_node_and_no_pattern(seed):
    run = run_of([1] * 64, noise=0.3, seed=seed, placement=plain_placement(64, per_node=8), neighbours=GRID)
    assert not list(slow_nodes.find(run))
    assert not list(imbalance_place.find(run))


def test_the_first_rank_of_each_node_is_reported_as_a_place_in_the_machine():
    run = run_of([1.5, 1, 1, 1, 1, 1, 1, 1] * 6, placement=plain_placement(48, per_node=8))
    found = only(imbalance_place.find(run))
    assert not list(imbalance.find(run)) and found.saved_s > 0
    assert found.kind == "imbalance follows the machine" and found.ranks.tolist() == [0, 8, 16, 24, 32, 40]
    assert found.picture.kind == "machine" and found.words.startswith(
        "The 6 first ranks of their nodes (ranks 0, 8, 16 and 3 more) compute 1.5"
    )


def test_every_sixth_rank_with_more_cells_is_an_imbalance_by_cells():
    cells = np.where(np.arange(48) % 6 == 0, 1500, 1000)
    run = run_of(cells / 1000, cells=cells, placement=plain_placement(48, per_node=8))
    found = only(imbalance.find(run))
    assert found.kind == "imbalance by cells" and found.words.startswith(
        "The 8 ranks that are one in 6, from rank 0 on (ranks 0, 6, 12 and 5 more) compute 1."
    )
    assert (
        "the others (longer on average in 40 of 40 steps): cell counts explain a factor of 1.3" in found.words
    )
    assert not list(imbalance_place.find(run))


def inlet(**fields):
    """8 ranks at the low end of x compute 1.6 times as long, those of one colour 1.15 times."""
    x, y = np.arange(48) % 6, np.arange(48) // 6
    factors = np.where(x == 0, 1.6, 1.0) * np.where((x + y) % 2 == 0, 1.15, 1.0)
    return run_of(factors, n_steps=10, boxes=boxes_of_grid(6, 8), **fields)


def test_ranks_at_an_inlet_are_named_by_the_end_of_the_mesh():
    run = inlet(cells=np.full(48, 300.0), placement=plain_placement(48, per_node=8))
    assert not list(imbalance.find(run))
    found = only(imbalance_place.find(run))
    assert found.kind == "imbalance follows the mesh" and found.ranks.tolist() == list(range(0, 48, 6))
    assert found.words.startswith("The 8 ranks at the low end of x (ranks 0, 6, 12 and 5 more) compute 1.6")
    assert "(longer on average in 10 of 10 steps): each has as many cells as others" in found.words
    assert " are slowest. The others wait" in found.words  # those of one colour
    assert found.saved_s == pytest.approx(10 * 0.1 * (1.84 - 1.18), rel=0.15) and found.picture.kind == "mesh"
    longer, _ = answers(run, [imbalance, imbalance_place])
    assert longer.elsewhere == (found.kind,) and not longer.is_no


def test_inlet_without_a_mesh_is_every_sixth_rank():
    run = inlet()
    found = only(imbalance_place.find(observed_run(48, 10, compute_time_s=run.of("compute_time_s"))))
    assert (
        found.kind == "imbalance of a group" and "The 8 ranks that are one in 6, from rank 0" in found.words
    )


def test_own_attribute_names_the_group_before_mesh_and_numbers():
    material = np.where(np.arange(48) % 6 == 0, "steel", "air")
    run = inlet(attributes={"role": np.repeat("solver", 48), "material": material})
    found = only(imbalance_place.find(run))
    assert found.kind == "imbalance of a group" and found.ranks.tolist() == list(range(0, 48, 6))
    assert found.words.startswith(
        "The 8 ranks whose material is steel (ranks 0, 6, 12 and 5 more) compute 1.6"
    )


def test_attribute_that_too_few_ranks_share_is_not_proven():
    random = np.random.default_rng(5)
    compute = np.exp(0.02 * random.standard_normal((10, 48)))
    shared = np.where(np.arange(48) < 8, "yes", "")
    rare = np.where(np.arange(48) < 2, "yes", "")
    run = observed_run(48, 10, compute_time_s=compute, attributes={"inlet": shared, "pump": rare})
    seen = imbalance_place.sees(run)
    assert seen.words.endswith("Too few ranks for a test share a value of pump.") and not seen.is_enough


def test_group_of_which_no_rank_stands_out_is_named():
    """20 % noise in 10 steps hides each rank, but not 24 of 48 together."""
    x, y = np.arange(48) % 6, np.arange(48) // 6
    random = np.random.default_rng(3)
    compute = 0.1 * np.where((x + y) % 2 == 0, 1.15, 1.0) * np.exp(0.12 * random.standard_normal((10, 48)))
    assert differences(compute).pattern == "chance"
    found = only(
        imbalance_place.find(observed_run(48, 10, compute_time_s=compute, boxes=boxes_of_grid(6, 8)))
    )
    assert found.kind == "imbalance follows the mesh" and len(found.ranks) == 24
    assert "one colour of a checkerboard of pieces (with the first)" in found.words
    assert found.saved_s == pytest.approx(10 * 0.1 * 0.075, rel=0.2)


def test_one_rank_that_is_far_slower_than_its_group_is_named_alone():
    x = np.arange(48) % 6
    factors = np.where(x == 0, 1.2, 1.0)
    factors[12] = 3
    run = run_of(factors, boxes=boxes_of_grid(6, 8))
    assert only(imbalance.find(run)).ranks.tolist() == [12] and not list(imbalance_place.find(run))


def test_a_costly_part_of_the_mesh_is_reported_after_the_imbalance():
    x, y = np.arange(64) % 8, np.arange(64) // 8
    factors = 1 + np.exp(-((x - 3.3) ** 2 + (y - 4.6) ** 2) / 6)
    run = run_of(factors, cells=np.full(64, 500.0), neighbours=GRID, placement=plain_placement(64))
    first, second = only(imbalance.find(run)), only(imbalance_place.find(run))
    assert first.kind == "imbalance by cost per cell" and first.saved_s > 0
    assert second.kind == "imbalance follows the mesh" and second.saved_s is None and second.chance < 1e-3
    assert second.words.startswith(
        "Compute time per cell follows the mesh: ranks whose pieces touch are alike"
    )


@pytest.mark.parametrize("seed", range(5))
def test_costly_ranks_anywhere_follow_neither_mesh_nor_machine(seed):
    factors = np.where(np.isin(np.arange(64), np.random.default_rng(seed).choice(64, 6, replace=False)), 2, 1)
    run = run_of(
        factors, cells=np.full(64, 500.0), neighbours=GRID, placement=plain_placement(64, per_node=8)
    )
    assert only(imbalance.find(run)).kind == "imbalance by cost per cell" and not list(
        imbalance_place.find(run)
    )


def test_a_hot_spot_that_moves_to_neighbours_is_reported_to_move_through_the_mesh():
    compute = np.full((64, 64), 0.1)
    row = np.concatenate([np.arange(8), np.arange(6, -1, -1), np.arange(8, 16)])
    compute[np.arange(64), row[np.arange(64) // 3 % len(row)]] = 0.5
    found = only(imbalance_place.find(observed_run(64, 64, compute_time_s=compute, neighbours=GRID)))
    assert found.kind == "imbalance follows the mesh" and "moves through the mesh" in found.words


def test_a_node_with_more_ranks_than_others_is_reported_to_hold_them():
    places = [("n1", str(core)) for core in range(0, 16, 2)]
    places += [(host, str(core)) for host in ("n2", "n3") for core in range(0, 8, 2)]
    found = only(slow_nodes.find(run_of([1.5] * 8 + [1] * 8, placement=placement_at(*places))))
    assert found.hosts == ("n1",) and " It holds 8 ranks and other nodes 4: " in found.words


def test_nodes_that_all_share_pus_alike_can_be_slow():
    places = [(host, "0") for host in ("n1", "n2", "n3") for _ in range(4)]
    run = run_of([1] * 4 + [1.5] * 4 + [1] * 4, placement=placement_at(*places))
    assert only(slow_nodes.find(run)).hosts == ("n2",)


@pytest.mark.parametrize("seed", range(20))
def test_ranks_that_differ_anyway_make_no_slow_node_of_two_that_are_dear(seed):
    """With two ranks for each node, the two costliest often share one."""
    factors = np.exp(0.2 * np.random.default_rng(seed).standard_normal(16))
    assert not list(slow_nodes.find(run_of(factors, seed=seed, placement=plain_placement(16, per_node=2))))


def test_two_costly_ranks_at_one_place_of_two_nodes_may_be_chance():
    run = run_of([1, 2, 1, 1] * 2, placement=plain_placement(8))
    assert only(imbalance.find(run)).kind == "imbalance" and not list(imbalance_place.find(run))


def test_two_costly_ranks_that_touch_may_be_chance():
    ring = [(rank, (rank + 1) % 10) for rank in range(10)]
    run = run_of([1, 1, 2, 2, 1, 1, 1, 1, 1, 1], cells=np.full(10, 64.0), neighbours=ring)
    assert len(list(imbalance.find(run))) == 1 and not list(imbalance_place.find(run))


def test_remedy_of_costly_ranks_that_run_a_region_more_often_is_not_about_the_machine():
    counts = np.where(np.arange(48) % 8 == 0, 828, 532)
    noise = np.exp(0.02 * np.random.default_rng(0).standard_normal((40, 48)))
    run = observed_run(
        48,
        40,
        compute_time_s=counts * 1e-4 * noise,
        b_time_s=counts * 1e-4 * noise,
        b_count=counts,
        regions=["b"],
        placement=plain_placement(48, per_node=8),
    )
    found = only(imbalance_place.find(run))
    assert found.kind == "imbalance follows the machine" and "Counts explain that: b runs 828" in found.words
    assert found.remedy.startswith("Look for what makes b run more often on these ranks: ")
