# SPDX-License-Identifier: BSD-3-Clause
"""Slow phases that cluster in a part of the machine are reported; those that do not are not."""

import numpy as np
from known_runs.observed_runs import plain_placement
from known_runs.planted_regimes import by_node, planted, two_levels

from perfield.studies.regimes.model import LEVELS, REGIME, simulated, timings, where
from perfield.topology import Network


def switched(n_nodes, per_switch):
    """A network whose leaf switches s0, s1, ... have so many nodes n1, n2, ... each, below one switch."""
    n_leaves = n_nodes // per_switch
    names = (*(f"s{leaf}" for leaf in range(n_leaves)), "top")
    links = tuple((leaf, n_leaves) for leaf in range(n_leaves))
    return Network(names, links, {f"n{node + 1}": node // per_switch for node in range(n_nodes)})


PLACEMENT = plain_placement(48, 4, switched(12, 4))


def levels(found):
    return {cluster.level: cluster for cluster in found}


def clusters(found):
    return [cluster.level for cluster in found if cluster.is_cluster]


def false_alarms(make, n):
    """In how many of n cases the chance is at most 5 %, by level."""
    found = [where(make(seed), PLACEMENT, n_permutations=59) for seed in range(n)]
    return {level: sum(levels(one)[level].chance <= 0.05 for one in found) for level in LEVELS}


def test_slow_node_is_named():
    found = levels(where(planted(48, 400, [(range(8, 12), 50, 200)]), PLACEMENT))
    assert found["node"].places == ("n3",)
    assert found["node"].words == (
        "Slow phases cluster by node (ranks exchanged at random do as much in 0.16 % of cases): node n3 was "
        "in the slow regime in 38 % of the steps, the others in 0 %."
    )
    assert not found["switch"].is_cluster and not found["package"].is_cluster


def test_slow_switch_is_not_taken_for_slow_nodes():
    found = where(planted(48, 400, [(range(16, 32), 50, 200)]), PLACEMENT)
    assert clusters(found) == ["switch"]
    assert levels(found)["switch"].places == ("s1",)


def test_slow_package_of_each_node_is_named():
    found = levels(where(planted(16, 400, [(range(0, 16, 2), 50, 200)]), plain_placement(16, 8)))
    assert found["package"].places == ("n1 package 0", "n2 package 0")
    assert not found["node"].is_cluster


def test_nodes_that_are_slow_at_times_of_their_own_cluster_without_a_name():
    found = where(by_node(12, 4, 400, 1), PLACEMENT)
    assert clusters(found) == ["node"]
    assert levels(found)["node"].places == ()
    assert levels(found)["node"].words.endswith("the ranks of one node are slow at the same times.")


def test_ranks_that_share_the_steps_of_a_node_make_no_cluster_of_switches():
    assert false_alarms(lambda seed: by_node(12, 4, 200, seed), 60)["switch"] <= 8


def test_independent_slow_phases_cluster_nowhere_however_long_they_last():
    model = two_levels(0.99, 0.95)
    assert max(false_alarms(lambda seed: simulated(model, 48, 200, seed), 60).values()) <= 8


def test_phases_that_strike_all_ranks_cluster_nowhere():
    def everywhere(seed):
        together = simulated(two_levels(0.98, 0.9), 1, 200, seed)[REGIME].values
        alone = simulated(two_levels(0.98, 0.9), 48, 200, 1000 + seed)[REGIME].values
        regime = np.maximum(together, alone)
        return timings(1.0 + regime).assign({REGIME: (("rank", "step"), regime)})

    assert max(false_alarms(everywhere, 60).values()) <= 8


def test_one_slow_rank_is_no_cluster():
    assert not clusters(where(planted(48, 400, [([9], 50, 350)]), PLACEMENT))


def test_few_nodes_say_that_they_are_too_few():
    found = levels(where(planted(8, 400, [(range(4, 8), 50, 200)]), plain_placement(8, 4)))
    assert found["node"].words == (
        "Whether slow phases cluster by node cannot be shown: 2 nodes are too few, as ranks exchanged at "
        "random do as much in 2.9 % of cases."
    )
    assert "the switches of these ranks are not known" in found["switch"].words


def test_one_node_cannot_be_compared():
    found = levels(where(planted(4, 50, [([0], 5, 9)]), plain_placement(4, 4)))
    assert found["node"].words.endswith("cannot be shown: all ranks are on one node.")


def test_timings_of_one_regime_cluster_nowhere():
    assert not clusters(where(planted(48, 50, []), PLACEMENT))


def test_same_seed_gives_the_same_answer():
    times = planted(48, 100, [([2, 9], 5, 20), ([30], 6, 40)])
    assert [c.chance for c in where(times, PLACEMENT)] == [c.chance for c in where(times, PLACEMENT)]


def test_cluster_is_found_where_steps_are_joined():
    regime = np.repeat(simulated(two_levels(0.98, 0.9), 64, 4000, 0)[REGIME].values, 8, axis=0)
    times = timings(1.0 + regime).assign({REGIME: (("rank", "step"), regime)})
    assert clusters(where(times, plain_placement(512, 8), n_permutations=199)) == ["node"]
