# SPDX-License-Identifier: BSD-3-Clause
"""The source `nvml`, with stand-ins for CUDA's driver and for NVML whose numbers the test sets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from compiled.cuda_stand_ins import DRIVER, cuda_folders, driver_stand_in

import perfield

LIBRARY = Path(perfield.__file__).parent / "lib/libperfield_nvml.so"
ALONE = {"LD_PRELOAD": str(LIBRARY), "CUDA_INJECTION64_PATH": "none"}  # without CUPTI
GB = 10**9
LOST, NOT_SUPPORTED = 15, 3

# The knobs of the stand-in, and what NVML was asked.
KNOBS = """
struct device {
  unsigned long long used, own;
  unsigned busy, pid;
  int answer_on_memory, answer_on_utilisation, is_divided;
};
static struct device *device, *part;
static int *handles, *asked, *starts;
static void find_knobs(void) {
  void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  device = dlsym(nvml, "nvml_devices"), part = dlsym(nvml, "nvml_part");
  handles = dlsym(nvml, "nvml_handles"), asked = dlsym(nvml, "nvml_asked");
  starts = dlsym(nvml, "nvml_open");
}
static void set(int n, double gb, double own_gb, unsigned busy) {
  device[n].used = gb * 1e9, device[n].own = own_gb * 1e9, device[n].busy = busy;
}
"""


BRIDGE = Path(__file__).resolve().parents[3] / "bridge"
COMPARED = """
#include <nvml.h>
#include <stddef.h>
#include "sources/nvml/interface.hpp"
using namespace perfield::nvml;
static_assert(NVML_SUCCESS == int(kGood) && NVML_ERROR_NOT_SUPPORTED == int(kNotSupported));
static_assert(sizeof(nvmlMemory_t) == sizeof(Memory));
static_assert(offsetof(nvmlMemory_t, used) == offsetof(Memory, used));
static_assert(sizeof(nvmlUtilization_t) == sizeof(Utilisation));
static_assert(offsetof(nvmlUtilization_t, gpu) == offsetof(Utilisation, gpu));
static_assert(sizeof(nvmlProcessInfo_t) == sizeof(Process));
static_assert(offsetof(nvmlProcessInfo_t, pid) == offsetof(Process, pid));
static_assert(offsetof(nvmlProcessInfo_t, usedGpuMemory) == offsetof(Process, used));
static_assert(kNotKnown == (unsigned long long)(NVML_VALUE_NOT_AVAILABLE));
"""


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory) -> Path:
    """A folder with both stand-ins."""
    return driver_stand_in(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def device(measured, stand_ins):
    """device(body, env={}): runs the body measured, with the knobs of the stand-in; (Run, process).

    The body starts the device itself, by start_device(number).
    """

    def run(body: str, env: dict[str, str] | None = None, **options):
        given = {**ALONE, "LD_LIBRARY_PATH": str(stand_ins), **(env or {})}
        return measured("find_knobs();\n" + body, before=DRIVER + KNOBS, env=given, **options)

    return run


def fields(run, name: str) -> list[float]:
    """A field of rank 0 in all frames."""
    return [float(frame.values[f"device_{name}"][0]) for frame in run.frames()]


def warnings_of(run) -> list[str]:
    return [name for name in run.frame(0).values if name.startswith("device_")]


def test_memory_and_utilisation_are_reported_step_by_step(device):
    run, result = device(
        """
      start_device(0); perfield_initialize();
      set(0, 3, 1, 40); set(1, 7, 7, 100);
      work(200); perfield_step(0, 0);
      set(0, 5, 2.5, 75);
      work(200); perfield_step(1, 1);
    """
    )
    assert fields(run, "memory_bytes") == [3 * GB, 5 * GB]
    assert fields(run, "own_memory_bytes") == [1 * GB, 2.5 * GB]
    assert fields(run, "utilisation_share") == pytest.approx([0.4, 0.75])
    assert "nvml" in run.ends[0]["sources"]
    assert "device" not in result.stderr


def test_devices_of_a_rank_are_added_up_and_their_utilisation_is_the_mean(device):
    run, _ = device(
        """
      start_device(0); start_device(1); perfield_initialize();
      set(0, 3, 1, 40); set(1, 7, 2, 75);
      work(200); perfield_step(0, 0);
    """
    )
    assert fields(run, "memory_bytes") == [10 * GB]
    assert fields(run, "own_memory_bytes") == [3 * GB]
    assert fields(run, "utilisation_share") == pytest.approx([0.575])


def test_context_that_is_not_the_runtimes_counts_too(device):
    run, result = device(
        """
      start_device(0); perfield_initialize();
      CUcontext own;
      CUDA(cuCtxCreate(&own, 0, 1));
      set(0, 3, 1, 40); set(1, 7, 2, 60);
      work(200); perfield_step(0, 0);
      printf("%d handles\\n", *handles);
    """
    )
    assert fields(run, "memory_bytes") == [10 * GB]
    assert result.stdout == "2 handles\n"


def test_short_steps_ask_rarely_and_keep_the_value(device):
    run, result = device(
        """
      start_device(0); perfield_initialize();
      set(0, 3, 1, 40);
      for (int step = 0; step < 100; ++step) {
        work(10); perfield_step(step, step);
      }
      printf("%d\\n", *asked);
    """
    )
    assert set(fields(run, "memory_bytes")[10:]) == {3 * GB}
    assert 9 <= int(result.stdout) <= 11


def test_nvml_is_not_started_where_no_device_computes(device):
    run, result = device(
        """
      perfield_initialize();
      work(200); perfield_step(0, 0);
      dlopen("libcuda.so.1", RTLD_NOW);
      work(200); perfield_step(1, 1);
      printf("%d\\n", *starts);
    """
    )
    assert result.stdout == "0\n"
    assert not warnings_of(run)


def test_device_that_starts_late_is_absent_before(device):
    run, _ = device(
        """
      perfield_initialize();
      set(0, 3, 1, 40);
      work(200); perfield_step(0, 0);
      start_device(0);
      work(200); perfield_step(1, 1);
    """
    )
    assert fields(run, "memory_bytes") == pytest.approx([np.nan, 3 * GB], nan_ok=True)


def test_ranks_of_one_device_both_say_it(device):
    run, _ = device(
        """
      if (rank < 2) start_device(0);
      perfield_initialize();
      set(0, 3, 1 + rank, 40);
      usleep(150000); perfield_step(0, 0);
    """,
        mpi=True,
        n=3,
    )
    values = run.frame(0).values
    assert values["device_memory_bytes"] == pytest.approx([3 * GB, 3 * GB, np.nan], nan_ok=True)
    assert values["device_own_memory_bytes"] == pytest.approx([1 * GB, 2 * GB, np.nan], nan_ok=True)


def test_device_that_is_taken_away_is_absent_from_then_on(device):
    run, result = device(
        f"""
      start_device(0); perfield_initialize();
      set(0, 3, 1, 40);
      work(200); perfield_step(0, 0);
      device[0].answer_on_memory = device[0].answer_on_utilisation = {LOST};
      for (int step = 1; step < 4; ++step) {{
        work(200); perfield_step(step, step);
      }}
      puts("done");
    """
    )
    assert result.stdout == "done\n"
    nothing = [np.nan] * 3
    assert fields(run, "memory_bytes") == pytest.approx([3 * GB, *nothing], nan_ok=True)
    assert fields(run, "utilisation_share") == pytest.approx([0.4, *nothing], nan_ok=True)
    (line,) = [line for line in result.stderr.splitlines() if "device" in line]
    assert "0000:3B:00.0" in line and "GPU is lost" in line and "runs on" in line


def test_divided_device_says_the_memory_of_the_part_and_no_utilisation(device):
    run, result = device(
        f"""
      start_device(0);
      set(0, 30, 1, 40);
      device[0].is_divided = 1;
      part->used = 2e9, part->own = 1e9, part->answer_on_utilisation = {NOT_SUPPORTED};
      perfield_initialize();
      work(200); perfield_step(0, 0);
    """
    )
    assert fields(run, "memory_bytes") == [2 * GB]
    assert fields(run, "own_memory_bytes") == [1 * GB]
    assert np.isnan(fields(run, "utilisation_share")).all()
    assert "device" not in result.stderr


def test_memory_of_the_rank_is_absent_where_nvml_does_not_know_its_process(device):
    run, _ = device(
        """
      start_device(0); perfield_initialize();
      set(0, 3, 1, 40);
      device[0].pid = 2;
      work(200); perfield_step(0, 0);
    """
    )
    assert fields(run, "memory_bytes") == [3 * GB]
    assert np.isnan(fields(run, "own_memory_bytes")).all()


def test_refusal_gives_one_line(device):
    body = 'start_device(0); perfield_initialize(); work(200); perfield_step(0, 0); puts("done");'
    run, result = device(body, env={"NVML_REFUSES": "4"}, n=2)
    assert result.stdout.splitlines() == ["done"] * 2
    (line,) = [line for line in result.stderr.splitlines() if "device" in line]
    assert "Insufficient Permissions" in line and "runs on" in line
    assert not warnings_of(run)


def test_driver_without_nvml_gives_one_line(measured, stand_ins, tmp_path):
    (tmp_path / "libcuda.so.1").symlink_to(stand_ins / "libcuda.so.1")
    run, result = measured(
        "start_device(0); perfield_initialize(); work(200); perfield_step(0, 0);",
        before=DRIVER,
        env={**ALONE, "LD_LIBRARY_PATH": str(tmp_path)},
    )
    (line,) = [line for line in result.stderr.splitlines() if "device" in line]
    assert "libnvidia-ml.so.1" in line and "runs on" in line
    assert not warnings_of(run)


def test_nvml_has_ended_when_the_run_ends(device):
    _, result = device(
        """
      start_device(0);
      perfield_initialize();
      work(200); perfield_step(0, 0);
      printf("%d\\n", *starts);
      perfield_finalize();
      printf("%d\\n", *starts);
    """
    )
    assert result.stdout == "1\n0\n"


def test_declarations_agree_with_the_installed_header(tmp_path):
    (tmp_path / "compared.cpp").write_text(COMPARED)
    words = ["g++", "-std=c++17", "-fsyntax-only", f"-I{BRIDGE}", *cuda_folders(), "compared.cpp"]
    result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "nvml.h: No such file" in result.stderr:
        pytest.skip("nvml.h is not found below CUDA_HOME or /usr/local/cuda")
    assert result.returncode == 0, result.stderr
