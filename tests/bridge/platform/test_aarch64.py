# SPDX-License-Identifier: BSD-3-Clause
"""The measured side built for aarch64 and run by qemu-user; this machine reads its runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import exports

import perfield
from twins import twin

REPOSITORY = Path(__file__).resolve().parents[3]
STEPS = Path(__file__).resolve().parent / "programs/steps.cpp"
COMPILERS = {"C": "aarch64-linux-gnu-gcc", "CXX": "aarch64-linux-gnu-g++"}
SYSTEM = Path("/usr/aarch64-linux-gnu")
TARGETS = (
    *(
        "perfield",
        "perfield-exec",
        "perfield_io",
        "perfield_memory",
        "perfield_functions",
        "perfield_adaptors",
    ),
    *("perfield_openmpi_all", "perfield_openmpi_mpi3"),
)
PAIR_NS = 1_000_000  # emulation may take so long to read two clocks as one pair

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        any(shutil.which(name) is None for name in (*COMPILERS.values(), "qemu-aarch64", "ninja")),
        reason="there is no g++-aarch64-linux-gnu, qemu-user or ninja",
    ),
]


def must(*words: object, cwd: Path, timeout: float = 1200, env: dict[str, str] | None = None):
    """Runs a command that must succeed."""
    result = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert result.returncode == 0, f"{words}\n{result.stdout[-6000:]}\n{result.stderr[-6000:]}"
    return result


@pytest.fixture(scope="module")
def qemu() -> list[str]:
    """The words before a program for aarch64."""
    return ["qemu-aarch64", "-L", str(SYSTEM)]


def mpi_header() -> Path:
    """The mpi.h of this machine's Open MPI."""
    folders = must("mpicc.openmpi", "-showme:incdirs", cwd=REPOSITORY).stdout.split()
    return next(Path(folder) / "mpi.h" for folder in folders if (Path(folder) / "mpi.h").exists())


