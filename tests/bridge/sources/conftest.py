# SPDX-License-Identifier: BSD-3-Clause
"""Programs of programs/ run under perfield-exec, and what the ranks counted over the whole run."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from compiled.built import built, compiler_state, of_the_wheel, state_of
from compiled.files_of_programs import BEFORE

import perfield
from twins import twin

ROOT = Path(__file__).resolve().parents[3]
PMPI = ROOT / "bridge/sources/pmpi"
PROGRAMS = Path(__file__).resolve().parent / "programs"
SCORE_P = Path(__file__).resolve().parent / "scorep_host/host.c"
# Open MPI 4.1.4's fetching calls fail, also without perfield, if one rank may read another's memory.
FETCHING = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
SCORE_P_LINKS = ("-ldl", "-lpthread")
SCORE_P_FINDS = {"LD_LIBRARY_PATH": str(Path(perfield.__file__).parent / "lib")}  # the plugin


def call_names() -> dict[int, tuple[str, str]]:
    """Number of a call -> its name and class of time, from the table of calls."""
    text = (ROOT / "bridge/format/calls.def").read_text()
    return {
        int(n): (name, kind)
        for n, name, kind in re.findall(r"^PERFIELD_CALL\((\d+), (\w+), (\w+)", text, re.M)
    }


@dataclass
class Counted:
    """Sums over all entries of a run, setup and teardown included.

    messages, received, waits : (rank, call, peer), (rank, peer), (rank, peer) -> count; the _bytes
    and waited_ns likewise. calls : (rank, call) -> count. out, into : (rank, call) -> bytes.
    class_s : (rank, class of time) -> seconds.
    """

    messages: Counter = field(default_factory=Counter)
    bytes: Counter = field(default_factory=Counter)
    empty: Counter = field(default_factory=Counter)
    received: Counter = field(default_factory=Counter)
    received_bytes: Counter = field(default_factory=Counter)
    waited_ns: Counter = field(default_factory=Counter)
    calls: Counter = field(default_factory=Counter)
    out: Counter = field(default_factory=Counter)
    into: Counter = field(default_factory=Counter)
    class_s: Counter = field(default_factory=Counter)
    ranks: dict = field(default_factory=dict)
    ends: dict = field(default_factory=dict)

    def sent_by(self, rank: int) -> dict:
        """(call, peer) -> (count, bytes) of what this rank sent."""
        return {(c, p): (n, self.bytes[r, c, p]) for (r, c, p), n in self.messages.items() if r == rank}

    def received_by(self, rank: int) -> dict:
        """peer -> (count, bytes) of what this rank received."""
        return {p: (n, self.received_bytes[r, p]) for (r, p), n in self.received.items() if r == rank}

    def moved_by(self, rank: int) -> dict:
        """call -> (bytes out, bytes in) of this rank's collectives and file operations, if not 0."""
        calls = {call for r, call in (*self.out, *self.into) if r == rank}
        moved = {call: (self.out[rank, call], self.into[rank, call]) for call in calls}
        return {call: both for call, both in moved.items() if any(both)}


def read_counted(run: Path) -> Counted:
    """What is in the streams of a run, by the slow reader of the tests."""
    return added_up(entries_of(run))


def entries_of(run: Path) -> list[dict]:
    """The entries of all streams of a run, a stream after the other."""
    found = []
    for path in (run / "stream").glob("*.pf"):
        entries, damage = twin.decode(path.read_bytes())
        assert not damage, f"{path} has damage at {damage}"
        found += twin.resolved(entries)
    return found


def added_up(entries: Iterable[dict]) -> Counted:
    """What entries say of their ranks, summed over those of steps."""
    names, of_rank = call_names(), twin.OF_RANK
    counted = Counted()
    quantities: dict = {}
    for entry in entries:
        rank, body = entry["rank"], entry["body"]
        if entry["type"] == "quantity":
            quantities[rank, body["id"]] = body["name"]
        elif entry["type"] == "rank":
            counted.ranks[rank] = body
        elif entry["type"] == "end":
            counted.ends[rank] = body
        elif entry["type"] == "step":
            add_step(counted, names, rank, body)
            for row in body["quantities"]:
                if row["region"] == of_rank:
                    add_files(counted, rank, quantities[rank, row["quantity"]], row["value"])
    return counted


def by_step(run: Path) -> dict[int, Counted]:
    """Label of a step -> what is in its entries, and all that belongs to no step."""
    entries = entries_of(run)
    labels = {entry["body"]["label"] for entry in entries if entry["type"] == "step"}
    return {
        label: added_up(e for e in entries if e["type"] != "step" or e["body"]["label"] == label)
        for label in labels
    }


