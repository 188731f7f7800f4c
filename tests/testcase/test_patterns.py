# SPDX-License-Identifier: BSD-3-Clause
"""The two communication patterns in every language and Fortran binding, some with both MPIs: in each step,
perfield counts exactly the messages of the closed form."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import perfield
from perfield.fields.table import CALL_NAMES
from twins import twin

PATTERNS = Path(__file__).resolve().parents[2] / "testcase/patterns"
# tests/bridge/sources/test_fortran.py has each binding with both MPIs, and test_pmpi.py C.
PAIRS = [
    *(("openmpi", language) for language in ("c", "mpif", "mpi", "f08", "py")),
    ("mpich", "f08"),
    ("mpich", "py"),
]
in_each_language = pytest.mark.parametrize(("mpi", "language"), PAIRS, indirect=["mpi"])
STEPS, WRITE_EVERY, SIZE = 4, 2, {"multigrid": 16, "multipartition": 12}
REGION = {"multigrid": "cycle", "multipartition": "adi"}


def load_closed_form():
    """testcase/patterns/closed_form.py as a module."""
    spec = importlib.util.spec_from_file_location("closed_form", PATTERNS / "closed_form.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["closed_form"] = module
    spec.loader.exec_module(module)
    return module


closed_form = load_closed_form()


def expected(pattern: str, n: int, number: int):
    """The closed form's messages of step `number`, counted from 1, on n ranks."""
    if pattern == "multigrid":
        return closed_form.multigrid(n, SIZE[pattern])
    return closed_form.multipartition(n, SIZE[pattern], writes=number % WRITE_EVERY == 0)


@dataclass
class Measured:
    """A pattern that has run: its output, its folder, and its perfield.Run."""

    text: str
    folder: Path
    run: perfield.run.AnyRun

    def calls(self, index: int) -> dict[tuple[int, str], tuple[int, int]]:
        """(rank, call) -> (calls, bytes out) of one step, from the stream itself."""
        rows = Counter(), Counter()
        for path in (self.folder / "perfield-run/stream").glob("*.pf"):
            entries, damage = twin.decode(path.read_bytes())
            assert not damage
            for entry in entries:
                if entry["type"] == "step" and entry["body"]["kind"] == 0 and entry["index"] == index:
                    for row in entry["body"]["calls"]:
                        key = entry["rank"], CALL_NAMES[row["call"]]
                        rows[0][key] += row["count"]
                        rows[1][key] += row["bytes_out"]
        return {key: (count, rows[1][key]) for key, count in rows[0].items()}


@pytest.fixture(scope="session")
def programs(build_case) -> Path:
    """The folder of the compiled patterns."""
    return build_case("patterns")


@pytest.fixture(scope="session")
def known() -> dict[tuple, Measured]:
    """What has run: with which MPI, pattern, language and number of ranks."""
    return {}


@pytest.fixture(scope="session")
def measure(mpi, programs, bin_dir, request, known):
    """measure(pattern, language, n): the pattern measured on n ranks of this MPI; each runs once."""

    def run(pattern: str, language: str, n: int = 4) -> Measured:
        if (mpi.name, pattern, language, n) not in known:
            program, env = [programs / f"{pattern}_{language}"], {}
            if language == "py":
                program = [sys.executable, PATTERNS / f"{pattern}.py"]
                if mpi.name == "mpich":
                    env = request.getfixturevalue("mpi4py_wheel")["mpich"]
            result = mpi.run(
                n, bin_dir / "perfield-exec", *program, STEPS, SIZE[pattern], WRITE_EVERY, env=env
            )
            assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
            run = perfield.open(result.cwd / "perfield-run")
            known[mpi.name, pattern, language, n] = Measured(result.stdout, result.cwd, run)
        return known[mpi.name, pattern, language, n]

    return run


def table(messages: np.ndarray) -> dict[tuple[int, int, str], tuple[int, int]]:
    """(source, target, call) -> (count, bytes)."""
    return {
        (int(m["source"]), int(m["target"]), str(m["call"])): (int(m["count"]), int(m["bytes"]))
        for m in messages
    }


def assert_as_in_closed_form(measured: Measured, pattern: str, n: int) -> None:
    """Asserts that each frame holds exactly the expected messages, calls and bytes written."""
    frames = list(measured.run.frames())
    assert [(frame.label, frame.time) for frame in frames] == [(s, s) for s in range(1, STEPS + 1)]
    for frame in frames:
        step = expected(pattern, n, frame.label)
        assert table(frame.messages) == {key: (step.messages[key], step.bytes[key]) for key in step.messages}
        arrived = Counter(), Counter()
        for (source, target, _), count in step.messages.items():
            arrived[0][source, target] += count
        for (source, target, _), size in step.bytes.items():
            arrived[1][source, target] += size
        assert table(frame.received) == {
            (*pair, "recv"): (arrived[0][pair], arrived[1][pair]) for pair in arrived[0]
        }
        calls = measured.calls(frame.index)
        seen = {key: count for key, (count, _) in calls.items() if key[1] in ("allreduce", "file_write_all")}
        assert seen == dict(step.calls)
        written = [step.written[rank] for rank in range(n)]
        np.testing.assert_array_equal(frame.values["io_write_bytes"], written)
        np.testing.assert_array_equal(frame.values[f"{REGION[pattern]}_count"], 1)


@in_each_language
@pytest.mark.parametrize("pattern", SIZE)
def test_messages_match_the_closed_form(measure, pattern, language):
    assert_as_in_closed_form(measure(pattern, language), pattern, 4)


@in_each_language
@pytest.mark.parametrize("pattern", SIZE)
def test_measuring_does_not_change_messages(measure, pattern, language):
    measured = measure(pattern, language)
    assert measured.text.split()[-1] == str(expected(pattern, 4, STEPS).total)


@in_each_language
def test_file_holds_all_cells_of_all_times(measure, language):
    written = np.fromfile(measure("multipartition", language).folder / "multipartition.out")
    cells = expected("multipartition", 4, WRITE_EVERY).written[0] // closed_form.DOUBLE
    np.testing.assert_array_equal(written, np.tile(np.repeat(np.arange(4.0), cells), STEPS // WRITE_EVERY))


@pytest.mark.parametrize("pattern", SIZE)
def test_pieces_fill_the_cube_without_gap_or_overlap(measure, pattern):
    run, size = measure(pattern, "f08").run, SIZE[pattern]
    cells = np.zeros((size, size, size), int)
    for rank in range(4):
        for block in run.mesh(rank, 1):
            i0, i1, j0, j1, k0, k1 = block.extent
            cells[i0:i1, j0:j1, k0:k1] += 1
    np.testing.assert_array_equal(cells, 1)


@pytest.mark.long
@pytest.mark.parametrize(("pattern", "n"), [("multigrid", 8), ("multipartition", 9)])
def test_closed_form_holds_on_other_numbers_of_ranks(mpi, measure, pattern, n):
    if mpi.name == "mpich":
        pytest.skip("MPICH ranks spin if they outnumber the cores: the smaller number is tested with it")
    assert_as_in_closed_form(measure(pattern, "c", n), pattern, n)
