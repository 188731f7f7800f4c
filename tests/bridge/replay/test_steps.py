# SPDX-License-Identifier: BSD-3-Clause
"""Steps of one replayed rank: regions, their times and counts, counters, and gaps in the recording."""

from __future__ import annotations

import resource
from dataclasses import replace

import pytest
from known_runs.replays import (
    ADVANCE,
    FLUX,
    MAIN,
    MASTER,
    OTHER,
    PAUSED,
    SETUP,
    STEP,
    TEARDOWN,
    inside,
    of_quantities,
    of_regions,
    replayed,
    trace,
)

from perfield import _bridge
from perfield.traces.selection import RegionChoice
from twins import twin


def test_step_region_ends_setup_and_closes_steps():
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


def test_open_region_has_its_share_of_each_step():
    (setup, step), behind = replayed(*inside(ADVANCE, 100, 300), ("leave", MASTER, 450, MAIN))
    assert of_regions(setup)["main"] == (1, 1, 100, 100)
    assert of_regions(step)["main"] == (1, 0, 200, 0)
    assert of_regions(behind)["main"] == (1, 0, 150, 150)


def test_replay_without_step_region_is_one_entry():
    steps, whole = replayed(*inside(ADVANCE, 100, 300), *inside(ADVANCE, 300, 700), step_region="")
    assert not steps
    assert (whole.kind, whole.measured_ns) == (SETUP, 700)
    assert of_regions(whole)["advance"] == (1, 2, 600, 600)


def test_recursion_counts_each_entry_but_its_time_once():
    _, whole = replayed(
        ("enter", MASTER, 10, FLUX), *inside(FLUX, 20, 50), ("leave", MASTER, 100, FLUX), step_region=""
    )
    assert of_regions(whole)["flow::flux"] == (1, 2, 90, 90)


def test_threads_are_added_up_and_the_longest_is_kept():
    _, whole = replayed(*inside(FLUX, 10, 40), *inside(FLUX, 20, 90, location=OTHER), step_region="")
    number = next(number for number, name in replayed.names.items() if name == "flow::flux")
    assert (number, 2, 2, 100, 30, 70, 100, 30, 70) in whole.regions


def test_only_the_first_thread_in_the_step_closes_it():
    steps, _ = replayed(*inside(ADVANCE, 100, 300), *inside(ADVANCE, 310, 320, location=OTHER))
    assert [step.kind for step in steps] == [SETUP, STEP]


def test_region_names_match_with_or_without_their_module():
    _, whole = replayed(*inside(FLUX, 10, 40), *inside(ADVANCE, 50, 60), regions=["flux"], step_region="")
    assert of_regions(whole) == {"flux": (1, 1, 30, 30)}


def test_cpp_functions_match_by_symbol_and_lose_their_types():
    name, symbol = "double flow::Solver::flux<2>(int) const", "_ZNK4flow6Solver4fluxILi2EEEdi"
    assert _bridge.region_of(name, symbol, ["*"], "") == "flow::Solver::flux<2>"
    assert _bridge.region_of(name, symbol, [symbol], "") == symbol
    assert _bridge.region_of(name, symbol, ["flux"], "") == "flux"
    assert _bridge.region_of("int main(int, char**)", "main", ["*"], "") == "main"
    assert _bridge.region_of("hand made (a)", "hand made (a)", ["*"], "") == "hand made (a)"
    assert _bridge.region_of(name, symbol, ["other"], "") == ""


def test_regions_beyond_the_table_become_other_regions():
    _, whole = replayed(*inside(FLUX, 10, 40), *inside(ADVANCE, 50, 60), step_region="", max_regions=2)
    assert {row[0]: row[2] for row in whole.regions} == {1: 1, 0: 2}
    assert replayed.end["dropped_regions"] == 2


def test_unmatched_begin_and_end_are_faults():
    _, whole = replayed(
        ("leave", MASTER, 10, FLUX), ("enter", MASTER, 20, FLUX), ("enter", MASTER, 30, ADVANCE),
        ("leave", MASTER, 50, FLUX), step_region="",
    )  # fmt: skip
    assert whole.faults == 2
    assert of_regions(whole)["advance"][2] == 20


def test_unrecorded_time_is_in_no_step_and_no_region():
    (_, step), _ = replayed(
        ("enter", MASTER, 100, ADVANCE), ("record", MASTER, 150, False), ("record", MASTER, 250, True),
        ("leave", MASTER, 300, ADVANCE),
    )  # fmt: skip
    assert (step.measured_ns, step.flags & PAUSED) == (100, PAUSED)
    assert of_regions(step)["advance"] == (1, 1, 100, 100)


def test_recording_stays_off_over_the_end_of_a_step():
    (_, step), behind = replayed(
        ("enter", MASTER, 100, ADVANCE), ("record", MASTER, 150, False), ("leave", MASTER, 300, ADVANCE),
        ("record", MASTER, 340, True), ("leave", MASTER, 400, MAIN),
    )  # fmt: skip
    assert (step.measured_ns, behind.measured_ns) == (50, 60)
    assert step.flags & behind.flags & PAUSED
    assert of_regions(behind)["main"][2] == 60


