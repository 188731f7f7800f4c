# SPDX-License-Identifier: BSD-3-Clause
"""The runs of the gallery: each is made once, in a folder of its own, and kept.

Hosts are namespaces of this machine whose hardware is faked (tests/multihost), which needs root. The programs
of testcase/rhythm run on this machine as it is, and sleep in place of working. Where a run cannot be made,
`make` says why, and the gallery continues.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "testcase/openfoam")]

from cases import CASES, Case, OpenFoamMissingError, environment, prepare  # noqa: E402
from drivers.hosts import faked_machines, run_on_hosts, why_no_hosts  # noqa: E402

# Two sockets of 8 and of 12 cores: the nodes of the dissertation's cluster.
SANDY_BRIDGE = "pack:2 [numa(memory=16GB)] l3:1(size=20MB) l2:8(size=256kB) l1d:1(size=32kB) core:1 pu:1"
HASWELL = "pack:2 [numa(memory=32GB)] l3:1(size=30MB) l2:12(size=256kB) l1d:1(size=32kB) core:1 pu:1"
FOUR_NODES, MOST_SECONDS = "n1;n2,n3;n4", 600
PROGRAMS = {"flow": "testcase/gallery", "heat3d": "testcase/heat3d", "multigrid_c": "testcase/patterns"}
PROGRAMS |= {"multipartition_c": "testcase/patterns"}
RHYTHM = ("pisolver", "stream_triad", "schoenauer_triad", "jacobi", "gauss_seidel")
PROGRAMS |= dict.fromkeys(RHYTHM, "testcase/rhythm") | {"poisson": "testcase/poisson"}


class NotMadeError(RuntimeError):
    """A run cannot be made here; the message says why."""


@dataclass(frozen=True)
class Program:
    """A program on some hosts.

    hosts : as mhrun takes them, a leaf switch between two semicolons; "" for this machine. ranks : on
    each host. machine : in lstopo's words. words : the command; its first one is in PROGRAMS, or a
    program of this machine. mapping : of mpirun. case : of OpenFOAM, to be prepared first. variables : of
    its environment.
    """

    hosts: str
    ranks: int
    machine: str
    words: tuple[str, ...]
    mapping: str = "core"
    case: Case | None = None
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the hosts."""
        return self.hosts.replace(";", ",").split(",")


def supersonic(tutorial: str, end: str, delta: str, every: str) -> Case:
    """A tutorial with supersonic inflow, cut to some steps of equal length."""
    changes = {
        "endTime": end,
        "deltaT": delta,
        "writeControl": "timeStep",
        "writeInterval": every,
        "adjustTimeStep": "no",
    }
    return Case("rhoCentralFoam", f"compressible/rhoCentralFoam/{tutorial}", {"system/controlDict": changes})


STEP = supersonic("forwardStep", "0.5", "0.001", "100")
OBLIQUE = supersonic("obliqueShock", "3", "0.005", "100")
SOLVER = ("rhoCentralFoam", "-parallel")
TURBINE = Program("n1;n2", 24, HASWELL, ("flow", "turbine", "10", "empty", "gather"))
WING = Program("n1,n2;n3,n4", 24, HASWELL, ("flow", "wing", "8", "pow"))
MULTIGRID = Program(FOUR_NODES, 16, SANDY_BRIDGE, ("multigrid_c", "4", "64"))
MULTIPARTITION = Program(FOUR_NODES, 16, SANDY_BRIDGE, ("multipartition_c", "4", "48"))
NODE_OUTPUT = Program(FOUR_NODES, 16, SANDY_BRIDGE, ("flow", "wing", "5", "node"))
EACH = Program("n1;n2", 8, SANDY_BRIDGE, SOLVER, case=STEP)
GATHER = ("-fileHandler", "collated")
# A hot spot that moves through the mesh, and so through the machine.
SMALL_NODE = "pack:2 [numa(memory=16GB)] l3:1(size=20MB) core:1 pu:1"
SIXTEEN = ";".join(",".join(f"n{4 * leaf + n:02d}" for n in range(1, 5)) for leaf in range(4))
HOT = ("heat3d", "--minds", "4", "4", "2", "--points", "12", "12", "12", "--steps", "40", "--print-log", "0")
MOTORBIKE = CASES["motorBike"]
MOVING = Program(SIXTEEN, 2, SMALL_NODE, (*HOT, "--exchange", "isend", "--hot-spot"))


