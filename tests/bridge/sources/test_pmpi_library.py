# SPDX-License-Identifier: BSD-3-Clause
"""The wrappers as libraries: which functions they cover, and that they do no harm."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import perfield

LIBRARIES = Path(perfield.__file__).parent / "lib"
PMPI = Path(__file__).resolve().parents[3] / "bridge/sources/pmpi"

#: Functions of mpi.h that are not wrapped: patterns of names, grouped by reason.
NOT_WRAPPED = {
    "creates, queries or frees an object of this process": [
        r"(Comm|Win|Type|File|Info|Group|Request|Message|Errhandler|Op|Status|Session)_(c2f|f2c)",
        r"Status_(c2f08|f082c|f082f|f2f08)|Session_(call|create|get|set)_errhandler|Session_get_\w+",
        r"(Comm|Win|Type)_(get|set|delete)_(attr|name|errhandler)|(Comm|Win)_get_info",
        r"(Comm|Win|Type)_(create|free)_keyval|(Attr|Keyval)_\w+|(Comm|Win|File)_(create|call)_errhandler",
        r"File_(get|set)_errhandler|Errhandler_(create|free|get|set)|Error_\w+|Add_error_\w+",
        r"Comm_(compare|group|rank|size|remote_group|remote_size|test_inter|get_parent)|Win_get_group",
        r"Group_(?!c2f|f2c|free)\w+|Info_(?!c2f|f2c)\w+|Op_(commutative|create(_c)?|free)|Type_\w+|Address|Get_address",
        r"(Cart|Graph)_(coords|get|map|rank|shift|neighbors|neighbors_count)|(Cartdim|Graphdims)_get",
        r"Topo_test|Dims_create|Dist_graph_neighbors(_count)?",
    ],
    "works on this process's memory only": [
        r"(Alloc|Free)_mem|Buffer_attach(_c)?|(P|Unp)ack(_external)?(_size)?(_c)?|Reduce_local(_c)?",
        r"Win_(at|de)tach|Win_shared_query(_c)?|Register_datarep(_c)?|Aint_(add|diff)",
    ],
    "queries or seeks in an open file, on one rank": [
        r"File_(get_(amode|atomicity|byte_offset|group|info|position|size|type_extent(_c)?|view)|seek)",
    ],
    "queries or marks an operation without waiting for it": [
        r"Grequest_(start|complete)|Get_(count|elements|elements_x)(_c)?|Test_cancelled",
        r"Status_set_(cancelled|elements|elements_x)",
    ],
    "describes the library": [
        r"(Initialized|Finalized|Is_thread_main|Query_thread|Wtime|Wtick)",
        r"Get_(library_version|processor_name|version)|T_\w+",
    ],
    "has other parameters in some MPIs than in others": ["Pready_list"],
    "belongs to sessions, which are not measured": ["Session_finalize"],
    "talks to the launcher, not to ranks": [r"(Open|Close)_port|(Publish|Unpublish|Lookup)_name"],
}


@pytest.fixture(scope="module")
def mpi_functions(mpi) -> set[str]:
    """Names of all functions that the MPI's mpi.h declares."""
    text = subprocess.run(
        [mpi.cc, "-E", "-x", "c", "-"], input="#include <mpi.h>\n", capture_output=True, text=True, check=True
    ).stdout
    return set(re.findall(r"\b(MPI_\w+)\s*\((?!\*)", re.sub(r"(?m)^\s*typedef [^;]*;", "", text)))


@pytest.fixture(scope="module")
def library(mpi) -> Path:
    """The installed wrappers for the MPI."""
    return LIBRARIES / f"libperfield_{mpi.name}.so"


def symbols(library: Path, which: str) -> set[str]:
    """Names of the dynamic symbols that a library defines or needs: --defined-only, --undefined-only."""
    listed = subprocess.run(["nm", "-D", which, library], capture_output=True, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}


def test_library_exports_only_mpi_functions(library, mpi_functions):
    shown = {name for name in symbols(library, "--defined-only") if re.match(r"MPI_.*[a-z]", name)}
    assert len(shown) > 150
    assert shown <= mpi_functions