def test_flushing_the_trace_is_not_program_time():
    (_, step), _ = replayed(
        ("enter", MASTER, 100, ADVANCE), ("flush", MASTER, 150, 250), ("leave", MASTER, 300, ADVANCE)
    )
    assert step.measured_ns == 100
    assert of_regions(step)["advance"] == (1, 1, 100, 100)


def test_counters_grow_in_open_regions_and_add_up_over_threads():
    _, whole = replayed(
        ("metric", MASTER, 100, 0, [5, 1000]), ("enter", MASTER, 100, FLUX),
        ("metric", MASTER, 200, 0, [7, 1400]), ("leave", MASTER, 200, FLUX),
        ("metric", MASTER, 250, 0, [7, 1500]),
        ("metric", OTHER, 110, 0, [1, 10]), ("enter", OTHER, 110, FLUX),
        ("metric", OTHER, 120, 0, [1, 60]), ("leave", OTHER, 120, FLUX), step_region="",
    )  # fmt: skip
    assert of_quantities(whole, "flow::flux") == {"PAPI_TOT_INS": 450, "ru_minflt": 2}
    assert of_quantities(whole, "main") == {"PAPI_TOT_INS": 500, "ru_minflt": 2}


def test_calling_contexts_are_entered_and_left_like_regions():
    of = replace(trace(), contexts={5: ADVANCE})
    steps, _ = replayed(("enter_context", MASTER, 100, 5), ("leave_context", MASTER, 300, 5), of=of)
    assert [step.kind for step in steps] == [SETUP, STEP]


def test_undefined_region_is_not_measured():
    _, whole = replayed(*inside(999, 10, 40), *inside(FLUX, 50, 60), step_region="")
    assert set(of_regions(whole)) == {"main", "flow::flux"}


def test_backward_time_stamps_give_no_time():
    (_, step), behind = replayed(
        ("enter", MASTER, 100, ADVANCE), ("leave", MASTER, 90, ADVANCE), ("enter", MASTER, 80, FLUX),
        ("leave", MASTER, 130, FLUX),
    )  # fmt: skip
    assert (step.begin_ns, step.end_ns, step.measured_ns) == (100, 100, 0)
    assert of_regions(step)["advance"] == (1, 1, 0, 0)
    assert of_regions(behind)["flow::flux"][2] == 30


def test_flush_on_another_thread_keeps_the_step_time():
    (_, step), behind = replayed(
        ("enter", OTHER, 50, FLUX), ("enter", MASTER, 100, ADVANCE), ("flush", OTHER, 150, 350),
        ("leave", MASTER, 300, ADVANCE), ("leave", OTHER, 400, FLUX),
    )  # fmt: skip
    assert (step.measured_ns, step.flags & PAUSED) == (200, 0)
    assert of_regions(step)["advance"] == (1, 1, 200, 200)
    assert of_regions(step)["flow::flux"] == (1, 0, 50, 50)
    assert of_regions(behind)["flow::flux"] == (1, 0, 50, 50)


def test_followers_of_several_ranks_are_independent(tmp_path):
    tables = RegionChoice(trace(), ["*"], "").tables()
    paths = [tmp_path / f"{rank}.pf" for rank in range(3)]
    followers = [_bridge.Follower(tables, path=str(path), rank=rank) for rank, path in enumerate(paths)]
    for time, what in ((0, "enter"), (100, "leave")):
        for rank, follower in enumerate(followers):
            getattr(follower, what)(MASTER, time * (rank + 1), FLUX)
    for follower in followers:
        follower.end("finalize")
    for rank, path in enumerate(paths):
        (step,) = [e for e in twin.decode(path.read_bytes())[0] if e["type"] == "step"]
        assert [row["inclusive_sum_ns"] for row in step["body"]["regions"]] == [100 * (rank + 1)]


def test_unwritable_stream_is_an_error(tmp_path):
    follower = _bridge.Follower(RegionChoice(trace(), ["*"], "").tables(), path=str(tmp_path / "stream.pf"))
    follower.enter(MASTER, 0, MAIN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            follower.end("finalize")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_stream_is_no_device():
    follower = _bridge.Follower(RegionChoice(trace(), ["*"], "").tables(), path="/dev/full")
    follower.enter(MASTER, 0, MAIN)
    with pytest.raises(OSError, match="Invalid argument: '/dev/full'"):
        follower.end("finalize")


def test_end_entry_holds_the_faults():
    replayed(("leave", MASTER, 10, FLUX), step_region="")
    assert replayed.end["faults"] == {"ends_without_begin_or_not_reached": 1}
    assert replayed.end["reason"] == "finalize"


def test_nested_entries_of_the_step_region_close_one_step():
    nested = [("enter", MASTER, 100, ADVANCE), *inside(ADVANCE, 120, 180), *inside(ADVANCE, 190, 250)]
    steps, _ = replayed(*nested, ("leave", MASTER, 300, ADVANCE), *inside(ADVANCE, 350, 500))
    assert [(step.kind, step.end_ns) for step in steps] == [(SETUP, 100), (STEP, 300), (STEP, 500)]
    assert of_regions(steps[1])["advance"] == (1, 3, 200, 200)
