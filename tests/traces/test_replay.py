# SPDX-License-Identifier: BSD-3-Clause
"""One rank of a trace as steps: times, calls, messages and files, from events as the library tells them.

A tick is a ns here. The rank is 1 of 4; its trace has the regions, communicators and files below.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from perfield import _bridge
from perfield.traces.definitions import UNDEFINED, Clock, Trace, TraceRank, TraceRegion
from perfield.traces.peers import Peers
from perfield.traces.replay import PAUSED, SETUP, STEP, TEARDOWN, Replay
from perfield.traces.selection import RegionChoice

MAIN, ADVANCE, FLUX, FWRITE = range(1, 5)
FUNCTIONS = (
    "Isend",
    "Recv",
    "Wait",
    "Waitall",
    "Put",
    "Ibcast",
    "Allreduce",
    "Comm_rank",
    "Init",
    "File_write_at",
)
MPI = {f"MPI_{name}": 10 + n for n, name in enumerate(FUNCTIONS)}
WORLD, REVERSED, SELF, BRIDGE, WINDOW = 0, 1, 2, 3, 9
DISK, STREAM, SHARED = 0, 1, 2  # handles of POSIX, of C's streams, of MPI-IO
MASTER, OTHER = 100, 101  # locations
CALL = {name: number for number, name, _, _ in _bridge.calls()}
CLASS = {"p2p": 0, "wait": 1, "collective": 2, "io": 4, "file": 6}


def trace() -> Trace:
    names = {MAIN: "main", ADVANCE: "advance", FLUX: "flow::flux"}
    regions = {number: TraceRegion(name, "flow.f90", 7, 0, True) for number, name in names.items()}
    regions[FWRITE] = TraceRegion("fwrite", "", 0, 0, False)
    calls = _bridge.mpi_functions()
    regions |= {number: TraceRegion(name, "", 0, calls.get(name, 0), False) for name, number in MPI.items()}
    peers = Peers({WORLD: (range(4),), REVERSED: ((3, 2, 1, 0),), SELF: (None,), BRIDGE: ((0, 1), (2, 3))})
    ranks = [TraceRank(rank, "node0", 0, (MASTER, OTHER)) for rank in range(4)]
    files = {DISK: "POSIX", STREAM: "ISOC", SHARED: "MPI-IO"}
    clock = Clock(1_000_000_000, 0, 10_000, 0)
    return Trace(
        Path("t.otf2"),
        ranks,
        regions,
        peers,
        {WINDOW: REVERSED},
        files,
        {},
        {},
        clock,
        0,
        ["otf2", "pmpi"],
        [],
    )


def replayed(*events: tuple, regions=("*",), step_region="advance", **more):
    """(steps, what is behind them) of these events; the rank's first event is main's entry at 0."""
    of = trace()
    replay = Replay(of, 1, RegionChoice(of, regions, step_region, **more))
    steps = list(replay.steps([[("enter", MASTER, 0, MAIN)], list(events)]))
    replayed.names = {number: name for name, number in replay.names.numbers.items()}
    return steps, replay.end()


def inside(region: int, begin: int, end: int, *told: tuple, location: int = MASTER) -> list[tuple]:
    """The location enters and leaves a region; what it tells in between as (kind, ...) is at half time."""
    middle = [(kind, location, (begin + end) // 2, *arguments) for kind, *arguments in told]
    return [("enter", location, begin, region), *middle, ("leave", location, end, region)]


def of_regions(step) -> dict[str, tuple]:
    """Region -> (threads, count, inclusive of the longest thread, own time of the same)."""
    return {replayed.names[row[0]]: (row[1], row[2], row[5], row[8]) for row in step.regions}


def of_calls(step) -> dict[int, tuple]:
    """Call -> (class, count, ns, bytes out, bytes in)."""
    return {row[0]: (row[1], *row[3:]) for row in step.calls}


def test_a_step_closes_when_its_region_is_left_and_setup_ends_when_it_is_first_entered():
    (setup, first, second), behind = replayed(*inside(ADVANCE, 100, 300), *inside(ADVANCE, 350, 500))
    assert [step.kind for step in (setup, first, second, behind)] == [SETUP, STEP, STEP, TEARDOWN]
    assert [(step.begin_ns, step.end_ns) for step in (setup, first, second)] == [
        (0, 100),
        (100, 300),
        (300, 500),
    ]
    assert [step.index for step in (first, second, behind)] == [0, 1, 2]
    assert [of_regions(step)["main"][2:] for step in (setup, first, second)] == [
        (100, 100),
        (200, 0),
        (200, 50),
    ]
    assert of_regions(second)["advance"] == (1, 1, 150, 150)


def test_a_region_that_stays_open_gets_its_share_of_each_step_and_is_counted_where_it_was_entered():
    (setup, step), behind = replayed(*inside(ADVANCE, 100, 300), ("leave", MASTER, 450, MAIN))
    assert of_regions(setup)["main"] == (1, 1, 100, 100)
    assert of_regions(step)["main"] == (1, 0, 200, 0)
    assert of_regions(behind)["main"] == (1, 0, 150, 150)


def test_without_a_step_region_all_is_one_entry():
    steps, whole = replayed(*inside(ADVANCE, 100, 300), *inside(ADVANCE, 300, 700), step_region="")
    assert not steps
    assert (whole.kind, whole.measured_ns) == (SETUP, 700)
    assert of_regions(whole)["advance"] == (1, 2, 600, 600)


def test_a_recursion_counts_each_entry_and_its_time_once():
    _, whole = replayed(
        ("enter", MASTER, 10, FLUX), *inside(FLUX, 20, 50), ("leave", MASTER, 100, FLUX), step_region=""
    )
    assert of_regions(whole)["flow::flux"] == (1, 2, 90, 90)


def test_threads_of_a_rank_are_added_up_and_the_longest_is_told():
    _, whole = replayed(*inside(FLUX, 10, 40), *inside(FLUX, 20, 90, location=OTHER), step_region="")
    number = next(number for number, name in replayed.names.items() if name == "flow::flux")
    assert (number, 2, 2, 100, 30, 70, 100, 30, 70) in whole.regions


def test_only_the_thread_that_entered_the_step_first_closes_it():
    steps, _ = replayed(*inside(ADVANCE, 100, 300), *inside(ADVANCE, 310, 320, location=OTHER))
    assert [step.kind for step in steps] == [SETUP, STEP]


def test_regions_are_chosen_by_their_names_with_or_without_the_module():
    _, whole = replayed(*inside(FLUX, 10, 40), *inside(ADVANCE, 50, 60), regions=["flux"], step_region="")
    assert of_regions(whole) == {"flux": (1, 1, 30, 30)}


def test_regions_beyond_the_table_are_added_up_as_other_regions():
    _, whole = replayed(*inside(FLUX, 10, 40), *inside(ADVANCE, 50, 60), step_region="", max_regions=2)
    assert {row[0]: row[2] for row in whole.regions} == {1: 1, 0: 2}
    assert whole.overflowed == 2


def test_an_end_without_a_begin_and_a_lost_end_are_counted_as_faults():
    _, whole = replayed(
        ("leave", MASTER, 10, FLUX), ("enter", MASTER, 20, FLUX), ("enter", MASTER, 30, ADVANCE),
        ("leave", MASTER, 50, FLUX), step_region="",
    )  # fmt: skip
    assert whole.faults == 2
    assert of_regions(whole)["advance"][2] == 20


def test_time_in_mpi_is_that_of_its_functions_and_known_inside_each_region():
    events = [
        ("enter", MASTER, 100, FLUX),
        *inside(MPI["MPI_Allreduce"], 110, 150),
        ("leave", MASTER, 200, FLUX),
    ]
    _, whole = replayed(*events, *inside(MPI["MPI_Comm_rank"], 210, 220), step_region="")
    assert of_calls(whole) == {CALL["allreduce"]: (CLASS["collective"], 1, 40, 0, 0)}
    named = {(replayed.names[row[0]], row[1]): row[3] for row in whole.inside}
    assert named == {("flow::flux", CLASS["collective"]): 40, ("main", CLASS["collective"]): 40}
    assert of_regions(whole)["flow::flux"] == (1, 1, 100, 100)


def test_a_call_that_is_open_when_a_step_closes_gives_each_step_its_share():
    recv = MPI["MPI_Recv"]
    (_, step), behind = replayed(
        ("enter", MASTER, 100, ADVANCE), ("enter", OTHER, 150, recv), ("leave", MASTER, 300, ADVANCE),
        ("leave", OTHER, 450, recv),
    )  # fmt: skip
    assert of_calls(step) == {CALL["recv"]: (CLASS["p2p"], 0, 150, 0, 0)}
    assert of_calls(behind) == {CALL["recv"]: (CLASS["p2p"], 1, 150, 0, 0)}


def test_messages_go_to_world_ranks_whatever_the_communicator():
    sent = [
        ("isend", 0, comm, 0, n, n)
        for comm, n in ((WORLD, 8), (REVERSED, 0), (SELF, 16), (BRIDGE, 4), (77, 2))
    ]
    _, whole = replayed(*inside(MPI["MPI_Isend"], 10, 20, *sent), step_region="")
    isend = CALL["isend"]
    assert sorted(whole.messages) == [
        (-3, isend, 0, 1, 2, 0, 2), (0, isend, 0, 1, 8, 0, 8), (1, isend, 0, 1, 16, 0, 16),
        (2, isend, 0, 1, 4, 0, 4), (3, isend, 0, 1, 0, 1, 0),
    ]  # fmt: skip


def test_messages_are_added_up_by_peer_and_call_and_the_largest_is_kept():
    many = [("isend", 2, WORLD, 0, n, n) for n in (10, 0, 30, 20)]
    _, whole = replayed(*inside(MPI["MPI_Isend"], 10, 20, *many), step_region="")
    assert whole.messages == [(2, CALL["isend"], 0, 4, 60, 1, 30)]


def test_a_put_goes_to_the_windows_own_rank():
    _, whole = replayed(*inside(MPI["MPI_Put"], 10, 20, ("put", WINDOW, 0, 64, 1)), step_region="")
    assert whole.messages == [(3, CALL["put"], 0, 1, 64, 0, 64)]


def test_a_call_that_received_from_one_rank_waited_for_it():
    one, two = ("ireceive", 2, WORLD, 0, 5, 1), ("ireceive", 3, WORLD, 0, 5, 2)
    _, whole = replayed(
        *inside(MPI["MPI_Recv"], 10, 30, ("receive", 0, WORLD, 0, 5)),
        *inside(MPI["MPI_Wait"], 40, 45, one), *inside(MPI["MPI_Waitall"], 50, 90, one, two), step_region="",
    )  # fmt: skip
    assert sorted(whole.waits) == [(0, 0, 1, 20), (2, 0, 1, 5)]
    assert sorted((row[0], row[3]) for row in whole.messages) == [(0, 1), (2, 2), (3, 1)]


def test_bytes_of_collectives_go_to_their_call_also_when_they_are_complete_later():
    _, whole = replayed(
        *inside(MPI["MPI_Allreduce"], 10, 20, ("collective", 0, WORLD, 0, 8, 24)),
        *inside(MPI["MPI_Ibcast"], 30, 35, ("start_collective", 5)),
        *inside(MPI["MPI_Wait"], 40, 45, ("end_collective", 0, WORLD, 0, 16, 0, 5)), step_region="",
    )  # fmt: skip
    calls = of_calls(whole)
    assert calls[CALL["allreduce"]][1:] == (1, 10, 8, 24)
    assert calls[CALL["ibcast"]][1:] == (1, 5, 16, 0)


@pytest.mark.parametrize(("handle", "call"), [(DISK, "posix_write"), (STREAM, "stdio_write")])
def test_files_are_counted_with_bytes_and_time_by_the_way_they_are_written(handle, call):
    _, whole = replayed(
        ("enter", MASTER, 10, FWRITE), ("begin_file", MASTER, 12, handle, 1, 0, 512, 7),
        ("end_file", MASTER, 20, handle, 512, 7), ("leave", MASTER, 22, FWRITE), step_region="",
    )  # fmt: skip
    assert of_calls(whole) == {CALL[call]: (CLASS["file"], 1, 8, 512, 0)}
    assert (whole.read_bytes, whole.written_bytes) == (0, 512)
    assert set(of_regions(whole)) == {"main"}


def test_a_flush_is_a_call_that_writes_without_bytes():
    _, whole = replayed(
        ("begin_file", MASTER, 12, STREAM, 2, 0, 0, 7),
        ("end_file", MASTER, 20, STREAM, 64, 7),
        step_region="",
    )
    assert of_calls(whole) == {CALL["stdio_write"]: (CLASS["file"], 1, 8, 0, 0)}


def test_an_unknown_number_of_bytes_is_not_added():
    _, whole = replayed(
        ("begin_file", MASTER, 12, DISK, 0, 0, 9, 7),
        ("end_file", MASTER, 20, DISK, UNDEFINED, 7),
        step_region="",
    )
    assert of_calls(whole) == {CALL["posix_read"]: (CLASS["file"], 1, 8, 0, 0)}


def test_an_operation_whose_end_is_lost_ends_with_its_function():
    _, whole = replayed(
        *inside(FWRITE, 10, 20, ("begin_file", STREAM, 1, 0, 9, 7)), *inside(MPI["MPI_Allreduce"], 30, 40),
        step_region="",
    )  # fmt: skip
    assert of_calls(whole)[CALL["stdio_write"]] == (CLASS["file"], 1, 5, 0, 0)
    assert of_calls(whole)[CALL["allreduce"]][1] == 1


def test_an_operation_that_goes_on_beside_the_program_takes_no_more_of_its_time():
    _, whole = replayed(
        ("begin_file", MASTER, 10, DISK, 1, 1, 64, 7), ("issue_file", MASTER, 12, DISK, 7),
        *inside(MPI["MPI_Allreduce"], 30, 40), ("end_file", MASTER, 50, DISK, 64, 7), step_region="",
    )  # fmt: skip
    assert of_calls(whole)[CALL["posix_write"]] == (CLASS["file"], 1, 2, 64, 0)


def test_what_mpi_reads_for_itself_is_not_the_programs_and_mpi_io_is_counted_once():
    own = [("begin_file", DISK, 0, 0, 100, 1), ("end_file", DISK, 100, 1)]
    both = [("begin_file", SHARED, 1, 0, 64, 2), ("begin_file", DISK, 1, 0, 64, 3), ("end_file", DISK, 64, 3)]
    both.append(("end_file", SHARED, 64, 2))
    _, whole = replayed(
        *inside(MPI["MPI_Init"], 10, 20, *own),
        *inside(MPI["MPI_File_write_at"], 30, 40, *both),
        step_region="",
    )
    calls = of_calls(whole)
    assert set(calls) == {CALL["other"], CALL["file_write"]}
    assert calls[CALL["file_write"]] == (CLASS["io"], 1, 10, 64, 0)
    assert (whole.read_bytes, whole.written_bytes) == (0, 64)


def test_time_without_recording_belongs_to_no_step_and_no_region():
    (_, step), _ = replayed(
        ("enter", MASTER, 100, ADVANCE), ("switch", MASTER, 150, 2), ("switch", MASTER, 250, 1),
        ("leave", MASTER, 300, ADVANCE),
    )  # fmt: skip
    assert (step.measured_ns, step.flags) == (100, PAUSED)
    assert of_regions(step)["advance"] == (1, 1, 100, 100)


def test_recording_that_is_off_when_a_step_closes_is_off_in_the_next_one_too():
    (_, step), behind = replayed(
        ("enter", MASTER, 100, ADVANCE), ("switch", MASTER, 150, 2), ("leave", MASTER, 300, ADVANCE),
        ("switch", MASTER, 340, 1), ("leave", MASTER, 400, MAIN),
    )  # fmt: skip
    assert (step.measured_ns, behind.measured_ns) == (50, 60)
    assert (step.flags, behind.flags) == (PAUSED, PAUSED)
    assert of_regions(behind)["main"][2] == 60


def test_the_time_in_which_a_thread_writes_its_trace_is_not_the_programs():
    (_, step), _ = replayed(
        ("enter", MASTER, 100, ADVANCE), ("flush", MASTER, 150, 250), ("leave", MASTER, 300, ADVANCE)
    )
    assert step.measured_ns == 100
    assert of_regions(step)["advance"] == (1, 1, 100, 100)


def test_functions_of_calling_contexts_are_entered_and_left_like_others():
    of = replace(trace(), contexts={5: ADVANCE})
    replay = Replay(of, 1, RegionChoice(of, ["*"], "advance"))
    events = [("enter_context", MASTER, 100, 5, 2), ("leave_context", MASTER, 300, 5)]
    assert [step.kind for step in replay.steps([events])] == [SETUP, STEP]
