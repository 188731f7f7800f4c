# SPDX-License-Identifier: BSD-3-Clause
"""Writes the C wrappers of MPI's functions from the rows of table/*.table (see table/README.md).

Run by CMake with the mpi.h of the MPI that the library is built for; uses only the standard library.
    generate.py --mpi-header /usr/include/mpi.h --out DIRECTORY
writes DIRECTORY/next.hpp (the functions that are called on) and DIRECTORY/wrappers.cpp.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, replace
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "table"

#: Rules that keep track of requests and messages: they run also while nothing is measured.
FOLLOWING = {"post", "post_taken", "match", "match_if", "keep_send", "keep_receive"}

#: Integers that grow in the large-count (_c) form, by name of the parameter.
LARGE_COUNT = re.compile(r"(count|counts)(\[\])?$")
LARGE_ADDRESS = re.compile(r"(displs\[\]|disp_unit)$")


@dataclass(frozen=True)
class Parameter:
    """One parameter: C type, name, `[]` or nothing, and its mark (`root`, `out`, `inout` or none)."""

    type: str
    name: str
    array: str = ""
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}{self.array}"


@dataclass(frozen=True)
class Function:
    """One MPI function: its name, the call it counts as, its rules (words) and parameters."""

    name: str
    call: str
    rules: tuple[tuple[str, ...], ...]
    parameters: tuple[Parameter, ...]

    @property
    def by_hand(self) -> bool:
        """Whether the wrapper is hand-written."""
        return self.rules == (("by", "hand"),)

    @property
    def short(self) -> str:
        """The name without MPI_: its place among the next functions."""
        return self.name[len("MPI_") :]


def read_parameter(text: str) -> Parameter:
    """One parameter from `const int recvcounts[] @root`; raises ValueError if it is none."""
    match = re.fullmatch(r"(.*?)(\w+)(\[\])?(?:\s+@(root|out|inout))?", text.strip(), re.DOTALL)
    if not match or not match[1].strip():
        raise ValueError(f"'{text.strip()}' is no parameter; expected a type, a name and perhaps a mark")
    return Parameter(match[1].strip(), match[2], match[3] or "", match[4] or "")


def forms(function: Function, flags: set[str]) -> list[Function]:
    """The function and the forms that its flags ask for: non-blocking, persistent, large counts."""
    request = Parameter("MPI_Request *", "request", mark="out")
    found = [function]
    if "+i" in flags:
        short = "I" + function.short[0].lower() + function.short[1:]
        found.append(
            replace(function, name=f"MPI_{short}", call=f"i{function.call}",
                    parameters=(*function.parameters, request))
        )  # fmt: skip
    if "+init" in flags:
        info = Parameter("MPI_Info", "info")
        found.append(
            Function(f"{function.name}_init", "persistent_collective", (("time",),),
                     (*function.parameters, info, request))
        )  # fmt: skip
    if "+c" in flags:
        found += [replace(f, name=f"{f.name}_c", parameters=tuple(map(large, f.parameters))) for f in found]
    return found


def large(parameter: Parameter) -> Parameter:
    """The parameter as it is in the large-count form of its function."""
    name = parameter.name + parameter.array
    if LARGE_COUNT.search(name):
        return replace(parameter, type=parameter.type.replace("int", "MPI_Count"))
    if LARGE_ADDRESS.search(name):
        return replace(parameter, type=re.sub(r"\bint\b", "MPI_Aint", parameter.type))
    return parameter


def read_table(folder: Path = TABLE) -> list[Function]:
    """All functions of the table, with their forms; raises ValueError naming the file and the row."""
    functions = []
    for path in sorted(folder.glob("*.table")):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
        rows = re.split(r"\n(?! )", "\n".join(lines))
        for row in rows:
            head, _, body = row.partition("\n")
            try:
                functions += read_row(head, body)
            except ValueError as error:
                raise ValueError(f"{path.name}, row '{head}': {error}") from None
    return functions


def read_row(head: str, body: str) -> list[Function]:
    """The functions of one row: its first line, and its indented lines."""
    left, colon, rules = head.partition(" : ")
    names, _, call = left.partition(" = ")
    if not colon or not body.strip():
        raise ValueError("expected 'NAMES [= CALL] : RULES' and indented parameters")
    words = names.split()
    found = []
    for name in (word for word in words if word[0] != "+"):
        body_parameters = body.strip()
        if body_parameters == "void":
            parameters = ()
        else:
            parameters = tuple(read_parameter(p) for p in body_parameters.split(",") if p.strip() != "...")
        call_name = call.strip() or name[len("MPI_") :].lower()
        function = Function(name, call_name, tuple(tuple(r.split()) for r in rules.split(";")), parameters)
        found += forms(function, {word for word in words if word[0] == "+"})
    return found


def declared(header: Path) -> set[str]:
    """Names of the functions that this mpi.h declares."""
    return set(re.findall(r"\b(MPI_\w+)\s*\(", header.read_text(encoding="utf-8", errors="replace")))


def wrapper(function: Function) -> str:
    """The C++ text of one wrapper."""
    status = any("status" in rule[1:] for rule in function.rules)
    arguments = ", ".join(p.name for p in function.parameters)
    lines = [
        f"PERFIELD_WRAPPER {function.name}({', '.join(map(str, function.parameters))}) {{",
        f"  Call call(PERFIELD_CALL_{function.call});",
    ]
    if status:
        lines += ["  MPI_Status own;", "  status = own_if_ignored(status, &own);"]
    lines += [f"  Pending taken = take_message({rule[1]});" for rule in function.rules if rule[0] == "take"]
    lines.append(f"  const int result = next().{function.short}({arguments});")
    for name, *words in function.rules:
        if name not in ("time", "take"):
            test, verb = ("follows", "follow") if name in FOLLOWING else ("counts", "count")
            lines.append(f"  if (call.{test}(result)) {verb}_{name}({', '.join(['call', *words])});")
    return "\n".join([*lines, "  return result;", "}"])


NEXT = """// Generated by generate.py from table/*.table: the functions that the wrappers call on.
#pragma once
#include "mpi_header.hpp"

namespace perfield::pmpi {{
struct NextFunctions {{
{members}
}};
#define PERFIELD_NEXT_FUNCTIONS(X) \\
{list}
}}  // namespace perfield::pmpi
"""

WRAPPERS = """// Generated by generate.py from table/*.table: the regular wrappers.
#include "rules.hpp"

using namespace perfield::pmpi;

{wrappers}
"""


def main() -> None:
    """Writes next.hpp and wrappers.cpp."""
    parser = argparse.ArgumentParser(description="writes the MPI wrappers from table/*.table")
    parser.add_argument("--mpi-header", type=Path, required=True, help="the mpi.h of the MPI to wrap")
    parser.add_argument("--out", type=Path, required=True, help="directory to write to")
    arguments = parser.parse_args()
    known = declared(arguments.mpi_header)
    functions = [function for function in read_table() if function.name in known]
    names = [function.short for function in functions]
    members = "\n".join(f"  decltype(&::MPI_{name}) {name};" for name in names)
    listed = " \\\n".join(f"  X({name})" for name in names)
    texts = [wrapper(function) for function in functions if not function.by_hand]
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "next.hpp").write_text(NEXT.format(members=members, list=listed), encoding="utf-8")
    (arguments.out / "wrappers.cpp").write_text(
        WRAPPERS.format(wrappers="\n\n".join(texts)), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
