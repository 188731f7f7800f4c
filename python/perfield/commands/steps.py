# SPDX-License-Identifier: BSD-3-Clause
"""perfield steps: lists MPI calls that may end the time steps of a program."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import perfield
from perfield.commands import CommandError
from perfield.commands._chosen import row_number
from perfield.commands._newest import add_run, run_path
from perfield.text import counted, in_list, in_seconds, print_table, start

if TYPE_CHECKING:
    from perfield.call_sites.candidates import Candidate, Site
    from perfield.call_sites.names import Lines
    from perfield.derived.run import Run

HELP = "list MPI calls that could close the time steps of a program, and choose"
DESCRIPTION = """\
Lists the MPI call sites that all ranks of a run reached equally often, the most
likely end of a time step first. A site is a call in the program with its
callers. Its name has the calling function and four digits of a hash of the
callers, the same on all ranks. Where several hits belong to one step, the name
ends with their number: Wait@exchange-3f2a/4. The first step ends with setup.

  perfield steps perfield-run
  PERFIELD_STEP_CALL=Allreduce@solve-3f2a perfield run -n 8 ./a.out
  perfield steps perfield-run --use Allreduce@solve-3f2a
  perfield steps perfield-run --use 4     four recorded steps make one

--use lets all commands add up so many steps of this run in a frame, if the
record allows it (--span 1 shows each; --use 1 undoes it), and lets the next runs
of the same program close their steps there (remember_steps = false: not).

The columns: hits of the site on each rank; steps that it would close; period,
the time between two steps; share of the run between the first and the last hit;
even, the share of the steps that made between half and twice as many MPI calls
as the step before; where, the line or function that makes the call.

