# SPDX-License-Identifier: BSD-3-Clause
"""Score-P's plugin without perfield's wrappers: messages, collectives, transfers and files from its events.

A stand-in for Score-P plays them, with ranks numbered within each communicator.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import perfield

RANK, SIZE = 2, 4
UNKNOWN = -3
WORLD, REVERSED, WINDOW = 700, 800, 900  # handles

NAMES = """
    MPI_Init MPI_Send MPI_Isend MPI_Sendrecv MPI_Recv MPI_Waitall MPI_Put MPI_Get MPI_Fetch_and_op
    MPI_Allreduce MPI_Iallreduce MPI_Comm_split MPI_File_open MPI_File_write_at MPI_File_read_all
    MPI_Comm_rank MPI_Startall MPI_Barrier
"""
FUNCTIONS = {name: 4 * number for number, name in enumerate(NAMES.split(), 1)}
DEFINITIONS = "".join(f"region {handle} {name}\n" for name, handle in FUNCTIONS.items())


def call(name: str, *events: str) -> str:
    """Lines of a call of MPI, and of what happens inside it."""
    handle = FUNCTIONS[name]
    return "".join(f"{line}\n" for line in (f"enter {handle}", *events, f"exit {handle}"))


START = DEFINITIONS + call("MPI_Init", "init_mpp", f"end_collective {WORLD} -1 17 0 0")


@pytest.fixture
def play(score_p_plays, counted_in, tmp_path):
    """play(script, **environment): plays a script to rank 2 of 4; returns (Counted, standard error)."""

    def run(script: str, **environment: str):
        result = score_p_plays(script, RANK=str(RANK), SIZE=str(SIZE), **environment)
        return counted_in(tmp_path / "perfield-run"), result.stderr

    return run


def test_world_messages_name_their_peers(play):
    counted, errors = play(
        START
        + call("MPI_Send", f"send 0 {WORLD} 7 24")
        + call("MPI_Isend", f"isend 3 {WORLD} 7 80 1")
        + call("MPI_Isend", f"isend 3 {WORLD} 7 0 2")
        + call("MPI_Sendrecv", f"send 1 {WORLD} 7 8", f"receive 1 {WORLD} 7 16")
        + call("MPI_Startall", f"isend 0 {WORLD} 7 5 3", f"isend 1 {WORLD} 7 6 4")
        + call("MPI_Recv", f"receive 3 {WORLD} 7 100")
        + call("MPI_Waitall", f"ireceive 0 {WORLD} 7 40 5", f"ireceive 0 {WORLD} 7 2 6")
    )
    assert counted.sent_by(RANK) == {
        **{("send", 0): (1, 24), ("isend", 3): (2, 80), ("sendrecv", 1): (1, 8)},
        **{("start", 0): (1, 5), ("start", 1): (1, 6)},
    }
    assert counted.received_by(RANK) == {1: (1, 16), 3: (1, 100), 0: (2, 42)}
    assert counted.empty[RANK, "isend", 3] == 1
    assert "LD_PRELOAD" not in errors


def test_other_communicators_have_unknown_peers_and_one_warning(play):
    counted, errors = play(
        START
        + call("MPI_Comm_split", f"end_collective {WORLD} -1 17 0 0")
        + 3 * call("MPI_Send", f"send 0 {REVERSED} 7 24")
        + call("MPI_Recv", f"receive 3 {REVERSED} 7 100")
        + 2 * call("MPI_Put", f"put {WINDOW} 0 400 1")
        + call("MPI_Get", f"get {WINDOW} 0 30 2")
        + call("MPI_Fetch_and_op", f"atomic {WINDOW} 1 5 8 16 3")
        + call("MPI_Send", f"send 1 {WORLD} 7 9")
    )
    assert counted.sent_by(RANK) == {
        **{("send", UNKNOWN): (3, 72), ("put", UNKNOWN): (2, 800), ("get", UNKNOWN): (1, 30)},
        **{("fetch_and_op", UNKNOWN): (1, 8), ("send", 1): (1, 9)},
    }
    assert counted.received_by(RANK) == {UNKNOWN: (1, 100)}
    exports = [line for line in errors.splitlines() if line.startswith("export ")]
    assert exports[1:] == ["export SCOREP_SUBSTRATE_PLUGINS=perfield"]
    name, library = exports[0].removeprefix("export ").split("=")
    assert name == "LD_PRELOAD"
    assert Path(library).exists()


@pytest.mark.parametrize("beginning", ["", call("MPI_Allreduce", f"end_collective {REVERSED} -1 11 8 8")])
def test_without_mpi_init_collective_no_communicator_is_world(play, beginning):
    script = DEFINITIONS + call("MPI_Init", "init_mpp") + beginning
    counted, _ = play(script + call("MPI_Send", f"send 0 {REVERSED} 7 24"))
    assert counted.sent_by(RANK) == {("send", UNKNOWN): (1, 24)}


def test_device_copies_are_not_rank_transfers(play):
    copies = (f"put {WINDOW} 0 400 1", f"get {WINDOW} 0 400 2")
    counted, errors = play(START + call("MPI_Barrier", *copies) + "".join(f"{line}\n" for line in copies))
    assert not counted.messages
    assert "LD_PRELOAD" not in errors


def test_device_events_inside_a_call_are_left_out(play):
    events = (f"send 3 {WORLD} 7 24", "begin_io 8 0 0 -1 2 0", "complete_io 8 0 24 2")
    of_device = tuple(f"device_{event}" for event in events)
    script = call("MPI_Send", *of_device, events[0]) + "\n".join((*of_device, *events[1:], ""))
    counted, _ = play(START + script)
    assert counted.sent_by(RANK) == {("send", 3): (1, 24)}
    assert counted.calls == {(RANK, "send"): 1, (RANK, "own_read"): 1}
    assert counted.moved_by(RANK) == {"own_read": (0, 24)}
    assert counted.ends[RANK]["dropped_events"]["of_no_thread"] > 0


def test_calls_and_time_are_counted_by_class(play):
    counted, _ = play(START + 2 * call("MPI_Waitall", "work 10") + call("MPI_Send") + call("MPI_Comm_rank"))
    assert counted.calls == {(RANK, "waitall"): 2, (RANK, "send"): 1}
    assert counted.class_s[RANK, "wait"] >= 0.02
    assert counted.class_s[RANK, "p2p"] < 0.01


def test_step_without_mpi_calls_has_zero_mpi_time(play, tmp_path):
    steps = "".join(f"enter 400\n{inside}exit 400\n" for inside in (call("MPI_Send"), ""))
    counted, _ = play(f"{START}region 400 step\n{steps}", PERFIELD_STEP_REGION="step")
    run = perfield.open(tmp_path / "perfield-run")
    assert [frame.values["mpi_time_s"][RANK] > 0 for frame in run.frames()] == [True, False]
    assert run.frame(1).values["mpi_time_s"][RANK] == run.frame(1).values["sent_count"][RANK] == 0
    assert counted.ends[RANK]["sources"] == ["scorep", "scorep-mpi"]


def test_program_with_only_mpi_init_has_zero_mpi_time(play, tmp_path):
    counted, _ = play(f"{START}region 400 step\n" + 2 * "enter 400\nexit 400\n", PERFIELD_STEP_REGION="step")
    run = perfield.open(tmp_path / "perfield-run")
    assert [frame.values["mpi_time_s"][RANK] for frame in run.frames()] == [0, 0]
    assert counted.ranks[RANK]["sources"] == ["scorep", "scorep-mpi"]


def test_program_without_mpi_has_absent_mpi_time(play, tmp_path):
    play("region 400 step\ninit_mpp\n" + 2 * "enter 400\nexit 400\n", PERFIELD_STEP_REGION="step")
    run = perfield.open(tmp_path / "perfield-run")
    assert all(np.isnan(frame.values["mpi_time_s"][RANK]) for frame in run.frames())


def test_collectives_count_bytes_non_blocking_ones_at_completion(play):
    counted, _ = play(
        START
        + call("MPI_Allreduce", f"end_collective {REVERSED} -1 11 16 32")
        + call("MPI_Iallreduce")
        + call(
            "MPI_Waitall", f"end_icollective {REVERSED} -1 11 5 6 1", f"end_icollective {WORLD} -1 99 1 1 2"
        )
    )
    assert counted.calls == {(RANK, name): 1 for name in ("allreduce", "iallreduce", "waitall")}
    assert counted.moved_by(RANK) == {"allreduce": (16, 32), "iallreduce": (5, 6)}


def test_call_with_lost_end_ends_at_the_next(play):
    lost = f"enter {FUNCTIONS['MPI_Send']}\nsend 0 {WORLD} 7 24\n"
    counted, _ = play(START + lost + call("MPI_Recv", f"receive 3 {WORLD} 7 100") + call("MPI_Waitall"))
    assert counted.calls == {(RANK, name): 1 for name in ("send", "recv", "waitall")}
    assert counted.sent_by(RANK) == {("send", 0): (1, 24)}


def test_nothing_is_counted_while_recording_is_off(play):
    quiet = call("MPI_Send", f"send 0 {WORLD} 7 24") + "begin_io 5 1 0 8 1 0\ncomplete_io 5 1 8 1\n"
    counted, _ = play(START + "off\n" + quiet + "on\n" + call("MPI_Send", f"send 1 {WORLD} 7 1"))
    assert counted.sent_by(RANK) == {("send", 1): (1, 1)}
    assert counted.calls == {(RANK, "send"): 1}


def test_program_files_are_counted_with_known_bytes(play):
    counted, _ = play(
        START
        + "begin_io 5 1 0 512 2 -1\nwork 5\ncomplete_io 5 1 512 2\n"
        + "begin_io 6 0 0 4096 3 -1\nbegin_io 7 0 0 9 4 -1\ncomplete_io 7 0 9 4\ncomplete_io 6 0 9 3\n"
        + "begin_io 6 0 0 -1 3 -1\ncomplete_io 6 0 -1 3\n"
        + "begin_io 5 2 0 0 2 -1\ncomplete_io 5 2 0 2\n"
    )
    assert counted.calls == {(RANK, "own_write"): 1, (RANK, "own_read"): 2}
    assert counted.moved_by(RANK) == {"own_write": (512, 0), "own_read": (0, 9)}
    assert counted.class_s[RANK, "file"] >= 0.005


def test_step_without_files_has_zero_io_time(play, tmp_path):
    write = "begin_io 5 1 0 512 2 -1\nwork 5\ncomplete_io 5 1 512 2\n"
    steps = "".join(f"enter 400\n{inside}exit 400\n" for inside in (write, ""))
    counted, _ = play(f"region 400 march\ninit_mpp\n{steps}", PERFIELD_STEP_REGION="march")
    frames = list(perfield.open(tmp_path / "perfield-run").frames())
    assert [frame.values["io_write_bytes"][RANK] for frame in frames] == [512, 0]
    assert [frame.values["march_file_time_s"][RANK] > 0 for frame in frames] == [True, False]
    assert frames[1].values["march_file_time_s"][RANK] == 0
    assert counted.ends[RANK]["sources"] == ["scorep", "scorep-io"]


def test_scorep_trace_writes_are_not_counted(play):
    write = "begin_io 5 1 0 512 2 -1\ncomplete_io 5 1 512 2\n"
    counted, _ = play(f"{START}begin_flush 4\n{write}end_flush 4\nend_flush 4\n{write}")
    assert counted.moved_by(RANK) == {"own_write": (512, 0)}


def test_files_of_mpi_itself_are_not_counted(play):
    inner = ("begin_io 9 1 0 40 1 -1", "complete_io 9 1 40 1")
    outer = ("begin_io 8 1 0 8 2 0", *inner, "complete_io 8 1 8 2")
    read = ("begin_io 8 0 0 -1 2 0", "complete_io 8 0 24 2")
    counted, _ = play(
        START
        + call("MPI_File_open", *inner)
        + call("MPI_File_write_at", *outer)
        + call("MPI_File_read_all", *read)
    )
    assert counted.calls == {(RANK, name): 1 for name in ("file_open", "file_write", "file_read_all")}
    assert counted.moved_by(RANK) == {"file_write": (8, 0), "file_read_all": (0, 24)}


def test_asynchronous_io_counts_bytes_at_completion(play):
    begun = "begin_io 5 1 0 512 2 0\nissue_io 5 1 2\n"
    counted, _ = play(START + begun + call("MPI_Send") + "complete_io 5 1 512 2\n")
    assert counted.calls == {(RANK, "own_write"): 1, (RANK, "send"): 1}
    assert counted.moved_by(RANK) == {"own_write": (512, 0)}


def test_io_with_lost_end_does_not_hide_mpi_calls(play):
    counted, _ = play(START + "begin_io 5 1 0 512 2 0\n" + call("MPI_Send", f"send 0 {WORLD} 7 24"))
    assert counted.sent_by(RANK) == {("send", 0): (1, 24)}
    assert counted.calls == {(RANK, "own_write"): 1, (RANK, "send"): 1}
    assert counted.ends[RANK]["faults"] == {}


def test_wrappers_take_precedence_over_scorep_mpi_events(score_p_ranks_play, mpi, counted_in, tmp_path):
    script = DEFINITIONS + "init_mpp\n" + call("MPI_Send", f"send 0 {REVERSED} 7 24")
    result = score_p_ranks_play(script + call("MPI_Put", f"put {WINDOW} 0 400 1"), mpi)
    counted = counted_in(tmp_path / "perfield-run")
    assert {key for key in counted.calls if key[1] != "own_read"} == {(n, "sendrecv") for n in range(3)}
    assert set(counted.messages) == {(0, "sendrecv", 1), (1, "sendrecv", 2), (2, "sendrecv", 0)}
    assert "LD_PRELOAD" not in result.stderr
