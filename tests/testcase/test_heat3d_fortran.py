# SPDX-License-Identifier: BSD-3-Clause
"""The heat case in Fortran with both MPIs: the numbers of the C++ case to the bit, and in perfield the same
steps, regions, messages, mesh and fields."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import perfield

INPUT = Path(__file__).resolve().parents[2] / "testcase/heat3d/heat3d.input"
EXCHANGES = ("put", "isend", "sendrecv")
FOUR_RANKS = ("--minds", 2, 2, 1, "--points", 8, 8, 8)


@pytest.fixture(scope="session")
def heat3d_fortran(build_case) -> Path:
    """The program."""
    return build_case("heat3d_fortran") / "heat3d_fortran"


@pytest.fixture(scope="session")
def heat3d(build_case) -> Path:
    """The C++ program with the same MPI."""
    return build_case("heat3d") / "heat3d"


@pytest.fixture(scope="session")
def solve(mpi):
    """solve(program, n_ranks, *options): standard output of a program, which must succeed."""

    def run(program: Path, n_ranks: int, *options: object) -> str:
        result = mpi.run(n_ranks, program, *options)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


@pytest.fixture(scope="session")
def measure(mpi, bin_dir):
    """measure(program, n_ranks, *options): standard output, and the perfield.Run."""
    known = {}

    def run(program: Path, n_ranks: int, *options: object):
        key = (program, n_ranks, options)
        if key not in known:
            result = mpi.run(n_ranks, bin_dir / "perfield-exec", program, *options)
            assert result.returncode == 0, result.stderr
            known[key] = result.stdout, perfield.open(result.cwd / "perfield-run")
        return known[key]

    return run


def numbers(text: str) -> list[tuple[str, float]]:
    """The names and numbers that a program printed, in order, whatever the format of its language."""
    checksum = [("checksum", int(digits, 16)) for digits in re.findall(r"checksum (\S+)", text)]
    names = "time|largest change|hot spot on rank|steps,|centre temperature|largest error"
    found = re.findall(rf"({names}) ([-+.\dEe]+)", text)
    return checksum + [(name, float(number)) for name, number in found]


@pytest.mark.long
@pytest.mark.parametrize("exchange", EXCHANGES)
def test_numbers_equal_the_cpp_case_to_the_bit(heat3d, heat3d_fortran, solve, exchange):
    options = (*FOUR_RANKS, "--exchange", exchange, "--hot-spot", 0.1, "--print-hot-spot", "--steps", 5)
    texts = [solve(program, 4, *options) for program in (heat3d, heat3d_fortran)]
    assert numbers(texts[1]) == numbers(texts[0])
    assert len(numbers(texts[0])) == 1 + 5 * 3 + 2


@pytest.mark.long
def test_error_equals_the_cpp_case(heat3d, heat3d_fortran, solve):
    options = ("--minds", 1, 1, 1, "--verify", "--print-log", 0, "--steps", 7)
    texts = [solve(program, 1, *options) for program in (heat3d, heat3d_fortran)]
    assert "largest error" in texts[0]
    assert numbers(texts[1]) == numbers(texts[0])


@pytest.mark.long
def test_options_override_the_cpp_input_file(heat3d_fortran, heat3d, solve):
    options = (INPUT, "--minds", 1, 1, 1, "--check-convergence", "--precision-T", 10)
    texts = [solve(program, 1, *options) for program in (heat3d, heat3d_fortran)]
    assert numbers(texts[1]) == numbers(texts[0])


REFUSALS = {
    "unstable": (("--minds", 1, 1, 1, "--dt", 1.98), "s must be positive and at most 1.975 s"),
    "divide": (("--minds", 1, 1, 1, "--minds", 2, 1, 1), "do not divide among 2 x 1 x 1 ranks"),
    "ranks": (("--minds", 3, 1, 1), "the input asks for 3 x 1 x 1 ranks, but 1 were started"),
    "exchange": (("--minds", 1, 1, 1, "--exchange", "mail"), "unknown exchange 'mail'; use put"),
    "key": (("--minds", 1, 1, 1, "--colour", 3), "--colour: unknown key 'colour'"),
    "type": (("--dt", "fast"), "--dt: dt is 'fast', which is not valid"),
    "too few": (("--d-dim", 0.1, 0.1), "--d-dim: d_dim is '0.1 0.1', which is not valid"),
    "no ranks": (("--minds", 0, 1, 1), "must be positive"),
    "no file": (("heat.input",), "heat.input cannot be read; give the path of an input file"),
}


@pytest.mark.long
@pytest.mark.parametrize("what", REFUSALS)
def test_bad_input_is_refused_with_a_remedy(mpi, heat3d_fortran, what):
    if mpi.name == "mpich":
        pytest.skip("the MPI does not matter for reading the input")
    options, sentence = REFUSALS[what]
    result = mpi.run(1, heat3d_fortran, *options)
    assert result.returncode != 0
    assert re.search(rf"heat3d_fortran: .*{re.escape(sentence)}", result.stderr), result.stderr
    assert result.stdout == ""


# --- measured by perfield -----------------------------------------------------------------------

FIELDS = ("solver_loop_count", "halo_exchange_count", "convergence_count", "sent_count", "sent_bytes")
FIELDS += (
    "put_count",
    "isend_count",
    "sendrecv_count",
    "received_count",
    "received_bytes",
    "peer_count",
    "rank",
)


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_steps_regions_and_messages_equal_the_cpp_case(measure, heat3d, heat3d_fortran, exchange):
    options = (*FOUR_RANKS, "--steps", 3, "--exchange", exchange)
    frames, twins = (list(measure(program, 4, *options)[1].frames()) for program in (heat3d_fortran, heat3d))
    assert [(frame.label, frame.time) for frame in frames] == [(1, 0.5), (2, 1.0), (3, 1.5)]
    for frame, twin in zip(frames, twins):
        assert frame.messages.tolist() == twin.messages.tolist()
        assert len(frame.messages) == 8
        assert frame.received.tolist() == twin.received.tolist()
        assert set(frame.values) == set(twin.values)
        for name in set(FIELDS) & set(twin.values):
            np.testing.assert_array_equal(frame.values[name], twin.values[name], err_msg=name)
        for name in FIELDS[:3]:
            np.testing.assert_array_equal(frame.values[name], 1, err_msg=name)


def test_mesh_and_temperature_equal_the_cpp_case(measure, heat3d, heat3d_fortran):
    options = (*FOUR_RANKS, "--steps", 3)
    run, twin = (measure(program, 4, *options)[1] for program in (heat3d_fortran, heat3d))
    for rank in range(4):
        (block,), (other,) = run.mesh(rank, 1), twin.mesh(rank, 1)
        assert (block.kind, tuple(block.extent)) == ("rectilinear", tuple(other.extent))
        for axis in "xyz":
            np.testing.assert_array_equal(getattr(block, axis), getattr(other, axis))
        temperature, same = run.fields(rank, 0)[0, "temperature"], twin.fields(rank, 0)[0, "temperature"]
        np.testing.assert_array_equal(temperature.values, same.values)
        assert (0, "change") in run.fields(rank, 0)


@pytest.mark.long
def test_measuring_does_not_change_output(measure, solve, heat3d_fortran):
    options = (*FOUR_RANKS, "--steps", 3)
    assert measure(heat3d_fortran, 4, *options)[0] == solve(heat3d_fortran, 4, *options)
