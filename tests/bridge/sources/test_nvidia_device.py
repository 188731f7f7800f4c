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
from compiled.cuda_stand_ins import DRIVER, cupti_stand_in, driver_stand_in

import perfield
from perfield.run import Frame

LIBRARIES = Path(perfield.__file__).parent / "lib"
INCLUDE = Path(perfield.__file__).parent / "include"
PROGRAMS = Path(__file__).parent / "programs"
KOKKOS = (PROGRAMS / "kokkos_host.h").read_text()
KOKKOS_CUDA = PROGRAMS / "kokkos_cuda"
PROBE = DRIVER + '\nint main(void) { start_device(0); puts("a device"); return 0; }\n'
NO_DEVICE = 77  # the exit status that says so
RTOL = 0.01  # of times, against CUDA's own events
MB = 2**20
WARM_UPS = 3  # kernels that start_device runs


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory) -> Path:
    """A folder with stand-ins of CUDA's driver, CUPTI and NVML."""
    return cupti_stand_in(driver_stand_in(tmp_path_factory.mktemp("device")))


@pytest.fixture(scope="module")
def probe(tmp_path_factory) -> Callable[..., subprocess.CompletedProcess]:
    """probe(**env): looks for a device, with these variables in the environment."""
    source = tmp_path_factory.mktemp("probe") / "probe.c"
    source.write_text(PROBE)
    program = source.with_suffix("")
    subprocess.run(["gcc", "-w", source, "-o", program, "-ldl"], check=True)

    def look(**env: str):
        env = {**os.environ, **env}
        return subprocess.run([program], env=env, capture_output=True, text=True, timeout=120, check=False)

    return look


@pytest.fixture(scope="module")
def no_device(probe) -> str:
    """Why no device can be used here; empty if one can."""
    tried = probe()
    return tried.stdout.strip() if tried.returncode == NO_DEVICE else ""


@pytest.fixture(params=["stand-in", "device"])
def device(request, measured, no_device) -> Callable:
    """device(body, env={}, more="", **options): runs the body measured, on a device; (Run, process).

    The body starts the device itself, by start_device(number). more : declarations before the program.
    real : whether the device is one.
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

    def run(body: str, env: dict[str, str] | None = None, more: str = "", **options):
        options = {"real_time": True, "timeout": 300, "flags": ("-ldl",), **options}
        found, result = measured(body, before=DRIVER + more, env={**given, **(env or {})}, **options)
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


def test_program_says_why_there_is_no_device(probe):
    tried = probe(CUDA_VISIBLE_DEVICES="")
    assert tried.returncode == NO_DEVICE
    assert tried.stdout.startswith("no NVIDIA device: ")


def test_program_says_that_another_process_has_the_device(probe, stand_ins):
    tried = probe(LD_LIBRARY_PATH=str(stand_ins), CUDA_IS_BUSY="1")
    assert tried.returncode == NO_DEVICE
    assert tried.stdout == "no NVIDIA device: it cannot be used: CUDA_ERROR_DEVICE_UNAVAILABLE\n"


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
    assert total(run, "kernel_count") == 15 + WARM_UPS
    assert total(run, "kernel_time_s") == pytest.approx(sum(by_events), rel=RTOL)
    for counted, step in zip(up_to(run, "kernel_count"), range(5)):  # nothing shows too early
        assert counted <= (step + 1) * (step + 2) / 2 + WARM_UPS


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
    assert total(run, "kernel_count") == WARM_UPS


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
    assert total(run, "kernel_count") == 200_000 + WARM_UPS
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
    assert total(run, "kernel_count") == 20 + WARM_UPS
    assert total(run, "kernel_time_s") == pytest.approx(by_events, rel=RTOL)
    assert total(run, "kernel_time_s") > 2 * longest


# How memory is made, and why MPI may not send from it.
SHARED = """
      int is_shared = 0;
      CUDA(cuDeviceGetAttribute(&is_shared, CUDA_MANAGED_BY_BOTH, cuda_device));
      if (!is_shared) no_device("the host cannot use shared memory at the same time", "");
      CUDA(cuMemAllocManaged(&mine, COUNT * 4, CUDA_MANAGED_EVERYWHERE));
      CUDA(cuMemAllocManaged(&theirs, COUNT * 4, CUDA_MANAGED_EVERYWHERE));
"""
OWN = """
      int (*knows_cuda)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
      if (!IS_STAND_IN && !(knows_cuda && knows_cuda())) no_device("MPI was built without CUDA", "");
      CUDA(cuMemAlloc(&mine, COUNT * 4));
      CUDA(cuMemAlloc(&theirs, COUNT * 4));