@pytest.fixture(scope="module")
def build(tmp_path_factory, qemu) -> Path:
    """The build folder of the measured side, for the mpi.h of this machine's Open MPI.

    Its types are the same for both processors. No MPI for aarch64 is installed, so the wrappers only sleep.
    """
    folder = tmp_path_factory.mktemp("aarch64")
    settings = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        **{f"CMAKE_{name}_COMPILER": shutil.which(compiler) for name, compiler in COMPILERS.items()},
        "CMAKE_CROSSCOMPILING_EMULATOR": ";".join([shutil.which(qemu[0]), *qemu[1:]]),
        "CMAKE_FIND_ROOT_PATH": SYSTEM,
        "CMAKE_FIND_ROOT_PATH_MODE_PROGRAM": "ONLY",
        "CMAKE_MAKE_PROGRAM": shutil.which("ninja"),
        "CMAKE_BUILD_TYPE": "Release",
        "PERFIELD_OPENMPI_HEADER": mpi_header(),
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    must("cmake", "-S", REPOSITORY, "-B", folder, "-G", "Ninja", *options, cwd=folder)
    must("cmake", "--build", folder, "--target", *TARGETS, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def steps(build) -> Path:
    """programs/steps.cpp, linked with the library of `build`."""
    program = build / "steps"
    library = build / "bridge/api"
    flags = ["-std=c++17", "-O2", "-pthread", f"-I{REPOSITORY}/bridge", f"-I{REPOSITORY}/bridge/include"]
    link = [f"-L{library}", f"-Wl,-rpath,{library}", "-Wl,--no-as-needed", "-lperfield"]
    must(COMPILERS["CXX"], *flags, STEPS, *link, "-o", program, cwd=build)
    return program


def entries(run: perfield.Run) -> list[dict]:
    """The rank entries of a run whose streams are whole."""
    assert run.damage == []
    assert run.state == "finished"
    return run.rank_entries


@pytest.mark.parametrize("clock", ["counter", "monotonic"])
def test_run_of_another_processor_is_read_here(qemu, steps, tmp_path, clock):
    result = must(*qemu, steps, cwd=tmp_path, env={"PERFIELD_CLOCK": clock})
    run = perfield.open(tmp_path / "perfield-run")
    (entry,) = entries(run)
    assert entry["clock"] == {"counter": "cntvct", "monotonic": "monotonic"}[clock]
    frames = list(run.frames())
    assert [frame.label for frame in frames] == list(range(5))
    assert [frame.time for frame in frames] == [0, 0.5, 1, 1.5, 2]
    for frame in frames:
        assert frame.values["work_count"].tolist() == [1]
        assert frame.values["threads_count"].tolist() == [300]
        # The program waits for its own clock; a machine that is busy only adds.
        assert frame.values["work_time_s"][0] >= 0.0199
        assert frame.values["step_time_s"][0] >= frame.values["work_time_s"][0]
    assert_stamps_are_true(result.stdout, run, entry)


def assert_stamps_are_true(printed: str, run: perfield.Run, entry: dict) -> None:
    """Compares each step's end with CLOCK_MONOTONIC, which the program read before and after."""
    (stream,) = (run.path / "stream").glob("*.pf")
    bodies = [found["body"] for found in twin.decode(stream.read_bytes())[0] if found["type"] == "step"]
    ends = [body["end_ns"] + entry["monotonic_ns"] for body in bodies if body["kind"] == 0]
    brackets = [tuple(map(int, line.split())) for line in printed.splitlines()]
    assert len(ends) == len(brackets) == 5
    for (before, after), end in zip(brackets, ends):
        assert before - PAIR_NS <= end <= after + PAIR_NS


def test_auto_chooses_the_counter_where_the_kernel_does(qemu, steps, tmp_path):
    must(*qemu, steps, cwd=tmp_path, env={"PERFIELD_LOG": "true"})
    run = perfield.open(tmp_path / "perfield-run")
    (entry,) = entries(run)
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    name = source.read_text().strip() if source.exists() else "a clock that it does not name"
    log = (run.path / "log/rank-0.log").read_text()
    if name == "arch_sys_counter":
        assert entry["clock"] == "cntvct"
    else:
        assert entry["clock"] == "monotonic"
        assert f"monotonic (the kernel keeps time by {name}, not by the processor's counter" in log


def test_call_sites_are_distinguished_by_their_callers(qemu, steps, tmp_path):
    must(
        *qemu,
        steps,
        "calls",
        cwd=tmp_path,
    )
    run = perfield.open(tmp_path / "perfield-run")
    entries(run)
    hits = sorted(site["hits"] for site in run.sites[0]["sites"])
    assert hits == [5, 10]


def test_launcher_prepares_programs_of_its_own_processor_only(qemu, build, steps, tmp_path):
    launcher = build / "bridge/launcher/perfield-exec"
    printed = must(*qemu, launcher, "--print", steps, cwd=tmp_path)
    variables = exports(printed.stdout)
    assert [Path(path).name for path in variables["LD_PRELOAD"].split(":")]
    refused = subprocess.run(
        [*qemu, launcher, "--print", "/bin/true"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert "it was built for another word length or processor than perfield" in refused.stderr


def test_preloaded_libraries_count_files_and_memory(qemu, build, steps, tmp_path):
    launcher = build / "bridge/launcher/perfield-exec"
    variables = exports(must(*qemu, launcher, "--print", steps, cwd=tmp_path).stdout)
    given = [word for name, value in variables.items() for word in ("-E", f"{name}={value}")]
    must(*qemu, *given, steps, cwd=tmp_path)
    run = perfield.open(tmp_path / "perfield-run")
    assert len(entries(run)) == 1
    for frame in run.frames():
        assert frame.values["io_write_bytes"].tolist() == [10]
        assert frame.values["resident_peak_bytes"][0] > 0
