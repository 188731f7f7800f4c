# SPDX-License-Identifier: BSD-3-Clause
"""The call sites that could close a program's steps, and their order."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from perfield.call_sites.candidates import candidates, digits, sites
from perfield.call_sites.names import file_of, in_code, names, own
from perfield.symbols.source_lines import SourceLine, source_lines

MODULES = ["/opt/code/solver", "/usr/lib/libmpi.so.40"]
MS = 1_000_000


def level(beats, *, even=None, bursts=0, length=1, same=None, inside=(1, 1), between=(0, 0)):
    """A level of a site's rhythm: bursts of equal length, or none. inside, between : a gap's (ns, calls)."""
    same = max(bursts - 1, 0) if same is None else same
    even = beats - 2 if even is None else even
    gaps = beats - 1 - bursts
    return [beats, even, bursts, length, same, gaps, inside[0], between[0], inside[1], between[1]]


def site(call: str, hash: str, hits: int, first_ms=0.0, last_ms=1000.0, even=None, depth=3, rhythm=None):
    """A row of a `sites` entry. even : how many intervals equal the one before; default all."""
    return {
        "call": call,
        "hash": f"{hash:0<16}",
        "hits": hits,
        "first_ns": int(first_ms * MS),
        "last_ns": int(last_ms * MS),
        "rhythm": rhythm or [level(hits, even=even, inside=(1, 5))],
        "callers": [[0, 16 * frame] for frame in range(depth)],
    }


def bursts_of(length: int, hits: int, even: int | None = None):
    """Hits of a halo exchange: `length` of them with 2 calls between, then 14 calls until the next step."""
    n = hits // length
    return [
        level(hits, even=0, bursts=n - 1, length=length, inside=(1000, 3), between=(100_000, 15)),
        level(n, even=even, inside=(100_000, 24)),
    ]


def run_of(*ranks, modules=None, ended=True, groups=None):
    """A stand-in with the attributes that `candidates` reads; its ranks have these sites."""
    bodies = {
        rank: {"modules": modules or MODULES, "last_ns": 1000 * MS, "sites": list(rows)}
        for rank, rows in enumerate(ranks)
    }
    return SimpleNamespace(
        sites=bodies,
        groups=groups or {"solver": list(range(len(ranks)))},
        ends={rank: {} for rank in bodies} if ended else {},
    )


def found(run):
    return [(c.site.call, c.site.hash.rstrip("0"), c.every) for c in candidates(run)]


def test_candidate_is_hit_equally_often_by_all_ranks():
    ones = [site("Allreduce", "a", 10), site("Barrier", "b", 1), site("Bcast", "c", 5), site("Send", "d", 7)]
    others = [site("Allreduce", "a", 10), site("Barrier", "b", 1), site("Bcast", "c", 6)]
    assert found(run_of(ones, others)) == [("Allreduce", "a", 1)]


def test_site_that_differs_between_ranks_is_no_candidate():
    assert found(run_of([site("Allreduce", "a", 10)], [site("Allreduce", "b", 10)])) == []


def test_call_on_the_root_alone_shifts_no_other_site():
    common = [site("Allreduce", "a", 10), site("Allreduce", "b", 20)]
    root_only = site("Allreduce", "c", 40, first_ms=-1)
    assert found(run_of([root_only, *common], common, common)) == found(run_of(common, common, common))


def test_program_path_may_differ_between_nodes():
    run = run_of([site("Allreduce", "a", 10)], [site("Allreduce", "a", 10)])
    run.sites[1]["modules"] = ["/scratch/copy/solver", "/lib/libmpi.so.40"]
    assert found(run) == [("Allreduce", "a", 1)]


def test_period_and_share_come_from_the_first_and_last_hit():
    run = run_of([site("Allreduce", "a", 11, 500), site("Bcast", "b", 3, 0, 100)])
    first, second = candidates(run)
    assert (first.site.call, first.hits, first.steps, first.group) == ("Allreduce", 11, 11, "solver")
    assert first.period_s == pytest.approx(0.05)
    assert first.share == pytest.approx(0.5)
    assert first.steady == 1
    assert first.is_regular and not second.is_regular


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"hits": 40}, {"hits": 40, "even": 5}),
        ({"hits": 40}, {"hits": 40, "last_ms": 300}),
        ({"hits": 40, "depth": 3}, {"hits": 40, "depth": 5}),
        ({"hits": 40}, {"hits": 4}),
        ({"hits": 40, "first_ms": 20}, {"hits": 40, "first_ms": 10}),
        ({"hits": 40}, {"hits": 3}),
        ({"hits": 40, "even": 5}, {"hits": 40, "even": 5, "last_ms": 300}),
        # One hit per step before several.
        ({"hits": 40}, {"hits": 160, "rhythm": bursts_of(4, 160)}),
        # At each tenth step, energies are summed nearer to main.
        ({"hits": 300, "depth": 5}, {"hits": 30, "depth": 3}),
    ],
)
def test_better_site_comes_first(better, worse):
    rows = [site("Send", "a", **better), site("Recv", "b", **worse)]
    assert [call for call, _, _ in found(run_of(rows))] == ["Send", "Recv"]
    assert [call for call, _, _ in found(run_of(rows[::-1]))] == ["Send", "Recv"]


def test_bursts_of_equal_length_are_one_step_each():
    (best,) = candidates(run_of([site("Wait", "a", 800, rhythm=bursts_of(4, 800))]))
    assert (best.every, best.steps, best.is_regular) == (4, 200, True)
    assert best.period_s == pytest.approx(1.0 / 799 * 4)


def test_bursts_of_bursts_are_one_step_each():
    rhythm = [
        level(1200, even=0, bursts=299, length=4, inside=(1000, 3), between=(9000, 15)),
        level(300, even=0, bursts=99, length=3, inside=(9000, 24), between=(900_000, 80)),
        level(100, inside=(1_000_000, 200)),
    ]
    (best,) = candidates(run_of([site("Wait", "a", 1200, rhythm=rhythm)]))
    assert (best.every, best.steps) == (12, 100)


def test_every_tenth_step_with_more_calls_makes_no_bursts():
    # As in GROMACS: nine steps alike, then one that also exchanges particles.
    rhythm = [
        level(300, bursts=29, length=10, inside=(4_000_000, 16), between=(4_500_000, 46)),
        level(30),
    ]
    (best,) = candidates(run_of([site("Sendrecv", "a", 300, rhythm=rhythm)]))
    assert (best.every, best.steps, best.is_regular) == (1, 300, True)


def test_bursts_now_and_then_make_no_bursts_of_all_hits():
    # Most bursts have one hit, as the one before; but most hits are in longer ones.
    rhythm = [
        level(301, bursts=86, length=1, same=77, inside=(1_000_000, 16), between=(1_500_000, 17)),
        level(87, even=0),
    ]
    (best,) = candidates(run_of([site("Sendrecv", "a", 301, rhythm=rhythm)]))
    assert (best.every, best.steps, best.is_regular) == (1, 301, True)


def test_exchanges_in_three_directions_are_one_step():
    # Little but the exchanges calls MPI, so bursts show in time alone.
    rhythm = [level(36, bursts=11, length=3, inside=(2_000, 5), between=(40_000, 6)), level(12)]
    (best,) = candidates(run_of([site("Waitall", "a", 36, rhythm=rhythm)]))
    assert (best.every, best.steps, best.is_regular) == (3, 12, True)


def test_bursts_are_found_without_the_clock():
    # On a busy machine, a short gap may take as long as a step.
    rhythm = bursts_of(4, 320)
    rhythm[0][6] = rhythm[0][7] = 1_000_000
    rhythm[0][1] = 160
    (best,) = candidates(run_of([site("Wait", "a", 320, rhythm=rhythm)]))
    assert (best.every, best.steps) == (4, 80)


def test_two_correctors_per_step_are_no_two_steps():
    correctors = [site("Allreduce", digit, 80) for digit in "123456"]
    courant = [site("Allreduce", digit, 40, depth=9) for digit in "ab"]
    assert candidates(run_of([*correctors, *courant]))[0].steps == 40


def test_steps_that_take_longer_now_and_then_are_steps():
    # As in LAMMPS: lists are built at some steps, sums are made at others.
    rhythm = [
        level(800, even=400, bursts=199, length=4, inside=(20_000, 3), between=(600_000, 15)),
        level(200, bursts=13, length=20, same=2, inside=(1_600_000, 24), between=(14_000_000, 34)),
    ]
    (best,) = candidates(run_of([site("Send", "a", 800, rhythm=rhythm)]))
    assert (best.every, best.steps, best.is_regular) == (4, 200, True)


def test_every_fifth_step_that_writes_a_file_makes_no_bursts():
    rhythm = [level(100, bursts=19, length=5, inside=(1_000_000, 4), between=(5_000_000, 5)), level(20)]
    (best,) = candidates(run_of([site("Allreduce", "a", 100, rhythm=rhythm)]))
    assert (best.every, best.steps) == (1, 100)


def test_iterations_until_convergence_are_no_steps():
    # Bursts of different lengths: 20 steps of about 50 iterations.
    rhythm = [level(1000, bursts=19, length=50, same=2, inside=(1000, 2), between=(90_000, 14)), level(20)]
    solver, step = site("Allreduce", "a", 1000, rhythm=rhythm), site("Bcast", "b", 20, depth=9)
    run = run_of([solver, step])
    assert found(run)[0] == ("Bcast", "b", 1)
    assert [c.is_regular for c in candidates(run)] == [True, False]


@pytest.mark.parametrize(("last_ms", "regular"), [(200, True), (20, False)])
def test_loop_in_a_part_of_the_run_is_proposed_unless_it_is_setup(last_ms, regular):
    (best,) = candidates(run_of([site("Allreduce", "a", 40, last_ms=last_ms)]))
    assert best.is_regular == regular


def test_steps_of_ever_more_iterations_are_regular():
    # FEniCSx: 100 steps, each with some calls more than the one before, as its solver iterates longer.
    rising = [
        [100, 98, 98, 1, 96, 1, 35125955, 27547402, 369, 512],
        [99, 97, 96, 1, 94, 1, 38700970, 27547402, 434, 514],
        [97, 95, 94, 1, 92, 1, 30272061, 28140662, 462, 515],
    ]
    (best,) = candidates(run_of([site("Waitall", "a", 100, rhythm=rising)]))
    assert best.is_regular and (best.every, best.steps) == (1, 100)


def test_names_leave_out_the_interpreter_and_the_versions_of_libraries():
    (one,) = sites(
        run_of([site("Wait", "3f2a", 4)], modules=["/usr/lib/cpp.cpython-311-x86_64-linux-gnu.so"])
    )
    inside = replace(one, callers=(*one.callers, ("/usr/bin/python3.11", 32)))
    lines = {("/usr/bin/python3.11", 32): SourceLine("_PyEval_EvalFrameDefault", "", 0)}
    assert names([inside], lines) == {inside: "Wait@cpp-3f2a"}
    assert file_of(("/usr/lib/libdolfinx_real.so.0.5", 1)) == "libdolfinx_real"
    assert file_of(("/opt/solver", 1)) == "solver"


def test_names_of_lines_of_scripts():
    modules = ["/usr/lib/mpi4py/MPI.abi3.so", "python:<lambda>:/home/me/python_flow.py"]
    modules.append("python:<module>:/home/me/python_flow.py")
    row = site("Wait", "3f2a", 4) | {"callers": [[0, 9], [1, 7], [2, 30]]}
    (one,) = sites(run_of([row], modules=modules))
    lines = source_lines(one.callers)
    assert lines[one.callers[1]] == SourceLine("lambda", "/home/me/python_flow.py", 7)
    assert lines[one.callers[2]] == SourceLine("python_flow", "/home/me/python_flow.py", 30)
    assert names([one], lines) == {one: "Wait@lambda-3f2a"}
    assert in_code(own(one.callers)) == list(one.callers[1:])


def test_ranks_of_a_killed_run_may_differ_in_hits():
    ranks = [site("Allreduce", "a", 64)], [site("Allreduce", "a", 128)]
    assert found(run_of(*ranks)) == []
    assert found(run_of(*ranks, ended=False)) == [("Allreduce", "a", 1)]


def test_groups_have_separate_sites():
    run = run_of([site("Send", "a", 8)], [site("Recv", "b", 16)], groups={"flow": [0], "heat": [1]})
    assert {(c.site.call, c.group) for c in candidates(run)} == {("Send", "flow"), ("Recv", "heat")}


def test_rank_without_sites_leaves_its_group_without_candidates():
    assert candidates(run_of([site("Allreduce", "a", 10)], [])) == []


def test_sites_of_one_call_get_as_many_digits_as_distinguish_them():
    rows = [
        site("Send", "3f2a1", 2),
        site("Send", "3f2a2", 2),
        site("Send", "70", 2),
        site("Recv", "3f2a3", 2),
    ]
    length = digits(sites(run_of(rows)))
    assert [length[known] for known in sites(run_of(rows))] == [5, 5, 4, 4]


def test_unknown_modules_and_short_levels_are_left_out():
    run = run_of([site("Allreduce", "a", 10)])
    run.sites[0]["sites"][0]["callers"] = [[7, 1], [0, 5]]
    run.sites[0]["sites"][0]["rhythm"].append([1])
    assert found(run) == [("Allreduce", "a", 1)]


def test_missing_files_have_no_source_lines(tmp_path):
    assert source_lines([(str(tmp_path / "gone"), 16), ("", 0)]) == {}
