# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of ranks by node, package, NUMA node, switch and step: `run.steps.perfield.by(...)`."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from known_runs import uneven_runs

import perfield
from perfield.analysis.accessor import LEVELS
from twins import twin

NOT = np.nan


@pytest.fixture
def data():
    """Seven ranks: two packages on n1, an unbound rank there, two ranks on n2, one nowhere, one on n10."""
    return xr.Dataset(
        {
            "solve_time_s": (
                ("step", "rank"),
                [[1.0, 3, 10, 7, 9, 5, 4], [2.0, NOT, 10, NOT, NOT, 5, 4]],
                {"units": "s", "long_name": "time"},
            ),
            "node_id": (("step", "rank"), np.zeros((2, 7)), {"source": "placement"}),
        },
        {
            "rank": np.arange(7),
            "uneven": ("step", [False, True]),
            "node": ("rank", [0, 0, 0, 1, 1, -1, 2]),
            "node_name": ("rank", ["n1", "n1", "n1", "n2", "n2", "", "n10"]),
            "host": ("rank", ["n1", "n1", "n1", "n2", "n2", "", "n10"]),
            "switch": ("rank", ["z", "z", "z", "", "", "", "a"]),
            "package": ("rank", [1.0, 0, NOT, 0, 0, NOT, NOT]),
        },
        {"run": "a run"},
    )


def by_group(found: xr.Dataset, level: str, statistic: str, step: int = 0) -> dict[str, float]:
    column = found.solve_time_s.isel(step=step).sel(statistic=statistic)
    return dict(zip(found[level].values.tolist(), column.values.tolist()))


def test_packages_are_named_and_ranks_without_one_form_a_group(data):
    found = data.perfield.by("package")
    assert by_group(found, "package", "mean") == {
        "n1 package 0": 3,
        "n1 package 1": 1,
        "n1, no single package": 10,
        "n2 package 0": 8,
        "n10, no single package": 4,
        "no node": 5,
    }
    assert found.n_ranks.values.tolist() == [1, 1, 1, 2, 1, 1]


def test_switches_come_in_the_order_of_their_nodes_and_unknown_ones_last(data):
    found = data.perfield.by("switch")
    assert by_group(found, "switch", "max") == {"z": 10, "a": 4, "no known switch": 9}
    assert found["switch"].values.tolist() == ["z", "a", "no known switch"]


def test_absent_values_do_not_count(data):
    found = data.perfield.by("node")
    assert by_group(found, "node", "mean", step=1)["n1"] == 6
    assert np.isnan(by_group(found, "node", "imbalance", step=1)["n2"])


def test_steps_have_statistics_of_all_ranks(data):
    found = data.perfield.by("step")
    assert found.solve_time_s.dims == ("step", "statistic")
    assert found.solve_time_s.sel(statistic="imbalance").values.tolist() == [10 / (39 / 7), 10 / (21 / 4)]
    assert found.n_ranks == 7


def test_own_coordinate_makes_groups(data):
    halves = data.assign_coords(half=("rank", ["low"] * 4 + ["high"] * 3))
    assert by_group(halves.perfield.by("half"), "half", "min") == {"low": 1, "high": 4}


def test_selection_of_ranks_and_steps_comes_first(data):
    found = data.isel(rank=[4, 0], step=[1]).perfield.by("node")
    assert found["node"].values.tolist() == ["n1", "n2"]
    assert by_group(found, "node", "mean")["n1"] == 2


def test_units_coordinates_of_steps_and_the_run_are_kept(data):
    found = data.perfield.by("switch")
    assert found.solve_time_s.attrs == {"units": "s", "long_name": "time"}
    assert found["uneven"].values.tolist() == [False, True]
    assert found.attrs == {"run": "a run"}


def test_numbers_of_places_have_no_statistics(data):
    assert list(data.perfield.by("node").data_vars) == ["solve_time_s"]


def test_unknown_level_lists_those_that_exist(data):
    with pytest.raises(ValueError, match=r"no groups by 'rack'; it has node, host, switch, package, step\.$"):
        data.perfield.by("rack")


def test_single_rank_says_how_to_select(data):
    with pytest.raises(ValueError, match="select with a list or a slice of ranks"):
        data.isel(rank=3).perfield.by("node")


# --- of a run -------------------------------------------------------------------------------------


def test_statistics_of_a_run_are_lazy_and_equal_those_in_memory(tmp_path):
    steps = perfield.open(twin.write_run(tmp_path / "run", ranks=5, steps=4, hosts=("a", "b"))).steps
    lazy = steps.perfield.by("node")
    assert lazy.region_time_s.chunks and lazy.region_time_s.dims == ("step", "node", "region", "statistic")
    xr.testing.assert_identical(lazy.compute(), steps.compute().perfield.by("node"))
    solve = steps.region_time_s.sel(region="solve").groupby("node").mean("rank")
    found = lazy.region_time_s.sel(region="solve", statistic="mean")
    np.testing.assert_allclose(found.values, solve.transpose("step", "node").values)


def test_nodes_with_one_host_name_have_different_names(tmp_path):
    def rebooted(rank, values):
        values |= {"boot_id": f"{rank}" * 8 + "-0000"}

    run = perfield.open(twin.write_run(tmp_path / "run", ranks=2, hosts=("a",), change_rank=rebooted))
    names = run.steps.perfield.by("node")["node"].values.tolist()
    assert names == ["a (00000000)", "a (11111111)"]
    assert run.steps.perfield.by("host")["host"].values.tolist() == ["a"]


def test_uneven_frames_stay_marked(tmp_path):
    run = perfield.open(uneven_runs.uneven_run(tmp_path / "run", closed=[2, 4]))
    assert run.steps.perfield.by("step")["uneven"].values.any()


def test_every_level_gives_groups_that_hold_all_ranks(tmp_path):
    steps = perfield.open(twin.write_run(tmp_path / "run", ranks=3, hosts=("a", "b"))).steps
    assert {level: int(steps.perfield.by(level).n_ranks.sum()) for level in LEVELS} == dict.fromkeys(
        LEVELS, 3
    )


def test_switches_come_from_the_network_of_the_run(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=4, hosts=("n1", "n2"))
    (path / "machine").mkdir(exist_ok=True)
    conf = "SwitchName=leaf1 Nodes=n1\nSwitchName=leaf2 Nodes=n2\nSwitchName=top Switches=leaf[1-2]\n"
    (path / "machine" / "network.txt").write_text(conf)
    run = perfield.open(path)
    found = run.steps.perfield.by("switch").step_time_s
    assert found["switch"].values.tolist() == ["leaf1", "leaf2"]
    assert found.n_ranks.values.tolist() == [2, 2]
    assert run.ranks["switch"].tolist() == ["leaf1", "leaf1", "leaf2", "leaf2"]
