# SPDX-License-Identifier: BSD-3-Clause
"""Calls of one replayed rank: time in MPI, messages between world ranks, waits, and files."""

from __future__ import annotations

import pytest
from compiled.call_numbers import CALL, TIME_CLASS
from known_runs.replays import (
    ADVANCE,
    BRIDGE,
    DISK,
    FLUX,
    FWRITE,
    MASTER,
    MPI,
    OTHER,
    REVERSED,
    SELF,
    SHARED,
    STREAM,
    WINDOW,
    WORLD,
    inside,
    of_calls,
    of_quantities,
    of_regions,
    replayed,
)

UNDEFINED = 2**64 - 1  # OTF2's number of bytes that nobody knows


def of_files(step) -> dict[str, int]:
    """What the rank's quantities say of files, without zeros."""
    return {name: value for name, value in of_quantities(step, None).items() if value}


def test_mpi_time_is_that_of_its_functions_in_each_region():
    events = [
        ("enter", MASTER, 100, FLUX),
        *inside(MPI["MPI_Allreduce"], 110, 150),
        ("leave", MASTER, 200, FLUX),
    ]
    _, whole = replayed(*events, *inside(MPI["MPI_Comm_rank"], 210, 220), step_region="")
    assert of_calls(whole) == {CALL["allreduce"]: (TIME_CLASS["collective"], 1, 40, 0, 0)}
    assert of_quantities(whole, "flow::flux") == of_quantities(whole, "main") == {"mpi_collective_time": 40}
    assert of_regions(whole)["flow::flux"] == (1, 1, 100, 100)


def test_open_call_has_its_share_of_each_step():
    recv = MPI["MPI_Recv"]
    (_, step), behind = replayed(
        ("enter", MASTER, 100, ADVANCE), ("enter", OTHER, 150, recv), ("leave", MASTER, 300, ADVANCE),
        ("leave", OTHER, 450, recv),
    )  # fmt: skip
    assert of_calls(step) == {CALL["recv"]: (TIME_CLASS["p2p"], 0, 150, 0, 0)}
    assert of_calls(behind) == {CALL["recv"]: (TIME_CLASS["p2p"], 1, 150, 0, 0)}


def counted(messages) -> list[tuple]:
    """What rows say beside stamps and sizes: peer, call, 0, count, bytes, empty, largest."""
    return [(*row[:6], row[7]) for row in map(tuple, messages)]


def test_messages_go_to_world_ranks_on_any_communicator():
    sent = [
        ("isend", 0, comm, n) for comm, n in ((WORLD, 8), (REVERSED, 0), (SELF, 16), (BRIDGE, 4), (77, 2))
    ]
    _, whole = replayed(*inside(MPI["MPI_Isend"], 10, 20, *sent), step_region="")
    isend = CALL["isend"]
    assert sorted(counted(whole.messages)) == [
        (-3, isend, 0, 1, 2, 0, 2), (0, isend, 0, 1, 8, 0, 8), (1, isend, 0, 1, 16, 0, 16),
        (2, isend, 0, 1, 4, 0, 4), (3, isend, 0, 1, 0, 1, 0),
    ]  # fmt: skip


def test_messages_add_up_by_peer_and_call():
    many = [("isend", 2, WORLD, n) for n in (10, 0, 30, 20)]
    _, whole = replayed(*inside(MPI["MPI_Isend"], 10, 20, *many), step_region="")
    assert counted(whole.messages) == [(2, CALL["isend"], 0, 4, 60, 1, 30)]


def test_messages_beyond_the_table_go_to_other_peers():
    many = [("isend", peer, WORLD, 10) for _ in range(2) for peer in range(4)]
    many += [("receive", peer, WORLD, 10) for peer in range(3)]
    _, whole = replayed(*inside(MPI["MPI_Isend"], 10, 20, *many), step_region="", max_peers=1)
    assert sorted((row[0], row[3]) for row in whole.messages) == [(-1, 3), (0, 2), (1, 2), (2, 2), (3, 2)]
    assert (whole.overflowed, replayed.end["dropped_messages"]) == (3, 3)


def test_configuration_can_leave_messages_out():
    _, whole = replayed(
        *inside(MPI["MPI_Recv"], 10, 20, ("receive", 2, WORLD, 10)), step_region="", messages=False
    )
    assert (whole.messages, whole.waits) == ([], [])
    assert of_calls(whole)[CALL["recv"]][1] == 1


def test_nothing_counts_while_recording_is_off():
    _, whole = replayed(
        ("record", MASTER, 5, False), *inside(MPI["MPI_Isend"], 10, 20, ("isend", 2, WORLD, 10)),
        *inside(FLUX, 30, 40), ("record", MASTER, 50, True), *inside(MPI["MPI_Isend"], 60, 70),
        step_region="",
    )  # fmt: skip
    assert whole.messages == []
    assert of_calls(whole) == {CALL["isend"]: (TIME_CLASS["p2p"], 1, 10, 0, 0)}
    assert set(of_regions(whole)) == {"main"}


