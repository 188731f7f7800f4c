# SPDX-License-Identifier: BSD-3-Clause
"""MPI calls of Fortran programs with both MPIs and in all three bindings: exactly the counts of C."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import perfield

LIBRARIES = Path(perfield.__file__).parent / "lib"
N = 4  # ranks
INT, DOUBLE = 4, 8
BINDINGS = {"mpif.h": "-DMPIFH", "use mpi": "-DUSE_MPI", "mpi_f08": "-DUSE_F08"}
# Open MPI 4.1.4's fetching calls fail, also without perfield, if one rank may read another's memory.
# The programs' own output would count as file I/O, so it is switched off.
ENVIRONMENT = {
    **{"OMPI_MCA_btl_vader_single_copy_mechanism": "none"},
    **{"PERFIELD_SUMMARY": "false", "PERFIELD_IO": "false"},
}


def of_c(name: str):
    """A module of tests of C programs, whose expectations also hold here."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)  # for its dataclasses
    spec.loader.exec_module(module)
    return module


OF_C, HEARD = of_c("test_pmpi"), of_c("test_pmpi_arrivals")
CALLS, ROOT_FLAG = HEARD.CALLS, HEARD.ROOT_FLAG
CASES = ("begin", "messages", "collectives", "others", "epochs", "polls")  # the steps of fortran_calls.f90


@pytest.fixture(scope="session")
def fortran_calls(build_fortran, listener):
    """fortran_calls(mpi, binding): fortran_calls.f90, compiled."""
    more = (str(listener), *HEARD.LISTENS)
    return lambda mpi, binding: build_fortran("fortran_calls.f90", mpi, BINDINGS[binding], *more)


@pytest.fixture(scope="session")
def plain_output(fortran_calls):
    """plain_output(mpi): what it prints without perfield, the same in all bindings."""

    known: dict[str, str] = {}

    def printed(mpi) -> str:
        if mpi.name not in known:
            result = mpi.run(N, fortran_calls(mpi, "mpif.h"), env=ENVIRONMENT)
            assert result.returncode == 0, result.stderr
            known[mpi.name] = result.stdout
        return known[mpi.name]

    return printed


@pytest.fixture(scope="session", params=BINDINGS)
def calls(request, mpi, fortran_calls, plain_output, counted_by_step, bin_dir):
    """Case of fortran_calls.f90 -> what its ranks counted, and what its listener heard: one run with each
    MPI and binding, whose output must be that of a run without perfield.
    """
    program = fortran_calls(mpi, request.param)
    result = mpi.run(N, bin_dir / "perfield-exec", program, env=ENVIRONMENT)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert not result.stderr
    assert result.stdout == plain_output(mpi)
    counted, heard = counted_by_step(result.cwd / "perfield-run"), HEARD.read(result.cwd)
    return {name: (counted[step], heard[name]) for step, name in enumerate(CASES)}


def test_fortran_messages_count_once_by_world_rank(calls):
    counted, _ = calls["messages"]
    forms = ["send", "bsend", "ssend", "rsend", "isend", "ibsend", "issend", "irsend"]
    forms += ["sendrecv", "sendrecv_replace"]
    ways = 32
    received_in_ways = sum(range(1, ways + 1)) * INT
    started = 3 * (11 + 12 + 13 + 14) * INT
    for rank in range(N):
        left, right = OF_C.neighbors(rank, "reversed")
        expected = {(form, right): (1, n * INT) for n, form in enumerate(forms, 1)}
        expected["isend", right] = (1 + ways, 5 * INT + received_in_ways)
        expected["start", right] = (12, started)
        assert counted.sent_by(rank) == expected
        received = 55 * INT + started + received_in_ways
        assert counted.received_by(rank) == {left: (22 + ways, received)}
        assert {peer for r, peer in counted.waited_ns if r == rank} == {left}
        times = {
            "irecv": 8 + 3 * 4 + 2 * 9 + 1,  # for sends, for starts, in nine ways, for nothing
            "isend": 1 + ways,
            "start": 3 * 4 + 2,
            "request_free": 4 + 2,
            "recv": 2 * 4 + 1,
            "mrecv": 2 + 1,
            "imrecv": 2,
            "waitall": 2 * 4,
            "barrier": 8 + 3 * 4,
        }
        assert {call: counted.calls[rank, call] for call in times} == times


