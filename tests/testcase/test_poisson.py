# SPDX-License-Identifier: BSD-3-Clause
"""The solver of testcase/poisson on a uniform mesh: its matrix, its methods, its record, and bad input."""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy

import perfield
from perfield import pictures

ELEMENTS = 4, 3, 2
JUMP = 50
MULTIGRID = "--preconditioner", "multigrid"
METHODS = {
    "alpha 1/2": (),
    "dynamic": ("--method", "dynamic", "--eps", 1e-7),
    "test": ("--method", "test", "--poll-every", 1),
    "polled": ("--method", "polled", "--poll-every", 2),
    "no E1": ("--alpha", 0),
    "no E2": ("--alpha", 1),
    "gather-scatter": ("--method", "gather-scatter"),
}


@pytest.fixture(scope="module")
def solve(poisson, mpirun) -> Callable[..., str]:
    """solve(n_ranks, *options): what the solver prints, once per choice."""
    known: dict[tuple, str] = {}

    def run(n_ranks: int, *options: object) -> str:
        if (n_ranks, options) not in known:
            result = mpirun(n_ranks, poisson, *options)
            assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
            known[n_ranks, options] = result.stdout
        return known[n_ranks, options]

    return run


@pytest.fixture(scope="module")
def matrix(poisson, mpirun) -> Callable[..., np.ndarray]:
    """matrix(n_ranks, *options): the matrix of ELEMENTS, as the solver multiplies with it."""

    def run(n_ranks: int, *options: object) -> np.ndarray:
        words = ("--elements", *ELEMENTS, "--jump", JUMP, "--matrix", "matrix.npy")
        result = mpirun(n_ranks, poisson, *words, *options)
        assert result.returncode == 0, result.stderr
        return np.load(result.cwd / "matrix.npy")

    return run


@pytest.fixture(scope="module")
def record(poisson, mpirun) -> Callable[..., tuple[list[np.ndarray], dict]]:
    """record(n_ranks, *options): the MatVecs of each rank, and study.json."""
    known: dict[tuple, tuple[list[np.ndarray], dict]] = {}

    def run(n_ranks: int, *options: object) -> tuple[list[np.ndarray], dict]:
        if (n_ranks, options) not in known:
            result = mpirun(n_ranks, poisson, *options, "--output", "record")
            assert result.returncode == 0, result.stderr
            folder = result.cwd / "record"
            ranks = [np.load(folder / f"matvec.{rank}.npy") for rank in range(n_ranks)]
            known[n_ranks, options] = ranks, json.loads((folder / "study.json").read_text())
        return known[n_ranks, options]

    return run