def rhythm(*words: str) -> Program:
    """A program of testcase/rhythm on 18 ranks, as in the paper, whose steps of 20 ms are sleeps."""
    return Program("", 18, "", (*words, "--sleep", "0.02", "--steps", "100"))


DELAY = ("--delay", "5", "20", "10")  # rank, step, periods
RHYTHMS = {
    "rhythm-pisolver": rhythm("pisolver", *DELAY),
    "rhythm-stream-triad": rhythm("stream_triad", "--send-to", "1,-1", *DELAY),
    "rhythm-schoenauer-triad": rhythm("schoenauer_triad", "--send-to", "1,-1", "--noise", "0.2", *DELAY),
    "rhythm-jacobi": rhythm("jacobi", "--topology", "ring", "--send-to", "1,-1", *DELAY),
    "rhythm-gauss-seidel": rhythm("gauss_seidel", "--columns", "28", *DELAY),
}


def programs() -> dict[str, Program]:
    """The measured runs by name."""
    return {
        "turbine": TURBINE,
        "turbine-again": TURBINE,
        "turbine-mended": replace(TURBINE, words=("flow", "turbine", "10", "gather")),
        "wing": WING,
        "wing-mended": replace(WING, words=("flow", "wing", "8")),
        "multigrid": MULTIGRID,
        "multigrid-dealt": replace(MULTIGRID, mapping="node"),
        "multigrid-24": replace(MULTIGRID, machine=HASWELL),
        "multipartition": MULTIPARTITION,
        "output": NODE_OUTPUT,
        "output-8": replace(NODE_OUTPUT, hosts="n1,n2;n3,n4;n5,n6;n7,n8", ranks=8),
        "heat": Program(
            "n1,n2;n3",
            9,
            HASWELL,
            (
                "heat3d",
                "--dt",
                "1.2",
                "--print-log",
                "0",
                "--minds",
                "3",
                "3",
                "3",
                "--points",
                "27",
                "27",
                "27",
                "--steps",
                "100",
            ),
            variables=(("PERFIELD_FIELDS_EVERY", "10"), ("OMPI_MCA_osc", "pt2pt")),
        ),
        "shock": replace(
            EACH, words=(*SOLVER, *GATHER), case=replace(STEP, decompose=" ".join(("decomposePar", *GATHER)))
        ),
        "shock-each": EACH,
        "oblique": Program("n1;n2", 4, SANDY_BRIDGE, SOLVER, case=OBLIQUE),
    }


METHODS = ("fixed", "dynamic", "test")  # of testcase/poisson
BLOCK = ("--elements-per-rank", "24", "24", "32")  # 18,432; the paper has 18,720
STUDIES = {
    "poisson-cg": (*BLOCK, "--matvecs", "3000"),
    "poisson-gmg": (*BLOCK, "--matvecs", "3000", "--preconditioner", "multigrid"),
}


def names() -> list[str]:
    """All runs, measured and by formula."""
    import synthetic

    return [*programs(), *synthetic.RUNS]


def make(name: str, folder: Path, say: Callable[[str], None]) -> Path:
    """Makes a run, or finds the one of an earlier call; returns its run directory.

    For one of STUDIES the run directory holds the record of each method.

    Raises NotMadeError.
    """
    run, made = folder / "perfield-run", folder / "made.json"
    if made.exists():
        return run
    import synthetic

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    say(f"run {name}")
    by_formula = synthetic.RUNS.get(name)
    if by_formula:
        words = by_formula(run)
    elif name in STUDIES:
        words = record(STUDIES[name], folder, run)
    else:
        words = measure((programs() | RHYTHMS)[name], folder, run)
    made.write_text(json.dumps({"words": words}) + "\n", encoding="utf-8")
    return run


def described(folder: Path) -> str:
    """How a run was made, in words."""
    return json.loads((folder / "made.json").read_text(encoding="utf-8"))["words"]


