# SPDX-License-Identifier: BSD-3-Clause
"""CUPTI and NVML in programs that compute on an NVIDIA device: on a real one, and on stand-ins.

Each test runs on both. Without a device the real half is skipped, with the reason.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from cuda_stand_ins import DRIVER, cupti_stand_in, driver_stand_in

import perfield
from perfield.run import Frame

LIBRARIES = Path(perfield.__file__).parent / "lib"
PROBE = DRIVER + '\nint main(void) { start_device(0); puts("a device"); return 0; }\n'
NO_DEVICE = 77  # the exit status that says so
RTOL = 0.01  # of times, against CUDA's own events
MB = 2**20


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory) -> Path:
    """A folder with stand-ins of CUDA's driver, CUPTI and NVML."""
    return cupti_stand_in(driver_stand_in(tmp_path_factory.mktemp("device")))


@pytest.fixture(scope="session")
def no_device(tmp_path_factory) -> str:
    """Why no device can be used here; empty if one can."""
    source = tmp_path_factory.mktemp("probe") / "probe.c"
    source.write_text(PROBE)
    program = source.with_suffix("")
    subprocess.run(["gcc", "-w", source, "-o", program, "-ldl"], check=True)
    tried = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
    return tried.stdout.strip() if tried.returncode == NO_DEVICE else ""


@pytest.fixture(params=["stand-in", "device"])
def device(request, measured, no_device) -> Callable:
    """device(body, env={}, **options): runs the body measured, on a device; (Run, process).

    The body starts the device itself, by start_device(number). real : whether the device is one.
    """
    if not (LIBRARIES / "libperfield_cupti.so").exists():
        pytest.skip("perfield was built where the headers of CUPTI are not, so without this source")
    if request.param == "stand-in":
        folder = request.getfixturevalue("stand_ins")
        given = {"LD_LIBRARY_PATH": str(folder), "LD_PRELOAD": str(LIBRARIES / "libperfield_nvml.so")}
    elif no_device:
        pytest.skip(no_device)
    else:
        given = {}

    def run(body: str, env: dict[str, str] | None = None, **options):
        options = {"real_time": True, "timeout": 300, "flags": ("-ldl",), **options}
        found, result = measured(body, before=DRIVER, env={**given, **(env or {})}, **options)
        refused = [line for line in result.stderr.splitlines() if "not measured" in line]
        if request.param == "device" and refused:
            pytest.skip(f"this device may not be watched: {refused[0]}")
        return found, result

    run.real = request.param == "device"
    return run


def all_frames(run) -> list[Frame]:
    """Setup, the steps and teardown: what a device has done may show later, but not after the end."""
    return [run.setup, *run.frames(), run.teardown]


def total(run, name: str, rank: int = 0) -> float:
    """The sum of a field of devices over the whole run."""
    values = [frame.values[f"device_{name}"][rank] for frame in all_frames(run)]
    return sum(value for value in values if not math.isnan(value))


def up_to(run, name: str) -> list[float]:
    """The sum of a field of devices of rank 0 at the end of each step, from the start."""
    values = [frame.values[f"device_{name}"][0] for frame in all_frames(run)[:-1]]
    return [sum(values[: n + 1]) for n in range(len(values))][1:]


def printed(text: str) -> Iterable[list[float]]:
    """The numbers of each line."""
    return [[float(word) for word in line.split()] for line in text.splitlines()]


