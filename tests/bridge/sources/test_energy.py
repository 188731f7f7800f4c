# SPDX-License-Identifier: BSD-3-Clause
"""The source `energy`, with a stand-in for the kernel's powercap folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

RANGE = 262_143_328_850  # uJ, as of a Xeon

# Each step sets the counters and closes.
STEPS = """
#include <stdlib.h>
static void set(const char* zone, long long uj) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s/energy_uj", getenv("COUNTERS"), zone);
  FILE* file = fopen(path, "w");
  fprintf(file, "%lld\\n", uj);
  fclose(file);
}
"""
PROGRAM = f"""
  perfield_initialize();
  set("intel-rapl:0", 5000000); set("intel-rapl:1", {RANGE - 1_000_000});
  work(20); perfield_step(0, 0);
  set("intel-rapl:0", 7500000); set("intel-rapl:1", 500000);
  work(20); perfield_step(1, 1);
  perfield_pause();
  set("intel-rapl:0", 9500000);
  work(20); perfield_resume();
  set("intel-rapl:0", 9600000);
  work(20); perfield_step(2, 2);
"""


def zone(folder: Path, name: str, of: str, start: int) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "name").write_text(of + "\n")
    (folder / name / "max_energy_range_uj").write_text(f"{RANGE}\n")
    (folder / name / "energy_uj").write_text(f"{start}\n")


@pytest.fixture
def counters(tmp_path) -> Path:
    """A node with two packages, one with a sub-zone, and a counter of the whole platform."""
    folder = tmp_path / "powercap"
    zone(folder, "intel-rapl:0", "package-0", 4_000_000)
    zone(folder, "intel-rapl:0:0", "dram", 1)
    zone(folder, "intel-rapl:1", "package-1", RANGE - 3_000_000)
    zone(folder, "intel-rapl:2", "psys", 1)
    (folder / "intel-rapl").mkdir()
    return folder


def joules(run, package: int) -> list[float]:
    return [float(frame.values[f"energy_package_{package}_J"][0]) for frame in run.frames()]


def test_energy_per_package_and_step_survives_counter_wrap(measured, counters):
    run, result = measured(
        PROGRAM, before=STEPS, env={"PERFIELD_ENERGY": str(counters), "COUNTERS": str(counters)}
    )
    assert joules(run, 0) == pytest.approx([1.0, 2.5, 0.1])
    assert joules(run, 1) == pytest.approx([2.0, 1.5, 0.0])
    assert not [name for name in run.frame(0).values if "dram" in name or "psys" in name]
    assert "energy" not in result.stderr


def test_one_rank_per_node_reports_energy(measured, counters):
    run, _ = measured(
        "MPI_Init(0, 0); perfield_step(0, 0); work(30); perfield_step(1, 1); MPI_Finalize();",
        n=2,
        env={"PERFIELD_ENERGY": str(counters)},
    )
    reported = np.isfinite(run.frame(0).values["energy_package_0_J"])
    assert reported.sum() == 1


def test_node_without_counters_gives_one_line(measured, tmp_path):
    run, result = measured(
        "perfield_initialize(); perfield_step(0, 0);", env={"PERFIELD_ENERGY": str(tmp_path / "none")}
    )
    assert result.stderr.count("the energy of this node is not measured: its kernel has no counters in") == 1
    assert not [name for name in run.frame(0).values if name.startswith("energy")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_counters_are_reported(measured, counters):
    (counters / "intel-rapl:0/energy_uj").chmod(0)
    _, result = measured(
        "perfield_initialize(); perfield_step(0, 0);", env={"PERFIELD_ENERGY": str(counters)}
    )
    assert "energy_uj cannot be read (Permission denied)" in result.stderr


def test_one_unreadable_counter_leaves_the_others(measured, counters):
    (counters / "intel-rapl:1/energy_uj").unlink()
    run, result = measured(
        "perfield_initialize(); perfield_step(0, 0);", env={"PERFIELD_ENERGY": str(counters)}
    )
    assert "intel-rapl:1/energy_uj cannot be read (No such file or directory)" in result.stderr
    assert "energy_package_0_J" in run.frame(0).values
    assert "energy_package_1_J" not in run.frame(0).values


def test_without_setting_nothing_is_read_or_printed(measured):
    run, result = measured("perfield_initialize(); perfield_step(0, 0);")
    assert "energy" not in run.rank_entries[0]["sources"] and "energy" not in result.stderr