def alone(program: Path, *words: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """Runs the program on one rank, without mpirun and what it prints of an exit status."""
    argv = [str(word) for word in (program, *words)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=cwd)


def error(text: str) -> float:
    return float(re.search("error (.*) in L2", text)[1])


def iterations(text: str) -> int:
    return int(re.search(r"(\d+) iterations", text)[1])


def twin() -> np.ndarray:
    """The matrix of ELEMENTS with a jump of JUMP, assembled from masses and stiffnesses of intervals."""
    edge = 1 / max(ELEMENTS)
    mass, stiffness = np.array([[2, 1], [1, 2]]) / 6, np.array([[1, -1], [-1, 1]])
    element = sum(
        np.kron(*[np.kron(factors[0], factors[1]), factors[2]])
        for factors in ((stiffness, mass, mass), (mass, stiffness, mass), (mass, mass, stiffness))
    )
    nx, ny, nz = (n + 1 for n in ELEMENTS)
    numbers = np.arange(nx * ny * nz).reshape(nz, ny, nx)
    whole = np.zeros((numbers.size, numbers.size))
    for z, y, x in itertools.product(*map(range, ELEMENTS[::-1])):
        nodes = numbers[z : z + 2, y : y + 2, x : x + 2].ravel()
        kappa = 1 if x + 0.5 < ELEMENTS[0] / 2 else JUMP
        whole[np.ix_(nodes, nodes)] += kappa * edge * element
    inner = np.zeros(numbers.shape, bool)
    inner[1:-1, 1:-1, 1:-1] = True
    whole[~inner.ravel()] = 0
    whole[:, ~inner.ravel()] = 0
    return whole + np.diag(~inner.ravel() * 1.0)


@pytest.mark.long
def test_the_matrix_is_that_of_trilinear_elements_with_a_jump(matrix):
    np.testing.assert_allclose(matrix(1), twin(), atol=1e-14)  # rounding of numbers up to 100


@pytest.mark.long
@pytest.mark.parametrize("n_ranks", [2, pytest.param(6, id="6, of which some own nothing")], ids=str)
def test_the_matrix_is_symmetric_positive_definite_and_the_same_on_any_ranks(n_ranks, matrix):
    found = matrix(n_ranks, *(("--ranks", 6, 1, 1) if n_ranks == 6 else ()))
    assert np.array_equal(found, found.T)
    eigenvalues = np.linalg.eigvalsh(found)  # the order of the nodes does not change them
    assert eigenvalues[0] > 0
    np.testing.assert_allclose(eigenvalues, np.linalg.eigvalsh(twin()), rtol=1e-12)


@pytest.mark.long
def test_all_methods_multiply_alike_to_the_last_bit(matrix):
    found = [matrix(3, *options) for options in METHODS.values()]
    assert all(np.array_equal(found[0], other) for other in found[1:])


@pytest.mark.long
def test_the_error_falls_by_four_when_edges_are_halved(solve):
    errors = [error(solve(1, "--elements", n, n, n, "--preconditioner", "jacobi")) for n in (8, 16, 32)]
    np.testing.assert_allclose(np.log2(errors[:-1]) - np.log2(errors[1:]), 2, atol=0.02)


@pytest.mark.long
@pytest.mark.parametrize("n_ranks", [5, 8])
def test_any_number_of_ranks_finds_the_same_solution(n_ranks, solve):
    words = "--elements", 8, 10, 6, "--preconditioner", "jacobi"
    assert iterations(solve(n_ranks, *words)) == iterations(solve(1, *words))
    assert error(solve(n_ranks, *words)) == error(solve(1, *words))  # six digits are printed


@pytest.mark.long
def test_ranks_that_own_nothing_solve_with_the_others(solve):
    words = "--elements", 3, 4, 4
    assert error(solve(5, *words, "--ranks", 5, 1, 1)) == error(solve(1, *words))


@pytest.mark.long
def test_pipelined_conjugate_gradients_find_the_same_solution(solve):
    words = "--elements", 8, 8, 8, "--preconditioner", "jacobi"
    assert error(solve(2, *words, "--solver", "pipelined")) == error(solve(2, *words))


@pytest.mark.long
def test_the_gather_scatter_solver_finds_the_same_solution(solve):
    words = "--elements", 8, 8, 8, "--preconditioner", "jacobi"
    found = solve(3, *words, "--method", "gather-scatter")
    assert iterations(found) == iterations(solve(3, *words))
    assert error(found) == error(solve(3, *words))


def test_each_matvec_is_recorded_with_its_times_and_counts(record):
    ranks, study = record(2, "--elements", 8, 8, 8, "--alpha", 0.3)
    assert study["method"] == "fixed"
    assert study["elements"] == [8, 8, 8]
    assert study["latencies_injected"] is False
    for one in ranks:
        assert len(one) == study["iterations"]
        assert one["matvec"].tolist() == list(range(len(one)))
        n_inner = 8 * 8 * 3  # of 8 x 8 x 4: the layer beside the other rank is the mirror
        assert set(one["n_inner1"]) == {int(0.3 * n_inner)}
        assert set(one["n_inner1"] + one["n_inner2"]) == {n_inner}
        assert set(one["n_mirror"]) == {64}
        assert set(one["n_partners"]) == {1}
        assert set(one["n_polls"]) == set(one["level"]) == set(one["phase"]) == {0}
        assert np.all(one["t_in"] >= one["w_in"]) and np.all(one["w_in"] >= 0)
        assert np.all(one["t_out"] >= one["w_out"]) and np.all(one["w_out"] >= 0)
        ends = one["t_start"] + one["t_in"] + one["t_mirror"] + one["t_out"]
        assert np.all(one["t_start"][1:] >= ends[:-1])


@pytest.mark.long
def test_one_rank_alone_has_neither_mirror_elements_nor_partners(record):
    [one], _study = record(1, "--elements", 4, 4, 4)
    assert set(one["n_mirror"]) == set(one["n_partners"]) == {0}
    assert set(one["n_inner1"] + one["n_inner2"]) == {64}


@pytest.mark.long
@pytest.mark.parametrize(("n_ranks", "elements"), [(1, (8, 8, 8)), (1, (32, 32, 32)), (3, (24, 16, 12))])
def test_multigrid_needs_as_many_iterations_on_any_mesh(n_ranks, elements, solve):
    found = solve(n_ranks, "--elements", *elements, *MULTIGRID, "--jump", 1e6)
    assert 6 <= iterations(found) <= 8


@pytest.mark.long
def test_multigrid_finds_the_same_solution(solve):
    words = "--elements", 8, 8, 8
    assert error(solve(2, *words, *MULTIGRID)) == error(solve(2, *words, "--preconditioner", "jacobi"))


@pytest.mark.long
def test_multigrid_works_with_ranks_that_own_nothing(solve):
    words = "--elements", 8, 8, 8, *MULTIGRID
    found = solve(3, *words, "--ranks", 3, 1, 1, "--levels", 3)  # two elements along x on the coarsest
    assert iterations(found) == iterations(solve(1, *words, "--levels", 3))


def test_the_record_says_level_and_phase(record):
    ranks, study = record(2, "--elements", 16, 16, 16, *MULTIGRID, "--levels", 3, "--smoothing", 2)
    n = study["iterations"]
    for one in ranks:
        finest, middle = (one[one["level"] == level] for level in (0, 1))
        assert set(one["level"]) == {0, 1}  # the coarsest one multiplies with an assembled matrix
        assert finest["phase"][:5].tolist() == [1, 4, 2, 2, 3]  # zero is the first guess of the cycle
        assert np.bincount(finest["phase"], minlength=5)[1:4].tolist() == [n, 2 * n, n]
        assert middle["phase"][:4].tolist() == [1, 4, 2, 2]
        assert set(finest["n_inner1"] + finest["n_inner2"]) == {16 * 16 * 7}
        assert set(middle["n_inner1"] + middle["n_inner2"]) == {8 * 8 * 3}
    assert study["matvecs"] == np.sum(ranks[0]["level"] == 0)  # of all phases together


@pytest.mark.long
def test_times_are_printed_for_each_level_and_phase(solve):
    words = "--elements", 8, 8, 8, *MULTIGRID, "--levels", 2
    text = solve(2, *words)
    n = iterations(text)
    phases = {"before a correction": 1, "residual": 1, "after a correction": 2, "energy product": 1}
    for phase, times in phases.items():
        assert re.search(rf"  level 0, {phase}, {times * n}: T_in ", text), text
    assert "level 1" not in text  # the coarsest one


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "preconditioner"), [(0.5, "none"), (0, "none"), (1, "none"), (0.5, "multigrid")]
)
def test_dynamic_alpha_follows_the_waits_and_leaves_its_ends(first, preconditioner, record):
    """Algorithm 3 with cap and clamp, from the recorded waits: each alpha follows from the one before.

    Each place that multiplies, a level and phase, has an alpha of its own.
    """
    eps, theta, cap = 2e-6, 0.3, 1.5
    words = ("--elements", 8, 8, 8, "--method", "dynamic", "--eps", eps, "--theta", theta, "--cap", cap)
    enough = 4000 if preconditioner == "none" else 500  # for some waits that are longer than eps
    words = *words, "--preconditioner", preconditioner, "--matvecs", enough
    ranks, _study = record(2, *words, "--alpha", first)
    places = [
        one[(one["level"] == level) & (one["phase"] == phase)]
        for one in ranks
        for level, phase in {*zip(one["level"].tolist(), one["phase"].tolist())}
    ]
    changes = 0
    for one in places:
        n_inner = one["n_inner1"][0] + one["n_inner2"][0]
        alpha, least = first, min(max(1 / n_inner, 0.02), 0.5)
        for row in one:
            assert math.isclose(row["alpha"], alpha, rel_tol=1e-9)  # the rounding of thousands of steps
            assert row["n_inner1"] == int(row["alpha"] * n_inner)
            inside = np.clip(alpha, least, 1 - least)
            ratio = inside / (1 - inside)
            if row["w_in"] > eps > row["w_out"]:
                ratio *= min(row["w_in"] / eps, cap)
            elif row["w_in"] < eps < row["w_out"]:
                ratio *= max(eps / row["w_out"], 1 / cap)
            else:
                continue
            changes += 1
            alpha = np.clip(theta * ratio / (1 + ratio) + (1 - theta) * inside, least, 1 - least)
    assert changes > 0
    assert len(places) == 2 if preconditioner == "none" else len(places) > 8