def measure(program: Program, folder: Path, run: Path) -> str:
    """Runs a program on its hosts under perfield; returns the command in words. Raises NotMadeError."""
    if not program.hosts:
        return measure_here(program, folder, run)
    reason = why_no_hosts()
    if reason:
        raise NotMadeError(f"this run needs several hosts, and {reason}")
    if shutil.which("lstopo") is None:
        raise NotMadeError("lstopo is not installed; install Debian's package hwloc")
    work = folder / "case"
    n_ranks = program.ranks * len(program.names)
    if program.case is not None:
        try:
            prepare(program.case, work, n_ranks)
        except (OpenFoamMissingError, RuntimeError) as error:
            raise NotMadeError(str(error)) from error
    work.mkdir(exist_ok=True)
    machines = folder / "machines"
    machines.mkdir()
    for host in program.names:
        describe = ["lstopo", "-i", program.machine, "--of", "xml", "-f", str(machines / f"{host}.xml")]
        subprocess.run(describe, check=True)
    settings = {
        **faked_machines(machines, folder),
        "PERFIELD_RUN_DIRECTORY": str(run),
        "PERFIELD_TOPOLOGY_FILE": str(network(program, folder)),
        **dict(program.variables),
    }
    slots = ",".join(f"{host}:{program.ranks}" for host in program.names)
    bound = ["--bind-to", "core", "--map-by", program.mapping, "--host", slots, "-n", str(n_ranks)]
    launcher = str(Path(sys.executable).parent / "perfield-exec")
    command = ["mpirun", *bound, launcher, executable(program.words[0]), *program.words[1:]]
    result = run_on_hosts(program.hosts, command, work, environment() | settings, MOST_SECONDS)
    if result.returncode or not run.is_dir():
        raise NotMadeError(
            f"{' '.join(command)} ended with {result.returncode}: {(result.stderr or result.stdout)[-600:]}"
        )
    return f"`{' '.join(program.words)}`, {n_ranks} ranks on the hosts {', '.join(program.names)}"


def measure_here(program: Program, folder: Path, run: Path) -> str:
    """Runs a program on this machine as it is; returns the command in words. Raises NotMadeError."""
    words = [executable(program.words[0]), *program.words[1:]]
    launcher = [Path(sys.executable).parent / "perfield", "run", "--run-directory", run]
    command = [*launcher, "--oversubscribe", "-n", str(program.ranks), "--", *words]
    result = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=MOST_SECONDS
    )
    if result.returncode or not run.is_dir():
        raise NotMadeError(f"{program.words[0]} ended with {result.returncode}: {result.stderr[-600:]}")
    return f"`{' '.join(program.words)}`, {program.ranks} ranks on this machine"


def record(words: tuple[str, ...], folder: Path, target: Path) -> str:
    """Solves by each method on two ranks of this machine, and keeps their records; returns its words.

    Raises NotMadeError.
    """
    program = executable("poisson")
    for method in METHODS:
        command = ["mpirun", "--oversubscribe", "-n", "2", program, *words, "--method", method]
        command += ["--output", str(target / method)]
        result = subprocess.run(
            command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=MOST_SECONDS
        )
        if result.returncode:
            raise NotMadeError(
                f"poisson ended with {result.returncode}: {(result.stderr or result.stdout)[-600:]}"
            )
    return f"`poisson {' '.join(words)}` with `--method` {', '.join(METHODS)}; 2 ranks on this machine"


def network(program: Program, folder: Path) -> Path:
    """Writes Slurm's description of the switches that mhrun makes; returns the file."""
    leaves = program.hosts.split(";")
    lines = [f"SwitchName=sw{n} Nodes={hosts}" for n, hosts in enumerate(leaves, 1)]
    lines.append(f"SwitchName=spine Switches={','.join(f'sw{n}' for n in range(1, len(leaves) + 1))}")
    path = folder / "topology.conf"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def executable(word: str) -> str:
    """The program of this name, built first if it is one of the repository's. Raises NotMadeError."""
    if word not in PROGRAMS:
        return shutil.which(word) or word
    source, build = REPOSITORY / PROGRAMS[word], REPOSITORY / "build/gallery" / Path(PROGRAMS[word]).name
    include = subprocess.run(
        [Path(sys.executable).parent / "perfield", "setup", "paths", "--include"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    configure = ["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    for command in (
        [*configure, f"-DPERFIELD_INCLUDE={include}"],
        ["cmake", "--build", build, "--target", word],
    ):
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if result.returncode:
            raise NotMadeError(f"{word} was not built: {(result.stderr or result.stdout)[-600:]}")
    return str(build / word)
