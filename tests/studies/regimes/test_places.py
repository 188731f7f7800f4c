# SPDX-License-Identifier: BSD-3-Clause
"""perfield lab regimes says when the slow regime struck, where, and what it cost."""

from __future__ import annotations

import json

import numpy as np
import pytest
from known_runs import rhythm_runs

import perfield
from perfield import commands
from perfield.report import report

N_RANKS, N_STEPS = 32, 600


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Eight nodes of four ranks, of which the second takes three times as long in steps 200 to 299 and 400
    to 429."""
    random = np.random.default_rng(0)
    lengths = 1e-3 * np.exp(0.02 * random.standard_normal((N_RANKS, N_STEPS)))
    lengths[4:8, 200:300] *= 3
    lengths[4:8, 400:430] *= 3
    starts = 4e-3 * np.arange(N_STEPS)
    stamps = {rank: list(zip(starts, starts + one)) for rank, one in enumerate(lengths)}
    hosts = tuple(f"n{number}" for number in range(1, 9))

    def only_computes(rank, step, values):
        values.update(regions=[], calls=[], messages=[], waits=[], quantities=[], pu=rank % 4)

    def bound(rank, values):
        values.update(monotonic_ns=10**12, group="heat", cpuset=str(rank % 4))

    path = tmp_path_factory.mktemp("slow") / "run"
    return rhythm_runs.write(path, stamps, hosts=hosts, change=only_computes, change_rank=bound)


@pytest.fixture
def say(capsys, path):
    def call(*options):
        assert commands.main(["lab", "regimes", str(path), "--regimes", "2", *options]) == 0
        return capsys.readouterr().out

    return call


def test_cost_costliest_event_and_node_are_reported(say):
    out = say()
    assert "The slow regime cost 26" in out
    assert "in 2 events; the costliest: steps 200 to 299 on node n2, " in out
    assert "Slow phases cluster by node (ranks exchanged at random do as much in 0.02 % of cases): " in out
    assert "node n2 was in the slow regime in 22 % of the steps, the others in 0 %." in out


def test_events_are_listed_with_ranks_and_nodes(say):
    rows = [
        line.split() for line in say("--events").splitlines() if line.strip().startswith(("200-", "400-"))
    ]
    assert [(row[0], row[-2], row[-1]) for row in rows] == [
        ("200-299", "4-7", "n2"),
        ("400-429", "4-7", "n2"),
    ]


def test_shares_by_node_begin_with_the_slowest(say):
    lines = say("--by", "node").splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("node"))
    assert lines[at + 1].split()[:4] == ["n2", "4", "22", "%"]
    assert len(lines) - at > 8


def test_json_holds_events_shares_and_tests(say):
    out = json.loads(say("--json"))
    found = [(event["start"], event["end"], event["nodes"]) for event in out["events"]]
    assert found == [(200, 299, ["n2"]), (400, 429, ["n2"])]
    assert out["cost_s"] == pytest.approx(sum(event["cost_s"] for event in out["events"]))
    assert {row["node"]: round(row["share_of_steps"], 2) for row in out["shares"]["node"]}["n2"] == 0.22
    assert [cluster["level"] for cluster in out["clusters"] if cluster["is_cluster"]] == ["node"]


def test_report_says_the_slow_regime_first(path):
    out = report(perfield.open(path)).findings[0]
    assert (out.kind, out.hosts, out.ranks.tolist()) == ("slow regime", ("n2",), [4, 5, 6, 7])
    assert "22 % of the steps take 3.06 ms, the others 1.04 ms" in out.words
    assert out.words.endswith("They take longer in computing, on node n2.")


def test_timings_from_a_file_have_events_without_nodes(capsys, tmp_path):
    values = np.exp(0.02 * np.random.default_rng(0).standard_normal((3, 600))) * 1e-3
    values[1, 100:200] *= 3
    np.save(tmp_path / "times.npy", values)
    assert commands.main(["lab", "regimes", str(tmp_path / "times.npy"), "--regimes", "2"]) == 0
    out = capsys.readouterr().out
    assert "in 1 event; the costliest: steps 100 to 199, " in out
    assert "cluster" not in out