@pytest.mark.long
def test_test_ends_e1_at_a_poll_and_infers_alpha(record):
    ranks, _study = record(2, "--elements", 8, 8, 8, "--method", "test", "--poll-every", 5)
    for one in ranks:
        n_inner = one["n_inner1"] + one["n_inner2"]
        assert np.all((one["n_inner1"] == 5 * one["n_polls"]) | (one["n_inner1"] == n_inner))
        np.testing.assert_allclose(one["alpha"], one["n_inner1"] / n_inner)
        assert np.all(one["n_polls"] >= 1)
    assert any(np.any(one["n_inner2"] > 0) for one in ranks)  # some input arrived before the last element


@pytest.mark.long
def test_polled_polls_but_keeps_alpha(record):
    ranks, _study = record(2, "--elements", 8, 8, 8, "--method", "polled", "--poll-every", 16)
    for one in ranks:
        assert set(one["n_inner1"]) == {96}
        assert np.all((one["n_polls"] >= 1) & (one["n_polls"] <= 6))


@pytest.mark.long
def test_solves_go_on_until_enough_matvecs_are_recorded(record):
    ranks, study = record(2, "--elements", 6, 6, 6, "--matvecs", 150)
    assert study["matvecs"] == 150
    assert all(len(one) == 150 for one in ranks)
    assert study["solves"] == ranks[0]["solve"][-1] + 1 > 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "trace", "reported"),
    [
        (["--injected", 'a "trace"'], "", 'a "trace"'),
        ([], "some.trace", "perfield lab inject, trace some.trace"),
    ],
    ids=["--injected", "perfield lab inject"],
)
def test_what_injected_latencies_is_written_down(words, trace, reported, poisson, tmp_path, monkeypatch):
    monkeypatch.setenv("PERFIELD_INJECT", trace)
    result = alone(poisson, "--elements", 2, 2, 2, "--output", "record", *words, cwd=tmp_path)
    assert f"latencies were injected by {reported}\n" in result.stdout
    study = json.loads((tmp_path / "record/study.json").read_text())
    assert study["latencies_injected"] is True
    assert study["injected_by"] == reported


