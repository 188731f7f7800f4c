# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of all tests: the installed commands, MPI programs, and compiled test programs.

Tests use the installed wheel, never the source tree: they run the commands beside pytest's Python. Programs
run without the caller's PERFIELD_* variables.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from compiled.built import built, compiler_state, state_of
from drivers.warm_python import WarmPython

try:
    from hypothesis import settings
except ImportError:  # tests that need it skip themselves
    pass
else:
    # No deadline, so a busy machine does not fail a test. A failure prints how to replay it.
    settings.register_profile("perfield", deadline=None, print_blob=True)
    settings.load_profile("perfield")

pytest_plugins = ["budget"]
REPOSITORY = Path(__file__).resolve().parents[1]
COMMAND = Path(sys.executable).with_name("perfield")
MAIN = "import sys; from perfield.commands import main; sys.exit(main())"
WARM = WarmPython(
    """
import importlib, pkgutil
import dask.array, matplotlib.backends.backend_agg, perfield.topology, scipy.optimize, scipy.sparse.linalg
import vtkmodules.util.numpy_support, vtkmodules.vtkIOXML, xarray
APART = ("perfield.catalyst", "perfield.follow", "perfield.measure", "perfield.paraview", "perfield.startup")
for module in pkgutil.walk_packages(perfield.__path__, "perfield."):
    if not module.name.startswith(APART) and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
)


class Completed(subprocess.CompletedProcess):
    """A finished command; `cwd` is the folder in which it ran."""

    cwd: Path


# A job in the background of a script ignores these. Programs that tests interrupt would never end.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) == signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def clean_environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment for a test's command: installed commands first in PATH, no PERFIELD_*.

    changes : applied last; a value of None removes the variable.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PERFIELD_")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    environment["COLUMNS"] = "120"
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        environment[name] = "1"
    environment["PERFIELD_FIND_STEPS"] = "false"  # one frame where a test's program closes no step
    environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    # Open MPI 4's mpirun sometimes sees a rank's end before its MPI_Finalize, and kills the others:
    # https://github.com/open-mpi/ompi/issues/7833.
    environment["OMPI_MCA_orte_allowed_exit_without_sync"] = "1"
    # Each rank would look for networks and read all PCI devices: about half the CPU time of a start.
    # hwloc's OpenGL plug-in would open displays that other tests may close, which ends the program.
    environment["OMPI_MCA_pml"] = "ob1"
    environment["OMPI_MCA_btl"] = "self,vader,tcp"
    environment["HWLOC_COMPONENTS"] = "-gl,-pci,-linuxio"
    for name, value in (changes or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = str(value)
    return environment


def perfield_variables() -> dict[str, str]:
    """The PERFIELD_* of this process."""
    return {name: value for name, value in os.environ.items() if name.startswith("PERFIELD_")}


OF_THE_CALLER = perfield_variables()


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that start programs."""
    for item in items:
        if {"bin_dir", "build_c", "perfield_cli"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("programs")


@pytest.fixture(autouse=True)
def _own_settings() -> Iterator[None]:
    """Takes back the PERFIELD_* that a test set, or a command in this process, such as `inject`."""
    yield
    for name in perfield_variables():
        del os.environ[name]
    os.environ.update(OF_THE_CALLER)


def kill_session(leader: int) -> None:
    """Kills every process of the session that `leader` opened: MPI ranks are in other process groups."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            after_name = stat.read_text().rpartition(")")[2].split()
            if int(after_name[3]) == leader:
                os.kill(int(stat.parent.name), signal.SIGKILL)


def start_command(
    argv: Sequence[object], cwd: Path, env: Mapping[str, str | None] | None = None, **options: object
) -> subprocess.Popen:
    """Starts a command in a session of its own, without the caller's PERFIELD_*; output comes as text.

    env : changes of the environment; None removes a variable. options : more arguments of Popen.
    """
    return subprocess.Popen(
        [str(word) for word in argv],
        env=clean_environment(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
        **options,
    )


def run_command(
    argv: Sequence[object], env: Mapping[str, str | None] | None, cwd: Path, timeout: float
) -> Completed:
    """Runs a command and captures stdout and stderr as text; fails the test after `timeout` s.

    The installed `perfield` runs in a fork of a Python with its imports, if `env` allows that.
    """
    command, environment = [str(word) for word in argv], clean_environment(env)
    if command[0] == str(COMMAND) and WARM.can_have(environment):
        if command[1:2] == ["run"]:
            environment.setdefault("LD_PRELOAD", str(resting()))  # for the ranks; the fork has begun
        process = WARM.start(MAIN, command, environment, cwd)
    else:
        process = start_command(argv, cwd, env)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        kill_session(process.pid)
        out, err = process.communicate()
        pytest.fail(
            f"{' '.join(command)} was still running after {timeout} s in {cwd}.\n"
            f"--- its stdout\n{out}\n--- its stderr\n{err}"
        )
    result = Completed(command, process.returncode, out, err)
    result.cwd = Path(cwd)
    return result


def exports(text: str) -> dict[str, str]:
    """The variables of `export NAME='value'` lines."""
    return dict(shlex.split(line)[1].split("=", 1) for line in text.splitlines())


@pytest.fixture(scope="session")
def bin_dir() -> Path:
    """The folder of the installed commands `perfield` and `perfield-exec`."""
    folder = Path(sys.executable).parent
    for name in ("perfield", "perfield-exec"):
        assert (folder / name).exists(), f"{folder / name} does not exist; `make build` installs it."
    return folder


@pytest.fixture(scope="session")
def mpirun(bin_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Completed]:
    """mpirun(n, *argv, env=None, cwd=None, timeout=120): runs argv on n ranks of Open MPI.

    cwd : by default a fresh folder; the result's `cwd` names it.
    """

    def run(n: int, *argv: object, env=None, cwd: Path | None = None, timeout: float = 120) -> Completed:
        folder = cwd or tmp_path_factory.mktemp("mpirun")
        env = {"LD_PRELOAD": str(resting()), **(env or {})}
        return run_command(["mpirun", "--oversubscribe", "-n", n, *argv], env, folder, timeout)

    return run


@dataclass(frozen=True)
class Mpi:
    """One of the installed MPIs: its name and its compilers; `run` is like the fixture mpirun."""

    name: str
    cc: str
    cxx: str
    fc: str
    run: Callable[..., Completed]

    @property
    def for_cmake(self) -> list[str]:
        """Words for CMake that choose its compilers."""
        names = {"C": self.cc, "CXX": self.cxx, "Fortran": self.fc}
        return [f"-DMPI_{language}_COMPILER={name}" for language, name in names.items()]


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def mpi(request, bin_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """Each MPI in turn: a test with this fixture must hold for both."""
    return installed_mpi(request.param, tmp_path_factory)


# For what no MPI can change, in a file whose other tests use each.
WITH_ONE_MPI = pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)


# Ranks that wait poll without a pause: each would take a core, which ranks that work then lack. This library
# lets them sleep instead, once they have waited for 0.2 ms: MPICH's in UCX, Open MPI's where they yield.
RESTING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int64_t now(void) { /* programs of tests have a clock_gettime of their own */
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}
int sched_yield(void) {
  static __thread int64_t began, last;
  const struct timespec nap = {0, 50000};
  const int64_t ns = now();
  if (ns - last > 20000) began = ns; /* it did something else meanwhile */
  const long result = ns - began < 200000 ? syscall(SYS_sched_yield) : syscall(SYS_nanosleep, &nap, NULL);
  last = now();
  return (int)result;
}
unsigned ucp_worker_progress(void* worker) {
  static unsigned (*next)(void*);
  if (!next) next = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
  if (!next) /* opened with RTLD_LOCAL */
    next = (unsigned (*)(void*))dlsym(dlopen("libucp.so.0", RTLD_NOLOAD | RTLD_LAZY), "ucp_worker_progress");
  const unsigned done = next(worker);
  if (!done) sched_yield();
  return done;
}
"""


@functools.cache
def resting() -> Path:
    """A library to preload that lets a rank sleep while it waits."""

    def compile_in(folder: Path) -> None:
        words = ["gcc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", folder / "libresting.so"]
        subprocess.run(words, input=RESTING, text=True, check=True)

    return built("resting", (RESTING, compiler_state("gcc")), compile_in) / "libresting.so"


def installed_mpi(name: str, tmp_path_factory: pytest.TempPathFactory) -> Mpi:
    """The MPI "openmpi" or "mpich"; Debian can have both installed."""
    options = ["--oversubscribe"] if name == "openmpi" else []
    assert shutil.which(f"mpirun.{name}"), f"mpirun.{name} is not installed; see .ci/packages"

    def run(n: int, *argv: object, env=None, cwd: Path | None = None, timeout: float = 120) -> Completed:
        folder = cwd or tmp_path_factory.mktemp(name)
        env = {"LD_PRELOAD": str(resting()), **(env or {})}
        return run_command([f"mpirun.{name}", *options, "-n", n, *argv], env, folder, timeout)

    return Mpi(name, f"mpicc.{name}", f"mpicxx.{name}", f"mpif90.{name}", run)


@pytest.fixture(scope="session")
def mpi4py_wheel(tmp_path_factory) -> dict[str, dict[str, str]]:
    """Name of an MPI -> variables that make a Python program use PyPI's mpi4py with that MPI.

    Debian's mpi4py supports only Open MPI.
    """
    folder = tmp_path_factory.mktemp("mpi4py")
    words = ["-m", "pip", "--quiet", "install", "--only-binary", ":all:", "--no-deps", "--target", folder]
    result = subprocess.run(
        [sys.executable, *words, "mpi4py>=4.1"], capture_output=True, text=True, check=False, timeout=300
    )
    if result.returncode:
        pytest.skip(f"pip cannot install mpi4py here:\n{result.stderr}")
    # The wheel looks for MPICH by its name outside Debian.
    library = ["mpicc.mpich", "-print-file-name=libmpich.so"]
    found = subprocess.run(library, capture_output=True, text=True, check=True).stdout.strip()
    (folder / "libmpi.so.12").symlink_to(Path(found).resolve())
    wheel = {"PYTHONPATH": str(folder)}
    return {
        "openmpi": {**wheel, "MPI4PY_MPIABI": "openmpi"},
        "mpich": {**wheel, "MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": str(folder)},
    }


@pytest.fixture(scope="session")
def perfield_cli(bin_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Completed]:
    """perfield_cli(*arguments, env=None, cwd=None, timeout=120): runs the installed `perfield`."""

    def run(*arguments: object, env=None, cwd: Path | None = None, timeout: float = 120) -> Completed:
        folder = cwd or tmp_path_factory.mktemp("perfield")
        return run_command([bin_dir / "perfield", *arguments], env, folder, timeout)

    return run


@pytest.fixture(scope="session")
def perfield_flags(perfield_cli: Callable[..., Completed]) -> Callable[[str], list[str]]:
    """perfield_flags("--cflags"): the words that `perfield setup paths` prints for that option."""
    known: dict[str, list[str]] = {}

    def flags(option: str) -> list[str]:
        if option not in known:
            result = perfield_cli("setup", "paths", option)
            assert result.returncode == 0, f"perfield setup paths {option} failed: {result.stderr}"
            known[option] = result.stdout.split()
        return known[option]

    return flags


@pytest.fixture(scope="session")
def build_c(
    perfield_flags: Callable[[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """build_c(source, *flags, name=None, mpi=True, by=None): compiles C or C++ against perfield.h.

    source : the Path of a file, or its text. name : the program's name; if it (or the file's) ends with
    ".cpp" or ".cc", the source is C++. flags : more words for the compiler; add `-lperfield` here if needed.
    by : the Mpi whose compilers to use; default Open MPI. Returns the program's Path; equal calls compile
    only once, whatever process makes them (tests/compiled/built.py).
    """
    of_this_run = str(tmp_path_factory.getbasetemp())

    def build(
        source: Path | str, *flags: str, name: str | None = None, mpi: bool = True, by: Mpi | None = None
    ) -> Path:
        text = source.read_text() if isinstance(source, Path) else source
        name = name or (source.name if isinstance(source, Path) else "program.c")
        is_cpp = name.endswith((".cpp", ".cc"))
        compiler = ("mpicxx" if mpi else "g++") if is_cpp else ("mpicc" if mpi else "gcc")
        if by:
            compiler = by.cxx if is_cpp else by.cc
        beside = source.parent if isinstance(source, Path) else None
        words = [compiler, "-O1", "-g", "-Wall", "-std=c++17" if is_cpp else "-std=gnu11"]
        words += [f"-I{beside}"] if beside else []
        cflags = perfield_flags("--cflags")

        def compile_in(folder: Path) -> None:
            file = folder / f"source{'.cpp' if is_cpp else '.c'}"
            file.write_text(text)
            command = [*words, *cflags, file, "-o", folder / Path(name).stem, *flags]
            result = run_command(command, None, folder, 300)
            assert result.returncode == 0, f"{' '.join(result.args)} failed:\n{result.stderr}"

        headers = [state_of(Path(flag[2:])) for flag in cflags if flag.startswith("-I")]
        headers += [state_of(beside, "*.h*")] if beside else []
        used = [state_of(file.parent, file.name) for file in map(Path, flags) if file.is_file()]
        key = text, words, cflags, flags, used, headers, compiler_state(compiler)
        if any(of_this_run in str(flag) for flag in flags):
            key = key, of_this_run
        return built(Path(name).stem, key, compile_in) / Path(name).stem

    return build


@pytest.fixture(scope="session")
def with_scorep(tmp_path_factory) -> Callable[..., Path]:
    """with_scorep(source, *flags, options=()): builds the program with scorep and its MPI compiler."""
    folder = tmp_path_factory.mktemp("scorep")
    programs: dict[tuple[str, ...], Path] = {}

    def build(source: Path, *flags: str, options: tuple[str, ...] = ()) -> Path:
        compiler = "mpicc" if source.suffix == ".c" else "mpif90"
        words = ("scorep", *options, compiler, "-O1", *flags, str(source))
        if words not in programs:
            program = folder / f"{source.stem}-{len(programs)}"
            subprocess.run([*words, "-o", str(program)], cwd=folder, check=True, timeout=300)
            programs[words] = program
        return programs[words]

    return build


def build_testcase(name: str, include: str, *options: str) -> Path:
    """The folder in which testcase/<name> is built, as users build it, against the headers in `include`.

    Its files are compiled as one, in half the time. options : more words for CMake.
    """
    source = REPOSITORY / "testcase" / name
    as_one = "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0"

    def build_in(folder: Path) -> None:
        for argv in (
            [
                "cmake",
                "-S",
                source,
                "-B",
                folder,
                "-G",
                "Ninja",
                f"-DPERFIELD_INCLUDE={include}",
                *as_one,
                *options,
            ],
            ["cmake", "--build", folder],
        ):
            result = run_command(argv, None, folder, 600)
            assert result.returncode == 0, (
                f"{' '.join(result.args)} failed:\n{result.stdout}\n{result.stderr}"
            )

    key = str(source), state_of(source), include, state_of(Path(include)), options
    return built(name, key, build_in)


@pytest.fixture(scope="session")
def heat3d(perfield_flags: Callable[[str], list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The heat case, built as users build it, against the installed package."""
    mpi = installed_mpi("openmpi", tmp_path_factory)
    return build_testcase("heat3d", perfield_flags("--include")[0], *mpi.for_cmake) / "heat3d"


@pytest.fixture(scope="session")
def rhythm_programs(perfield_flags) -> Path:
    """The folder of the programs of testcase/rhythm."""
    return build_testcase("rhythm", perfield_flags("--include")[0])


@pytest.fixture(scope="session")
def poisson(perfield_flags) -> Path:
    """The solver of testcase/poisson, little optimised."""
    quick = "-DCMAKE_CXX_FLAGS_RELEASE=-O1"
    return build_testcase("poisson", perfield_flags("--include")[0], quick) / "poisson"


@pytest.fixture(scope="session")
def rhythm_run(rhythm_programs: Path, mpirun: Callable[..., Completed], bin_dir: Path) -> Callable[..., Path]:
    """rhythm_run(n_ranks, program, *options): measures a program of testcase/rhythm, once per choice.

    Returns the run directory: `rhythm_run(8, "pisolver", "--sleep", 0.01, "--delay", 5, 20, 10)`.
    """
    known: dict[tuple, Path] = {}

    def run(n_ranks: int, program: str, *options: object) -> Path:
        if (n_ranks, program, options) not in known:
            result = mpirun(n_ranks, bin_dir / "perfield-exec", rhythm_programs / program, *options)
            assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
            known[n_ranks, program, options] = result.cwd / "perfield-run"
        return known[n_ranks, program, options]

    return run


@pytest.fixture(scope="session")
def delayed_run(rhythm_run: Callable[..., Path]) -> Path:
    """8 ranks in a chain sleep 24 ms in each step; rank 2 sleeps 1.2 s (50 periods) longer in step 11.

    A rank that the scheduler leaves out for a tenth of a second neither hides nor mimics such a delay.
    """
    return rhythm_run(8, "pisolver", "--sleep", 0.024, "--steps", 30, "--delay", 2, 11, 50)


@pytest.fixture(scope="session")
def planted_run(
    build_c: Callable[..., Path],
    perfield_cli: Callable[..., Completed],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Completed]:
    """planted_run(case, n_ranks=4, steps=60): measures testcase/planted, once per choice.

    Returns the finished `perfield run`: standard error has the closing lines, `cwd` holds perfield-run.
    """
    known: dict[tuple, Completed] = {}

    def run(case: str, n_ranks: int = 4, steps: int = 60) -> Completed:
        if (case, n_ranks, steps) not in known:
            program = build_c(REPOSITORY / "testcase/planted/planted.cpp")
            folder = tmp_path_factory.mktemp(f"planted-{case}")
            result = perfield_cli("run", "-n", n_ranks, "--", program, case, steps, cwd=folder)
            assert result.returncode == 0, result.stderr
            known[case, n_ranks, steps] = result
        return known[case, n_ranks, steps]

    return run
