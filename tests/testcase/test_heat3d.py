# SPDX-License-Identifier: BSD-3-Clause
"""The heat case: its numbers against an independent solver and an exact solution, its refusals of bad input,
and perfield's measurement against known answers."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

INPUT = Path(__file__).resolve().parents[2] / "testcase/heat3d/heat3d.input"
EXCHANGES = ("put", "isend", "sendrecv")
DIFFUSIVITY = 0.000864
EIGHT_RANKS = ("--minds", 2, 2, 2, "--points", 8, 8, 8)


@pytest.fixture
def solve(heat3d, mpirun):
    """solve(n_ranks, *options): standard output of the heat case, which must succeed."""

    def run(n_ranks: int, *options: object) -> str:
        result = mpirun(n_ranks, heat3d, *options)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def number(text: str, name: str) -> float:
    return float(re.search(rf"{name} ([-+.\de]+)", text).group(1))


def slow_heat(points, walls, internal, spacing, dt, steps):
    """The same scheme with whole arrays. Returns temperature (n + 2, ...) and largest changes, K."""
    t = np.full([n + 2 for n in points], internal)
    for axis in range(3):
        for end in (0, -1):
            t[(slice(None),) * axis + (end,)] = walls[2 * axis - end]
    changes, inner = [], (slice(1, -1),) * 3
    for _ in range(steps):
        change = np.zeros(points)
        for axis in range(3):
            below, above = list(inner), list(inner)
            below[axis], above[axis] = slice(None, -2), slice(2, None)
            curvature = t[tuple(below)] - 2 * t[inner] + t[tuple(above)]
            change += DIFFUSIVITY * dt / spacing[axis] ** 2 * curvature
        t[inner] += change
        changes.append(np.abs(change).max())
    return t, np.array(changes)


@pytest.mark.long
@pytest.mark.parametrize("exchange", EXCHANGES)
def test_27_ranks_agree_with_an_independent_solver(solve, exchange):
    text = solve(27, INPUT, "--exchange", exchange)
    t, changes = slow_heat((9, 9, 9), (300, 100, 400, 50, 150, 350), 200.0, (0.12, 0.1, 0.09), 0.5, 10)
    assert "10 steps, 5 s of simulated time\n" in text
    printed = [float(change) for change in re.findall(r"largest change (\S+) K", text)]
    np.testing.assert_allclose(printed, changes, rtol=1e-12)  # the same sums in another order
    np.testing.assert_allclose(number(text, "centre temperature"), t[5, 5, 5], rtol=1e-12)


@pytest.mark.long
def test_every_exchange_and_division_gives_equal_bits(solve):
    points = ("--points", 12, 12, 12)
    results = {
        solve(a * b * c, "--minds", a, b, c, *points, "--exchange", exchange)
        for a, b, c in ((1, 1, 1), (2, 1, 3), (2, 2, 2))
        for exchange in EXCHANGES
    }
    assert len(results) == 1, results


def verify(solve, n, dt, steps):
    """Largest error against the exact solution in a cube of 1 m with n points per direction, K."""
    d = 1 / (n + 1)
    options = ("--verify", "--print-log", 0, "--minds", 1, 1, 1, "--points", n, n, n)
    text = solve(1, *options, "--d-dim", d, d, d, "--dt", dt, "--steps", steps)
    return number(text, "largest error")


@pytest.mark.long
def test_error_is_second_order_in_space(solve):
    end, coarse, fine = 100.0, 9, 19  # distances 0.1 and 0.05 m, and a quarter of the time step
    ratio = verify(solve, coarse, 1.0, int(end)) / verify(solve, fine, 0.25, int(4 * end))
    assert ratio == pytest.approx(4, rel=0.02)


@pytest.mark.long
def test_error_matches_theory(solve):
    n, dt, steps = 11, 1.0, 60
    d = 1 / (n + 1)
    # Each step multiplies a sine wave by 1 - dt * (its discrete decay); the exact one is exp(-decay dt).
    discrete = 3 * DIFFUSIVITY * (2 / d * math.sin(math.pi * d / 2)) ** 2
    exact = 3 * DIFFUSIVITY * math.pi**2
    expected = abs((1 - dt * discrete) ** steps - math.exp(-exact * dt * steps))
    assert verify(solve, n, dt, steps) == pytest.approx(expected, rel=1e-9)


@pytest.mark.long
def test_run_stops_at_convergence(solve):
    text = solve(1, "--minds", 1, 1, 1, "--check-convergence", "--precision-T", 10)
    changes = [float(change) for change in re.findall(r"largest change (\S+) K", text)]
    assert len(changes) < 10
    assert changes[-1] < 10 <= changes[-2]


REFUSALS = {
    "unstable": (
        ("--minds", 1, 1, 1, "--dt", 1.98),
        "dt = 1.980000 s is unstable for this d_dim and thermal_diffusivity; use at most dt = 1.975.",
    ),
    "divide": (
        ("--minds", 2, 1, 1, "--points", 9, 8, 8),
        "9 points along x do not divide among 2 ranks; change multiple_points or base_points_dim",
    ),
    "ranks": (
        (INPUT,),
        "the input asks for 3 x 3 x 3 = 27 ranks, but 1 were started; start with -n 27",
    ),
    "exchange": (("--minds", 1, 1, 1, "--exchange", "mail"), "unknown exchange 'mail'; use put"),
    "key": (
        ("--minds", 1, 1, 1, "--colour", 3),
        "--colour: unknown key 'colour'; the keys are print_log",
    ),
    "type": (("--dt", "fast"), "--dt: dt is 'fast'; it takes a number."),
    "too few": (("--d-dim", 0.1, 0.1), "--d-dim: d_dim is '0.1 0.1'; it takes 3 numbers."),
    "too many": (("--dt", 0.1, 0.2), "--dt: dt is '0.1 0.2'; it takes a number."),
    "no ranks": (("--minds", 0, 1, 1), "must be positive along x, y and z"),
    "no file": (("heat.input",), "heat.input cannot be read; give the path of an input file."),
}


@pytest.mark.long
@pytest.mark.parametrize("what", REFUSALS)
def test_bad_input_is_refused_with_a_remedy(heat3d, mpirun, what):
    options, sentence = REFUSALS[what]
    result = mpirun(1, heat3d, *options)
    assert result.returncode == 1
    assert f"heat3d: {sentence}" in result.stderr or ("no ranks" in what and sentence in result.stderr)
    assert result.stdout == ""


@pytest.mark.long
def test_largest_stable_time_step_is_accepted(solve):
    text = solve(1, "--minds", 1, 1, 1, "--dt", 1.975, "--steps", 300)
    changes = [float(change) for change in re.findall(r"largest change (\S+) K", text)]
    assert changes[-1] < 0.01 * changes[0]


@pytest.mark.long
def test_bad_input_line_is_named_by_number(heat3d, mpirun, tmp_path):
    (tmp_path / "bad.input").write_text("# a comment\ndt = 0.5\ninternal_T 200\ndtt = 1\n")
    result = mpirun(1, heat3d, tmp_path / "bad.input")
    assert "bad.input:3: 'internal_T 200' does not have the form key = value." in result.stderr
    assert "bad.input:4: unknown key 'dtt'" in result.stderr


@pytest.mark.long
def test_hot_spot_visits_every_rank(solve):
    text = solve(8, *EIGHT_RANKS, "--hot-spot", 0.1, "--print-hot-spot", "--steps", 16, "--print-log", 0)
    assert set(re.findall(r"hot spot on rank (\d+)", text)) == set("01234567")


# --- measured by perfield -----------------------------------------------------------------------


@pytest.fixture
def measure(heat3d, mpirun, bin_dir):
    """measure(n_ranks, *options): standard output, and the perfield.Run."""

    def run(n_ranks: int, *options: object):
        import perfield

        result = mpirun(n_ranks, bin_dir / "perfield-exec", heat3d, *options)
        assert result.returncode == 0, result.stderr
        return result.stdout, perfield.open(result.cwd / "perfield-run")

    return run


def test_measuring_does_not_change_output(solve, measure):
    plain = solve(8, *EIGHT_RANKS)
    measured, _ = measure(8, *EIGHT_RANKS)
    assert measured == plain


def test_each_step_is_a_frame_with_number_and_time(measure):
    _, run = measure(8, *EIGHT_RANKS, "--steps", 5)
    frames = list(run.frames())
    assert [(frame.label, frame.time) for frame in frames] == [(n, n * 0.5) for n in range(1, 6)]
    for frame in frames:
        for region in ("solver_loop", "halo_exchange", "convergence"):
            np.testing.assert_array_equal(frame.values[f"{region}_count"], 1)
            assert (frame.values[f"{region}_time_s"] <= frame.values["step_time_s"]).all()


def neighbours(minds):
    """Pairs of ranks whose blocks share a face, both ways; rank numbers run fastest along z."""
    places = list(itertools.product(*map(range, minds)))
    return {
        (a, b)
        for (a, p), (b, q) in itertools.product(enumerate(places), repeat=2)
        if sum(abs(x - y) for x, y in zip(p, q)) == 1
    }


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_step_sends_one_layer_to_each_neighbour(measure, exchange):
    _, run = measure(12, "--minds", 3, 2, 2, "--points", 12, 8, 8, "--steps", 3, "--exchange", exchange)
    layer = (4 + 2) ** 2 * 8  # blocks of 4 x 4 x 4 points, with the halo
    for frame in run.frames():
        seen = {
            (int(m["source"]), int(m["target"])): (int(m["count"]), int(m["bytes"])) for m in frame.messages
        }
        assert seen == {pair: (1, layer) for pair in neighbours((3, 2, 2))}


def test_pieces_fill_the_box_without_gap_or_overlap(measure):
    _, run = measure(12, "--minds", 3, 2, 2, "--points", 12, 8, 8, "--steps", 1)
    cells = np.zeros((13, 9, 9), int)
    for rank in range(12):
        (block,) = run.mesh(rank, 1)
        i0, i1, j0, j1, k0, k1 = block.extent
        cells[i0:i1, j0:j1, k0:k1] += 1
    np.testing.assert_array_equal(cells, 1)


def test_hot_spot_rank_has_the_longest_solver_loop(measure):
    options = ("--minds", 2, 2, 2, "--points", 16, 16, 16, "--steps", 16, "--print-log", 0)
    text, run = measure(8, *options, "--hot-spot", 60, "--print-hot-spot")
    holders = [int(rank) for rank in re.findall(r"hot spot on rank (\d+)", text)]
    slowest = [int(np.nanargmax(frame.values["solver_loop_time_s"])) for frame in run.frames()]
    assert slowest == holders


def test_temperature_field_is_right_where_pieces_meet(measure):
    _, run = measure(8, *EIGHT_RANKS, "--steps", 1)
    t, _ = slow_heat((8, 8, 8), (300, 100, 400, 50, 150, 350), 200.0, (0.12, 0.1, 0.09), 0.5, 1)
    for rank in range(8):
        (block,) = run.mesh(rank, 1)
        i0, i1, j0, j1, k0, k1 = block.extent
        field = run.fields(rank, 0)[0, "temperature"]
        given = np.asarray(field.values).reshape(k1 - k0 + 1, j1 - j0 + 1, i1 - i0 + 1).transpose()
        part = (slice(i0, i1 + 1), slice(j0, j1 + 1), slice(k0, k1 + 1))
        on_wall = np.zeros((10, 10, 10), int)
        for axis in range(3):
            on_wall[(slice(None),) * axis + ([0, -1],)] += 1
        inside = on_wall[part] < 2  # an edge of the box belongs to two walls
        np.testing.assert_allclose(given[inside], t[part][inside], rtol=1e-12)
