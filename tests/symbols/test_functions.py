# SPDX-License-Identifier: BSD-3-Clause
"""Names of the functions around addresses, in files that were built for it."""

from __future__ import annotations

import os
import shutil
import subprocess

import numpy as np
import pytest

from perfield.symbols import files
from perfield.symbols.files import demangled, symbols_of
from perfield.symbols.functions import (
    KERNEL_CLOCK,
    MPI,
    NO_FILE,
    PERFIELD,
    functions_at,
    is_changed,
)
from perfield.symbols.names import made_function, short
from perfield.symbols.source_lines import inlined_functions, source_lines

SOURCE = """
#include <algorithm>
namespace flow {
struct Solver { double relax(double x, int n); };
static inline __attribute__((always_inline)) double smooth(double x) { return std::max(x * 1.5, x - 3.0); }
double Solver::relax(double x, int n) { for (int i = 0; i < n; ++i) x = smooth(x) * x + 1; return x; }
}
#ifdef SHOWN_FIRST
extern "C" double shown(double x) { return x + 1; }
static __attribute__((noinline)) double inner(double x) { asm(""); return x * x + 3; }
extern "C" double user(double x) { return inner(x) + 1; }
#endif
extern "C" double exported(double x) { return flow::Solver().relax(x, 1000); }
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """built(*flags): a library made from SOURCE, with its own folder."""

    def build(*flags):
        folder = tmp_path_factory.mktemp("built")
        words = ["g++", "-O1", "-fno-inline-functions", "-shared", "-fPIC", "-x", "c++", "-", *flags]
        subprocess.run([*words, "-o", folder / "libflow.so"], input=SOURCE.encode(), check=True)
        return folder / "libflow.so"

    return build


def inside(path, symbol):
    """Addresses of all bytes of a function in a file."""
    symbols = symbols_of(str(path))
    number = symbols.names.index(symbol)
    return list(range(int(symbols.begin[number]), int(symbols.end[number])))


def test_inlined_functions_have_names_and_those_of_the_language_do_not(built):
    path = built("-g")
    found = functions_at(str(path), "", inside(path, "_ZN4flow6Solver5relaxEdi"))
    innermost = {names[0] for names in found}
    assert innermost == {"smooth", "flow::Solver::relax"}
    assert ["smooth", "flow::Solver::relax"] in found


def test_without_debug_information_the_function_around_counts(built):
    path = built()
    found = functions_at(str(path), "", inside(path, "_ZN4flow6Solver5relaxEdi"))
    assert {tuple(names) for names in found} == {("flow::Solver::relax",)}


def test_stripped_files_name_what_they_export_else_where_the_function_begins(built):
    path = built("-fvisibility=hidden", "-Wl,--defsym=keep=exported")
    begin = inside(path, "_ZN4flow6Solver5relaxEdi")[0]
    stripped = path.with_name("libstripped.so")
    shutil.copy(path, stripped)
    subprocess.run(["strip", stripped], check=True)
    assert functions_at(str(stripped), "", [begin + 5, begin + 9]) == [[f"libstripped.so+{begin:#x}"]] * 2


def test_a_function_without_a_name_does_not_get_that_of_the_one_before_it(built):
    path = built("-DSHOWN_FIRST", "-fno-toplevel-reorder")
    begin = inside(path, "_ZL5innerd")[0]
    stripped = path.with_name("libbehind.so")
    subprocess.run(["strip", "-o", stripped, path], check=True)
    before = symbols_of(str(stripped))
    assert "shown" in before.names and before.begin[before.names.index("shown")] < begin
    assert functions_at(str(stripped), "", [begin + 5]) == [[f"libbehind.so+{begin:#x}"]]
    lines = source_lines([(str(stripped), begin + 5), (str(path), begin + 5)])
    assert [short(line.function) for line in lines.values()] == ["", "inner"]


def test_a_separate_debug_file_has_the_names(built, tmp_path, monkeypatch):
    path = built("-g", "-fvisibility=hidden", "-Wl,--build-id")
    wanted = inside(path, "_ZN4flow6Solver5relaxEdi")[:2]
    build_id = symbols_of(str(path)).build_id
    debug = tmp_path / build_id[:2] / f"{build_id[2:]}.debug"
    debug.parent.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    stripped = path.with_name("libapart.so")
    subprocess.run(["strip", "-o", stripped, path], check=True)
    monkeypatch.setattr(files, "DEBUG", tmp_path)
    assert functions_at(str(stripped), build_id, wanted) == [["flow::Solver::relax"]] * 2


def test_another_file_in_the_place_names_nothing(built):
    path = built("-Wl,--build-id")
    assert is_changed(str(path), "00ff") and not is_changed(str(path), symbols_of(str(path)).build_id)
    assert functions_at(str(path), "00ff", [0x1234]) == [["libflow.so+0x1234"]]


@pytest.mark.parametrize("content", [None, b"", b"#!/bin/sh\n", b"\x7fELF" + bytes(60)])
def test_files_that_are_no_programs_name_nothing(tmp_path, content):
    path = tmp_path / "broken"
    if content is not None:
        path.write_bytes(content)
    assert symbols_of(str(path)) is None and not is_changed(str(path), "00ff")
    assert functions_at(str(path), "", [0x10]) == [["broken+0x10"]]


def test_libraries_of_mpi_of_perfield_and_the_kernel_are_one_function_each():
    for path, name in {
        "/usr/lib/libmpi.so.40": MPI,
        "/usr/lib/openmpi3/mca_btl_vader.so": MPI,
        "/opt/ucx/libuct.so.0": MPI,
        "/lib/libperfield_io.so": PERFIELD,
        "linux-vdso.so.1": KERNEL_CLOCK,
        "": NO_FILE,
    }.items():
        assert functions_at(path, "", [1, 2]) == [[name]] * 2


def test_names_of_fortran_are_those_of_the_source():
    assert demangled(["__flow_MOD_advance", "relax_", "main", "_init_"]) == [
        "flow::advance",
        "relax",
        "main",
        "_init_",
    ]


def test_addresses_outside_of_functions_have_no_symbol(built):
    symbols = symbols_of(str(built()))
    assert symbols.of([0, 2**60]) == ["", ""] and symbols.start_of(0) == 0
    assert (np.diff(symbols.begin.astype(np.int64)) > 0).all()


def test_short_names_leave_out_what_nobody_reads():
    assert short("void Foam::reduce<double>(double&, int)") == "Foam::reduce"
    assert short("std::function<void (int)>::operator()(int) const") == "std::function::operator"
    assert short("a::Each<b (c)>::call(d)") == "a::Each::call"
    assert short("tabulate_tensor_integral_c73eff42c2bb54009b1223d48412749def6b0247") == (
        "tabulate_tensor_integral_c73eff4"
    )
    assert short("__GI___clock_gettime") == "clock_gettime"
    assert short("_ZGVbN2v_sin_sse4") == short("_ZGVnN2v_sin") == "sin"
    assert short("_ZGVeN8vv_pow_avx512_skx") == "pow"
    assert short("relax.constprop.0.isra.0") == short("relax.part.0") == "relax"
    assert short("MAIN__") == "main program"
    assert short("LAMMPS_NS::PairLJCut::compute(int, int)") == "LAMMPS_NS::PairLJCut::compute"


@pytest.mark.parametrize(
    ("listed", "expected"),
    [  # lines of Python 3.13.5 and of Node.js 20.20
        ("py::pressure:/home/me/flow.py", ("pressure (flow.py)", "/home/me/flow.py")),
        ("py::velocity.<locals>.<genexpr>:/a/b.py", ("velocity.<locals>.<genexpr> (b.py)", "/a/b.py")),
        ("py::<lambda>:<string>", ("<lambda> (<string>)", "<string>")),
        ("JS:~advance /home/me/f.js:1:17", ("advance (f.js)", "/home/me/f.js")),
        ("JS:*advance /home/me/f.js:1:17", ("advance (f.js)", "/home/me/f.js")),
        ("JS:^ file:///home/me/f.mjs:2:37", ("anonymous (f.mjs)", "/home/me/f.mjs")),
        ("Builtin:ArrayPrototypePush", ("Builtin:ArrayPrototypePush", "")),
        ("Interpreter", ("Interpreter", "")),
    ],
)
def test_functions_that_a_compiler_made_have_short_names(listed, expected):
    assert made_function(listed) == expected


@pytest.mark.skipif(not shutil.which("gfortran"), reason="there is no gfortran on PATH")
def test_lines_of_fortran_name_procedure_and_module(tmp_path):
    source = (
        "module flow\ncontains\nsubroutine advance(x)\nreal :: x\nx = x * 2\nend subroutine\nend module\n"
    )
    words = ["gfortran", "-g", "-shared", "-fPIC", "-J", tmp_path, "-x", "f95", "-", "-o", tmp_path / "f.so"]
    subprocess.run(words, input=source.encode(), check=True)
    address = (str(tmp_path / "f.so"), inside(tmp_path / "f.so", "__flow_MOD_advance")[4])
    assert source_lines([address])[address].function == "flow::advance"
    assert inlined_functions(address[0], [address[1] - 1]) == [["flow::advance"]]


def tool(folder, monkeypatch, script):
    """Puts a stand-in for addr2line before all others."""
    (folder / "addr2line").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "addr2line").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_more_addresses_than_a_command_line_holds_are_asked_for(tmp_path, monkeypatch):
    tool(tmp_path, monkeypatch, """awk '{ print "relax"; print "flow.cpp:7" }'""")
    found = source_lines(("/bin/true", address) for address in range(130_000))
    assert len(found) == 130_000 and found["/bin/true", 9].line == 7


def test_a_file_that_keeps_the_tool_busy_names_nothing(tmp_path, monkeypatch):
    tool(tmp_path, monkeypatch, "exec sleep 60")
    monkeypatch.setattr("perfield.symbols.source_lines.MOST_S", 0.05)
    assert source_lines([("/bin/true", 9)]) == {} and inlined_functions("/bin/true", [9]) == [[]]
