# SPDX-License-Identifier: BSD-3-Clause
"""One rank of a trace as steps: regions, their times and counts, counters, and where nothing was recorded."""

from __future__ import annotations

from dataclasses import replace

from replays import ADVANCE, FLUX, MAIN, MASTER, OTHER, inside, of_regions, replayed, trace

from perfield import _bridge
from perfield.traces.replay import PAUSED, SETUP, STEP, TEARDOWN, Replay
from perfield.traces.selection import RegionChoice
from perfield.traces.step import FIRST_COUNTER


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


def test_functions_of_cpp_are_chosen_by_their_symbols_and_else_called_without_their_types():
    name, symbol = "double flow::Solver::flux<2>(int) const", "_ZNK4flow6Solver4fluxILi2EEEdi"
    assert _bridge.region_of(name, symbol, ["*"], "") == "flow::Solver::flux<2>"
    assert _bridge.region_of(name, symbol, [symbol], "") == symbol
    assert _bridge.region_of(name, symbol, ["flux"], "") == "flux"
    assert _bridge.region_of("int main(int, char**)", "main", ["*"], "") == "main"
    assert _bridge.region_of("hand made (a)", "hand made (a)", ["*"], "") == "hand made (a)"
    assert _bridge.region_of(name, symbol, ["other"], "") == ""


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


def test_counters_grow_in_the_regions_that_are_open_and_add_up_over_threads():
    _, whole = replayed(
        ("metrics", MASTER, 100, 0, [5, 1000]), ("enter", MASTER, 100, FLUX),
        ("metrics", MASTER, 200, 0, [7, 1400]), ("leave", MASTER, 200, FLUX),
        ("metrics", MASTER, 250, 0, [7, 1500]),
        ("metrics", OTHER, 110, 0, [1, 10]), ("enter", OTHER, 110, FLUX),
        ("metrics", OTHER, 120, 0, [1, 60]), ("leave", OTHER, 120, FLUX), step_region="",
    )  # fmt: skip
    counted = {(replayed.names[row[0]], row[1] - FIRST_COUNTER): row[3] for row in whole.inside}
    assert counted == {("flow::flux", 0): 450, ("flow::flux", 1): 2, ("main", 0): 500, ("main", 1): 2}


def test_functions_of_calling_contexts_are_entered_and_left_like_others():
    of = replace(trace(), contexts={5: ADVANCE})
    replay = Replay(of, 1, RegionChoice(of, ["*"], "advance"))
    events = [("enter_context", MASTER, 100, 5, 2), ("leave_context", MASTER, 300, 5)]
    assert [step.kind for step in replay.steps([events])] == [SETUP, STEP]