def add_step(counted: Counted, names: dict, rank: int, body: dict) -> None:
    """Adds the tables of one step entry."""
    for row in body["messages"]:
        name = names[row["call"]][0]
        if name == "recv":
            counted.received[rank, row["peer"]] += row["count"]
            counted.received_bytes[rank, row["peer"]] += row["bytes"]
        else:
            key = rank, name, row["peer"]
            counted.messages[key] += row["count"]
            counted.bytes[key] += row["bytes"]
            counted.empty[key] += row["empty"]
    for row in body["waits"]:
        counted.waited_ns[rank, row["peer"]] += row["ns"]
    for row in body["calls"]:
        name, kind = names[row["call"]]
        counted.calls[rank, name] += row["count"]
        counted.out[rank, name] += row["bytes_out"]
        counted.into[rank, name] += row["bytes_in"]
        counted.class_s[rank, kind] += row["ns"] * 1e-9


def add_files(counted: Counted, rank: int, name: str, value: int) -> None:
    """Adds what was read and written without MPI, as calls "own_read" and "own_write"."""
    if name == "file_time":
        counted.class_s[rank, "file"] += value * 1e-9
    elif name in ("file_read_count", "file_write_count"):
        counted.calls[rank, "own_" + name.split("_")[1]] += value
    elif name == "file_read":
        counted.into[rank, "own_read"] += value
    elif name == "file_write":
        counted.out[rank, "own_write"] += value


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the programs that are measured."""
    return PROGRAMS


@pytest.fixture(scope="session")
def counted_in() -> Callable[[Path], Counted]:
    """counted_in(run): what the ranks of a run directory counted."""
    return read_counted


@pytest.fixture(scope="session")
def build_fortran(programs) -> Callable[..., Path]:
    """build_fortran(name, mpi, binding, *more): compiles programs/<name>, once (tests/compiled/built.py).

    binding : "-DMPIFH", "-DUSE_MPI" or "-DUSE_F08". more : objects and words for the linker.
    """

    def build(name: str, mpi, binding: str, *more: object) -> Path:
        flags = ["-g", "-w", "-fallow-argument-mismatch", f"-I{programs}"]
        if name.endswith(".f90"):
            flags += ["-cpp", "-ffree-line-length-none", binding]

        def compile_in(folder: Path) -> None:
            argv = [mpi.fc, *flags, f"-J{folder}", programs / name, *more, "-o", folder / "program"]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{name} did not compile:\n{done.stderr}"

        key = name, flags, more, state_of(programs), compiler_state(mpi.fc)
        return built(Path(name).stem, key, compile_in) / "program"

    return build


@pytest.fixture(scope="session")
def build_foam() -> Callable[[Path, str], Path]:
    """build_foam(host, flag): the fake OpenFOAM in a folder, compiled: library, solver, and plugin if any."""

    def build(host: Path, flag: str) -> Path:
        def compile_in(folder: Path) -> None:
            words = ["g++", "-std=c++17", "-O1", "-Wall", flag]
            library = ["-shared", "-fPIC", "-Wl,-soname,libOpenFOAM.so", "-o", folder / "libOpenFOAM.so"]
            subprocess.run([*words, *library, host / "library.cpp"], check=True)
            links = [f"-L{folder}", "-lOpenFOAM", f"-Wl,-rpath,{folder}"]
            subprocess.run([*words, host / "solver.cpp", "-o", folder / "solver", *links], check=True)
            if (host / "plugin.cpp").exists():
                plugin = ["-shared", "-fPIC", "-o", folder / "libplugin.so"]
                subprocess.run([*words, *plugin, host / "plugin.cpp", *links], check=True)

        return built(host.name, (flag, state_of(host), compiler_state("g++")), compile_in)

    return build


@pytest.fixture(scope="session")
def listener(programs) -> Path:
    """listener.c, compiled."""

    def compile_in(folder: Path) -> None:
        words = ["gcc", "-O1", "-Wall", "-c", programs / "listener.c", "-o", folder / "listener.o"]
        subprocess.run(words, check=True)

    key = state_of(programs, "listener.c"), compiler_state("gcc")
    return built("listener", key, compile_in) / "listener.o"


@pytest.fixture(scope="session")
def generate(tmp_path_factory) -> Callable[..., subprocess.CompletedProcess]:
    """generate(functions, table=None): runs the generator of the wrappers.

    functions : what mpi.h is to declare. table : folder of the tables, those of perfield unless
    given. The finished process has `out`, a dict of the written files' names and texts.
    """
    folder = tmp_path_factory.mktemp("generate")
    program = of_the_wheel("sources/pmpi/perfield_generate")

    def run(functions: Iterable[str], table: Path = PMPI / "table") -> subprocess.CompletedProcess:
        header, out = folder / "mpi.h", folder / "out"
        header.write_text("".join(f"int {name}(void);\n" for name in functions))
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        command = [program, "--mpi-header", header, "--table", table, "--out", out]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        result.out = {path.name: path.read_text() for path in out.iterdir()}
        return result

    return run


@pytest.fixture(scope="session")
def counted_by_step() -> Callable[[Path], dict[int, Counted]]:
    """counted_by_step(run): label of a step -> what the ranks counted in it."""
    return by_step


@pytest.fixture(scope="session")
def known_calls() -> set[str]:
    """Names of the calls of MPI in the table of calls."""
    return {name for name, kind in call_names().values() if kind not in ("file", "device")}


@pytest.fixture(scope="session")
def measure(mpi, build_c, bin_dir):
    """measure(name, *arguments, n=4, env=None, flags=()): runs programs/<name>.c measured, with each MPI.

    Returns (Counted, the finished command).
    """

    def run(name: str, *arguments: object, n: int = 4, env: dict | None = None, flags: tuple = ()):
        program = build_c(PROGRAMS / f"{name}.c", "-lpthread", *flags, by=mpi)
        result = mpi.run(n, bin_dir / "perfield-exec", program, *arguments, env=env)
        assert result.returncode == 0, f"{name} failed:\n{result.stdout}\n{result.stderr}"
        return read_counted(result.cwd / "perfield-run"), result

    return run


@pytest.fixture(scope="session")
def calls_program(mpi, build_c) -> Path:
    """programs/calls.c and its cases, compiled for each MPI."""
    names = re.findall(r"^int (\w+)\(", (PROGRAMS / "calls.h").read_text(), re.M)
    return build_c(PROGRAMS / "calls.c", *(str(PROGRAMS / f"{name}.c") for name in names), by=mpi)


@pytest.fixture(scope="session")
def calls(mpi, calls_program, bin_dir):
    """calls(case, order="world"): what four ranks counted in that case of programs/calls.c, and the numbers
    that it returned on them, in no order.

    case : with its variant, "neighbors line". All cases are steps of one run with each MPI.
    """
    result = mpi.run(4, bin_dir / "perfield-exec", calls_program, env=FETCHING)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    steps, returned = by_step(result.cwd / "perfield-run"), defaultdict(list)
    for line in result.stdout.splitlines():
        step, number, name = line.split(" ", 2)
        returned[name.strip()].append((int(step), int(number)))

    def of(case: str, order: str = "world") -> tuple[Counted, list[int]]:
        name, _, variant = case.partition(" ")
        found = returned[f"{name} {order} {variant}".strip()]
        assert len(found) == 4
        return steps[found[0][0]], [number for _, number in found]

    return of


@pytest.fixture
def counted(measured):
    """counted(body, before="", flags=(), **more): `measured`, with the functions of GNU's C library."""

    def run(body: str, before: str = "", flags=(), **more):
        return measured(body, before=BEFORE + before, flags=["-D_GNU_SOURCE", *flags], **more)

    return run