def test_library_needs_no_mpi_and_no_cpp_library(library):
    wanted = symbols(library, "--undefined-only")
    assert not {name for name in wanted if re.match(r"P?MPI_|ompi_|_Zn|_Zd|_ZS|__cxa_throw", name)}


def test_library_for_an_unknown_mpi_exports_common_functions():
    shown = [
        {
            name
            for name in symbols(LIBRARIES / f"libperfield_{mpi}_mpi3.so", "--defined-only")
            if "MPI_" in name
        }
        for mpi in ("openmpi", "mpich")
    ]
    assert shown[0] == shown[1]
    assert "MPI_Isend" in shown[0] and not {"MPI_Isend_c", "MPI_Isendrecv", "MPI_Bcast_init"} & shown[0]


def test_every_function_is_wrapped_or_has_a_reason(library, mpi_functions):
    wrapped = symbols(library, "--defined-only")
    patterns = [f"MPI_({p})" for reasons in NOT_WRAPPED.values() for p in reasons]
    left_out = {name for name in mpi_functions if any(re.fullmatch(p, name) for p in patterns)}
    assert mpi_functions - wrapped - left_out == set(), "neither wrapped nor excluded by a reason"
    assert wrapped & left_out == set(), "wrapped although a reason excludes it"


def test_table_and_calls_def_have_the_same_calls(generate, known_calls):
    names = {
        name for path in (PMPI / "table").glob("*.table") for name in re.findall(r"MPI_\w+", path.read_text())
    }
    names |= {f"MPI_I{name[4:].lower()}" for name in names}
    result = generate(names | {f"{name}_init" for name in names})
    assert result.returncode == 0, result.stderr
    written = result.out["wrappers.cpp"] + "".join(path.read_text() for path in PMPI.glob("wrappers_*.cpp"))
    assert set(re.findall(r"PERFIELD_CALL_(\w+)", written)) == known_calls


def test_rows_generate_large_count_and_persistent_forms(generate):
    written = generate(["MPI_Igatherv_c", "MPI_Allreduce_init", "MPI_Alltoallv"]).out["wrappers.cpp"]
    assert written.count("PERFIELD_WRAPPER(") == 3
    gather = written[written.index("MPI_Igatherv_c, (") :].partition(")")[0]
    assert "MPI_Count sendcount" in gather
    assert "const MPI_Count recvcounts[]" in gather
    assert "const MPI_Aint displs[]" in gather
    assert gather.endswith("Wide<MPI_Comm> comm, MPI_Request *request")
    allreduce = written[written.index("MPI_Allreduce_init, (") :].partition("\n}")[0]
    assert "Wide<MPI_Comm> comm, Wide<MPI_Info> info, MPI_Request *request)" in allreduce
    assert "PERFIELD_CALL_persistent_collective" in allreduce
    assert "count_" not in allreduce
    assert "const int sendcounts[]" in written[written.index("MPI_Alltoallv, (") :].partition(")")[0]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("MPI_Send : send dest\nMPI_Recv : time\n    int x\n", "expected 'NAMES [= CALL] : RULES'"),
        ("MPI_Send : time\n    int\n", "'int' is not a parameter; expected a type, a name"),
        ("MPI_Send +x : time\n    int x\n", "found '+x', expected MPI_..., +i, +c, +init or +4"),
    ],
)
def test_invalid_row_is_refused_with_file_and_text(generate, tmp_path, row, sentence):
    (tmp_path / "bad.table").write_text(row)
    result = generate([], tmp_path)
    assert result.returncode == 1
    head = row.partition("\n")[0]
    assert f"bad.table, row '{head}': {sentence}" in result.stderr


def test_library_does_not_affect_programs_without_mpi(library, tmp_path):
    for command in (["true"], ["sh", "-c", "echo $((6 * 7)); ls / | wc -l"]):
        bare = subprocess.run(command, capture_output=True, cwd=tmp_path, check=True)
        environment = {"LD_PRELOAD": str(library), "PATH": "/usr/bin:/bin"}
        preloaded = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment)
        assert (preloaded.returncode, preloaded.stdout, preloaded.stderr) == (0, bare.stdout, b"")
    assert list(tmp_path.iterdir()) == []
