# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the fault campaigns: options, compiled programs, runs of ranks, and verdicts as lines of JSON.

A campaign is a program `faults_*.py` in this folder. It prints each result with `verdict`, and everything
else to stderr. With `--short` it takes seconds, not minutes. `--seed` replays the random choices of an
earlier run.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[1:1] = [str(FOLDER.parent)]
from compiled.built import built, compiler_state, state_of  # noqa: E402
from conftest import kill_session  # noqa: E402
from conftest import start_command as start  # noqa: E402

from perfield.commands.paths import all_paths  # noqa: E402

PATHS = all_paths()


def options(about: str | None) -> argparse.Namespace:
    """The command line of a campaign: `short` (bool) and `seed` (int, random unless given).

    about : the docstring of the campaign. The seed is printed on stderr.
    """
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="take seconds: fewer repetitions")
    parser.add_argument("--seed", type=int, help="of the random choices; printed by each run")
    given = parser.parse_args()
    if given.seed is None:
        given.seed = secrets.randbits(32)
    print(f"{Path(sys.argv[0]).stem}: --seed {given.seed}", file=sys.stderr, flush=True)
    return given


def verdict(what: str, tried: str, result: str, target: str, holds: bool) -> None:
    """Prints one row of the table.

    what : the fault, a short noun phrase. tried : how often, and on what. result : what was found, as words
    with numbers. target : what must be found. holds : whether it was.
    """
    row = {"what": what, "tried": tried, "result": result, "target": target, "holds": bool(holds)}
    print(json.dumps(row), flush=True)


def compiled(source: str, folder: Path, *flags: str, compiler: str = "mpicc") -> Path:
    """Compiles programs/<source> against the installed perfield.h, once; returns a copy of it in `folder`.

    A source in C is -std=gnu11, in C++ -std=c++17. flags : more words for the compiler; for a library to
    preload they are "-shared", "-fPIC".
    """
    path = FOLDER / "programs" / source
    standard = "-std=gnu11" if path.suffix == ".c" else "-std=c++17"
    words = [compiler, "-O1", "-g", "-Wall", standard, *PATHS["cflags"].split(), str(path), *flags]

    def compile_in(kept: Path) -> None:
        subprocess.run([*words, "-o", str(kept / "program")], check=True)

    headers = [state_of(Path(word[2:]), "**/*.h*") for word in words if word.startswith("-I")]
    key = words, path.read_text(), headers, compiler_state(compiler)
    to = folder / (f"{path.stem}.so" if "-shared" in flags else path.stem)
    return Path(shutil.copy(built(path.stem, key, compile_in) / "program", to))


def finish(process: subprocess.Popen, timeout: float) -> subprocess.CompletedProcess:
    """Waits for a started command. After `timeout` s kills its session and raises TimeoutExpired."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        kill_session(process.pid)
        process.communicate()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run(
    argv: list[object], cwd: Path, env: Mapping[str, str | None] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess:
    """Starts a command as `start` does, and waits for it as `finish` does."""
    return finish(start(argv, cwd, env), timeout)


def ranks(n: int, *argv: object, measured: bool = True) -> list[object]:
    """The words that start argv on n ranks of Open MPI, under perfield-exec if `measured`."""
    return ["mpirun.openmpi", "--oversubscribe", "-n", n, *(["perfield-exec"] if measured else []), *argv]
