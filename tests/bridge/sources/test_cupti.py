# SPDX-License-Identifier: BSD-3-Clause
"""The CUPTI source, with a stand-in for libcupti that delivers records in CUPTI's own types."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled.counting import series
from compiled.cuda_stand_ins import cupti_stand_in

import perfield

LIBRARY = Path(perfield.__file__).parent / "lib/libperfield_cupti.so"

# CUDA's driver, which loads the library when it starts, and the device of the stand-in.
DRIVER = """
#include <dlfcn.h>
#include <string.h>
static void (*device_kernel)(uint64_t, uint64_t), (*device_something_else)(void);
static void (*device_copy)(int, uint64_t, uint64_t, uint64_t);
static void (*device_copy_to_other)(uint64_t, uint64_t, uint64_t);
static void (*device_set)(uint64_t, uint64_t, uint64_t);
static int *flushes, *watchers, *is_gone;
static void start_driver(void) {
  void* library = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
  int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
  if (!initialize || initialize() != 1) exit(3);
  void* cupti = dlopen("libcupti.so", RTLD_NOW);
#define FIND(name) *(void**)&name = dlsym(cupti, #name)
  FIND(device_kernel), FIND(device_something_else), FIND(device_copy), FIND(device_copy_to_other);
  FIND(device_set), FIND(flushes), FIND(watchers), FIND(is_gone);
}
enum { HTOD = 1, DTOH, HTOA, ATOH, ATOA, ATOD, DTOA, DTOD, HTOH };
"""


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory) -> Path:
    """A folder with the stand-in under each possible name of libcupti."""
    if not LIBRARY.exists():
        pytest.skip("perfield was built where the headers of CUPTI are not, so without this source")
    return cupti_stand_in(tmp_path_factory.mktemp("cupti"))


@pytest.fixture
def device(measured, stand_in):
    """device(body, env={}): starts CUDA's driver, then runs the body measured; (Run, process)."""

    def run(body: str, env: dict[str, str] | None = None, **options):
        given = {"LD_LIBRARY_PATH": str(stand_in), **(env or {})}
        return measured("start_driver();\n" + body, before=DRIVER, env=given, **options)

    return run


def fields(run, name: str) -> list[float]:
    """A field of devices of rank 0 in all frames."""
    return series(run, f"device_{name}")


def test_kernels_and_copies_count_in_the_step_they_end(device):
    run, result = device(
        """
      device_kernel(0, 5000);
      perfield_initialize();
      device_kernel(1000, 3000); device_kernel(10, 11); device_something_else();
      work(20); perfield_step(0, 0.0);
      work(20); perfield_step(1, 1.0);
      device_kernel(5000, 5500);
      device_copy(HTOD, 100, 0, 1); device_copy(HTOA, 20, 0, 2);
      device_copy(DTOH, 7, 0, 4); device_copy(ATOH, 3, 0, 8);
      device_copy(DTOD, 1000, 0, 16); device_copy(HTOH, 500, 0, 32);
      device_copy_to_other(90, 0, 64); device_set(4, 0, 128);
      work(20); perfield_step(2, 2.0);
    """
    )
    assert fields(run, "kernel_count") == [2, 0, 1]
    assert fields(run, "kernel_time_s") == pytest.approx([2001e-9, 0, 500e-9])
    assert fields(run, "copy_count") == [0, 0, 8]
    assert fields(run, "copy_time_s") == pytest.approx([0, 0, 255e-9])
    assert fields(run, "copy_to_bytes") == [0, 0, 120]
    assert fields(run, "copy_from_bytes") == [0, 0, 10]
    assert fields(run, "copy_within_bytes") == [0, 0, 1594]
    assert run.setup.values["device_kernel_count"] == [1]
    assert "device" not in result.stderr


def test_short_steps_ask_the_device_rarely_and_lose_nothing(device):
    run, result = device(
        """
      perfield_initialize();
      for (int step = 0; step < 100; ++step) {
        device_kernel(0, 10);
        work(1); perfield_step(step, step);
      }
      work(20);
      perfield_finalize();
      printf("%d\\n", *flushes);
    """
    )
    counts = fields(run, "kernel_count")
    assert sum(counts) + run.teardown.values["device_kernel_count"][0] == 100
    assert set(counts) == {0, 10} or set(counts) <= {0, 9, 10, 11}
    assert 10 <= int(result.stdout) <= 14


def test_work_right_before_mpi_finalize_counts(device):
    run, _ = device(
        """
      perfield_initialize();
      device_kernel(0, 1);
      perfield_step(0, 0.0);
      device_kernel(0, 1); device_kernel(0, 1);
    """,
        mpi=True,
    )
    frames = [run.setup, *run.frames(), run.teardown]
    assert sum(frame.values["device_kernel_count"][0] for frame in frames) == 3