def test_put_uses_the_ranks_of_its_window():
    _, whole = replayed(*inside(MPI["MPI_Put"], 10, 20, ("transfer", WINDOW, 0, 64)), step_region="")
    assert counted(whole.messages) == [(3, CALL["put"], 0, 1, 64, 0, 64)]


def test_copy_to_a_device_is_no_message():
    _, whole = replayed(
        ("transfer", MASTER, 15, WINDOW, 0, 64), ("transfer", MASTER, 16, WINDOW, 0, 64), step_region=""
    )
    assert whole.messages == []


def test_call_waits_for_the_one_rank_it_received_from():
    one, two = ("receive", 2, WORLD, 5), ("receive", 3, WORLD, 5)
    _, whole = replayed(
        *inside(MPI["MPI_Recv"], 10, 30, ("receive", 0, WORLD, 5)),
        *inside(MPI["MPI_Wait"], 40, 45, one), *inside(MPI["MPI_Waitall"], 50, 90, one, two), step_region="",
    )  # fmt: skip
    assert sorted(whole.waits) == [(0, 0, 1, 20), (2, 0, 1, 5)]
    assert sorted((row[0], row[3]) for row in whole.messages) == [(0, 1), (2, 2), (3, 1)]


def test_bytes_of_nonblocking_collectives_go_to_their_call():
    _, whole = replayed(
        *inside(MPI["MPI_Allreduce"], 10, 20, ("collective", 8, 24)),
        *inside(MPI["MPI_Ibcast"], 30, 35, ("start_collective", 5)),
        *inside(MPI["MPI_Wait"], 40, 45, ("end_collective", 16, 0, 5)), step_region="",
    )  # fmt: skip
    calls = of_calls(whole)
    assert calls[CALL["allreduce"]][1:] == (1, 10, 8, 24)
    assert calls[CALL["ibcast"]][1:] == (1, 5, 16, 0)


@pytest.mark.parametrize("handle", [DISK, STREAM])
def test_file_operations_count_by_mode(handle):
    _, whole = replayed(
        ("enter", MASTER, 10, FWRITE), ("begin_file", MASTER, 12, handle, 1, 7),
        ("end_file", MASTER, 20, handle, 512, 7), ("leave", MASTER, 22, FWRITE), step_region="",
    )  # fmt: skip
    assert of_calls(whole) == {}
    assert of_files(whole) == {"file_time": 8, "file_write_count": 1, "file_write": 512}
    assert of_quantities(whole, "main") == {"file_time": 8}
    assert set(of_regions(whole)) == {"main"}


def test_flush_is_a_write_without_bytes():
    _, whole = replayed(
        ("begin_file", MASTER, 12, STREAM, 2, 7),
        ("end_file", MASTER, 20, STREAM, 64, 7),
        step_region="",
    )
    assert of_files(whole) == {"file_time": 8, "file_write_count": 1}


def test_unknown_byte_counts_are_not_added():
    _, whole = replayed(
        ("begin_file", MASTER, 12, DISK, 0, 7),
        ("end_file", MASTER, 20, DISK, UNDEFINED, 7),
        step_region="",
    )
    assert of_files(whole) == {"file_time": 8, "file_read_count": 1}


def test_operation_without_an_end_ends_with_its_function():
    _, whole = replayed(
        *inside(FWRITE, 10, 20, ("begin_file", STREAM, 1, 7)), *inside(MPI["MPI_Allreduce"], 30, 40),
        step_region="",
    )  # fmt: skip
    assert of_files(whole) == {"file_time": 5, "file_write_count": 1}
    assert of_calls(whole)[CALL["allreduce"]][1] == 1


def test_background_operation_takes_no_program_time():
    _, whole = replayed(
        ("begin_file", MASTER, 10, DISK, 1, 7), ("issue_file", MASTER, 12, DISK, 7),
        *inside(MPI["MPI_Allreduce"], 30, 40), ("end_file", MASTER, 50, DISK, 64, 7), step_region="",
    )  # fmt: skip
    assert of_files(whole) == {"file_time": 2, "file_write_count": 1, "file_write": 64}


def test_mpi_io_counts_once_and_reads_inside_mpi_do_not():
    own = [("begin_file", DISK, 0, 1), ("end_file", DISK, 100, 1)]
    both = [("begin_file", SHARED, 1, 2), ("begin_file", DISK, 1, 3), ("end_file", DISK, 64, 3)]
    both.append(("end_file", SHARED, 64, 2))
    _, whole = replayed(
        *inside(MPI["MPI_Init"], 10, 20, *own),
        *inside(MPI["MPI_File_write_at"], 30, 40, *both),
        step_region="",
    )
    calls = of_calls(whole)
    assert set(calls) == {CALL["other"], CALL["file_write"]}
    assert calls[CALL["file_write"]] == (TIME_CLASS["io"], 1, 10, 64, 0)
    assert of_files(whole) == {}
