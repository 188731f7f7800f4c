# SPDX-License-Identifier: BSD-3-Clause
"""perfield run: starts a program under a launcher, measures every rank, and prints a summary."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shlex
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import perfield
from perfield import extras
from perfield._bridge import load_config
from perfield.commands import CommandError, _launcher, _python, _remembered, _step_call
from perfield.commands._first_screen import first_screen, fitted
from perfield.commands._newest import holds_anything, runs_of
from perfield.commands._signals import completed
from perfield.commands._unmeasured import Unmeasured, Watch
from perfield.commands.collect import collect
from perfield.commands.info import summary_of
from perfield.commands.paths import perfield_exec
from perfield.commands.steps import found_steps, proposal
from perfield.configuration import in_force
from perfield.text import did_you_mean

HELP = "run a program and measure it"
DESCRIPTION = """\
Runs a program under a launcher, each rank behind perfield-exec, and prints the
summary of the run. Options that perfield does not know go to the launcher.
The exit code is the program's.

  perfield run -n 8 ./a.out input.txt
  perfield run -n 8 --bind-to core -- ./a.out input.txt
  perfield run --launcher 'srun -n 64' -- ./a.out input.txt
  perfield run --set measure_every=10 -n 8 ./a.out
  perfield run --sample -n 8 ./a.out      which functions take the CPU time

