# SPDX-License-Identifier: BSD-3-Clause
"""perfield steps: lists MPI calls that may end the time steps of a program."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from perfield.commands._newest import add_run, run_path

if TYPE_CHECKING:
    from perfield.call_sites.candidates import Caller, Candidate
    from perfield.call_sites.source_lines import SourceLine
    from perfield.run import RunDirectory

HELP = "list MPI calls that could close the time steps of a program"
DESCRIPTION = """\
Lists the MPI call sites that all ranks of a run reached equally often, the most
likely end of a time step first: regular sites come first, then sites that are
hit over most of the run, then those nearest to main. A site is a call in the
program with its callers; sites are numbered in the order of their first hits.

  perfield steps perfield-run
  PERFIELD_STEP_CALL=Allreduce@3 perfield run -n 8 ./a.out

perfield records sites in programs that do not close steps themselves
(perfield_step, step_region), and if step_call or step_seconds is set."""

NO_SITES = "no MPI call site could close steps: all ranks hit none of them equally often and more than once"
BY_CLOCK = "PERFIELD_STEP_SECONDS=0.5 perfield run ... closes steps by the clock"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the run and the number of rows."""
    add_run(parser)
    add = parser.add_argument
    add("--most", metavar="N", type=int, default=15, help="list at most this many sites (15)")


def execute(arguments: argparse.Namespace) -> int:
    """Prints the table and how to use its first row."""
    import perfield
    from perfield.call_sites import candidates, source_lines
    from perfield.commands.info import format_table

    run = perfield.open(run_path(arguments.run))
    found = candidates.candidates(run)
    if not found:
        print(_why_none(run))
        return 0
    shown = found[: max(arguments.most, 1)]
    lines = source_lines.source_lines(caller for site in shown for caller in site.callers)
    print(format_table([_row(site, lines, len(run.groups) > 1) for site in shown]))
    if len(found) > len(shown):
        print(f"({len(shown)} of {len(found)}; --most {len(found)} lists all)")
    own = {caller for site in shown for caller in _own(site.callers)}
    if not any(line.line for caller, line in lines.items() if caller in own):
        cure = "compile with -g to see them" if source_lines.tool() else "install addr2line (binutils)"
        print(f"(source lines are not known; {cure})")
    print(f"\nTo close a step at the first: PERFIELD_STEP_CALL={found[0].setting} perfield run ...")
    return 0


def proposal(run: RunDirectory) -> str:
    """A sentence on how to get steps, for a run that closed none."""
    from perfield.call_sites import candidates, source_lines

    begin = "the program told no time steps"
    found = candidates.candidates(run)
    if not found:
        return f"{begin}, and {NO_SITES}; {BY_CLOCK}"
    best = found[0]
    place = where(best, source_lines.source_lines(best.callers))
    quality = "most regular call is" if best.is_regular else "likeliest call, though not a regular one, is"
    return (
        f"{begin}; the {quality} {best.setting} ({place}, {best.hits} times, every {_time(best.period_s)}): "
        f"PERFIELD_STEP_CALL={best.setting} perfield run ... (`perfield steps {run.path}` lists all)"
    )


def where(site: Candidate, lines: dict[tuple[str, int], SourceLine]) -> str:
    """The innermost known place of a site: file and line, else function, else program and address."""
    callers = _own(site.callers) or list(site.callers) or [("?", 0)]
    known = [lines[caller] for caller in callers if caller in lines]
    for line in known:
        if line.line:
            return f"{PurePath(line.file).name}:{line.line}"
    for line in known:
        if line.function not in ("", "_start"):
            return f"in {_short(line.function)}"
    program = callers[-1][0]
    offset = next(offset for path, offset in callers if path == program)
    return f"{PurePath(program).name}+{offset:#x}"


def way(site: Candidate, lines: dict[tuple[str, int], SourceLine]) -> str:
    """The functions on the way to a site, from main inwards; "" if unknown."""
    names = [lines[caller].function for caller in _own(site.callers) if caller in lines]
    names = [_short(name) for name in names if name not in ("", "_start")]
    if "main" in names:
        names = names[: names.index("main") + 1]
    most = 5
    names = names[::-1] if len(names) <= most else [names[-1], "...", *names[most - 2 :: -1]]
    return " > ".join(names)


def _row(site: Candidate, lines: dict, several_groups: bool) -> dict[str, object]:
    row: dict[str, object] = {"step_call": site.setting, "hits": site.hits, "period": _time(site.period_s)}
    row |= {"share": f"{site.share:.0%}", "steady": f"{site.steady:.0%}"}
    row |= {"where": where(site, lines), "reached through": way(site, lines)}
    return row | ({"group": site.group} if several_groups else {})


def _why_none(run: RunDirectory) -> str:
    from perfield.call_sites import candidates

    if candidates.has_sites(run):
        return f"{NO_SITES}; {BY_CLOCK}"
    if run.steps_closed.any():
        return f"{run.path} has steps that the program closed itself, so perfield recorded no call sites"
    return f"{run.path} has no call sites: no measured rank called MPI, or none wrote its sites; {BY_CLOCK}"


def _own(callers: Sequence[Caller]) -> list[Caller]:
    """The callers in the program itself, without those in the MPI and C libraries."""
    return [caller for caller in callers if not PurePath(caller[0]).name.startswith(("libmpi", "libc.so"))]


def _short(function: str) -> str:
    """A function's name without parameters, template arguments and return type: Foam::reduce."""
    name = function.replace("(anonymous namespace)::", "").partition("(")[0]
    while "<" in name and (inner := re.sub(r"<[^<>]*>", "", name)) != name:
        name = inner
    return name.split()[-1] if name.split() else function


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