def test_fortran_collectives_count_bytes_in_and_out(calls):
    counted, _ = calls["collectives"]
    for rank in range(N):
        place = N - 1 - rank
        apart = OF_C.collective_bytes(place, in_place=False)
        in_place = {**OF_C.collective_bytes(place, in_place=True), "bcast": (0, 0)}
        expected = {}
        for call in apart:
            both = tuple(INT * (a + b) for a, b in zip(apart[call], in_place[call]))
            expected[call] = expected["i" + call] = both
        from_bottom = (4 * INT, 0) if place == 1 else (0, 4 * INT)
        expected["bcast"] = tuple(a + b for a, b in zip(expected["bcast"], from_bottom))
        assert counted.moved_by(rank) == {call: both for call, both in expected.items() if any(both)}
        assert counted.calls[rank, "barrier"] == counted.calls[rank, "ibarrier"] == 1
        assert {counted.calls[rank, "i" + call] for call in apart if call != "bcast"} == {2}
    assert not counted.messages


def test_fortran_neighbors_windows_and_files_count_as_in_c(calls):
    counted, _ = calls["others"]
    for rank in range(N):
        place = N - 1 - rank
        left, right = OF_C.neighbors(rank, "reversed")
        sent = {
            ("neighbor_alltoallw", right): (1, 3 * INT),
            ("ineighbor_alltoallw", right): (1, 3 * INT),
            ("put", right): (1, 1 * INT),
            ("accumulate", right): (1, 2 * INT),
            ("get", right): (1, 3 * INT),
            ("rput", right): (1, 4 * INT),
            ("get_accumulate", right): (1, 0),  # only fetches
            ("fetch_and_op", right): (1, 1 * INT),
        }
        received = {left: [2, (3 + 3) * INT], right: [0, 0]}
        for there, peer, v_sent, v_received in (
            (place > 0, left, 1, 2),
            (place < N - 1, right, 2, 1),
        ):
            for call, n in (("allgather", 3), ("allgatherv", 3), ("alltoall", 4), ("alltoallv", v_sent)):
                if there:
                    sent[f"neighbor_{call}", peer] = (1, n * INT)
            if there:
                received[peer][0] += 4
                received[peer][1] += (3 + 3 + 4 + v_received) * INT
        assert counted.sent_by(rank) == sent
        assert counted.received_by(rank) == {p: tuple(both) for p, both in received.items() if both[0]}
        assert counted.moved_by(rank) == {
            "file_write": ((1 + 2 + 3) * INT, 0),
            "file_write_all": ((4 + 5) * INT, 0),
            "file_read": (0, 2 * INT),  # reads past the end get nothing
            "file_read_all": (0, 3 * INT),
        }
        times = {"fence": 2, "lock": 1, "unlock": 1, "flush": 2, "win_create": 1, "comm_create": 2}
        times |= {"file_open": 1, "file_close": 1, "file_other": 1 + (place == 0)}
        assert {call: counted.calls[rank, call] for call in times} == times


def test_fortran_messages_have_the_same_numbers_at_both_ends(calls):
    _, heard = calls["messages"]
    HEARD.compare(heard)
    assert {CALLS[row["call"]] for row in heard.sends} >= {"send", "isend", "start", "sendrecv"}
    # Each is waited for once, but persistent ones that the program frees before.
    assert all(len(row["waits"]) == 1 for row in heard.sends)
    for row in heard.arrivals:
        assert 0 < row["posted"] <= row["wait_begin"] <= row["wait_end"]
    for label, names in heard.names.items():
        if label != "MPI_COMM_SELF":
            assert all(len(ranks) == N for ranks in names.values())


def test_fortran_collectives_have_the_same_numbers_on_all_ranks(calls):
    _, heard = calls["collectives"]
    by_place = defaultdict(list)
    for row in heard.collectives:
        by_place[row["name"], row["number"]].append((row["rank"], row["call"]))
    assert len(by_place) > 40
    for place, rows in by_place.items():
        assert 0 not in place
        assert {rank for rank, _ in rows} == set(range(N))
        assert len(rows) == N
        assert len({call for _, call in rows}) == 1
    roots = Counter((row["name"], row["number"]) for row in heard.collectives if row["flags"] & ROOT_FLAG)
    assert roots
    assert set(roots.values()) == {1}


