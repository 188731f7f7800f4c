# SPDX-License-Identifier: BSD-3-Clause
"""The plugin in a real Score-P, if one is on PATH: messages and files of programs built with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from conftest import exports

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


def test_with_wrappers_peers_are_world_ranks(with_scorep, mpirun, bin_dir, counted_in):
    program = with_scorep(PROGRAMS / "reversed_ranks.c")
    result = mpirun(RANKS, bin_dir / "perfield-exec", program, env=QUIET)
    assert result.returncode == 0, result.stderr
    counted = counted_in(result.cwd / "perfield-run")
    assert sent(counted) == AROUND | BACKWARDS
    assert {"scorep", "pmpi"} <= set(counted.ends[0]["sources"])
    assert "export " not in result.stderr


def test_alone_peers_are_unknown_and_printed_lines_fix_it(with_scorep, mpirun, counted_in):
    program = with_scorep(PROGRAMS / "reversed_ranks.c")
    result = mpirun(RANKS, program, env=ALONE)
    assert result.returncode == 0, result.stderr
    assert sent(counted_in(result.cwd / "perfield-run")) == AROUND | STUBS
    lines = [line for line in result.stderr.splitlines() if line.startswith("export ")]
    assert len(lines) == 2
    cure = exports("\n".join(lines))
    result = mpirun(RANKS, program, env={**ALONE, **cure})
    assert result.returncode == 0, result.stderr
    assert sent(counted_in(result.cwd / "perfield-run")) == AROUND | BACKWARDS


def test_perfield_env_does_what_perfield_run_does(with_scorep, perfield_cli, mpirun, counted_in, tmp_path):
    program = with_scorep(PROGRAMS / "reversed_ranks.c")
    env = exports(perfield_cli("setup", "env", "--scorep", program, cwd=tmp_path).stdout)
    result = mpirun(RANKS, program, env={**QUIET, **env}, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    counted = counted_in(tmp_path / "perfield-run")
    assert sent(counted) == AROUND | BACKWARDS
    assert {"scorep", "pmpi"} <= set(counted.ends[0]["sources"])


def test_alone_plugin_counts_the_wrappers_calls(with_scorep, mpirun, bin_dir, counted_in):
    program = with_scorep(PROGRAMS / "reversed_ranks.c")
    alone = mpirun(RANKS, program, env=ALONE)
    above = mpirun(RANKS, bin_dir / "perfield-exec", program, env=QUIET)
    calls = counted_in(alone.cwd / "perfield-run").calls
    wrapped = counted_in(above.cwd / "perfield-run").calls
    others = ("other", "own_write")  # as MPI_Finalize, with which the wrappers end; files
    alike = [{key: n for key, n in found.items() if key[1] not in others} for found in (calls, wrapped)]
    assert alike[0] == alike[1]
    assert len(alike[0]) > 5 * RANKS


def test_alone_plugin_explains_how_perfield_calls_reach_it(with_scorep, perfield_flags, mpirun, tmp_path):
    source = tmp_path / "asks.c"
    source.write_text("""
#include <mpi.h>
#include <perfield.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  perfield_step(6, 0.25);
  perfield_step(7, 0.5);
  MPI_Finalize();
}
""")
    program = with_scorep(source, *perfield_flags("--cflags"))
    result = mpirun(1, program, env=ALONE)
    assert "calls functions of perfield.h, which it cannot find" in result.stderr
    assert len(perfield.open(result.cwd / "perfield-run")) == 1  # the whole run
    lines = [line for line in result.stderr.splitlines() if line.startswith("export ")]
    cure = exports("\n".join(lines))
    result = mpirun(1, program, env={**ALONE, **cure})
    assert "perfield: " not in result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert [frame.label for frame in run.frames()] == [7]  # before the first step is the setup
    assert "perfield_step" not in run.regions["name"].tolist()


@pytest.mark.parametrize("way", ["alone", "above"])
def test_program_files_count_once_and_mpi_files_do_not(with_scorep, mpirun, bin_dir, counted_in, way):
    program = with_scorep(PROGRAMS / "reversed_ranks.c", options=("--io=runtime:posix",))
    before, env = ([], ALONE) if way == "alone" else ([bin_dir / "perfield-exec"], QUIET)
    result = mpirun(RANKS, *before, program, env=env)
    assert result.returncode == 0, result.stderr
    counted = counted_in(result.cwd / "perfield-run")
    for rank in range(RANKS):
        moved = [both for call, both in counted.moved_by(rank).items() if call.startswith("own")]
        assert moved == [(512, 0)]
        # Score-P sees what is written; perfield's wrappers see fwrite, and fclose, which writes it.
        assert counted.calls[rank, "own_write"] == {"alone": 1, "above": 2}[way]


def test_sampled_shares_are_those_of_scoreps_profile(with_scorep, mpirun, bin_dir, tmp_path):
    source = tmp_path / "three.c"
    source.write_text("""