def test_device_work_outside_measured_steps_is_not_counted(device):
    run, _ = device(
        """
      perfield_initialize();
      device_kernel(0, 1); work(20); perfield_pause();
      device_kernel(0, 1); device_kernel(0, 1); work(20); perfield_resume();
      device_kernel(0, 1); work(20); perfield_step(0, 0.0);
      for (int i = 0; i < 50; ++i) device_kernel(0, 1);
      work(20); perfield_step(1, 1.0);
      device_kernel(0, 1); work(20); perfield_step(2, 2.0);
    """,
        env={"PERFIELD_MEASURE_EVERY": "2"},
    )
    assert fields(run, "kernel_count") == [2, 1]


def test_the_program_gets_the_numbers_of_its_frames(device):
    run, result = device(
        """
      perfield_initialize();
      device_kernel(0, 333); device_copy(HTOD, 100, 0, 7); device_copy(DTOH, 33, 0, 9);
      work(20); perfield_step(0, 0.0);
      print_values();
    """
    )
    rows = [line.split() for line in result.stdout.splitlines()]
    reported = {name: float.fromhex(value) for name, value in rows if name.startswith("device_")}
    frame = run.frame(0)
    assert reported == {name: v[0] for name, v in frame.values.items() if name.startswith("device_")}
    assert len(reported) == 7


def test_forbidden_device_gives_one_line(device):
    body = 'perfield_initialize(); work(1); perfield_step(0, 0.0); puts("done");'
    run, result = device(body, env={"FAILING": "1"}, n=2)
    assert result.stdout.splitlines() == ["done"] * 2
    (line,) = [line for line in result.stderr.splitlines() if "device" in line]
    assert "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" in line and "runs on" in line
    assert not [name for name in run.frame(0).values if name.startswith("device_")]


def test_dropped_cupti_records_are_reported(device):
    _, result = device(
        "perfield_initialize(); device_kernel(0, 1); work(20); perfield_step(0, 0.0);", env={"DROPPING": "1"}
    )
    assert "CUPTI dropped 7 records" in result.stderr


def test_device_that_is_taken_away_gives_one_line_and_keeps_what_was_counted(device):
    run, result = device(
        """
      perfield_initialize();
      device_kernel(0, 5); work(20); perfield_step(0, 0.0);
      *is_gone = 1;
      for (int step = 1; step < 4; ++step) { device_kernel(0, 7); work(20); perfield_step(step, step); }
      puts("done");
    """
    )
    assert result.stdout == "done\n"
    assert fields(run, "kernel_count") == [1, 0, 0, 0]
    (line,) = [line for line in result.stderr.splitlines() if "device" in line]
    assert "CUPTI gave no records of the last kernels and copies (CUPTI_ERROR_UNKNOWN)" in line


def test_device_that_answers_again_is_not_reported(device):
    run, result = device(
        """
      perfield_initialize();
      *is_gone = 1; device_kernel(0, 5); work(20); perfield_step(0, 0.0);
      *is_gone = 0; device_kernel(0, 5); work(20); perfield_step(1, 1.0);
    """
    )
    assert fields(run, "kernel_count") == [0, 2]
    assert "device" not in result.stderr


def test_child_of_a_rank_does_not_measure_the_device(execute, build_c, stand_in):
    body = '\nint main(void) { start_driver(); printf("%d\\n", *watchers); return 0; }\n'
    headers = "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    program = build_c(headers + DRIVER + body, mpi=False)
    env = {"CUDA_INJECTION64_PATH": str(LIBRARY), "LD_LIBRARY_PATH": str(stand_in)}
    assert execute(program, env=env).stdout == "1\n"
    assert execute(program, env={**env, "PERFIELD_ENABLED": "false"}).stdout == "0\n"


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a device")
def test_real_libcupti_without_device_gives_one_line(measured, stand_in):
    _, result = measured('perfield_initialize(); start_driver(); puts("done");', before=DRIVER)
    assert result.stdout == "done\n"
    assert len([line for line in result.stderr.splitlines() if "are not measured" in line]) == 1


def test_injection_path_names_the_library_unless_user_set_it(execute, stand_in):
    printed = execute("perfield-exec", "--print", "true")
    assert f"export CUDA_INJECTION64_PATH='{LIBRARY.resolve()}'" in printed.stdout.splitlines()
    other = execute("perfield-exec", "--print", "true", env={"CUDA_INJECTION64_PATH": "/opt/nsight.so"})
    assert "CUDA_INJECTION64_PATH" not in other.stdout
