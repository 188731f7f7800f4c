# SPDX-License-Identifier: BSD-3-Clause
"""The plugin in a real Score-P, where one is on PATH: messages and files of programs that it built."""

from __future__ import annotations

import os
import shlex
import shutil
from collections import Counter
from pathlib import Path

import pytest

import perfield

PROGRAMS = Path(__file__).resolve().parent / "programs"
PATTERNS = Path(__file__).resolve().parents[3] / "testcase/patterns"
LIBRARIES = Path(perfield.__file__).parent / "lib"
RANKS, UNKNOWN = 3, -3
QUIET = {"SCOREP_ENABLE_PROFILING": "false", "SCOREP_ENABLE_TRACING": "false"}
ALONE = {**QUIET, "SCOREP_SUBSTRATE_PLUGINS": "perfield", "LD_LIBRARY_PATH": os.fspath(LIBRARIES)}

pytestmark = pytest.mark.skipif(shutil.which("scorep") is None, reason="there is no scorep on PATH")

# What programs/reversed_ranks.c sends: (rank, call, peer) -> (count, bytes).
AROUND = {(rank, "isend", (rank + 1) % RANKS): (1, 80) for rank in range(RANKS)}
BACKWARDS = {(RANKS - 1, "send", RANKS - 2): (1, 800), (RANKS - 1, "put", 0): (1, 400)}
STUBS = {(rank, call, UNKNOWN): moved for (rank, call, _), moved in BACKWARDS.items()}


def sent(counted) -> dict[tuple[int, str, int], tuple[int, int]]:
    """(rank, call, peer) -> (count, bytes) of all messages."""
    return {key: (count, counted.bytes[key]) for key, count in counted.messages.items()}


def test_with_the_wrappers_above_peers_are_world_ranks(with_scorep, mpirun, bin_dir, counted_in):
    program = with_scorep(PROGRAMS / "reversed_ranks.c")
    result = mpirun(RANKS, bin_dir / "perfield-exec", program, env=QUIET)
    assert result.returncode == 0, result.stderr
    counted = counted_in(result.cwd / "perfield-run")
    assert sent(counted) == AROUND | BACKWARDS
    assert {"scorep", "pmpi"} <= set(counted.ends[0]["sources"])
    assert "export " not in result.stderr


def test_alone_it_counts_unknown_peers_exactly_and_its_two_lines_cure_that(with_scorep, mpirun, counted_in):
    program = with_scorep(PROGRAMS / "reversed_ranks.c")
    result = mpirun(RANKS, program, env=ALONE)
    assert result.returncode == 0, result.stderr
    assert sent(counted_in(result.cwd / "perfield-run")) == AROUND | STUBS
    lines = [line for line in result.stderr.splitlines() if line.startswith("export ")]
    assert len(lines) == 2
    cure = dict(shlex.split(line)[1].split("=", 1) for line in lines)
    result = mpirun(RANKS, program, env={**ALONE, **cure})
    assert result.returncode == 0, result.stderr
    assert sent(counted_in(result.cwd / "perfield-run")) == AROUND | BACKWARDS