@pytest.fixture
def score_p_plays(build_c, execute):
    """score_p_plays(script, *arguments, **environment): what the stand-in for Score-P says of a script.

    arguments : the plugin's name, the interface's version and the number of callbacks that it has. The run
    directory is tmp_path / "perfield-run".
    """
    host = build_c(SCORE_P, *SCORE_P_LINKS, mpi=False)

    def run(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess:
        result = execute(host, *arguments, env={**SCORE_P_FINDS, **environment}, input=script, timeout=60)
        assert result.returncode == 0, result.stderr
        return result

    return run


@pytest.fixture
def score_p_ranks_play(build_c, mpirun, bin_dir, tmp_path):
    """score_p_ranks_play(script, mpi=None, **environment): what three ranks below perfield-exec say of it.

    mpi : the Mpi of whose programs the stand-in is one; else it knows rank and size alone, of Open MPI's
    launcher. The run directory is tmp_path / "perfield-run".
    """

    def run(script: str, mpi=None, **environment: str) -> subprocess.CompletedProcess:
        host = build_c(SCORE_P, *SCORE_P_LINKS, *(["-DWITH_MPI"] if mpi else []), mpi=bool(mpi), by=mpi)
        (tmp_path / "script").write_text(script)
        ranks = "" if mpi else "RANK=$OMPI_COMM_WORLD_RANK SIZE=$OMPI_COMM_WORLD_SIZE"
        command = f"{ranks} exec {bin_dir}/perfield-exec {host} < script"
        start = mpi.run if mpi else mpirun
        result = start(3, "sh", "-c", command, env={**SCORE_P_FINDS, **environment}, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return result

    return run