perfield records sites in programs that do not close steps themselves
(perfield_step, step_region), and if step_call or step_seconds is set. Where it
found the steps itself (find_steps), it prints at which call."""

MOST_NAMES = 8  # in a sentence
MOST_ROWS = 15  # of the table
MOST_OTHERS = 2  # readings of a run beside the steps that were found
NO_SITES = "no MPI call recurs equally often on all ranks"
ELSE = (
    "PERFIELD_STEP_SECONDS=0.5 perfield run ... closes steps by the clock, PERFIELD_STEP_REGION at the end "
    "of a region, perfield_step where the program calls it"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run and the number of rows."""
    add_run(parser)
    add = parser.add_argument
    add("--rows", metavar="N", type=row_number, default=MOST_ROWS, help=f"list at most N sites ({MOST_ROWS})")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument(
        "--use", metavar="SITE|N", help="what ends the steps: a site of the list, or every N recorded steps"
    )
    forms.add_argument("--json", action="store_true", help="print everything as one JSON object")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the table and how to use its first row."""
    from perfield.call_sites import candidates
    from perfield.call_sites.names import own
    from perfield.symbols import source_lines

    run = perfield.open(run_path(arguments.run))
    if arguments.use is not None:
        for sentence in use(run, arguments.use):
            print(f"{start(sentence)}.")
        return 0
    notes = not_distinguished(run)
    found = candidates.candidates(run)
    shown = found[: arguments.rows]
    lines = _lines([each.site for each in shown])
    named = _names(run, lines) if found else {}
    settings = [_setting(each, named) for each in shown]
    said = _what_closes(run, found, settings)
    if arguments.json:
        rows = [_facts(*each, lines) for each in zip(shown, settings, strict=True)]
        facts = {"run": str(run.path), "n_steps": int(run.steps_closed.max(initial=0)), "call_sites": rows}
        facts |= {"n_call_sites": len(found), "sentence": said, "notes": notes}
        print(json.dumps(facts, indent=1, allow_nan=False))
        return 0
    for note in notes:
        print(f"({note})")
    if not found:
        print(said)
        return 0
    several = len(run.groups) > 1
    print_table([_row(_facts(*each, lines), several) for each in zip(shown, settings, strict=True)])
    if len(found) > len(shown):
        print(f"({len(shown)} of {len(found)}; --rows {len(found)} lists all)")
    own_callers = {caller for each in shown for caller in own(each.site.callers)}
    if not any(line.line for caller, line in lines.items() if caller in own_callers):
        cure = "compile with -g to see them" if source_lines.tool() else "install addr2line (binutils)"
        print(f"(source lines are not known; {cure})")
    print(f"\n{said}")
    return 0


def _what_closes(run: Run, found: Sequence[Candidate], settings: Sequence[str]) -> str:
    """A sentence on what closed the steps of a run, or on how to close some.

    settings : what step_call would be for the first of the run's candidates.
    """
    if said := found_steps(run, found):
        return f"{start(said)}."
    if not found or (run.steps_closed.any() and not run.has_windows):
        return f"{_who_closed(run)}."
    if found[0].is_regular:
        return f"To close a step at the first: PERFIELD_STEP_CALL={settings[0]} perfield run ..."
    return f"None of them recurs regularly; {ELSE}."


def use(run: Run, wanted: str) -> list[str]:
    """Chooses what ends the steps of a run and of the next ones. Returns sentences on what that changes.

    wanted : as of --use. Raises CommandError if it is neither a site of the run nor a number.
    """
    from perfield.call_sites import candidates
    from perfield.commands import _remembered
    from perfield.run.reading import choose_span

    if wanted.isdecimal() and int(wanted):
        span = _possible(run, int(wanted))
        step_call = _every(run, span)
    else:
        found = candidates.candidates(run)
        named = _names(run, _lines([each.site for each in found]))
        choices = {_setting(each, named): each for each in found}
        if wanted not in choices:
            names = in_list(list(choices), MOST_NAMES) if choices else "there is none"
            raise CommandError(f"--use {wanted}: expected a number of steps from 1, or a site: {names}.")
        span, step_call = _joined(run, choices[wanted].steps), wanted
    if span:
        choose_span(run.path, span)
        each = f"adds up {counted(span, 'recorded step')}" if span > 1 else "is a recorded step"
        said = [f"each frame of {run.path} {each} from now on; the summary keeps recorded steps"]
    else:
        said = [f"the record of {run.path} has no such steps, so this run stays as it is"]
    command, folder = run.info.get("command") or [], run.path / run.info.get("working_directory", "..")
    undo = f"`perfield steps {run.path} --use 1` undoes"
    try:
        if _remembered.remember(command, folder, step_call):
            said.append(
                f"the next runs of {command[0]} close steps at {step_call}, which {_remembered.place()} "
                f"keeps; {undo} {'both' if span else 'that'}"
            )
        elif span > 1:
            said.append(f"the next runs find their steps as before; {undo} this")
        elif wanted == "1":
            said.append(f"the next runs{f' of {command[0]}' if command else ''} find their steps themselves")
    except OSError as error:
        said.append(
            f"the next runs do not close steps there, as {_remembered.place()} cannot be written "
            f"({error.strerror or error}): set XDG_CACHE_HOME to a folder of yours, or name the call to each "
            f"run, as perfield run --set step_call={step_call or wanted}"
        )
    return said


def _possible(run: Run, n: int) -> int:
    """The number of recorded steps to add up. Raises CommandError where that leaves fewer than two steps."""
    recorded = int(run.steps_closed.max(initial=0))
    if n > 1 and 2 * n > recorded:
        possible = f"a number from 1 to {recorded // 2:,}" if recorded >= 4 else "1"
        raise CommandError(
            f"--use {n}: {run.path} has {counted(recorded, 'recorded step')}, so {n:,} to a frame leave "
            f"fewer than two frames; expected {possible}. Nothing was changed."
        )
    return n


def _joined(run: Run, steps: int) -> int:
    """How many recorded steps make one, if there are so many; 0 if no number does."""
    from perfield.call_sites import closing

    recorded = int(run.steps_closed.max(initial=0)) + closing.found_in(run).get("found_in_setup", 1)
    span = round(recorded / steps) if steps and not run.has_windows and run.steps_closed.any() else 0
    return span if abs(recorded - span * steps) <= span else 0


def _every(run: Run, n: int) -> str:
    """The step_call that closes a step where n are recorded; "" for 1, or if no MPI call closed them."""
    from perfield.call_sites import closing

    if asked := next((body["step_call"] for body in run.sites.values() if body.get("step_call")), ""):
        site, _, every = asked.partition("/")
        return f"{site}/{n * int(every or 1)}" if n > 1 else ""
    found = closing.closing_site(run)
    returns = n * closing.found_in(run).get("found_returns", 1)
    return f"{_names(run, _lines([found]))[found]}/{returns}" if found and n > 1 else ""


def found_steps(run: Run, found: Sequence[Candidate] | None = None) -> str:
    """A sentence on the steps that perfield found while the program ran, and on other readings of the run;
    "" if it found none. found : the run's candidates, where they are known."""
    from perfield.call_sites import candidates, closing
    from perfield.call_sites.names import without_hash

    body = closing.found_in(run)
    if not body or not run.steps_closed.any():
        return ""
    if found is None:
        found = candidates.candidates(run)
    closed = int(run.steps_closed.max())
    n_found = body.get("found_steps", 0)
    # Where ranks take other branches, no rank's call site is a candidate.
    ends = next((each for each in found if each.site.hash == body["found"]), None)
    site = closing.closing_site(run)
    if site is None:  # a damaged entry
        return ""
    hits = ends.hits if ends else n_found
    others: dict[int, list[Candidate]] = {}  # by number of steps
    for each in found[:MOST_ROWS]:
        is_other = abs(each.steps - n_found) > 1  # one more or less are steps of the same loop
        is_other &= (each.site.hash, each.every) != (body["found"], body.get("found_returns", 1))
        if is_other and each.is_regular and (each.steps in others or len(others) < MOST_OTHERS):
            others.setdefault(each.steps, []).append(each)
    shown = [site, *(each.site for some in others.values() for each in some)]
    lines = _lines(shown)
    named = _names(run, lines)
    before = counted(body.get("found_in_setup", 0), "step")
    which = "at each return" if 2 * n_found > hits else "at the first return in each row"
    if (returns := body.get("found_returns", 1)) > 1:
        which = f"after every {returns} returns"
    said = f"a step ends {which} of {named[site]} ({where(site, lines)}"
    said += "" if ends else "; other calls there on some ranks"
    said += f"): {counted(closed, 'step')}, after {before} that showed the loop and count as setup"
    if (every := body.get("found_every", 1)) > 1:
        returns *= every
        said += f" (later steps hold {returns:,} returns each: to close each step would slow the program)"
    if others:
        labels = {each: without_hash(each, lines) for each in shown}
        counts = Counter(labels.values())
        alike = {each: counts[label] > 1 for each, label in labels.items()}
        # Of those with as many steps, the first whose function makes no other of these calls.
        chosen = (min(some, key=lambda each: alike[each.site]) for some in others.values())
        choices = (_choice(run, each, _setting(each, named), alike[each.site], lines) for each in chosen)
        said += f". If that is not your time step: perfield steps {run.path} --use {' or '.join(choices)}"
    return said


