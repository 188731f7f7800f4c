# SPDX-License-Identifier: BSD-3-Clause
"""The call sites that could close a program's steps, and their order."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from perfield.call_sites.candidates import candidates, has_sites
from perfield.call_sites.source_lines import source_lines

MODULES = ["/opt/code/solver", "/usr/lib/libmpi.so.40"]
MS = 1_000_000


def site(call: str, number: int, hits: int, first_ms=0.0, last_ms=1000.0, steady=None, depth=3, offset=0):
    """A row of a `sites` entry. steady : how many intervals equal the one before; default all."""
    return {
        "call": call,
        "number": number,
        "hits": hits,
        "steady": hits - 2 if steady is None else steady,
        "first_ns": int(first_ms * MS),
        "last_ns": int(last_ms * MS),
        "callers": [[0, offset + 16 * frame] for frame in range(depth)],
    }


def run_of(*ranks, modules=None, ended=True, groups=None):
    """A stand-in with the attributes that `candidates` reads; its ranks have these sites."""
    bodies = {rank: {"modules": modules or MODULES, "sites": list(rows)} for rank, rows in enumerate(ranks)}
    return SimpleNamespace(
        sites=bodies,
        groups=groups or {"solver": list(range(len(ranks)))},
        ends={rank: {} for rank in bodies} if ended else {},
    )


def settings(run):
    return [candidate.setting for candidate in candidates(run)]


def test_candidate_is_hit_equally_often_by_all_ranks():
    ones = [site("Allreduce", 1, 10), site("Barrier", 1, 1), site("Bcast", 1, 5), site("Send", 1, 7)]
    others = [site("Allreduce", 1, 10), site("Barrier", 1, 1), site("Bcast", 1, 6)]
    assert settings(run_of(ones, others)) == ["Allreduce@1"]


def test_site_that_differs_between_ranks_is_no_candidate():
    assert settings(run_of([site("Allreduce", 1, 10)], [site("Allreduce", 2, 10)])) == []
    assert settings(run_of([site("Allreduce", 1, 10)], [site("Allreduce", 1, 10, offset=4)])) == []


def test_program_path_may_differ_between_nodes():
    run = run_of([site("Allreduce", 1, 10)], [site("Allreduce", 1, 10)])
    run.sites[1]["modules"] = ["/scratch/copy/solver", "/lib/libmpi.so.40"]
    assert settings(run) == ["Allreduce@1"]


def test_period_and_share_come_from_the_first_and_last_hit():
    (first, second) = candidates(run_of([site("Allreduce", 1, 11, 500), site("Bcast", 1, 3, 0, 100)]))
    assert (first.setting, first.hits, first.group) == ("Allreduce@1", 11, "solver")
    assert first.period_s == pytest.approx(0.05)
    assert first.share == pytest.approx(0.5)
    assert first.steady == 1
    assert first.is_regular and not second.is_regular


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"hits": 40}, {"hits": 40, "steady": 5}),
        ({"hits": 40}, {"hits": 40, "last_ms": 300}),
        ({"hits": 40, "depth": 3}, {"hits": 400, "depth": 5}),
        ({"hits": 40}, {"hits": 4}),
        ({"hits": 40, "first_ms": 20}, {"hits": 40, "first_ms": 10}),
        ({"hits": 40}, {"hits": 3}),
        ({"hits": 40, "steady": 5}, {"hits": 40, "steady": 5, "last_ms": 300}),
    ],
)
def test_better_site_comes_first(better, worse):
    all_the_time = site("Bcast", 9, 1, 0, 0), site("Bcast", 8, 1, 1000, 1000)
    rows = [*all_the_time, site("Send", 1, **better), site("Recv", 1, **worse, offset=1)]
    assert settings(run_of(rows)) == ["Send@1", "Recv@1"]
    assert settings(run_of(rows[::-1])) == ["Send@1", "Recv@1"]


def test_ranks_of_a_killed_run_may_differ_in_hits():
    ranks = [site("Allreduce", 1, 64)], [site("Allreduce", 1, 128)]
    assert settings(run_of(*ranks)) == []
    assert settings(run_of(*ranks, ended=False)) == ["Allreduce@1"]


def test_groups_have_separate_sites():
    run = run_of(
        [site("Send", 1, 8)], [site("Recv", 1, 16)], modules=MODULES, groups={"flow": [0], "heat": [1]}
    )
    assert {(c.setting, c.group) for c in candidates(run)} == {("Send@1", "flow"), ("Recv@1", "heat")}


def test_rank_without_sites_leaves_its_group_without_candidates():
    run = run_of([site("Allreduce", 1, 10)], [])
    assert candidates(run) == []
    assert has_sites(run)
    assert not has_sites(run_of([], []))


def test_damaged_entry_is_no_error():
    run = run_of([site("Allreduce", 1, 10)])
    run.sites[0]["sites"][0]["callers"] = [[7, 1], ["x", None], [0, 5]]
    run.sites[0]["sites"].append({})
    assert settings(run) == ["Allreduce@1"]


def test_missing_files_have_no_source_lines(tmp_path):
    assert source_lines([(str(tmp_path / "gone"), 16), ("", 0)]) == {}
