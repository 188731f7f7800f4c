# SPDX-License-Identifier: BSD-3-Clause
"""Programs that call each wrapped MPI function with arguments that MPI ignores, and with some it refuses.

They are generated from bridge/sources/pmpi/table, in C, mpif.h, `use mpi` and `use mpi_f08`. Cases that MPI
may refuse run under error handlers that count their calls; programs/arguments.c has these and the objects.
Cases whose odd arguments MPI ignores (off the root, with MPI_IN_PLACE) run under MPI_ERRORS_ARE_FATAL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "bridge" / "sources" / "pmpi" / "table"
BINDINGS = ("c", "mpif.h", "mpi", "mpi_f08")

# They start or end MPI or other processes, or wait for another call.
OMITTED = re.compile(
    r"MPI_(Init|Init_thread|Finalize|Abort|Pcontrol|Session_init|Comm_spawn\w*|Comm_accept|Comm_connect|"
    r"Comm_join|Comm_create_from_group|File_\w+_(begin|end)|Intercomm_\w+|Buffer_detach\w*|Pready\w*|Parrived|Psend_init|Precv_init|"
    r"Win_start|Win_complete|Win_wait|Isendrecv\w*)$"
)


@dataclass(frozen=True)
class Parameter:
    type: str  # in C: "const void *"
    name: str
    is_array: bool
    mark: str  # "root", "out", "inout" or ""

    @property
    def bare(self) -> str:
        """The type without const and `*`."""
        return self.type.replace("const ", "").rstrip("* ")

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type


@dataclass(frozen=True)
class Function:
    name: str
    parameters: tuple[Parameter, ...]
    is_new: bool = False  # in MPI 4

    def named(self, *names: str) -> list[Parameter]:
        return [p for p in self.parameters if p.name in names]


@dataclass(frozen=True)
class Case:
    """One call: what is odd about it, and the arguments that differ from the ordinary ones, by name of the
    parameter, as kinds that each language spells its own way."""

    function: Function
    what: str
    odd: dict[str, str] = field(default_factory=dict)


def functions() -> Iterator[Function]:
    """The functions of the table and their non-blocking, persistent and large-count forms, without the
    omitted ones."""
    for path in sorted(TABLE.glob("*.table")):
        text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
        for head, body in re.findall(r"^(MPI_[^\n]*)\n((?: +[^\n]*\n?)+)", text, re.MULTILINE):
            left = head.partition(" : ")[0].partition(" = ")[0].split()
            for name in (word for word in left if word.startswith("MPI_") and not OMITTED.match(word)):
                parameters = tuple(map(_parameter, " ".join(body.split()).split(", ")))
                yield from _forms(Function(name, parameters, "+4" in left), left)


def _forms(ordinary: Function, flags: list[str]) -> Iterator[Function]:
    short, given = ordinary.name.removeprefix("MPI_"), ordinary.parameters
    info = Parameter("MPI_Info", "info", False, "")
    request = Parameter("MPI_Request *", "request", False, "out")
    forms = [ordinary]
    if "+i" in flags:
        forms.append(Function(f"MPI_I{short[0].lower()}{short[1:]}", (*given, request), ordinary.is_new))
    if "+init" in flags:
        forms.append(Function(f"{ordinary.name}_init", (*given, info, request), True))
    yield from forms
    if "+c" in flags:
        for form in forms:
            yield Function(f"{form.name}_c", tuple(map(_large, form.parameters)), True)


def _large(parameter: Parameter) -> Parameter:
    if parameter.bare == "int" and re.search(r"counts?$|displs$|^disp_unit$", parameter.name):
        kind = "MPI_Count" if "count" in parameter.name else "MPI_Aint"
        return replace(parameter, type=parameter.type.replace("int", kind))
    return parameter


def _parameter(text: str) -> Parameter:
    form = re.fullmatch(r"(.*?)(\w+)(\[\])?(?: @(\w+))?", text)
    assert form, text
    return Parameter(form[1].strip(), form[2], bool(form[3]), form[4] or "")


# --- cases -----------------------------------------------------------------------------------------------
def is_buffer(parameter: Parameter) -> bool:
    return parameter.bare == "void" and parameter.name != "baseptr"


def is_count(parameter: Parameter) -> bool:
    return (
        parameter.bare in ("int", "MPI_Count")
        and bool(re.search(r"count(s|)$", parameter.name))
        and parameter.name not in ("outcount", "incount")
    )


def sides(function: Function) -> list[list[str]]:
    """The names of what describes data together: buffer, counts and types of what is sent, and received."""
    found = []
    for stem in ("send", "recv"):
        names = [p.name for p in function.parameters if p.name.startswith(stem) and p.name != "sendtag"]
        if stem == "send":
            names += [p.name for p in function.named("sdispls")]
        if stem == "recv":
            names += [p.name for p in function.named("rdispls")]
        if len(names) > 1 and "recvtag" not in names:
            found.append(names)
    return found


def refused(function: Function) -> Iterator[Case]:
    """Cases on one rank: one odd argument at a time, and those that MPI allows together."""
    yield Case(function, "ordinary")
    counts = [p.name for p in function.parameters if is_count(p)]
    types = [p.name for p in function.parameters if p.bare == "MPI_Datatype"]
    for p in function.parameters:
        if p.bare == "MPI_Status":
            yield Case(function, f"{p.name} ignored", {p.name: "ignored"})
        elif p.bare == "MPI_Datatype" and not p.is_array:
            for kind in ("null", "derived"):
                yield Case(function, f"{p.name} {kind}", {p.name: kind})
        elif p.bare == "MPI_Request" and p.mark != "out":
            yield Case(function, f"{p.name} null", {p.name: "null"})
        elif is_count(p) and not p.is_array:
            yield Case(function, f"{p.name} zero", {p.name: "zero"})
    if counts and types:
        odd = dict.fromkeys(types, "null") | dict.fromkeys(counts, "zero")
        odd |= {p.name: "null" for p in function.parameters if is_buffer(p)}
        yield Case(function, "no items of null types", odd)
    for kind in ("null", "garbage"):
        if function.named("op") and function.named("origin_datatype"):
            yield Case(function, f"only fetches, {kind} type", {"op": "none", "origin_datatype": kind})
        for names in in_place_sides(function):
            yield Case(function, f"{names[0]} in place, {kind} type", _in_place(function, names, kind))


def in_place_sides(function: Function) -> list[list[str]]:
    """What the root, or every rank of a call without one, may replace by MPI_IN_PLACE."""
    stem = re.sub("_init$", "", re.sub("_c$", "", function.name.removeprefix("MPI_")))
    stem = stem[1:].capitalize() if re.match("I[a-z]", stem) else stem
    if stem in ("Scatter", "Scatterv"):
        return sides(function)[1:]
    return sides(function)[:1] if stem in ("Gather", "Gatherv", *TO_ALL) else []


def _in_place(function: Function, names: list[str], kind: str) -> dict[str, str]:
    odd = {}
    for p in function.named(*names):
        odd[p.name] = "in place" if is_buffer(p) else kind if p.bare == "MPI_Datatype" else "negative"
    return odd


TO_ALL = ("Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw")


def ignored(function: Function) -> Iterator[tuple[Case, Case]]:
    """Cases that all ranks of the world do together: at the root, and elsewhere."""
    ordinary = Case(function, "ordinary")
    at_root = [p for p in function.parameters if p.mark == "root"]
    for kind in ("null", "garbage"):
        if at_root:
            odd = {p.name: kind if p.bare == "MPI_Datatype" else "negative" for p in at_root}
            yield ordinary, Case(function, f"off the root, {kind} type", odd)
        for names in in_place_sides(function):
            case = Case(function, f"{names[0]} in place, {kind} type", _in_place(function, names, kind))
            yield case, ordinary if function.named("root") else case


# --- arguments -------------------------------------------------------------------------------------------
# Programs of all languages have variables of these names.
HANDLES = {
    "MPI_Comm": "comm",
    "MPI_Group": "group",
    "MPI_Info": "info",
    "MPI_Message": "message",
    "MPI_Op": "op",
    "MPI_Request": "request",
    "MPI_Win": "win",
    "MPI_File": "file",
}
MEMORY = {
    "recvbuf": "received",
    "result_addr": "received",
    "compare_addr": "compared",
}  # of buffers; else sent
NUMBERS = {"disp_unit": "8", "ndims": "1", "nnodes": "1", "n": "1", "indegree": "1", "outdegree": "1"}
NUMBERS |= {
    "amode": "MPI_MODE_RDONLY",
    "lock_type": "MPI_LOCK_SHARED",
    "whence": "MPI_SEEK_SET",
    "incount": "1",
}
NUMBERS |= {"split_type": "MPI_COMM_TYPE_SHARED", "status": "statuses"}
NUMBERS |= dict.fromkeys(("dest", "source", "target_rank"), "MPI_PROC_NULL")
LOGICAL = ("reorder", "high", "flag", "periods", "remain_dims")  # in Fortran
# Calls that leave objects in another state.
RENEWING = re.compile(
    r"MPI_(Win_|R?(put|get|acc)|Put|Get|Acc|Fetch_and|Compare|Start|File_|\w+_free|Comm_disc)", re.I
)


class C:
    """Spells calls and programs in C."""

    suffix = ".c"
    integer = "MPI_INT"
    nothing = "(void*)0"
    one_status = "statuses"

    def address(self, name: str) -> str:
        return f"&{name}"

    def several(self, name: str) -> str:
        return f"(MPI_Datatype[]){{{name}, {name}, {name}}}"

    def typed(self, value: str, p: Parameter) -> str:
        return value

    def text(self, value: str) -> str:
        return f'"{value}"'

    def call(self, name: str, words: list[str]) -> str:
        return f"code = {name}({', '.join(words)});"

    def block(self, condition: str, lines: list[str]) -> list[str]:
        return [f"if ({condition}) {{", *(f"  {line}" for line in lines), "}"]

    def differs(self, one: str, other: str) -> str:
        return f"{one} != {other}"

    def statement(self, name: str, *words: object) -> str:
        return f"{name}({', '.join(map(str, words))});"

    def assigned(self, name: str, value: str) -> str:
        return f"{name} = {value};"

    def program(self, parts: list[list[str]]) -> str:
        """parts : statements of the functions that main calls one after the other, the first ones for cases
        that MPI may refuse, the last for those whose odd arguments it ignores."""
        text = '#include "arguments.c"\n'
        for number, lines in enumerate(parts):
            body = "\n".join(lines)
            text += f"static void part{number}(void) {{\n{body}\n}}\n"
        calls = "\n".join(f"  part{number}();" for number in range(len(parts) - 1))
        return (
            f"{text}int main(int argc, char** argv) {{\n  MPI_Init(&argc, &argv);\n  start();\n"
            f"  if (refusing()) {{\n  renew();\n{calls}\n"
            f"  }} else {{\n  part{len(parts) - 1}();\n  }}\n  finish();\n}}\n"
        )


class Fortran(C):
    """Spells them in Fortran. binding : "mpif.h", "mpi" or "mpi_f08"."""

    suffix = ".f90"
    integer = "MPI_INTEGER"
    nothing = "MPI_BOTTOM"

    def __init__(self, binding: str):
        self.binding = binding
        self.one_status = "statuses(1)" if binding == "mpi_f08" else "statuses(:, 1)"

    def address(self, name: str) -> str:
        return name

    def several(self, name: str) -> str:
        return f"[{name}, {name}, {name}]"

    def typed(self, value: str, p: Parameter) -> str:
        if p.name in LOGICAL and value in ("0", "zeros", "ones"):
            return ".false." if value == "0" else "falses"
        if p.bare in ("MPI_Aint", "MPI_Offset", "MPI_Count") and value.lstrip("-").isdigit():
            kind = {"MPI_Aint": "MPI_ADDRESS_KIND", "MPI_Offset": "MPI_OFFSET_KIND"}
            return f"int({value}, {kind.get(p.bare, 'MPI_COUNT_KIND')})"
        return value

    def text(self, value: str) -> str:
        return f"'{value}'"

    def call(self, name: str, words: list[str]) -> str:
        return "call " + f"{name}({', '.join([*words, 'code'])})".replace(", ", ", &\n      ")

    def block(self, condition: str, lines: list[str]) -> list[str]:
        return [f"if ({condition}) then", *(f"  {line}" for line in lines), "end if"]

    def differs(self, one: str, other: str) -> str:
        return f"{one} /= {other}"

    def statement(self, name: str, *words: object) -> str:
        return f"call {name}({', '.join(map(str, words))})"

    def assigned(self, name: str, value: str) -> str:
        return f"{name} = {value}"

    def program(self, parts: list[list[str]]) -> str:
        is_f08 = self.binding == "mpi_f08"

        def of(name: str) -> str:
            return f"type(MPI_{name})" if is_f08 else "integer"

        use, include = f"  use {self.binding}\n  use iso_c_binding, only: c_ptr\n", ""
        if self.binding == "mpif.h":
            use, include = "", "  include 'mpif.h'\n"
        handles = "".join(
            f"  {of(name[4:])} :: {short}, made_{short}, no_{short}\n" for name, short in HANDLES.items()
        )
        statuses = "type(MPI_Status) :: statuses(4)" if is_f08 else "integer :: statuses(MPI_STATUS_SIZE, 4)"
        value = "%MPI_VAL" if is_f08 else ""
        renewed = [f"{name}{value}" for name in ("comm", "cart", "graph", "win", "file", "group", "request")]
        renewed += [f"garbage{value}", f"derived{value}"]
        of_renew = ", &\n      ".join(renewed)
        nulls = "\n".join(
            f"    no_{short} = MPI_{short.upper()}_NULL" for short in HANDLES.values() if short != "info"
        )
        subroutines = "".join(
            f"  subroutine part{number}()\n"
            + "\n".join(f"    {line}" for line in lines)
            + "\n  end subroutine\n"
            for number, lines in enumerate(parts)
        )
        calls = "\n".join(f"    call part{number}()" for number in range(len(parts) - 1))
        return f"""program arguments
{use}  implicit none
{include}{handles}  {of("Comm")} :: cart, graph
  {of("Datatype")} :: garbage, derived
  {of("Request")} :: requests(4)
  {statuses}
  integer :: code, sent(64), received(64), compared(64), ones(4), zeros(4), indices(4)
  integer :: index, outcount, rank
  logical :: flag, falses(4)
  integer(MPI_ADDRESS_KIND) :: addresses(4)
  {"type(c_ptr)" if is_f08 else "integer(MPI_ADDRESS_KIND)"} :: base
  integer(MPI_OFFSET_KIND) :: offset
  integer, external :: wanted, refusing
  external :: start, renew, report, finish
  call MPI_Init(code)
  ones = 1
  zeros = 0
  falses = .false.
  addresses = 0
{nulls}
  call start(rank)
  if (refusing() /= 0) then
    call renewed()
{calls}
  else
    call part{len(parts) - 1}()
  end if
  call finish()