def test_export_lines_of_perfield_env_do_what_perfield_run_does(
    with_scorep, perfield_cli, mpirun, counted_in, tmp_path
):
    program = with_scorep(PROGRAMS / "reversed_ranks.c")
    lines = perfield_cli("env", "--scorep", program, cwd=tmp_path).stdout.splitlines()
    env = dict(shlex.split(line)[1].split("=", 1) for line in lines)
    result = mpirun(RANKS, program, env={**QUIET, **env}, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    counted = counted_in(tmp_path / "perfield-run")
    assert sent(counted) == AROUND | BACKWARDS
    assert {"scorep", "pmpi"} <= set(counted.ends[0]["sources"])


def test_alone_it_counts_the_same_calls_as_the_wrappers(with_scorep, mpirun, bin_dir, counted_in):
    program = with_scorep(PROGRAMS / "reversed_ranks.c")
    alone = mpirun(RANKS, program, env=ALONE)
    above = mpirun(RANKS, bin_dir / "perfield-exec", program, env=QUIET)
    calls = counted_in(alone.cwd / "perfield-run").calls
    wrapped = counted_in(above.cwd / "perfield-run").calls
    others = ("other", "posix_write", "stdio_write")  # as MPI_Finalize, with which the wrappers end; files
    alike = [{key: n for key, n in found.items() if key[1] not in others} for found in (calls, wrapped)]
    assert alike[0] == alike[1]
    assert len(alike[0]) > 5 * RANKS


def test_alone_it_says_how_the_programs_own_calls_of_perfield_are_heard(
    with_scorep, perfield_flags, mpirun, tmp_path
):
    source = tmp_path / "asks.c"
    source.write_text("""
#include <mpi.h>
#include <perfield.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  perfield_run(7, 0.5);
  MPI_Finalize();
}
""")
    program = with_scorep(source, *perfield_flags("--cflags"))
    result = mpirun(1, program, env=ALONE)
    assert "calls functions of perfield.h, which it cannot find" in result.stderr
    assert len(perfield.open(result.cwd / "perfield-run")) == 1  # the whole run
    lines = [line for line in result.stderr.splitlines() if line.startswith("export ")]
    cure = dict(shlex.split(line)[1].split("=", 1) for line in lines)
    result = mpirun(1, program, env={**ALONE, **cure})
    assert "perfield: " not in result.stderr
    assert perfield.open(result.cwd / "perfield-run").frame(0).label == 7


@pytest.mark.parametrize("way", ["alone", "above"])
def test_files_of_the_program_are_counted_once_and_not_those_of_mpi(
    with_scorep, mpirun, bin_dir, counted_in, way
):
    program = with_scorep(PROGRAMS / "reversed_ranks.c", options=("--io=runtime:posix",))
    before, env = ([], ALONE) if way == "alone" else ([bin_dir / "perfield-exec"], QUIET)
    result = mpirun(RANKS, *before, program, env=env)
    assert result.returncode == 0, result.stderr
    counted = counted_in(result.cwd / "perfield-run")
    for rank in range(RANKS):
        moved = [both for call, both in counted.moved_by(rank).items() if call.startswith(("posix", "stdio"))]
        assert moved == [(512, 0)]
        assert counted.calls[rank, "posix_write"] == (way == "alone")  # else perfield's wrappers of files


def sent_in_trace(path: Path) -> dict[tuple[int, int], tuple[int, int]]:
    """(source, target) in world ranks -> (count, bytes) of a trace's messages."""
    otf2 = pytest.importorskip("otf2", reason="Debian's python3-otf2 is not installed")
    counts, sizes = Counter(), Counter()
    with otf2.reader.open(os.fspath(path)) as trace:
        world = next(comm for comm in trace.definitions.comms if comm.name == "MPI_COMM_WORLD")
        for location, event in trace.events:
            if isinstance(event, (otf2.events.MpiSend, otf2.events.MpiIsend)):
                group, peer, size = event.communicator, event.receiver, event.msg_length
            elif isinstance(event, otf2.events.RmaPut):
                group, peer, size = event.win.comm, event.remote, event.bytes
            else:
                continue
            pair = world.rank(location), world.rank(group.location(peer))
            counts[pair] += 1
            sizes[pair] += size
    return {pair: (count, sizes[pair]) for pair, count in counts.items()}


@pytest.mark.parametrize(
    ("source", "flags"),
    [
        (PROGRAMS / "reversed_ranks.c", []),
        (PATTERNS / "multigrid.c", ["-DWITHOUT_PERFIELD", "-lm"]),
        (PATTERNS / "multigrid.F90", ["-DWITHOUT_PERFIELD", "-cpp"]),
    ],
)
def test_trace_and_run_of_the_same_job_agree(with_scorep, mpirun, bin_dir, counted_in, source, flags):
    pytest.importorskip("otf2", reason="Debian's python3-otf2 is not installed")
    program = with_scorep(source, *flags)
    env = {**QUIET, "SCOREP_ENABLE_TRACING": "true", "SCOREP_EXPERIMENT_DIRECTORY": "trace"}
    result = mpirun(4, bin_dir / "perfield-exec", program, 3, 16, env=env)
    assert result.returncode == 0, result.stdout + result.stderr
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    for (rank, _, peer), (count, size) in sent(counted_in(result.cwd / "perfield-run")).items():
        before = pairs.get((rank, peer), (0, 0))
        pairs[rank, peer] = before[0] + count, before[1] + size
    assert pairs == sent_in_trace(result.cwd / "trace/traces.otf2")
    assert len(pairs) > 4
