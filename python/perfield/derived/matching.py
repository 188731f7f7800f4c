# SPDX-License-Identifier: BSD-3-Clause
"""Whether two runs can be compared, and what else differs between them than what was measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfield.call_sites.closing import closing_call
from perfield.run.errors import RunError
from perfield.run.run_directory import RunDirectory
from perfield.text import counted, in_list, in_seconds

if TYPE_CHECKING:
    from perfield.run import AnyRun

# Settings that change what is measured, or what a step is.
SETTINGS = (
    *("measure_every", "sum_every", "skip_steps", "step_region", "step_call", "step_seconds", "group"),
    *("regions", "counters", "messages", "io", "mpi", "clock", "max_regions", "max_peers"),
)
MOST_NAMES = 8
INTERPRETER = re.compile(r"python[\d.]*|bash|sh|julia|perl")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def check(before: RunDirectory, after: RunDirectory, names: Sequence[str], anyway: bool = False) -> None:
    """Raises RunError, with what to do, for one run that is named twice, and for runs of different programs,
    without a common region, or whose steps end at different calls. anyway : lets the latter three pass.
    names : of both, for sentences."""
    one, other = names
    if before.path.resolve() == after.path.resolve():
        raise RunError(
            f"{one} and {other} are the same run; name two runs, or steps of it: perfield compare {one} "
            "--steps 10 20"
        )
    if before.info.get("run_id") and before.info.get("run_id") == after.info.get("run_id"):
        raise RunError(f"{other} is a copy of {one}: both have the run id {before.info['run_id']}.")
    programs = program(before.info), program(after.info)
    if all(programs) and programs[0] != programs[1] and not anyway:
        raise RunError(
            f"{one} ran {programs[0]}, but {other} ran {programs[1]}; --anyway compares different programs."
        )
    regions = [set(run.columns.stems) for run in (before, after)]
    if all(regions) and not regions[0] & regions[1] and not anyway:
        lists = (_listed(run, stems) for run, stems in zip((before, after), regions))
        raise RunError(
            "the runs have no region in common: "
            + "; ".join(f"{name} has {names_}" for name, names_ in zip((one, other), lists))
            + ". --anyway compares their whole steps."
        )
    calls = ["", ""] if anyway else [closing_call(run) for run in (before, after)]
    if all(calls) and calls[0] != calls[1]:
        ends = (
            f"in {name} one ends at each return of {call} ({_steps(run)})"
            for name, call, run in zip(names, calls, (before, after))
        )
        raise RunError(
            f"the runs have different steps, so their times cannot be compared: {', '.join(ends)}. "
            f"`perfield steps {other}` lists calls that could end them, and --use makes the next runs end "
            "them at one of these; --anyway compares the steps as they are."
        )


def differences(before: RunDirectory, after: RunDirectory, names: Sequence[str]) -> Iterator[str]:
    """Sentences on what differs between two runs and may explain, or spoil, what a comparison shows."""
    runs = before, after
    for run, name in zip(runs, names):
        if run.state != "finished":
            ended = "still runs" if run.state == "running" else "was killed"
            yield f"{name} {ended}: it has {len(run)} steps"
        yield from (f"{name}: {sentence}" for sentence in run.damage[:1])
    apart = other_arguments(*(run.info for run in runs))
    if any(apart):
        sentences = (f"{name} alone has {words}" for name, words in zip(names, apart) if words)
        yield f"arguments differ: {'; '.join(sentences)}"
    for what, values in (
        ("hosts", [", ".join(_hosts(run)) for run in runs]),
        ("perfield", [str(run.info.get("perfield", "")) for run in runs]),
    ):
        if values[0] != values[1]:
            yield f"{what} differ: " + "; ".join(f"{n}: {v or 'none'}" for n, v in zip(names, values))
    configured = [run.info.get("configuration") or {} for run in runs]
    for key in SETTINGS:
        values = [settings.get(key) for settings in configured]
        if values[0] != values[1]:
            yield f"the setting {key} differs: " + "; ".join(
                f"{name}: {_text(value)}" for name, value in zip(names, values)
            )
    stems = [set(run.columns.stems) for run in runs]
    for here, there, run, name in ((0, 1, before, names[0]), (1, 0, after, names[1])):
        alone = stems[here] - stems[there]
        if alone:
            yield f"regions only in {name}: {_listed(run, alone)}"


def program(info: dict[str, Any]) -> str:
    """The name of the program that a run's command starts: of the script, where that is an interpreter; ""
    where the command is not known."""
    words = [str(word) for word in info.get("command") or []]
    if not words:
        return ""
    name = Path(words[0]).name
    if INTERPRETER.fullmatch(name):
        scripts = [word for word in words[1:] if not word.startswith("-")]
        return Path(scripts[0]).name if scripts else name
    return name


def name_in_titles(run: AnyRun) -> str:
    """The name of a run's program in titles; that of the run's folder where the program is not known."""
    return program(run.info) or Path(run.path).resolve().name


def date_in_titles(run: AnyRun) -> str:
    """The day on which a run began, as "2026-11-29", UTC; "" where that is not known."""
    day = str(run.info.get("start", ""))[:10]
    return day if DAY.fullmatch(day) else ""


def other_arguments(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, str]:
    """The words of two runs' commands, behind the program, that the other run lacks or has elsewhere; the
    values of an option come with its name."""
    words = [[str(word) for word in (info.get("command") or [])[1:]] for info in (before, after)]
    apart: tuple[list[str], list[str]] = [], []
    for kind, *ends in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for of_run, found, begin, end in zip(words, apart, ends[::2], ends[1::2]):
            if begin < end and not of_run[begin].startswith("-"):
                found.extend([word for word in of_run[:begin] if word.startswith("-")][-1:])
            found.extend(of_run[begin:end])
    return " ".join(apart[0]), " ".join(apart[1])


def _steps(run: RunDirectory) -> str:
    """How many there are, and how long the lowest rank took from the first to the last one's begin."""
    begin, last = run.frame_headers([0, len(run) - 1])["begin_s"].tolist()
    return f"{counted(int(run.steps_closed.max()), 'step')} in {in_seconds(last - begin)}"


def _hosts(run: RunDirectory) -> list[str]:
    return sorted({entry.get("host", "") for entry in run.rank_entries if entry is not None} - {""})


def _listed(run: RunDirectory, stems: set[str]) -> str:
    names = sorted({region.name for region in run.known_regions if region.field in stems})
    return in_list(names, MOST_NAMES)


def _text(value: Any) -> str:
    return "not known" if value is None else str(value)