contains
  subroutine renewed()
    call renew({of_renew})
  end subroutine
{subroutines}end program
"""


def argument(spell: C, case: Case, p: Parameter, comm: str) -> str:
    """How a program spells the argument of a case. comm : of collective calls."""
    kind = case.odd.get(p.name, "")
    if p.bare == "MPI_Datatype":
        value = {"null": "MPI_DATATYPE_NULL", "": spell.integer}.get(kind, kind)
        return spell.several(value) if p.is_array else value
    if is_buffer(p):
        return {"": MEMORY.get(p.name, "sent"), "in place": "MPI_IN_PLACE"}.get(kind, spell.nothing)
    if p.bare == "MPI_Status":
        ignored = "MPI_STATUSES_IGNORE" if p.is_array else "MPI_STATUS_IGNORE"
        if kind:
            return ignored
        return "statuses" if p.is_array else spell.one_status
    if p.bare == "char":
        return spell.text("native" if p.name == "datarep" else "file.none")
    if p.bare in HANDLES:
        return _handle(spell, case, p, kind, comm)
    if p.is_array:
        is_zero = kind == "zero" or re.search(
            "displs|sources|destinations|targets|nodes|edges|periods|remain", p.name
        )
        value = "indices" if p.name == "array_of_indices" else "zeros" if is_zero else "ones"
        if p.bare == "MPI_Count":
            value = f"large_{value}"
        return spell.typed("addresses" if p.bare == "MPI_Aint" else value, p)
    if p.is_pointer:
        return spell.address("base" if p.bare == "void" else p.name)
    value = {"wrong": "99", "negative": "-7", "zero": "0"}.get(kind)
    ordinary = "1" if is_count(p) else NUMBERS.get(p.name, "0")
    return spell.typed(value or ordinary, p)


def _handle(spell: C, case: Case, p: Parameter, kind: str, comm: str) -> str:
    short, name = HANDLES[p.bare], case.function.name
    if short == "op":
        return {"none": "MPI_NO_OP", "null": "MPI_OP_NULL"}.get(kind, "MPI_SUM")
    if short == "info":
        return "MPI_INFO_NULL"
    if p.is_array:
        return "requests"
    if kind == "null":
        value = f"no_{short}" if p.is_pointer else f"MPI_{short.upper()}_NULL"
    elif p.mark == "out":
        value = f"made_{short}"
    elif short == "message":
        value = "made_message"
    elif short == "comm" and not p.mark:
        value = "cart" if "Cart_sub" in name else "graph" if "eighbor" in name else comm
    else:
        value = short
    return spell.address(value) if p.is_pointer else value


def _statements(spell: C, number: int, case: Case, comm: str) -> list[str]:
    """Makes what the call needs, calls, reports the code, and ends what the call has begun."""
    function = case.function
    made = [HANDLES[p.bare] for p in function.parameters if p.mark == "out" and p.bare in HANDLES]
    lines = [spell.assigned(f"made_{name}", f"MPI_{name.upper()}_NULL") for name in made]
    if any(p.bare == "MPI_Message" and p.mark == "inout" for p in function.parameters):
        lines.append(spell.assigned("made_message", "MPI_MESSAGE_NO_PROC"))
    lines += [spell.assigned(f"requests{place}", "MPI_REQUEST_NULL") for place in _places(spell)]
    words = [argument(spell, case, p, comm) for p in function.parameters]
    lines += [spell.call(function.name, words), spell.statement("report", number, "code")]
    is_persistent = re.search("_init(_c)?$", function.name)
    ends = {"request": "MPI_Request_free" if is_persistent else "MPI_Wait"}
    ends |= {"comm": "MPI_Comm_free", "win": "MPI_Win_free", "file": "MPI_File_close"}
    for name in (name for name in ends if name in made):
        more = ["MPI_STATUS_IGNORE"] if ends[name] == "MPI_Wait" else []
        ending = spell.call(ends[name], [spell.address(f"made_{name}"), *more])
        lines += spell.block(spell.differs(f"made_{name}", f"MPI_{name.upper()}_NULL"), [ending])
    if RENEWING.match(function.name):
        lines.append(spell.statement("renewed") if spell.suffix == ".f90" else "renew();")
    return lines


def _places(spell: C) -> list[str]:
    return [""] if spell.suffix == ".f90" else [f"[{i}]" for i in range(4)]


def program(binding: str) -> tuple[str, list[str]]:
    """The text of a program, and what each of its cases is."""
    spell = C() if binding == "c" else Fortran(binding)
    said: list[str] = []
    parts: list[list[str]] = []
    known = [function for function in functions() if binding == "c" or not function.is_new]
    for function in known:
        lines: list[str] = []
        for case in refused(function):
            lines += _case(spell, len(said), case, "MPI_COMM_SELF")
            said.append(f"{function.name}: {case.what}")
        parts.append(_guarded(function, lines))
    last: list[str] = []
    for function in known:
        for at_root, elsewhere in ignored(function):
            number = len(said)
            odd = at_root if at_root.what != "ordinary" else elsewhere
            said.append(f"{function.name}: {odd.what}")
            there = [
                spell.block(
                    f"rank {'==' if is_root else '/=' if spell.suffix == '.f90' else '!='} 0",
                    _statements(spell, number, case, "MPI_COMM_WORLD"),
                )
                for is_root, case in ((True, at_root), (False, elsewhere))
            ]
            last += _guarded(function, _wanted(spell, number, [*there[0], *there[1]]))
    return spell.program([*parts, last]), said


def _guarded(function: Function, lines: list[str]) -> list[str]:
    return ["#if MPI_VERSION >= 4", *lines, "#endif"] if function.is_new else lines


def _wanted(spell: C, number: int, lines: list[str]) -> list[str]:
    condition = f"wanted({number})" + (" /= 0" if spell.suffix == ".f90" else "")
    return spell.block(condition, lines)


def _case(spell: C, number: int, case: Case, comm: str) -> list[str]:
    return _wanted(spell, number, _statements(spell, number, case, comm))
