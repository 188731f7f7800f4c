# SPDX-License-Identifier: BSD-3-Clause
"""Definitions of a trace: ranks, threads, communicators, kinds of region, clock, counters."""

from __future__ import annotations

import os

import pytest

from perfield import _bridge

small_traces = pytest.importorskip("small_traces", reason="the module otf2 is not installed")
otf2 = small_traces.otf2

from perfield.traces.definitions import read_definitions  # noqa: E402
from perfield.traces.library import otf2_modules  # noqa: E402
from perfield.traces.peers import OUTSIDE, UNKNOWN  # noqa: E402


def written(folder, change=lambda trace: None, **more):
    """Writes a trace whose threads only enter main, after change(writer); returns its definitions."""
    with small_traces.Writer(folder, **more) as trace:
        change(trace)
        for rank, events in enumerate([*trace.events, *trace.others]):
            events.enter(small_traces.START + rank, trace.region("main"))
            events.leave(small_traces.START + 5000, trace.region("main"))
    return read_definitions(trace.anchor)


def test_mpi_comm_world_numbers_the_ranks(tmp_path):
    def reverse(trace):
        trace.comm("MPI_COMM_WORLD", [*trace.locations[::-1]])

    found = written(tmp_path / "t", reverse, ranks=3, hosts=("a", "b", "c"), mpi=False)
    assert [rank.host for rank in found.ranks] == ["c", "b", "a"]


def test_single_rank_is_found_without_members_of_its_world(tmp_path):
    def alone(trace):
        group = trace.definitions.group("", otf2.GroupType.COMM_SELF, otf2.Paradigm.MPI, members=())
        trace.definitions.comm("MPI_COMM_WORLD", group)

    found = written(tmp_path / "t", alone, ranks=1, mpi=False)
    assert [(rank.rank, rank.host) for rank in found.ranks] == [(0, "node0")]
    assert "scorep-mpi" in found.sources


def test_threads_of_a_process_form_one_rank(tmp_path):
    found = written(tmp_path / "t", ranks=2, threads=2)
    assert [len(rank.locations) for rank in found.ranks] == [2, 2]
    assert found.n_events == 8


def test_peers_belong_to_the_communicator_or_the_other_group(tmp_path):
    def more(trace):
        trace.half = trace.comm("half", trace.locations[2:])
        groups = [
            trace.definitions.group(name, otf2.GroupType.COMM_GROUP, otf2.Paradigm.MPI, members=members)
            for name, members in (("low", trace.locations[:2]), ("high", trace.locations[2:]))
        ]
        trace.between = trace.definitions.inter_comm("", *groups)
        alone = trace.definitions.group("self", otf2.GroupType.COMM_SELF, otf2.Paradigm.MPI, members=())
        trace.own = trace.definitions.comm("MPI_COMM_SELF", alone)
        refs.update(half=trace.half._ref, between=trace.between._ref, own=trace.own._ref)

    otf2_modules()  # corrects the module, which otherwise cannot write inter-communicators either
    refs: dict[str, int] = {}
    peers = written(tmp_path / "t", more, ranks=4).peers
    assert [peers.world_rank(refs["half"], place, 2) for place in (0, 1, 2)] == [2, 3, UNKNOWN]
    assert peers.world_rank(refs["between"], 1, own=0) == 3
    assert peers.world_rank(refs["between"], 1, own=3) == 1
    assert peers.world_rank(refs["own"], 0, own=3) == 3
    assert peers.world_rank(99, 0, own=3) == UNKNOWN


def test_processes_outside_mpi_comm_world_are_left_out_with_a_note(tmp_path):
    def fewer(trace):
        trace.comm("MPI_COMM_WORLD", trace.locations[:2])
        trace.all = trace.comm("all", trace.locations)
        refs["all"] = trace.all._ref

    refs: dict[str, int] = {}
    found = written(tmp_path / "t", fewer, ranks=3, mpi=False)
    assert len(found.ranks) == 2
    assert any("1 processes that are not in MPI_COMM_WORLD" in note for note in found.notes)
    assert found.peers.world_rank(refs["all"], 2, own=0) == OUTSIDE


def test_regions_are_code_mpi_calls_or_neither(tmp_path):
    def more(trace):
        for name in ("MPI_Isend", "MPI_Comm_rank"):
            trace.region(name)
        trace.definitions.region("fwrite", region_role=otf2.RegionRole.FILE_IO)
        trace.definitions.region("TRACE BUFFER FLUSH", region_role=otf2.RegionRole.ARTIFICIAL)

    found = written(tmp_path / "t", more, ranks=1)
    kinds = {region.name: (region.is_code, region.call) for region in found.regions.values()}
    assert kinds == {
        "main": (True, 0),
        "MPI_Isend": (False, _bridge.mpi_functions()["MPI_Isend"]),
        "MPI_Comm_rank": (False, 0),
        "fwrite": (False, 0),
        "TRACE BUFFER FLUSH": (False, 0),
    }


def test_trace_without_a_start_time_ends_at_its_file_time(tmp_path):
    anchor = small_traces.write_ring(tmp_path / "t", 1, 1)
    reported = read_definitions(anchor).clock
    assert reported.resolution == 1_000_000_000
    assert reported.start == small_traces.START
    assert abs(reported.start_ns - anchor.stat().st_mtime_ns) < 60e9
    os.utime(anchor, ns=(10**18, 10**18))
    assert read_definitions(anchor).clock.start_ns == reported.start_ns


def test_only_accumulating_counters_are_kept(tmp_path):
    def more(trace):
        define, mode = trace.definitions.metric_member, otf2.MetricMode
        members = [
            define("PAPI_TOT_INS", metric_mode=mode.ACCUMULATED_START, value_type=otf2.Type.UINT64),
            define("power", metric_mode=mode.ABSOLUTE_POINT, value_type=otf2.Type.DOUBLE),
            define("ru_minflt", metric_mode=mode.ACCUMULATED_START, value_type=otf2.Type.UINT64),
        ]
        strictly = otf2.MetricOccurrence.SYNCHRONOUS_STRICT
        trace.definitions.metric_class(members, occurrence=strictly)

    found = written(tmp_path / "t", more, ranks=1)
    assert found.metrics.names == ["PAPI_TOT_INS", "ru_minflt"]
    assert list(found.metrics.places.values()) == [[(0, 0), (2, 1)]]


def test_line_that_the_trace_does_not_know_is_0(tmp_path):
    def unknown(trace):
        trace.region("solve", source_file="a.c", begin_line_number=(1 << 32) - 1)

    regions = written(tmp_path / "t", unknown).regions.values()
    assert [region.line for region in regions if region.name == "solve"] == [0]
