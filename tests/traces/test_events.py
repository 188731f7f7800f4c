# SPDX-License-Identifier: BSD-3-Clause
"""Each kind of event reaches the follower through the otf2 library, with all its values."""

from __future__ import annotations

import pytest

import perfield
from perfield import _bridge
from twins import twin

small_traces = pytest.importorskip("small_traces", reason="the module otf2 is not installed")
otf2 = small_traces.otf2

from perfield.traces import import_trace  # noqa: E402
from perfield.traces.library import otf2_modules  # noqa: E402

START, MICRO = small_traces.START, 1e-6


@pytest.fixture
def traced(tmp_path):
    """traced(write, **import_arguments): the one frame of a trace that write(trace) fills; rank 0 of 4."""
    otf2_modules()  # corrects the module, which otherwise cannot read inter-communicators

    def frame(write, **arguments):
        with small_traces.Writer(tmp_path / "trace", ranks=4) as trace:
            write(trace)
        done = import_trace(trace.anchor, tmp_path / "run", **arguments)
        run = perfield.open(done.path)
        return run.frame(0)

    return frame


def sent(frame) -> list[tuple]:
    """(target, call, count, bytes) of the messages that rank 0 sent."""
    rows = [row for row in frame.messages if row["source"] == 0]
    return sorted((int(m["target"]), str(m["call"]), int(m["count"]), int(m["bytes"])) for m in rows)


def test_messages_arrive_with_receiver_communicator_and_bytes(traced):
    def write(trace):
        trace.inside(0, "MPI_Send", 1000, 2000, ("mpi_send", 1, trace.world, 5, 800))
        trace.inside(0, "MPI_Isend", 3000, 4000, ("mpi_isend", 1, trace.reversed, 5, 801, 7))
        trace.inside(0, "MPI_Recv", 5000, 9000, ("mpi_recv", 3, trace.world, 5, 802))
        trace.inside(0, "MPI_Wait", 9000, 9500, ("mpi_irecv", 1, trace.reversed, 5, 803, 8))

    frame = traced(write)
    assert sent(frame) == [(1, "send", 1, 800), (2, "isend", 1, 801)]
    assert frame.values["received_bytes"][0] == 802 + 803
    assert frame.waits["peer"].tolist() == [3, 2]
    assert frame.waits["time_s"] == pytest.approx([4 * MICRO, 0.5 * MICRO])


def test_one_sided_transfers_use_the_ranks_of_their_window(traced):
    def write(trace):
        window = trace.definitions.rma_win("window", trace.reversed)
        atomic = otf2.RmaAtomicType.ACCUMULATE
        trace.inside(0, "MPI_Put", 1000, 2000, ("rma_put", window, 0, 64, 1))
        trace.inside(0, "MPI_Get", 2000, 3000, ("rma_get", window, 1, 65, 2))
        trace.inside(0, "MPI_Accumulate", 3000, 4000, ("rma_atomic", window, 2, atomic, 66, 67, 3))

    frame = traced(write)
    calls = {(str(m["call"]), int(m["bytes"])): (int(m["source"]), int(m["target"])) for m in frame.messages}
    assert calls == {("put", 64): (0, 3), ("get", 65): (2, 0), ("accumulate", 66): (0, 1)}


def test_collectives_arrive_with_their_bytes(traced, tmp_path):
    def write(trace):
        kind, world = otf2.CollectiveOp.ALLREDUCE, trace.world
        trace.inside(0, "MPI_Allreduce", 1000, 2000, ("mpi_collective_end", kind, world, 0, 8, 24))
        trace.inside(0, "MPI_Ibcast", 3000, 4000, ("non_blocking_collective_request", 9))
        complete = ("non_blocking_collective_complete", otf2.CollectiveOp.BCAST, world, 0, 16, 17, 9)
        trace.inside(0, "MPI_Wait", 5000, 6000, complete)

    assert calls_of(traced(write), tmp_path) == {
        "allreduce": (1, 1000, 8, 24),
        "ibcast": (1, 1000, 16, 17),
        "wait": (1, 1000, 0, 0),
    }