def test_program_says_why_there_is_no_device(tmp_path):
    (tmp_path / "probe.c").write_text(PROBE)
    subprocess.run(["gcc", "-w", "probe.c", "-o", "probe", "-ldl"], cwd=tmp_path, check=True)
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    tried = subprocess.run(
        [tmp_path / "probe"], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert tried.returncode == NO_DEVICE
    assert tried.stdout.startswith("no NVIDIA device: ")


def test_times_of_kernels_are_those_of_events(device):
    run, result = device(
        """
      start_device(0);
      perfield_initialize();
      for (int step = 0; step < 5; ++step) {
        CUevent begin = record_event(NULL);
        for (int n = 0; n <= step; ++n) launch_spin(20, NULL);
        CUevent end = record_event(NULL);
        printf("%.9g\\n", seconds_between(begin, end));
        perfield_step(step, step);
      }
    """
    )
    by_events = [line[0] for line in printed(result.stdout)]
    assert sum(by_events) >= 15 * 0.02
    assert total(run, "kernel_count") == 15
    assert total(run, "kernel_time_s") == pytest.approx(sum(by_events), rel=RTOL)
    for counted, step in zip(up_to(run, "kernel_count"), range(5)):  # nothing shows too early
        assert counted <= (step + 1) * (step + 2) / 2


def test_bytes_of_copies_are_exact_and_their_times_those_of_events(device):
    run, result = device(
        f"""
      enum {{ LARGE = 256 * {MB} }};
      start_device(0);
      CUdeviceptr one, other;
      void* host;
      CUDA(cuMemAlloc(&one, LARGE));
      CUDA(cuMemAlloc(&other, LARGE));
      CUDA(cuMemAllocHost(&host, LARGE));
      memset(host, 1, LARGE);
      perfield_initialize();
      CUevent begin = record_event(NULL);
      CUDA(cuMemcpyHtoDAsync(one, host, LARGE, NULL));
      CUDA(cuMemcpyDtoHAsync(host, one, LARGE, NULL));
      CUevent end = record_event(NULL);
      printf("%.9g\\n", seconds_between(begin, end));
      perfield_step(0, 0);
      char few[1023];
      memset(few, 7, sizeof few);
      CUDA(cuMemcpyHtoD(one, few, 1));
      CUDA(cuMemcpyHtoD(one, few, 1023));
      CUDA(cuMemcpyDtoD(other, one, 999));
      CUDA(cuMemsetD8(other, 5, 77));
      CUDA(cuMemcpyDtoH(few, other, 513));
      CUDA(cuCtxSynchronize());
      printf("%d\\n", few[76] == 5 && few[77] == 7 && few[512] == 7);
      perfield_step(1, 1);
    """
    )
    (by_events,), (is_right,) = printed(result.stdout)
    assert is_right == 1
    assert total(run, "copy_count") == 7
    assert total(run, "copy_to_bytes") == 256 * MB + 1 + 1023
    assert total(run, "copy_from_bytes") == 256 * MB + 513
    assert total(run, "copy_within_bytes") == 999 + 77
    small = 5 * 50e-6  # the time of five small copies, at most
    assert by_events * (1 - RTOL) <= total(run, "copy_time_s") <= by_events * (1 + RTOL) + small
    assert total(run, "kernel_count") == 0


def test_hundred_thousand_kernels_of_a_step_are_all_counted(device):
    run, result = device(
        """
      start_device(0);
      perfield_initialize();
      for (int step = 0; step < 2; ++step) {
        for (int n = 0; n < 100000; ++n) launch_nothing(NULL);
        CUDA(cuCtxSynchronize());
        perfield_step(step, step);
      }
    """
    )
    assert total(run, "kernel_count") == 200_000
    assert total(run, "kernel_time_s") > 0
    assert "dropped" not in result.stderr


def test_kernels_of_streams_at_once_are_added_up(device):
    run, result = device(
        """
      start_device(0);
      CUstream streams[4];
      CUevent begins[4], ends[4];
      for (int n = 0; n < 4; ++n) CUDA(cuStreamCreate(&streams[n], CUDA_NON_BLOCKING));
      perfield_initialize();
      for (int n = 0; n < 4; ++n) begins[n] = record_event(streams[n]);
      for (int k = 0; k < 5; ++k)
        for (int n = 0; n < 4; ++n) launch_spin(20, streams[n]);
      for (int n = 0; n < 4; ++n) ends[n] = record_event(streams[n]);
      double longest = 0, sum = 0;
      for (int n = 0; n < 4; ++n) {
        const double own = seconds_between(begins[n], ends[n]);
        sum += own;
        if (own > longest) longest = own;
      }
      printf("%.9g %.9g\\n", sum, longest);
      perfield_step(0, 0);
    """
    )
    ((by_events, longest),) = printed(result.stdout)
    assert total(run, "kernel_count") == 20
    assert total(run, "kernel_time_s") == pytest.approx(by_events, rel=RTOL)
    assert total(run, "kernel_time_s") > 2 * longest


def test_ranks_exchange_buffers_that_device_and_host_share(device):
    run, result = device(
        f"""
      enum {{ COUNT = {MB} / 4 }};
      start_device(rank);
      int is_shared = 0;
      CUDA(cuDeviceGetAttribute(&is_shared, CUDA_MANAGED_BY_BOTH, cuda_device));
      if (!is_shared) puts("not shared");
      CUdeviceptr mine, theirs;
      CUDA(cuMemAllocManaged(&mine, COUNT * 4, CUDA_MANAGED_EVERYWHERE));
      CUDA(cuMemAllocManaged(&theirs, COUNT * 4, CUDA_MANAGED_EVERYWHERE));
      memset((void*)mine, 0, COUNT * 4);
      perfield_initialize();
      for (int step = 0; step < 3; ++step) {{
        launch_add(mine, COUNT, rank + 1);
        CUDA(cuCtxSynchronize());
        MPI_Sendrecv((void*)mine, COUNT, MPI_INT, 1 - rank, 0, (void*)theirs, COUNT, MPI_INT, 1 - rank, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        launch_add(theirs, COUNT, 1);
        CUDA(cuCtxSynchronize());
        perfield_step(step, step);
      }}
      const int* got = (const int*)theirs;
      int n_wrong = 0;
      for (int n = 0; n < COUNT; ++n) n_wrong += got[n] != 3 * (2 - rank) + 1;
      printf("%d wrong\\n", n_wrong);
    """,
        mpi=True,
        n=2,
    )
    if "not shared" in result.stdout:
        pytest.skip("host and device cannot both use memory that they share at the same time")
    assert result.stdout.splitlines() == ["0 wrong"] * 2
    for rank in range(2):
        assert [frame.values["sent_bytes"][rank] for frame in run.frames()] == [MB] * 3
        assert total(run, "kernel_count", rank) == 6
        assert total(run, "copy_count", rank) == 0  # pages that move by themselves are no copies


def test_memory_and_utilisation_of_the_device_show_in_each_step(device):
    run, _ = device(
        """
      start_device(0);
      CUdeviceptr memory;
      perfield_initialize();
      launch_spin(10, NULL);
      CUDA(cuCtxSynchronize());
      usleep(600000);
      perfield_step(0, 0);
      CUDA(cuMemAlloc(&memory, 1ull << 30));
      CUevent begin = record_event(NULL);
      for (int n = 0; n < 15; ++n) launch_spin(100, NULL);
      seconds_between(begin, record_event(NULL));
      perfield_step(1, 1);  // at once, as the utilisation is that of less than a second
      CUDA(cuMemFree(memory));
      usleep(600000);
      perfield_step(2, 2);
    """
    )
    idle, busy, freed = (
        {name: value[0] for name, value in frame.values.items() if name.startswith("device_")}
        for frame in run.frames()
    )
    grown = busy["device_memory_bytes"] - idle["device_memory_bytes"]
    assert grown == pytest.approx(2**30, rel=0.05)
    assert freed["device_memory_bytes"] < busy["device_memory_bytes"] - 0.9 * 2**30
    own = busy["device_own_memory_bytes"] - idle["device_own_memory_bytes"]
    assert math.isnan(own) or own == pytest.approx(2**30, rel=0.05)  # unknown in containers
    assert idle["device_utilisation_share"] <= 1
    assert math.isnan(busy["device_utilisation_share"]) or busy["device_utilisation_share"] > 0.5


def test_asking_leaves_no_device_open_that_the_program_has_not_opened(device):
    run, result = device(
        """
      start_device(0);
      for (int fd = 0; fd < 1024; ++fd) {
        char link[40], file[200] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, file, sizeof file - 1) > 0 && strncmp(file, "/dev/nvidia", 11) == 0) puts(file);
      }
      perfield_initialize();
      usleep(150000);
      perfield_step(0, 0);
    """
    )
    opened = {file for file in result.stdout.splitlines() if re.fullmatch(r"/dev/nvidia\d+", file)}
    recorded = [one["file"] for one in run.ends[0].get("devices", [])]
    assert {file for file in recorded if file.startswith("/dev/nvidia")} == opened
    assert math.isfinite(run.frame(0).values["device_memory_bytes"][0])


def test_machine_picture_has_a_cell_for_the_device(device):
    if not device.real:
        pytest.skip("a stand-in has no file in /dev; tests/multihost/test_devices_of_ranks.py fakes some")
    pytest.importorskip("vtkmodules", reason="VTK's Python modules are not installed")
    from perfield.pictures import topology
    from perfield.topology import placement_of

    run, _ = device(
        """
      start_device(0);
      perfield_initialize();
      launch_spin(20, NULL);
      CUDA(cuCtxSynchronize());
      usleep(150000);
      perfield_step(0, 0);
    """
    )
    known = {one.pci for node in placement_of(run).nodes for one in node.machine.devices}
    used = {one.get("pci") for one in run.ends[0]["devices"]}
    if not known & used:
        pytest.skip(f"hwloc does not describe the device ({used}) here; it knows {known}")
    layer = topology(run, run.frame(0)).devices.GetCellData()
    names = layer.GetAbstractArray("device")
    shown = [names.GetValue(n) for n in range(names.GetNumberOfValues())]
    times = [layer.GetArray("device_kernel_time_s").GetValue(n) for n in range(len(shown))]
    assert "nvidia" in shown[0]
    assert times[0] == pytest.approx(0.02, rel=0.1)


def test_program_that_finds_no_device_runs_as_without_perfield(device):
    body = """
      perfield_initialize();
      void* driver = dlopen("libcuda.so.1", RTLD_NOW);
      int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
      printf("%d\\n", init(0));
      usleep(150000);
      perfield_step(0, 0);
    """
    run, result = device(body, env={"CUDA_VISIBLE_DEVICES": ""})
    assert result.stdout == "100\n"  # CUDA_ERROR_NO_DEVICE
    assert not [name for name in run.frame(0).values if name.startswith("device_memory")]
