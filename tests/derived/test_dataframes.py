# SPDX-License-Identifier: BSD-3-Clause
"""Ranks, regions, messages and waits of a run as DataFrames."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import perfield
from twins import twin


@pytest.fixture
def run(tmp_path):
    """Three ranks on two hosts, measured in the steps 0, 2, 4 and 6."""

    def every_other(rank, step, values):
        return step % 2 == 0

    path = twin.write_run(tmp_path / "run", ranks=3, steps=7, hosts=("a", "b"), change_step=every_other)
    return perfield.open(path)


def test_messages_of_chosen_steps(run):
    rows = run.messages(steps=2)
    assert isinstance(rows, pd.DataFrame)
    assert rows.columns.tolist() == ["step", "source", "target", "call", "count", "bytes", "empty", "largest"]
    assert rows[["step", "source", "target", "bytes"]].values.tolist() == [
        [2, 0, 1, 2000],
        [2, 1, 2, 4000],
        [2, 2, 0, 6000],
    ]
    assert rows["call"].tolist() == ["isend"] * 3


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (0, [0]),
        ([4, 0], [4, 0]),
        (slice(2, 4), [2, 4]),
        (slice(1, 5), [2, 4]),
        (slice(None), [0, 2, 4, 6]),
        (slice(7, None), []),
        (np.array([6]), [6]),
        ([], []),
    ],
    ids=str,
)
def test_steps_argument_selects_as_sel_does(run, steps, expected):
    assert list(dict.fromkeys(run.waits(steps)["step"])) == expected
    if not isinstance(steps, list) or steps:
        assert np.atleast_1d(run.steps.sel(step=steps)["step"]).tolist() == expected


def test_unmeasured_step_is_an_error(run):
    with pytest.raises(KeyError, match=r"step 3 is not in .*run, which has steps 0 to 6 \(4 measured\)"):
        run.messages([2, 3])


def test_received_holds_the_receivers_counts(run):
    rows = run.received(0)
    assert rows[["source", "target", "call", "bytes"]].values.tolist() == [
        [2, 0, "recv", 6000],
        [0, 1, "recv", 2000],
        [1, 2, "recv", 4000],
    ]


def test_waits_show_who_waited_for_whom(run):
    rows = run.waits([0])
    assert rows[["rank", "peer", "count"]].values.tolist() == [[0, 2, 1], [1, 0, 1], [2, 1, 1]]
    assert rows["time_s"].tolist() == [60e-6] * 3


@pytest.mark.parametrize("table", ["messages", "received", "waits"])
def test_dask_dataframe_has_the_same_rows(run, table):
    import dask.dataframe as dd

    lazily = getattr(run, table)()
    assert isinstance(lazily, dd.DataFrame)
    whole = getattr(run, table)(slice(None))
    copied = pickle.loads(pickle.dumps(lazily))
    for found in (lazily.compute(scheduler="threads"), copied.compute()):
        texts = {name: whole[name].dtype for name in whole if name == "call"}  # dask's may be Arrow's
        pd.testing.assert_frame_equal(found.reset_index(drop=True).astype(texts), whole)


def test_run_without_steps_has_empty_tables(tmp_path):
    path = twin.write_run(tmp_path / "run", ranks=1, steps=0, ended=False, change_rank=twin.live_rank)
    run = perfield.open(path)
    assert len(run.messages().compute()) == len(run.waits(slice(None))) == 0
    assert run.messages(slice(None)).columns[0] == "step"
    with pytest.raises(KeyError, match=r"step 0 is not in .*, which has no steps"):
        run.messages(0)


def test_ranks_show_where_each_ran(run):
    ranks = run.ranks
    assert ranks.index.name == "rank" and ranks.index.tolist() == [0, 1, 2]
    assert ranks["host"].tolist() == ["a", "a", "b"] and ranks["node"].tolist() == [0, 0, 1]
    assert ranks["steps"].tolist() == [7, 7, 7] and set(ranks["state"]) == {"ended (finalize)"}


def test_rank_that_never_checked_in_has_a_row(tmp_path):
    def size(rank, values):
        values["size"] = 3

    path = twin.write_run(tmp_path / "run", ranks=2, steps=1, change_rank=size)
    ranks = perfield.open(path).ranks
    assert ranks["host"].tolist() == ["node0", "node0", ""] and ranks["node"].tolist() == [0, 0, -1]
    assert ranks["state"].tolist()[2] == "never checked in" and np.isnan(ranks["pid"].tolist()[2])


def test_regions_carry_the_stem_of_their_fields(run):
    regions = run.regions
    assert regions.index.tolist() == run.steps["region"].values.tolist() == ["exchange", "solve"]
    assert regions.loc["solve"].tolist() == ["solve", -1, "heat.cpp", 10]
