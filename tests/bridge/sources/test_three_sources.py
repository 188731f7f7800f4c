# SPDX-License-Identifier: BSD-3-Clause
"""Measures the Fortran pattern in three ways: by perfield's own calls, by functions compiled with hooks,
and by Score-P's plugin. All count the same on every rank in every step."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import WITH_ONE_MPI

import perfield

pytestmark = WITH_ONE_MPI
HERE = Path(__file__).resolve().parent
PATTERN = HERE.parents[2] / "testcase/patterns/multigrid.F90"
HOST = HERE / "scorep_host/functions_host.c"
LIBRARIES = Path(perfield.__file__).parent / "lib"
HOOKS = "-finstrument-functions"
PROCEDURES = ("v_cycle", "cycle_from", "cycle_on_half_the_ranks", "exchange", "take")
RANKS, STEPS, SIZE = 4, 4, 16
SOURCE = {"api": None, "functions": "functions", "scorep": "scorep"}


@pytest.fixture(scope="module")
def compiled(mpi, perfield_flags, tmp_path_factory):
    """compiled(way): the pattern, built for this MPI and this way of measuring."""
    folder = tmp_path_factory.mktemp(f"three-{mpi.name}")

    def compile_with(*words: object) -> None:
        subprocess.run(list(map(str, words)), cwd=folder, check=True, timeout=300)

    def build(way: str) -> Path:
        program = folder / way
        words = [mpi.fc, "-O1", "-g", "-w", f"-J{folder}"]
        sources = [PATTERN, "-DWITHOUT_PERFIELD", HOOKS, "-rdynamic"]
        if way == "api":
            module = Path(perfield_flags("--include")[0]) / "perfield.f90"
            sources = [module, PATTERN, "-DWITHOUT_PERFIELD", "-DPROCEDURES_AS_REGIONS"]
        if way == "scorep":
            compile_with(mpi.cc, "-shared", "-fPIC", "-Wall", HOST, "-o", "libscorep_host.so")
            sources += [f"-L{folder}", "-lscorep_host", f"-Wl,-rpath,{folder}"]
        compile_with(*words, *sources, "-o", program)
        return program

    return build


@pytest.fixture(scope="module")
def runs(mpi, compiled, bin_dir) -> dict[str, perfield.run.Run]:
    """Way of measuring -> the run."""
    found = {}
    env = {
        "PERFIELD_REGIONS": ",".join(PROCEDURES),
        "PERFIELD_STEP_REGION": PROCEDURES[0],
        "LD_LIBRARY_PATH": os.fspath(LIBRARIES),
    }
    for way in SOURCE:
        result = mpi.run(RANKS, bin_dir / "perfield-exec", compiled(way), STEPS, SIZE, env=env)
        assert result.returncode == 0, f"{way}: {result.stdout}\n{result.stderr}"
        found[way] = perfield.open(result.cwd / "perfield-run")
    return found


def counts_of(frame) -> dict[str, list[float]]:
    """Field of counts (regions and calls) -> its value on each rank."""
    return {
        name: np.nan_to_num(values).tolist()
        for name, values in sorted(frame.values.items())
        if name.endswith(("_count", "_bytes")) and not name.startswith(("resident", "io_"))
    }


def test_each_way_is_a_source_of_its_own(runs):
    for way, name in SOURCE.items():
        sources = {source for rank in runs[way].rank_entries for source in rank["sources"]}
        assert sources & {"functions", "scorep"} == ({name} if name else set()), way


@pytest.mark.parametrize("way", ["functions", "scorep"])
def test_regions_and_calls_equal_the_apis_in_each_step(runs, way):
    api, other = runs["api"], runs[way]
    assert {region.name for region in other.known_regions} == set(PROCEDURES)
    assert len(api) == len(other) == STEPS
    for expected, frame in zip(api.frames(), other.frames()):
        assert counts_of(frame) == counts_of(expected)


@pytest.mark.parametrize("way", ["functions", "scorep"])
def test_messages_equal_the_apis_in_each_step(runs, way):
    def rows(table):
        return sorted(table[["source", "target", "call", "count", "bytes", "empty"]].tolist())

    for expected, frame in zip(runs["api"].frames(), runs[way].frames()):
        assert rows(frame.messages) == rows(expected.messages)
        assert rows(frame.received) == rows(expected.received)


@pytest.mark.parametrize("way", SOURCE)
def test_take_is_entered_once_per_arriving_message(runs, way):
    for frame in runs[way].frames():
        arrived = np.zeros(RANKS)
        np.add.at(arrived, frame.received["target"], frame.received["count"])
        np.testing.assert_array_equal(frame.values["take_count"], arrived)
        assert arrived.min() > 0
        np.testing.assert_array_equal(frame.values["v_cycle_count"], 1)