#include <mpi.h>
#include "spin.h"
__attribute__((noinline)) static void tenth(void) { SPIN(kUnit); }
__attribute__((noinline)) static void third(void) { SPIN(3 * kUnit); }
__attribute__((noinline)) static void most(void) { SPIN(6 * kUnit); }
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  for (int n = 0; n < 2000; ++n) { tenth(); third(); most(); }
  MPI_Finalize();
}
""")
    env = {
        "SCOREP_ENABLE_TRACING": "false",
        "SCOREP_EXPERIMENT_DIRECTORY": "profile",
        "PERFIELD_SAMPLE": "2000",
        "PERFIELD_STEP_REGION": "tenth",
    }
    result = mpirun(1, bin_dir / "perfield-exec", with_scorep(source, f"-I{PROGRAMS}"), env=env)
    assert result.returncode == 0, result.stderr
    names = ["tenth", "third", "most"]
    flat = subprocess.run(
        ["scorep-score", "-r", "profile/profile.cubex"],
        cwd=result.cwd,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    seconds = np.array(
        [float(re.search(rf"^ *USR +\S+ +\S+ +(\S+) .* {name}$", flat, re.M)[1]) for name in names]
    )
    sampled = (
        perfield.open(result.cwd / "perfield-run")
        .samples()
        .compute()
        .groupby("function")["time_s"]
        .sum()[names]
    )
    shares = sampled.to_numpy() / sampled.sum()
    np.testing.assert_allclose(shares, seconds / seconds.sum(), atol=0.02)


def test_real_scorep_trace_flush_is_not_counted(with_scorep, mpirun, bin_dir, counted_in, tmp_path):
    source = tmp_path / "long.c"
    source.write_text("""
#include <mpi.h>
#include <stdio.h>
__attribute__((noinline)) static void little(void) { __asm__ volatile(""); }
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  for (int n = 0; n < 1000000; ++n) little();
  fputs("done", stdout);
  MPI_Finalize();
}
""")
    tracing = {"SCOREP_ENABLE_TRACING": "true", "SCOREP_TOTAL_MEMORY": "4M", "PERFIELD_REGIONS": "main"}
    result = mpirun(1, bin_dir / "perfield-exec", with_scorep(source), env={**QUIET, **tracing})
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("Trace buffer flush on rank 0") > 1
    moved = counted_in(result.cwd / "perfield-run").moved_by(0)
    assert sum(written for written, _ in moved.values()) == len("done")


def test_alone_plugin_measures_call_time_inside_regions(with_scorep, perfield_flags, mpirun):
    program = with_scorep(PROGRAMS / "nested_regions.c", *perfield_flags("--cflags"))
    chosen = {"PERFIELD_REGIONS": "flux,time_step", "PERFIELD_STEP_REGION": "time_step"}
    result = mpirun(2, program, env={**ALONE, **chosen})
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert len(run) == 5
    for frame in run.frames():  # all of a step's time in MPI is in its barrier, none of it in flux
        values = frame.values
        assert (values["mpi_collective_time_s"] > 0).all()
        np.testing.assert_allclose(values["time_step_mpi_time_s"], values["mpi_time_s"], rtol=1e-6)
        assert (values["flux_mpi_time_s"] == 0).all()
        np.testing.assert_allclose(values["flux_compute_time_s"], values["flux_time_s"])


def test_original_plugins_fortran_calls_close_steps(with_scorep, perfield_flags, mpirun, bin_dir, tmp_path):
    source = tmp_path / "asks.f90"
    source.write_text("""
module flow
contains
  subroutine flux_edge()
  end subroutine flux_edge
end module flow
program asks
  use mpi
  use flow
  implicit none
  external :: cat_sco_initialize_, cat_sco_run_, cat_sco_pipeline_next_, cat_sco_finalize_
  integer :: step, error
  call MPI_Init(error)
  call cat_sco_initialize_()
  do step = 1, 3
    call flux_edge()
    call cat_sco_pipeline_next_()
    call flux_edge()
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call cat_sco_run_(step, 0.5d0 * step)
  end do
  call cat_sco_finalize_()
  call MPI_Finalize(error)
end program asks
""")
    program = with_scorep(source, *perfield_flags("--libs"))
    result = mpirun(2, bin_dir / "perfield-exec", program, env={**QUIET, "PERFIELD_REGIONS": ""})
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert [(frame.label, frame.time) for frame in run.frames()] == [(1, 0.5), (2, 1), (3, 1.5)]
    # With a compiler that has no plug-in of Score-P, its name is that of the symbol.
    [flux] = [region.field for region in run.known_regions if "flux_edge" in region.name]
    counts = [frame.values[f"{flux}_count"].tolist() for frame in run.frames()]
    assert counts == 3 * [[1, 1]]  # at the armed place only


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
def test_trace_and_run_of_one_job_agree(with_scorep, mpirun, bin_dir, counted_in, source, flags):
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