def test_fortran_epochs_and_locks_are_reported_as_in_c(calls):
    _, heard = calls["epochs"]
    numbered = [row for row in heard.synchronised if row["number"]]
    found = HEARD.epochs(dataclasses.replace(heard, synchronised=numbered))
    assert len(found) == N * 3
    assert all(len(of_epoch) == 4 for of_epoch in found.values())
    locks = [row for row in heard.synchronised if not row["number"]]
    for rank in range(N):
        reported = [(row["call"], row["peer"], row["flags"]) for row in locks if row["rank"] == rank]
        right = (rank - 1) % N  # in the order of the windows' communicator
        assert reported == [
            *(("lock", right, 1), ("flush", right, 0), ("unlock", right, 0)),
            *(("lock", -1, 0), ("flush", -1, 0), ("unlock", -1, 0)),
        ]


def test_fortran_polls_hold_the_time_of_all_tests(calls):
    _, heard = calls["polls"]
    waiter, sender = N - 1, N - 2
    sent = [(row["channel"], row["number"]) for row in heard.sends if row["rank"] == sender]
    assert len(sent) == 8
    by_probe = {
        (row["channel"], row["number"]): row["left"] - row["entered"]
        for row in heard.synchronised
        if row["rank"] == waiter and row["peer"] == sender
    }
    by_test = {
        (row["channel"], row["number"]): row["wait_end"] - row["wait_begin"]
        for row in heard.arrivals
        if row["rank"] == waiter and row["peer"] == sender
    }
    assert list(by_probe) == sent[:4]
    shortest = 0.9 * min(by_probe[sent[0]], by_probe[sent[1]])  # of blocking probes, in ticks
    for place in sent[2:4]:
        assert by_probe[place] > 0.2 * shortest
    for place in sent[4:]:
        assert by_test[place] > 0.2 * shortest


@pytest.mark.parametrize("binding", ["mpif.h", "mpi_f08"])
@pytest.mark.parametrize("how", ["finalize", "abort"])
def test_fortran_pauses_resumes_and_ends_measuring(mpi, build_fortran, counted_in, bin_dir, binding, how):
    program = build_fortran("fortran_pauses.f90", mpi, BINDINGS[binding])
    result = mpi.run(2, bin_dir / "perfield-exec", program, how)
    assert (result.returncode == 0) == (how == "finalize"), result.stderr
    counted = counted_in(result.cwd / "perfield-run")
    ended = [rank for rank, end in counted.ends.items() if end["reason"] == how]
    assert ended if how == "abort" else sorted(ended) == [0, 1]
    for rank in ended:
        assert counted.sent_by(rank) == {("sendrecv", 1 - rank): (2, (1 + 3) * INT)}
        assert counted.received_by(rank) == {1 - rank: (2, (1 + 3) * INT)}


