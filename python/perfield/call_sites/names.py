# SPDX-License-Identifier: BSD-3-Clause
"""Names of MPI call sites, as `step_call` takes them: "Allreduce@solve-3f2a".

Only the call and the digits of the hash choose a site. The function's name is for the reader; inside the
measured program nobody reads debug information.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import PurePath

from perfield.call_sites.candidates import Caller, Site, digits
from perfield.symbols.names import short
from perfield.symbols.source_lines import SCRIPT, SourceLine

Lines = Mapping[Caller, SourceLine]
# Files between a program and MPI: their frames say nothing about the program.
_BETWEEN = ("libmpi", "libc.so", "libboost_mpi", "MPI.cpython", "MPI.abi3")
_INTERPRETER = ("python", "libpython")  # its functions say nothing about the script


def own(callers: Iterable[Caller]) -> list[Caller]:
    """The callers in the program itself, without those in the MPI and C libraries."""
    return [caller for caller in callers if _is_script(caller) or not _file(caller).startswith(_BETWEEN)]


def names(sites: Iterable[Site], lines: Lines) -> dict[Site, str]:
    """The name of each of these sites, which together are all of a run."""
    return {site: f"{without_hash(site, lines)}-{site.hash[:n]}" for site, n in digits(sites).items()}


def without_hash(site: Site, lines: Lines) -> str:
    """The call and the function that makes it, which stay the same when the program is built anew:
    Allreduce@solve. Several sites may have the same."""
    return f"{site.call}@{_label(site, lines)}"


def at(site: Site, file: str, line: int, lines: Lines) -> bool:
    """Whether a line of the program makes the call, or calls the function that does."""
    known = (lines[caller] for caller in own(site.callers) if caller in lines)
    return any(place.line == line and PurePath(place.file).name == PurePath(file).name for place in known)


def _label(site: Site, lines: Lines) -> str:
    """The innermost known function of the program, at most with the class it belongs to, else the file."""
    callers = own(site.callers) or list(site.callers)
    for caller in in_code(callers):
        function = short(lines[caller].function) if caller in lines else ""
        function = re.sub(r"\.\d.*", "", function)  # a compiler's copies of a local function
        if function:
            return re.sub(r"[^\w:.~]", "_", "::".join(function.split("::")[-2:]))
    return re.sub(r"[^\w:.~]", "_", file_of(callers[0])) if callers else "unknown"


def in_code(callers: Iterable[Caller]) -> list[Caller]:
    """The callers up to Python's interpreter; all, if the innermost is in the interpreter."""
    known = list(callers)
    inner = takewhile(lambda each: _is_script(each) or not _file(each).startswith(_INTERPRETER), known)
    return list(inner) or known


def file_of(caller: Caller) -> str:
    """The program or library of a caller, without the versions behind its name: libdolfinx_real."""
    return re.sub(r"(\.cpython-[^.]+|\.abi3)?\.so[.\d]*$", "", _file(caller))


def _file(caller: Caller) -> str:
    return PurePath(caller[0]).name


def _is_script(caller: Caller) -> bool:
    return caller[0].startswith(SCRIPT)