def test_an_iteration_can_be_a_step(poisson, mpirun, bin_dir):
    words = "--elements", 8, 8, 8, *MULTIGRID, "--levels", 2, "--steps", "iteration"
    result = mpirun(2, bin_dir / "perfield-exec", poisson, *words)
    steps = perfield.open(result.cwd / "perfield-run").steps
    assert steps.sizes["step"] == iterations(result.stdout)
    counts = steps.region_count.sel(region="E1").values
    assert np.all(counts[1:] == 5)  # before, residual, after (2) and the iteration's own product


def test_perfield_shows_matvecs_as_steps_and_their_alpha_on_the_mesh(poisson, mpirun, bin_dir):
    words = "--elements", 4, 4, 4, "--method", "test", "--poll-every", 3, "--output", "record"
    result = mpirun(3, bin_dir / "perfield-exec", poisson, *words)
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    ranks = [np.load(result.cwd / f"record/matvec.{rank}.npy") for rank in range(3)]
    assert run.steps.sizes["step"] == len(ranks[0])
    assert set(run.steps.region.values) == {"E1", "wait_in", "mirror", "E2", "wait_out"}
    waits = run.steps.region_time_s.sel(region="wait_out").values
    for rank, one in enumerate(ranks):  # the region ends after the clock is read, and may be interrupted
        np.testing.assert_allclose(np.median(waits[:, rank]), np.median(one["w_out"]), rtol=0.1, atol=5e-6)
    picture = pictures.geometry(run, run.frame(0))
    blocks = [picture.GetBlock(number) for number in range(picture.GetNumberOfBlocks())]
    shown = [{*vtk_to_numpy(block.GetCellData().GetArray("alpha"))} for block in blocks]
    assert sorted(map(list, shown)) == sorted([np.float32(one["alpha"][0])] for one in ranks)
    assert sum(block.GetNumberOfCells() for block in blocks) == 64


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["--alpha", 1.5], "--alpha is a share of the inner elements and must lie between 0 and 1"),
        (["--theta", -1], "--theta is a weight and must lie between 0 and 1"),
        (["--eps", 0], "--eps must be more than 0 seconds"),
        (["--method", "tset"], "--method is fixed, dynamic, test, polled or gather-scatter, not 'tset'"),
        (["--elements", 4, 4], "--elements needs a value, but the command ends there"),
        (["--elements", 4, 0, 4], "--elements must be at least 1, not 0"),
        (["--ranks", 2, 1, 1], "blocks, but there are 1 ranks; the product must be that number"),
        (["--jump", 0], "--jump must be more than 0: kappa is positive"),
        (["--method", "gather-scatter", "--solver", "pipelined"], "has a solver of its own"),
        ([*MULTIGRID, "--method", "gather-scatter"], "has a solver of its own, without multigrid"),
        (["--levels", 2], "--levels needs --preconditioner multigrid"),
        (
            ["--elements", 6, 4, 4, *MULTIGRID, "--levels", 2],
            "6 x 4 x 4 elements make at most 1; they must halve",
        ),
        (["--matrix", "m.npy"], "--matrix would write 35937 columns, but is for at most 10000"),
        (["--output", "/dev/null/record"], "the record cannot be written to /dev/null/record"),
        (["--bogus"], "'--bogus' is not an option; --help lists them"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_a_wrong_command_is_reported_in_a_sentence(words, reported, poisson, tmp_path):
    result = alone(poisson, *words, cwd=tmp_path)
    assert result.returncode == 2
    assert reported in result.stderr
    assert result.stderr.startswith("poisson: ") and result.stderr.endswith(".\n")


@pytest.mark.long
def test_a_solve_that_does_not_converge_fails(poisson):
    result = alone(poisson, "--elements", 8, 8, 8, "--max-iterations", 3)
    assert result.returncode == 1
    assert "3 iterations (it reached --max-iterations)" in result.stdout


@pytest.mark.long
def test_help_names_each_option_that_is_read(poisson):
    source = Path(__file__).resolve().parents[2] / "testcase/poisson/options.cpp"
    options = set(re.findall(r'option == "(--\w[\w-]*)"', source.read_text())) - {"--help"}
    assert len(options) > 15
    assert options <= set(re.findall(r"--[\w-]+", alone(poisson, "--help").stdout))
