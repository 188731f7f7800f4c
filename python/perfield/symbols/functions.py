# SPDX-License-Identifier: BSD-3-Clause
"""Names of the functions around addresses in a process, for samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from perfield.symbols.files import demangled, symbols_of
from perfield.symbols.names import short
from perfield.symbols.source_lines import inlined_functions

# Libraries of MPI and of the networks below it: what runs there is the library's, mostly waiting.
_OF_MPI = (
    *("libmpi", "libmpich", "libmpifort", "libopen-pal", "libopen-rte", "libpmix", "libprrte", "mca_"),
    *("libucp", "libuct", "libucs", "libucm", "libfabric", "libpsm", "libibverbs", "librdmacm", "libhcoll"),
)
MPI, PERFIELD, NO_FILE = "MPI library", "perfield", "code without a file"
KERNEL_CLOCK = "clock of the kernel"  # the vdso: code of the kernel in the process, which reads clocks
_OF_LANGUAGE = ("std::", "__gnu_cxx::", "operator", "__builtin_")  # inlined, they say nothing about a program


def functions_at(path: str, build_id: str, addresses: Sequence[int]) -> list[list[str]]:
    """The functions at addresses in a file, innermost first: those that were inlined there, then the one that
    they are in. Names have no parameters, template arguments and return types. Inlined functions of the
    language's own library count for the function that they were inlined into.

    path : "" for code that belongs to no file, as a compiler in the program makes it. build_id : of the file
    that the program ran, "" if it had none. Libraries of MPI and of perfield are one function each. Where
    nothing names the function, or the file is missing or has changed since, its name is the file's and where
    the function begins, or the address.
    """
    name = PurePath(path).name
    if not path:
        return [[NO_FILE]] * len(addresses)
    if name.startswith("linux-vdso"):
        return [[KERNEL_CLOCK]] * len(addresses)
    if name.startswith("libperfield"):
        return [[PERFIELD]] * len(addresses)
    if name.startswith(_OF_MPI):
        return [[MPI]] * len(addresses)
    symbols = symbols_of(path)
    if symbols is None or (build_id and symbols.build_id != build_id):
        return [[f"{name}+{address:#x}"] for address in addresses]
    inlined = inlined_functions(path, list(addresses))
    exported = demangled(symbols.of(addresses))
    found = []
    for address, own, symbol in zip(addresses, inlined, exported):
        names = _of_program([short(one) for one in own]) or ([short(symbol)] if symbol else [])
        found.append(names or [f"{name}+{symbols.start_of(address):#x}"])
    return found


def _of_program(names: list[str]) -> list[str]:
    first = next((n for n, name in enumerate(names) if not name.startswith(_OF_LANGUAGE)), len(names) - 1)
    return names[max(first, 0) :]


def is_changed(path: str, build_id: str) -> bool:
    """Whether a file is not the one that ran: then it names nothing."""
    symbols = symbols_of(path) if path else None
    return symbols is not None and bool(build_id) and symbols.build_id != build_id
