# SPDX-License-Identifier: BSD-3-Clause
"""Octree meshes of testcase/poisson: hanging nodes, who shares what, and the same operator on any ranks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.long  # of the solver alone

HERE = Path(__file__).resolve().parent
CASE = HERE.parents[1] / "testcase" / "poisson"
ADAPTED = [(2, 4, 1, "ball"), (1, 3, 4, "plane")]  # coarsest and finest level, order, where kappa jumps


@pytest.fixture(scope="module")
def octree(poisson, build_c, mpirun):
    """octree(n_ranks, coarsest, finest, order, where): facts of that mesh; see programs/octree.cpp."""
    parts = CASE / "octree.cpp", CASE / "exchange.cpp", poisson.parent / "libsolver.a"  # for the elements
    flags = ["-DOMPI_SKIP_MPICXX", f"-I{CASE}", *map(str, parts), "-lp4est", "-lsc"]
    program = build_c(HERE / "programs" / "octree.cpp", *flags)
    known: dict[tuple, dict[str, float]] = {}

    def run(*arguments: object) -> dict[str, float]:
        if arguments not in known:
            result = mpirun(arguments[0], program, *arguments[1:])
            assert result.returncode == 0, result.stderr
            known[arguments] = json.loads(result.stdout)
        return known[arguments]

    run.program = program
    return run


def test_elements_are_smallest_where_the_coefficient_jumps(octree):
    facts = octree(1, 1, 3, 4, "plane")
    # Cut in two at x = 1/2: each side has a layer of level 3 at the jump; balance keeps the next one level 2.
    assert (facts["level_1"], facts["level_2"], facts["level_3"]) == (0, 32, 256)
    assert facts["volume"] == 1
    # Only elements of level 3 hang: those that touch the 2 x 16 of level 2 with a face.
    assert facts["hanging"] == 128


def test_a_constant_coefficient_needs_no_small_elements(octree):
    facts = octree(2, 2, 4, 2, "nowhere")
    assert (facts["level_2"], facts["level_3"], facts["level_4"], facts["hanging"]) == (64, 0, 0, 0)
    assert facts["nodes"] == 9**3
    assert facts["fixed"] == 9**3 - 7**3


@pytest.mark.parametrize("mesh", ADAPTED)
@pytest.mark.parametrize("n_ranks", [1, 2, 5])
def test_linear_functions_pass_hanging_faces_unchanged(octree, n_ranks, mesh):
    facts = octree(n_ranks, *mesh)
    assert facts["hanging"] > 100
    assert facts["linear_error"] < 1e-14
    assert facts["inner_force"] < 1e-13 < facts["boundary_force"]


@pytest.mark.parametrize("mesh", ADAPTED)
@pytest.mark.parametrize("n_ranks", [1, 2, 5])
def test_operator_is_symmetric_and_positive(octree, n_ranks, mesh):
    facts = octree(n_ranks, *mesh)
    scale = (facts["v_A_v"] * facts["w_A_w"]) ** 0.5
    assert facts["v_A_w"] == pytest.approx(facts["w_A_v"], abs=1e-13 * scale)
    assert abs(facts["v_A_w"]) < scale
    assert facts["least_diagonal"] > 0


@pytest.mark.parametrize("mesh", ADAPTED)
@pytest.mark.parametrize("n_ranks", [2, 5])
def test_operator_is_the_same_on_any_number_of_ranks(octree, n_ranks, mesh):
    alone, facts = octree(1, *mesh), octree(n_ranks, *mesh)
    for name in ("elements", "hanging", "nodes", "fixed", "level_3"):
        assert facts[name] == alone[name], name
    for name in ("v_A_v", "w_A_w", "sum_of_diagonal", "least_diagonal"):
        assert facts[name] == pytest.approx(alone[name], rel=1e-12), name


@pytest.mark.parametrize("mesh", ADAPTED)
@pytest.mark.parametrize("n_ranks", [2, 5])
def test_neighbours_mean_the_same_nodes(octree, n_ranks, mesh):
    facts = octree(n_ranks, *mesh)
    assert facts["ghosts_apart"] < 1e-15  # the same node's position may be rounded from two elements
    assert facts["first_node_wrong"] == 0
    assert facts["owned"] == facts["nodes"]


@pytest.mark.parametrize("mesh", ADAPTED)
@pytest.mark.parametrize("n_ranks", [1, 2, 5])
def test_inner_elements_touch_no_shared_node(octree, n_ranks, mesh):
    facts = octree(n_ranks, *mesh)
    assert facts["misplaced"] == 0
    assert facts["ranks_without_mirrors"] == (1 if n_ranks == 1 else 0)


def test_ranks_may_own_nothing(octree):
    facts, alone = octree(5, 0, 0, 4, "ball"), octree(1, 0, 0, 4, "ball")
    assert facts["ranks_without_elements"] == 4
    assert facts["ranks_without_mirrors"] == 5
    assert facts["v_A_v"] == pytest.approx(alone["v_A_v"], rel=1e-13)


@pytest.mark.parametrize("levels", [(-1, 2), (3, 2), (0, 19)])
def test_levels_that_no_octree_has_are_refused(octree, mpirun, levels):
    result = mpirun(1, octree.program, *levels, 1, "ball")
    coarsest, finest = levels
    assert f"coarsest level {coarsest} and finest level {finest}" in result.stderr
    assert "0 <= coarsest <= finest <= 18" in result.stderr


@pytest.fixture(scope="module")
def solve(poisson, mpirun):
    """solve(n_ranks, *options): what the solver prints on an octree, once per choice."""
    known: dict[tuple, str] = {}

    def run(n_ranks: int, *options: object) -> str:
        if (n_ranks, options) not in known:
            words = ("--preconditioner", "jacobi", "--rtol", 1e-11, "--jump", 10)
            result = mpirun(n_ranks, poisson, *options, *words)
            assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
            known[n_ranks, options] = result.stdout
        return known[n_ranks, options]

    return run


def error(text: str) -> float:
    """The error in L2 that the solver printed."""
    return float(re.search(r"error (\S+) in L2", text)[1])


@pytest.mark.parametrize(("order", "coarsest"), [(1, 4), (2, 3), (3, 3)])
def test_the_error_falls_with_the_power_of_order_plus_one_on_adapted_meshes(solve, order, coarsest):
    texts = [solve(1, "--octree", c, c + 1, "--order", order) for c in (coarsest - 1, coarsest)]
    assert all("(octree" in text and " 0 elements have hanging nodes" not in text for text in texts)
    rate = np.log2(error(texts[0]) / error(texts[1]))
    assert rate == pytest.approx(order + 1, abs=0.6), texts


@pytest.mark.parametrize(
    ("n_ranks", "method"), [(2, "fixed"), (5, "fixed"), (5, "dynamic"), (3, "test"), (4, "gather-scatter")]
)
def test_all_methods_and_ranks_find_the_same_solution(solve, n_ranks, method):
    words = "--octree", 2, 4, "--order", 2
    expected = re.search("first solve.*", solve(1, *words))[0]  # six digits of residual and error
    assert re.search("first solve.*", solve(n_ranks, *words, "--method", method))[0] == expected


def test_ranks_without_elements_solve_with_the_others(solve):
    words = "--octree", 0, 0, "--order", 4
    assert error(solve(5, *words)) == error(solve(1, *words))


def test_the_mesh_is_described(solve):
    first = solve(2, "--octree", 2, 4, "--order", 2).splitlines()[0]
    assert first == (
        "poisson: 1184 elements of order 2 on 2 ranks (octree levels 2 to 4; 640 elements have "
        "hanging nodes), method fixed"
    )