"""


@pytest.mark.parametrize("made", [SHARED, OWN], ids=["shared", "own"])
def test_ranks_exchange_buffers_of_the_device(device, made):
    run, result = device(
        f"""
      enum {{ COUNT = {MB} / 4, IS_STAND_IN = {int(not device.real)} }};
      start_device(rank);
      CUdeviceptr mine, theirs;
      {made}
      CUDA(cuMemsetD8(mine, 0, COUNT * 4));
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
      int* got = malloc(COUNT * 4);
      int n_wrong = 0;
      CUDA(cuMemcpyDtoH(got, theirs, COUNT * 4));
      for (int n = 0; n < COUNT; ++n) n_wrong += got[n] != 3 * (2 - rank) + 1;
      printf("%d wrong\\n", n_wrong);
    """,
        mpi=True,
        n=2,
        check=False,
    )
    if "no NVIDIA device" in result.stdout:
        pytest.skip(result.stdout.splitlines()[0])
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["0 wrong"] * 2
    for rank in range(2):
        assert [frame.values["sent_bytes"][rank] for frame in run.frames()] == [MB] * 3
        assert total(run, "kernel_count", rank) == 6 + WARM_UPS
        assert total(run, "copy_from_bytes", rank) >= MB


def test_kokkos_regions_hold_launches_and_waits_and_its_copies_count_once(device):
    """A stand-in of Kokkos: its hooks, around the same calls of CUDA."""
    run, result = device(
        f"""
      kokkos_start();
      start_device(0);
      CUdeviceptr memory;
      static char host[{MB}];
      CUDA(cuMemAlloc(&memory, sizeof host));
      perfield_initialize();
      for (int step = 0; step < 2; ++step) {{
        uint64_t kernel, fence;
        tool.begin_parallel_for("flux", 0, &kernel);
        CUevent begin = record_event(NULL);
        launch_spin(50, NULL);
        CUevent end = record_event(NULL);
        tool.end_parallel_for(kernel);
        tool.begin_fence("wait", 0, &fence);
        printf("%.9g\\n", seconds_between(begin, end));
        tool.end_fence(fence);
        Space cuda = {{"Cuda"}}, of_host = {{"Host"}};
        tool.begin_deep_copy(of_host, "host", host, cuda, "memory", (void*)memory, sizeof host);
        CUDA(cuMemcpyDtoH(host, memory, sizeof host));
        tool.end_deep_copy();
        perfield_step(step, step);
      }}
    """,
        more=KOKKOS,
    )
    by_events = [line[0] for line in printed(result.stdout)]
    for frame in run.frames():
        assert frame.values["flux_count"] == [1]
        assert frame.values["flux_time_s"][0] < 0.025  # the launch
        assert frame.values["Kokkos_fence_time_s"][0] > 0.025  # the kernel
    assert total(run, "kernel_count") == 2 + WARM_UPS
    assert total(run, "kernel_time_s") == pytest.approx(sum(by_events), rel=RTOL)
    assert (total(run, "copy_count"), total(run, "copy_from_bytes")) == (2, 2 * MB)


def test_program_of_real_kokkos_with_cuda_is_measured(no_device, mpirun, bin_dir, tmp_path):
    if no_device:
        pytest.skip(no_device)
    program = build_kokkos_program(tmp_path)
    result = mpirun(1, bin_dir / "perfield-exec", program, cwd=tmp_path, timeout=300)
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    by_events = [line[0] for line in printed(result.stdout)]
    n_steps, n_bytes = 3, 8 * 2**20
    assert [frame.values["flux_count"][0] for frame in run.frames()] == [1] * n_steps
    assert total(run, "kernel_time_s") == pytest.approx(sum(by_events), rel=RTOL)
    assert sum(frame.values["Kokkos_fence_time_s"][0] for frame in run.frames()) > 0.9 * sum(by_events)
    of_kokkos = 4096  # what it copies for itself when it starts, at most
    assert 0 <= total(run, "copy_from_bytes") - n_steps * n_bytes < of_kokkos


def build_kokkos_program(folder: Path) -> Path:
    """Builds programs/kokkos_cuda with the Kokkos that CMake finds; skips the test where it lacks CUDA."""
    words = ["cmake", "-S", KOKKOS_CUDA, "-B", folder / "build", f"-DPERFIELD_INCLUDE={INCLUDE}"]
    found = subprocess.run([*words], capture_output=True, text=True, check=False)
    if found.returncode and "perfield: " in found.stderr:
        pytest.skip(found.stderr.partition("perfield: ")[2].splitlines()[0])
    assert found.returncode == 0, found.stderr
    subprocess.run(["cmake", "--build", folder / "build"], check=True)
    return folder / "build/kokkos_cuda"


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
      load_driver();
      printf("%d\\n", cuInit(0));
      usleep(150000);
      perfield_step(0, 0);
    """
    run, result = device(body, env={"CUDA_VISIBLE_DEVICES": ""})
    assert result.stdout == "100\n"  # CUDA_ERROR_NO_DEVICE
    assert not [name for name in run.frame(0).values if name.startswith("device_memory")]


def test_program_whose_device_another_process_has_runs_as_without_perfield(device):
    if device.real:
        pytest.skip("only the stand-in can be busy when the test asks for it")
    body = """
      perfield_initialize();
      load_driver();
      CUcontext context;
      CUDA(cuInit(0));
      printf("%d\\n", cuDevicePrimaryCtxRetain(&context, 0));
      usleep(150000);
      perfield_step(0, 0);
    """
    run, result = device(body, env={"CUDA_IS_BUSY": "1"})
    assert result.stdout == "46\n"  # CUDA_ERROR_DEVICE_UNAVAILABLE
    assert not [name for name in run.frame(0).values if name.startswith("device_memory")]
    assert "device" not in result.stderr