The program is the first word that is neither an option nor an option's value.
Put -- before it if that is ambiguous. The run is written to perfield-run, or to
perfield-run-2, ... if that name is taken."""

USUAL_RATE = "200"  # samples per second: at most 0.5 % of CPU time

# Topics of warnings that say why no rank is measured (bridge/session, bridge/sources/pmpi/unseen.cpp).
WHY_UNMEASURED = ("unseen", "memory-room", "config", "run-directory", "stream", "start")

# Our options and the number of values each takes. All others belong to the launcher.
OWN = {
    **{"--launcher": 1, "--set": 1, "--run-directory": 1, "-o": 1, "--config": 1},
    **{"--sample": 0, "--scorep": 0, "--dry-run": 0, "--help": 0, "-h": 0},
}


def separate(words: list[str]) -> tuple[list[str], tuple[list[str], list[str], list[str]]]:
    """Splits the words after `perfield run`: our options, and (all words, the launcher's, the program's)."""
    ours, launcher, program = _launcher.separate(words, OWN)
    return ours, (words, launcher, program)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds our own options; `separate` has already removed the rest of the line."""
    parser.usage = "perfield run [OPTIONS] [LAUNCHER OPTIONS] [--] PROGRAM [ARGS ...]"
    parser.add_argument(
        "--launcher",
        metavar="COMMAND",
        default="mpirun",
        help="the command that starts the ranks (mpirun); '' for none",
    )
    parser.add_argument(
        "-o",
        "--run-directory",
        metavar="DIR",
        help="where to write the run (perfield-run); -o of the launcher goes into --launcher 'srun -o FILE'",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="the configuration file (perfield.toml, if it exists)"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting, see perfield setup config; repeatable",
    )
    parser.add_argument(
        "--sample",
        action="store_true",
        help="look 200 times a second in which function each thread is (--set sample=N for another rate)",
    )
    parser.add_argument(
        "--scorep",
        action="store_true",
        help="treat the program as built with Score-P, if perfield cannot see that in its file",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the command line and start nothing")


def apply_settings(arguments: argparse.Namespace) -> None:
    """Sets the PERFIELD_ variables that the options of the command line ask for.

    Raises CommandError for a key that does not exist and for a value that its key cannot have.
    """
    variables = settings(arguments)
    set_step_call(variables)
    if arguments.config is not None:
        os.environ["PERFIELD_CONFIG"] = variables["PERFIELD_CONFIG"]
    earlier = load_config()[1]  # the program runs in spite of these
    os.environ.update(variables)
    complaints = [error for error in load_config()[1] if error not in earlier]
    if not complaints:
        return
    typed = {f"PERFIELD_{key.upper()}": (key, value) for key, _, value in _parts(arguments.set)}
    sentences = []
    for complaint in complaints:
        variable, colon, rest = complaint.partition(": ")
        key, value = typed.get(variable, ("", ""))
        sentences.append(f"--set {key}={value}: {rest}" if colon and key else complaint)
    raise CommandError("\n".join(sentences))


def set_step_call(variables: dict[str, str]) -> None:
    """Replaces file and line in step_call by the site's name, from an earlier run in the same place."""
    asked = variables.get("PERFIELD_STEP_CALL", os.environ.get("PERFIELD_STEP_CALL", ""))
    names = dict.fromkeys([in_force("run_directory"), variables.get("PERFIELD_RUN_DIRECTORY", "")])
    earlier = [path for name in names if name for path in runs_of(Path(name))]
    if (found := _step_call.translate(asked, earlier)) != asked:
        variables["PERFIELD_STEP_CALL"] = found


def take_remembered(contexts: list[tuple[list[str], list[str]]]) -> str:
    """Sets step_call as chosen for this program, unless something else asks for steps. Returns a sentence on
    it; "" if nothing is chosen."""
    if not in_force("remember_steps") or any(map(in_force, ("step_call", "step_region", "step_seconds"))):
        return ""
    chosen = _remembered.remembered(contexts[0][1]) if len(contexts) == 1 else ""
    if chosen:
        os.environ["PERFIELD_STEP_CALL"] = chosen
        return f"steps close at {chosen}, as chosen with `perfield steps --use` (remember_steps = false)"
    return ""


def _parts(settings: list[str]) -> list[tuple[str, str, str]]:
    return [setting.partition("=") for setting in settings]


def settings(arguments: argparse.Namespace) -> dict[str, str]:
    """The PERFIELD_ variables that the options of the command line ask for.

    Raises CommandError for a key that does not exist.
    """
    names = [key["key"] for key in load_config()[0]]
    variables = {"PERFIELD_SAMPLE": USUAL_RATE} if arguments.sample else {}
    if arguments.config is not None:
        variables["PERFIELD_CONFIG"] = str(Path(arguments.config).absolute())
    for setting, (key, equals, value) in zip(arguments.set, _parts(arguments.set)):
        if not equals:
            raise CommandError(f"--set {setting} has no '='; write --set KEY=VALUE")
        if key not in names:
            advice = did_you_mean(key, names, 1) or "'perfield setup config' lists all keys"
            raise CommandError(f"--set {setting}: there is no key '{key}'; {advice}")
        variables[f"PERFIELD_{key.upper()}"] = value
    if arguments.run_directory is not None:
        variables["PERFIELD_RUN_DIRECTORY"] = arguments.run_directory
    return variables


def missing_perfield(contexts: list[tuple[list[str], list[str]]], value: dict[str, Any]) -> list[str]:
    """Sentences about programs whose Python lacks perfield. value : the settings by key."""
    functions = [name for name in [*value["regions"], value["step_region"]] if name not in ("*", "")]
    sentences = [_python.missing_perfield(program, functions) for _, program in contexts]
    return [sentence for sentence in dict.fromkeys(sentences) if sentence]


def find_run(wanted: Path, run_id: str) -> Path | None:
    """The run directory of that id under the name `wanted`, `wanted`-2, ...; None if there is none."""
    from perfield.run import RunError
    from perfield.run.directory import read_info

    candidate, n = wanted, 1
    while candidate.exists() or n == 1:
        try:
            if read_info(candidate)[0].get("run_id") == run_id:
                return candidate
        except (OSError, RunError):
            pass  # not a run, or not yet
        n += 1
        candidate = wanted.with_name(f"{wanted.name}-{n}")
    return None


def has_ranks(wanted: Path, run_id: str) -> bool:
    """Whether a rank has checked in. wanted : as in `find_run`."""
    path = find_run(wanted, run_id)
    return path is not None and holds_anything(path)


def no_ranks(path: Path, seen: Unmeasured | None = None) -> str:
    """A sentence about a run in which none of the ranks started checked in.

    seen : a process that ran without perfield, None if none was found. Returns "" if a rank checked in, or
    has printed why it is not measured.
    """
    from perfield.run import RunError

    try:
        if perfield.open(path).rank_entries:
            return ""
    except RunError:  # no rank has written a stream
        pass
    facts = json.loads((path / "run.json").read_text(encoding="utf-8", errors="replace"))
    none = f"none of the ranks ({facts['size'] or 1}) was measured"
    if any(any((path / "stream").glob(f".reported-*-{topic}")) for topic in WHY_UNMEASURED):
        return ""
    if seen:
        return f"{none}: {seen.why(facts['command'][0])}"
    program = shutil.which(facts["command"][0]) if facts["command"] else None
    if program and Path(program).read_bytes()[:2] == b"#!":
        return (
            f"{none}, and {program} is a script: if it clears the environment (env -i, sudo, su -), put "
            "perfield-exec into it, right before the program"
        )
    return (
        f"{none}: the program ended before MPI_Init, or is not an MPI program, or uses an MPI for which "
        "perfield was not built (`perfield doctor` lists them), or starts another program without "
        "LD_PRELOAD, or is linked with Score-P statically (`perfield run --scorep`)"
    )


def close(
    wanted: Path,
    run_id: str,
    summary: bool,
    why_refused: str = "",
    seen: Unmeasured | None = None,
    failed: bool = False,
) -> list[str]:
    """The lines to print once the run is over.

    why_refused : a possible reason why the launcher started no rank, "" if none is known. seen : a process
    that ran without perfield, if one was found. failed : the program did; then no advice on steps is given.
    """
    from perfield.run.directory import staged

    path = find_run(wanted, run_id)
    if path is None:
        sentences = [f"no rank has made a run directory {wanted}; nothing was measured", why_refused]
        return [f"perfield: {sentence}" for sentence in sentences if sentence]
    if staged(path):  # by ranks that were killed
        collect(path, quietly=True)
    found = summary_of(path) if any((path / "stream").glob("*.pf")) else []
    sentence = no_ranks(path, seen)
    lines = [f"perfield: {sentence}"] if sentence else []
    if found:
        sentence = step_proposal(path, failed) if summary else ""
        # Without a summary, what is wrong is printed all the same: ranks that are missing, and a typo.
        wrong = [line for line in found if line.startswith(("missing ", "regions "))]
        lines += first_screen(found) if summary else wrong
        lines += [f"perfield: {sentence}"] if sentence else []
    return lines


def step_proposal(path: Path, failed: bool = False) -> str:
    """A sentence on the steps that perfield found, or on how to get some; "" if the program closed steps, or
    failed before it did, or if a setting says how to."""
    run = perfield.open(path)
    if said := found_steps(run):
        return said
    was_set = any(body.get("step_call") for body in run.sites.values())
    if (run.steps_closed.any() and not run.has_windows) or was_set or failed or run.state == "running":
        return ""
    return proposal(run)


def execute(arguments: argparse.Namespace) -> int:
    """Runs the program; returns its exit code."""
    words, options, program = arguments.words
    _launcher.find_program(words, program)
    launcher = _launcher.Launcher.of(shlex.split(arguments.launcher))
    contexts = launcher.contexts(options, program)

    apply_settings(arguments)
    chosen = take_remembered(contexts)
    keys, errors, _ = load_config()  # perfield-exec reports what is ignored
    value = {key["key"]: json.loads(key["value"]) for key in keys}
    run_id = secrets.token_hex(8)
    os.environ.pop("PERFIELD_RUN", None)
    os.environ["PERFIELD_RUN_ID"] = run_id
    os.environ.pop("PERFIELD_ALL_RANKS", None)
    if value["enabled"] and not errors and launcher.starts_only(contexts):
        os.environ["PERFIELD_ALL_RANKS"] = run_id  # see bridge/launcher/vouch.hpp
    os.environ["PERFIELD_SUMMARY"] = "false"  # this process prints the summary, after all ranks have ended
    if launcher.kind == "openmpi" and os.geteuid() == 0:
        os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
        os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")

    environment = [name for name in os.environ if name.startswith("PERFIELD_")]
    before_program = [str(perfield_exec()), *(["--scorep"] if arguments.scorep else []), "--"]
    command = launcher.line(contexts, before_program, environment)
    if arguments.dry_run:
        print(shlex.join(command))
        return 0
    if value["enabled"] and not errors:
        for sentence in [*([chosen] if chosen else []), *missing_perfield(contexts, value)]:
            print(f"perfield: {sentence}", file=sys.stderr)
    killed_with_us = signal.SIGTERM if launcher.words else signal.SIGKILL  # a launcher then ends its ranks
    watch = Watch(lambda: has_ranks(Path(value["run_directory"]), run_id))
    with completed(command, killed_with_us, watch) as ended:
        if not value["enabled"] or errors:
            return ended.code
        refused = ended.code and not ended.sent
        try:
            why_refused = launcher.why_refused(contexts) if refused else ""
            wanted, failed = Path(value["run_directory"]), bool(ended.code)
            lines = close(wanted, run_id, value["summary"], why_refused, watch.found, failed)
        except KeyboardInterrupt:
            lines = ["perfield: interrupted before the summary was made; `perfield info` prints it"]
        except Exception as error:  # still return the program's exit code
            why = f"it {extras.words(error)}" if isinstance(error, ImportError) else error
            lines = [f"perfield: cannot summarize the run: {why}"]
        for line in lines:
            print(fitted(line), file=sys.stderr)
    return ended.code
