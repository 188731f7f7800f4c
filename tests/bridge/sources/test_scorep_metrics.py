# SPDX-License-Identifier: BSD-3-Clause
"""Metrics that Score-P reads at begin and end of regions become counters of perfield's regions."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from twins import twin

METRICS = "metric 1 cycles\nmetric 2 load 2\nmetric 3 misses\nmetrics 1 2 3\n"
REGIONS = "region 8 outer\nregion 16 inner\n"


def counters_in(run: Path) -> dict[tuple[str, str], int]:
    """(region, counter) -> value, from the stream of a run with one rank."""
    (path,) = (run / "stream").glob("*.pf")
    entries, damage = twin.decode(path.read_bytes())
    assert not damage
    entries = twin.resolved(entries)
    names = {entry["body"]["id"]: entry["body"]["name"] for entry in entries if entry["type"] == "quantity"}
    regions = {entry["body"]["id"]: entry["body"]["name"] for entry in entries if entry["type"] == "region"}
    found: dict[tuple[str, str], int] = {}
    for row in (row for entry in entries if entry["type"] == "step" for row in entry["body"]["quantities"]):
        if row["region"] != twin.OF_RANK and not names[row["quantity"]].endswith("_time"):
            key = regions[row["region"]], names[row["quantity"]]
            found[key] = found.get(key, 0) + row["value"]
    return found


@pytest.fixture
def play(score_p_plays, tmp_path):
    """play(script, *arguments): plays a script to the plugin; returns (region, counter) -> value."""

    def run(script: str, *arguments: object) -> dict[tuple[str, str], int]:
        score_p_plays(script, *arguments)
        return counters_in(tmp_path / "perfield-run")

    return run


EVENTS = "enter 8 100 7 1000\nenter 16 130 8 1000\nexit 16 180 20 1005\nexit 8 200 21 1007\n"


def test_regions_get_the_growth_of_metrics(play):
    assert play(f"{REGIONS}{METRICS}init_mpp\n{EVENTS}") == {
        **{("outer", "cycles"): 100, ("outer", "misses"): 7},
        **{("inner", "cycles"): 50, ("inner", "misses"): 5},
    }


def test_events_without_values_keep_counters(play):
    script = f"{REGIONS}{METRICS}init_mpp\n{EVENTS}enter 8\nexit 8\n"
    assert play(script)["outer", "cycles"] == 100


def test_without_metrics_there_are_no_counters(play):
    assert play(f"{REGIONS}init_mpp\n{EVENTS}") == {}


def test_older_scorep_is_not_asked_for_metrics(play):
    assert play(f"{REGIONS}{METRICS}init_mpp\n{EVENTS}", "perfield", 2, 48) == {}


@pytest.mark.skipif(shutil.which("scorep") is None, reason="there is no scorep on PATH")
def test_real_scorep_page_faults_become_a_counter(mpirun, bin_dir, tmp_path):
    (tmp_path / "touch.c").write_text("""
#include <mpi.h>
#include <stdlib.h>
__attribute__((noinline)) void touch(char *memory) {
  for (int page = 0; page < 500; ++page) ((volatile char *)memory)[page * 4096L] = 1;
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  char *memory = aligned_alloc(4096, 500 * 4096L);
  touch(memory);
  MPI_Finalize();
}
""")
    subprocess.run(["scorep", "mpicc", "-O1", "touch.c", "-o", "touch"], cwd=tmp_path, check=True)
    env = {
        "SCOREP_METRIC_RUSAGE": "ru_minflt",
        "SCOREP_ENABLE_PROFILING": "false",
        "PERFIELD_REGIONS": "touch",
    }
    result = mpirun(1, bin_dir / "perfield-exec", "./touch", env=env, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    counters = counters_in(tmp_path / "perfield-run")
    assert set(counters) == {("touch", "ru_minflt")}
    assert 500 <= counters["touch", "ru_minflt"] < 1000