def _choice(run: Run, each: Candidate, setting: str, is_alike: bool, lines: Lines) -> str:
    """Another reading of a run: its name, how many steps that gives, whether this run's record allows it,
    and where others are named alike, through which functions the program comes there."""
    through = way(each.site, lines) if is_alike else ""
    later = "" if _joined(run, each.steps) else " from the next run on"
    return f"{setting} for {each.closes} steps{f' ({through})' if ' > ' in through else ''}{later}"


def proposal(run: Run) -> str:
    """A sentence on how to get steps, for a run that closed none."""
    from perfield.call_sites import candidates

    begin = "the program marked no time steps"
    found = candidates.candidates(run)
    if not found:
        return f"{begin}, and {NO_SITES}; {ELSE}"
    best = found[0]
    if not best.is_regular:
        return (
            f"{begin}, and no MPI call recurs regularly; {ELSE} (`perfield steps {run.path}` lists the calls)"
        )
    lines = _lines([best.site])
    setting = _setting(best, _names(run, lines))
    part = f", in {best.share:.0%} of the run" if best.share < candidates.COVERS else ""
    times = f"{best.hits} times" + (f", {best.every} to a step" if best.every > 1 else "")
    every = f"one every {in_seconds(best.period_s)}{part}"
    every = f"{best.closes} steps after the first, which ends setup; {every}"
    return (
        f"{begin}; the most likely end of a step is {setting} ({where(best.site, lines)}, {times}: {every}): "
        f"PERFIELD_STEP_CALL={setting} perfield run ... (`perfield steps {run.path}` lists all)"
    )