def test_file_operations_arrive_with_mode_bytes_and_paradigm(traced):
    def write(trace):
        define, modes = trace.definitions, otf2.IoOperationMode
        file = define.io_regular_file("out.txt", scope=next(iter(define.system_tree_nodes)))
        flags = (otf2.IoParadigmClass.SERIAL, otf2.IoParadigmFlag.NONE)
        kinds = {name: define.io_paradigm(name, name, *flags) for name in ("POSIX", "ISOC")}
        handles = {name: define.io_handle("", file, kind) for name, kind in kinds.items()}
        events, none = trace.events[0], otf2.IoOperationFlag.NONE
        events.io_operation_begin(START + 1000, handles["POSIX"], modes.WRITE, none, 512, 7)
        events.io_operation_complete(START + 2000, handles["POSIX"], 500, 7)
        events.io_operation_begin(START + 3000, handles["ISOC"], modes.READ, none, 512, 8)
        events.io_operation_issued(START + 5000, handles["ISOC"], 8)
        events.io_operation_complete(START + 6000, handles["ISOC"], 300, 8)
        events.io_operation_begin(START + 7000, handles["POSIX"], modes.READ, none, 512, 9)
        events.io_operation_cancelled(START + 7500, handles["POSIX"], 9)

    values = traced(write).values
    read = ("io_read_bytes", "io_read_count")
    written = ("io_write_bytes", "io_write_count")
    assert [values[name][0] for name in (*read, *written)] == [300, 2, 500, 1]
    assert values["io_time_s"][0] == pytest.approx((1 + 2 + 0.5) * MICRO)


def test_regions_pauses_and_buffer_flushes_arrive(traced):
    def write(trace):
        events, main = trace.events[0], trace.region("main")
        context = trace.definitions.calling_context(trace.region("solve"), None, None)
        events.program_begin(START, "/home/user/solver", ["-n", "3"])
        events.enter(START + 1000, main)
        events.calling_context_enter(START + 2000, context, 1)
        events.calling_context_leave(START + 5000, context)
        events.measurement_on_off(START + 6000, otf2.MeasurementMode.OFF)
        events.measurement_on_off(START + 8000, otf2.MeasurementMode.ON)
        events.buffer_flush(START + 9000, START + 12_000)
        events.leave(START + 13_000, main)

    values = traced(write).values
    assert values["main_time_s"][0] == pytest.approx((12 - 2 - 3) * MICRO)
    assert values["solve_time_s"][0] == pytest.approx(3 * MICRO)
    assert values["solve_count"][0] == 1


def test_counters_arrive(traced):
    def write(trace):
        define = trace.definitions
        member = define.metric_member(
            "ru_minflt", metric_mode=otf2.MetricMode.ACCUMULATED_START, value_type=otf2.Type.UINT64
        )
        strictly = otf2.MetricOccurrence.SYNCHRONOUS_STRICT
        metric = define.metric_class((member,), occurrence=strictly)
        events, solve = trace.events[0], trace.region("solve")
        for time, value, event in ((1000, 5, events.enter), (2000, 47, events.leave)):
            events.metric(START + time, metric, [value])
            event(START + time, solve)

    assert traced(write).values["solve_ru_minflt"][0] == 42


def calls_of(frame, folder) -> dict[str, tuple]:
    """Call -> (count, ns, bytes out, bytes in) in the only step entry of rank 0."""
    name_of = {number: name for number, name, _, _ in _bridge.calls()}
    (stream,) = (folder / "run" / "stream").glob("*.pf")
    entries, _ = twin.decode(stream.read_bytes())
    (step,) = (entry for entry in entries if entry["type"] == "step")
    rows = step["body"]["calls"]
    return {name_of[r["call"]]: (r["count"], r["ns"], r["bytes_out"], r["bytes_in"]) for r in rows}
