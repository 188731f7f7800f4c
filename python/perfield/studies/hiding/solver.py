# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the solver of testcase/poisson for a study: methods in turn, repeat by repeat."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfield.catalyst_scripts.owned_folder import OwnedFolder
from perfield.child_python import run_module
from perfield.commands import CommandError
from perfield.commands._launcher import Launcher
from perfield.text.streams import draw_line


@dataclass(frozen=True)
class Setting:
    """How the solver runs.

    box : elements of each rank along x, y and z. more : further options of it. model : of regimes, from which
    `perfield lab inject` draws latencies; None: none are injected.
    """

    solver: Path
    launcher: str
    n_matvecs: int
    n_ranks: int
    box: tuple[int, int, int]
    more: tuple[str, ...] = ()
    model: Path | None = None

    @property
    def name(self) -> str:
        """The folder of its runs: "2-ranks-18720-elements"."""
        x, y, z = self.box
        return f"{self.n_ranks}-ranks-{x * y * z}-elements"

    def line(self, method: str, repeat: int, record: Path) -> list[str]:
        """The command line of one run. All methods of a repeat meet the same latencies."""
        program = [str(self.solver), "--method", method]
        program += ["--elements-per-rank", *map(str, self.box), "--matvecs", str(self.n_matvecs)]
        program += [*self.more, "--output", str(record)]
        ranks = ["-n", str(self.n_ranks)]
        if self.model is None:
            words = Launcher.of(shlex.split(self.launcher)).words
            return [*words, *ranks, *program] if words else program
        trace = record.parent / f"latencies-{repeat}"
        drawn = ["--model", str(self.model), "--seed", str(repeat), "--trace", str(trace)]
        drawn += ["--draws", str(2 * self.n_matvecs), "--run-directory", f"{record}.run"]
        inject = run_module(sys.executable, "perfield.commands", "lab", "inject", *drawn)
        return [*inject, "--launcher", self.launcher, *ranks, "--", *program]


def check_solver(path: Path) -> Path:
    """The solver's path. Raises CommandError if it cannot be started."""
    if not path.is_file() or not os.access(path, os.X_OK):
        raise CommandError(
            f"--solver {path} is not a program; build it: cmake -S testcase/poisson -B poisson && cmake "
            "--build poisson, then name poisson/poisson."
        )
    return path.absolute()


def run_all(
    setting: Setting, methods: Sequence[str], n_repeats: int, folder: Path
) -> Iterator[tuple[str, int, Path]]:
    """Runs each method once per repeat, in turn, so that slow hours of a machine meet all of them alike.

    Yields (method, repeat, record). The order turns by one from repeat to repeat. Raises CommandError with
    what the solver said if one fails.
    """
    for repeat in range(n_repeats):
        turn = repeat % len(methods)
        for method in (*methods[turn:], *methods[:turn]):
            record = folder / setting.name / f"{method}-{repeat}"
            OwnedFolder(folder, is_shared=True).check_folder(setting.name)
            record.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(record):
                raise CommandError(
                    f"{record} exists already and was left as it is; name another --records, or compare it "
                    f"with --from {folder}."
                )
            if sys.stderr.isatty():
                draw_line(f"{setting.name}: repeat {repeat + 1}/{n_repeats}, {method}")
            line = setting.line(method, repeat, record)
            done = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode:
                said = (done.stderr or done.stdout).strip().splitlines()[-5:]
                raise CommandError(
                    f"the solver ended with exit code {done.returncode}; it was started by "
                    f"{shlex.join(line)} and said:\n" + "\n".join(said)
                )
            yield method, repeat, record
    if sys.stderr.isatty():
        print(file=sys.stderr)


def records_in(folder: Path) -> dict[str, dict[str, list[Path]]]:
    """For each setting and method below a folder, the records of its repeats. Raises CommandError."""
    found: dict[str, dict[str, list[Path]]] = {}
    for file in sorted(folder.glob("*/*/study.json"), key=lambda path: _repeat(path.parent)):
        method = file.parent.name.rpartition("-")[0]
        found.setdefault(file.parent.parent.name, {}).setdefault(method, []).append(file.parent)
    if not found:
        raise CommandError(
            f"--from {folder} holds no records; name a folder of `perfield lab hide --solver --records`."
        )
    return found


def _repeat(record: Path) -> int:
    number = record.name.rpartition("-")[2]
    return int(number) if number.isdigit() else -1
