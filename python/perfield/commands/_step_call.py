# SPDX-License-Identifier: BSD-3-Clause
"""What `perfield run` understands as step_call beyond a site's name: file and line, and numbers of old.

The measured program reads no debug information. So a line is looked up in the call sites of an earlier run
of the program.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import perfield
from perfield.commands import CommandError
from perfield.text import in_list

if TYPE_CHECKING:
    from perfield.call_sites.candidates import Site
    from perfield.call_sites.names import Lines
    from perfield.derived.run import Run

_LINE = re.compile(r"(?P<call>\w+)@(?P<file>[^@]+):(?P<line>[1-9]\d*)(?P<every>/\d+)?")
_NUMBER = re.compile(r"(?P<call>\w+)@(?P<number>\d+)(?P<every>/\d+)?")
_MOST = 8  # names in a sentence


def translate(step_call: str, earlier: list[Path]) -> str:
    """The value of step_call by the site's name: "Allreduce@cg.c:120" becomes "Allreduce@solve-3f2a".

    earlier : the runs that perfield made here, the newest last. Other values stay as they are.
    Raises CommandError if no site or several are meant, and for the number of a site.
    """
    by_line, by_number = _LINE.fullmatch(step_call), _NUMBER.fullmatch(step_call)
    if by_line:
        return _of_line(step_call, by_line, earlier)
    if by_number:
        raise CommandError(_instead_of_number(step_call, by_number, earlier))
    return step_call


def _of_line(step_call: str, asked: re.Match[str], earlier: list[Path]) -> str:
    from perfield.call_sites import names

    place = f"{asked['file']}:{asked['line']}"
    run = _newest(earlier)
    if run is None:
        raise CommandError(
            f"step_call = {step_call}: there is no earlier run here to look up {place} in; run the program "
            "once without step_call"
        )
    sites, lines = _known(run)
    named = names.names(sites, lines)
    of_call = [site for site in sites if site.call.lower() == _plain(asked["call"])]
    meant = [site for site in of_call if names.at(site, asked["file"], int(asked["line"]), lines)]
    if len(meant) == 1:
        return named[meant[0]] + (asked["every"] or "")
    many = "several call sites are" if meant else "no call site of this call is"
    choice = _choice(meant or of_call, named)
    raise CommandError(f"step_call = {step_call}: {many} reached through {place} in {run.path}; {choice}")


def _instead_of_number(step_call: str, asked: re.Match[str], earlier: list[Path]) -> str:
    from perfield.call_sites import names

    begin = (
        f"step_call = {step_call}: call sites are no longer numbered, since ranks numbered them differently; "
        "expected is a name such as Allreduce@solve-3f2a"
    )
    run = _newest(earlier)
    if run is None:
        return f"{begin}; run the program once without step_call, and `perfield steps` lists the names"
    sites, lines = _known(run)
    of_call = [site for site in sites if site.call.lower() == _plain(asked["call"])]
    return f"{begin}; in {run.path} {_choice(of_call, names.names(sites, lines))}"


def _newest(earlier: list[Path]) -> Run | None:
    """The newest run that noted call sites."""
    from perfield.run import RunError

    for path in reversed(earlier):
        try:
            run = perfield.open(path)
        except RunError:
            continue
        if any(body.get("sites") for body in run.sites.values()):
            return run
    return None


def _known(run: Run) -> tuple[list[Site], Lines]:
    from perfield.call_sites import candidates
    from perfield.symbols import source_lines

    sites = candidates.sites(run)
    return sites, source_lines.source_lines(caller for site in sites for caller in site.callers)


def _choice(sites: list[Site], named: dict[Site, str]) -> str:
    if not sites:
        return "no site of this call is known; `perfield steps` lists those that are"
    return f"choose one of {in_list([named[site] for site in sites], _MOST)}"


def _plain(call: str) -> str:
    return call.lower().removeprefix("mpi_")