def not_distinguished(run: Run) -> list[str]:
    """A sentence if ranks met more call sites than perfield follows."""
    calls = {rank: body["not_followed"] for rank, body in run.sites.items() if body.get("not_followed")}
    if not calls:
        return []
    rank = max(calls, key=calls.__getitem__)
    places = run.sites[rank].get("places_not_followed", 0)
    others = f"; {len(calls)} ranks have such calls" if len(calls) > 1 else ""
    return [
        f"{calls[rank]:,} calls at {places:,} further sites are not followed on rank {rank}{others}; "
        "the end of a step may be among them"
    ]


def where(site: Site, lines: Lines) -> str:
    """The innermost known place of a site: file and line, else function, else program and address."""
    from perfield.call_sites.names import in_code, own
    from perfield.symbols.names import short

    callers = in_code(own(site.callers) or list(site.callers)) or [("?", 0)]
    known = [lines[caller] for caller in callers if caller in lines]
    for line in known:
        if line.line:
            return f"{PurePath(line.file).name}:{line.line}"
    for line in known:
        if line.function not in ("", "_start"):
            return f"in {short(line.function)}"
    program = callers[-1][0]
    offset = next(offset for path, offset in callers if path == program)
    return f"{PurePath(program).name}+{offset:#x}"


def way(site: Site, lines: Lines) -> str:
    """The functions on the way to a site, from main inwards; "" if unknown."""
    from perfield.call_sites.names import own
    from perfield.symbols.names import short

    names = [lines[caller].function for caller in own(site.callers) if caller in lines]
    names = [short(name) for name in names if name not in ("", "_start")]
    if "main" in names:
        names = names[: names.index("main") + 1]
    most = 5
    names = names[::-1] if len(names) <= most else [names[-1], "...", *names[most - 2 :: -1]]
    return " > ".join(names)


def _lines(shown: list[Site]) -> Lines:
    from perfield.symbols import source_lines

    return source_lines.source_lines(caller for site in shown for caller in site.callers)


def _names(run: Run, lines: Lines) -> dict[Site, str]:
    """Of all sites of a run."""
    from perfield.call_sites import candidates
    from perfield.call_sites.names import names

    return names(candidates.sites(run), lines)


def _setting(each: Candidate, named: dict[Site, str]) -> str:
    """What step_call would be."""
    return named[each.site] + (f"/{each.every}" if each.every > 1 else "")


def _facts(each: Candidate, setting: str, lines: Lines) -> dict[str, Any]:
    """A candidate as names and numbers. setting : what step_call would be."""
    facts: dict[str, Any] = {"step_call": setting, "hits": each.hits, "steps": each.closes}
    facts |= {"period_s": each.period_s, "share": each.share, "even": each.steady}
    facts |= {"where": where(each.site, lines), "reached_through": way(each.site, lines)}
    return facts | {"is_regular": each.is_regular, "group": each.group}


def _row(facts: dict[str, Any], several_groups: bool) -> dict[str, object]:
    """A row of the printed table."""
    row = {name: facts[name] for name in ("step_call", "hits", "steps")}
    row |= {"period": in_seconds(facts["period_s"]), "share": f"{facts['share']:.0%}"}
    row |= {"even": f"{facts['even']:.0%}", "where": facts["where"]}
    row |= {"reached through": facts["reached_through"]}
    return row | ({"group": facts["group"]} if several_groups else {})


def _who_closed(run: Run) -> str:
    """What closed the steps of a run, or why none of its call sites is listed."""
    steps = counted(int(run.steps_closed.max(initial=0)), "step")
    asked = {body["step_call"] for body in run.sites.values() if body.get("step_call")}
    if run.steps_closed.any() and asked:
        said = f"{run.path} has {steps}, closed by {in_list(sorted(asked))}"
        return f"{said}; hits are counted from the first step on"
    if run.steps_closed.any() and not run.has_windows:
        return f"{run.path} has {steps} that the program or step_seconds closed"
    if run.sites:
        return f"{NO_SITES}; {ELSE}"
    return f"{run.path} has no call sites: no measured rank called MPI, or none wrote its sites; {ELSE}"