def test_large_counts_of_fortran_count_as_small_ones(build_fortran, mpi, counted_in, bin_dir):
    if mpi.name == "openmpi":
        pytest.skip("Open MPI 4 has no large counts in mpi_f08")
    program = build_fortran("fortran_large.f90", mpi, BINDINGS["mpi_f08"])
    result = mpi.run(N, bin_dir / "perfield-exec", program, env=ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    counted = counted_in(result.cwd / "perfield-run")
    for rank in range(N):
        left, right = OF_C.neighbors(rank, "reversed")
        assert counted.sent_by(rank) == {("send", right): (1, INT), ("sendrecv", right): (1, 2 * INT)}
        assert counted.received_by(rank) == {left: (2, 3 * INT)}
        assert counted.moved_by(rank) == {
            "allreduce": (3 * INT, 3 * INT),
            "allgatherv": (4 * INT, 4 * N * INT),
            "allgather": (INT, N * INT),
        }


def test_fixed_form_fortran_counts_the_same(mpi, build_fortran, counted_in, bin_dir):
    program = build_fortran("fortran_fixed.f", mpi, BINDINGS["mpif.h"])
    result = mpi.run(N, bin_dir / "perfield-exec", program, env=ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) == sum(range(1, N + 1))
    counted = counted_in(result.cwd / "perfield-run")
    for rank in range(N):
        left, right = OF_C.neighbors(rank, "world")
        assert counted.sent_by(rank) == {
            ("sendrecv", right): (1, 10 * DOUBLE),
            ("send", left): (1, 3 * DOUBLE),
        }
        assert counted.received_by(rank) == {left: (1, 10 * DOUBLE), right: (1, 3 * DOUBLE)}
        assert counted.moved_by(rank) == {"reduce": (DOUBLE, DOUBLE if rank == 0 else 0)}


def test_requests_count_across_languages(mpi, build_c, programs, counted_in, bin_dir):
    library = {"openmpi": "-lmpi_mpifh", "mpich": "-lmpichfort"}[mpi.name]
    program = build_c(programs / "mixed_languages.c", library, by=mpi)
    result = mpi.run(N, bin_dir / "perfield-exec", program, "reversed")
    assert result.returncode == 0, result.stderr
    counted = counted_in(result.cwd / "perfield-run")
    for rank in range(N):
        left, right = OF_C.neighbors(rank, "reversed")
        assert counted.sent_by(rank) == {("send", right): (2, 2 * INT), ("isend", right): (2, 4 * INT)}
        assert counted.received_by(rank) == {left: (4, 6 * INT)}
        calls = {"irecv": 4, "wait": 2, "waitall": 2, "barrier": 3}
        assert {call: counted.calls[rank, call] for call in calls} == calls


@pytest.mark.parametrize("how", ["step_call", "run"])
def test_calls_count_after_longjmp_out_of_fortran(
    mpi, build_c, programs, perfield_flags, counted_in, bin_dir, how
):
    library = {"openmpi": "-lmpi_mpifh", "mpich": "-lmpichfort"}[mpi.name]
    flags = ["-D_GNU_SOURCE", *perfield_flags("--cflags"), *perfield_flags("--libs")]
    program = build_c(programs / "left_call.c", library, *flags, by=mpi)
    env = {}
    if how == "step_call":
        result = mpi.run(1, bin_dir / "perfield-exec", program, how, env={"PERFIELD_STEP_SECONDS": "100"})
        table = perfield.open(result.cwd / "perfield-run").sites[0]["sites"]
        (site,) = [site for site in table if (site["call"], site["hits"]) == ("Allreduce", 10)]
        env = {"PERFIELD_STEP_CALL": f"Allreduce@main-{site['hash'][:4]}"}
    result = mpi.run(1, bin_dir / "perfield-exec", program, how, env=env)
    assert result.returncode == 0, result.stderr
    run = result.cwd / "perfield-run"
    assert len(perfield.open(run)) == (9 if how == "step_call" else 1)
    assert counted_in(run).received_by(0) == {0: (10, 10 * INT)}


def fortran_symbols(*libraries: Path) -> set[str]:
    """Names of MPI's Fortran functions that the libraries define, as gfortran spells them."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", *libraries], capture_output=True, text=True, check=True
    )
    return set(re.findall(r" [TW] (mpi_\w*[a-z0-9]_)$", listed.stdout, re.M))


def test_wrapped_functions_cover_all_bindings_of_the_mpi(mpi, fortran_calls):
    program = fortran_calls(mpi, "mpi_f08")
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    of_mpi = fortran_symbols(*re.findall(r"/\S*libmpi\S*", linked))
    ours = fortran_symbols(LIBRARIES / f"libperfield_{mpi.name}.so")
    wrapped = {name.removesuffix("_") for name in ours if not re.search(r"_(f08|f08ts|cptr)_", name)}
    assert len(wrapped) > 150
    expected = {
        name
        for name in of_mpi
        if re.sub(r"(_f08|_f08ts|_cptr)?(_large)?_$", "", name) in wrapped and "_cptr" not in name
    }
    assert len(expected) > 2 * len(wrapped) - 20
    assert expected <= ours
    shown = {name for name in of_mpi & ours if "_cptr_" in name}
    assert shown == {name for name in of_mpi if re.match(r"mpi_win_allocate(_shared)?_cptr_", name)}
