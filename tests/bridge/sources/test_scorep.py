# SPDX-License-Identifier: BSD-3-Clause
"""Score-P's plugin: a stand-in for Score-P plays it regions and steps."""

from __future__ import annotations

import pytest

import perfield
from perfield import _bridge

# Ten steps of a solver, in each of which `flux` is entered twice, once from within `flux_edge`.
STEP = "enter 40\nenter 88\nenter 120\nexit 120\nexit 88\nenter 120\nexit 120\nexit 40\n"
REGIONS = "region 8 main\nregion 40 time_step\nregion 88 flux_edge\nregion 120 flux\n"
SOLVER = f"{REGIONS}enter 8\ninit_mpp\n{10 * STEP}exit 8\n"
EXPECTED = {"main_count": 1, "time_step_count": 10, "flux_edge_count": 10, "flux_count": 20}


@pytest.fixture
def play(score_p_plays, tmp_path):
    """play(script, *arguments, **configuration): plays a script to the plugin.

    arguments : see score_p_plays. configuration : keys of perfield. Returns (perfield.Run, finished host).
    """

    def run(script: str, *arguments: object, **configuration: str):
        environment = {f"PERFIELD_{key.upper()}": value for key, value in configuration.items()}
        result = score_p_plays(script, *arguments, **environment)
        return perfield.open(tmp_path / "perfield-run"), result

    return run


def frames_of(run: perfield.Run) -> list:
    """All frames, setup and teardown included, but none twice."""
    frames = list(run.frames())
    if any(frame.kind == "whole" for frame in frames):
        return frames
    return [frame for frame in (run.setup, *frames, run.teardown) if frame]


def counts(run: perfield.Run) -> dict[str, float]:
    """Region's field name -> how often it was entered in all frames together."""
    total: dict[str, float] = {}
    for frame in frames_of(run):
        for name, values in frame.values.items():
            if (
                name.removesuffix("_count") in {region.field for region in run.known_regions}
                and values[0] > 0
            ):
                total[name] = total.get(name, 0) + values[0]
    return total


def test_plugin_reports_version_3_and_zeroes_reserved_fields(play):
    _, result = play(SOLVER)
    assert "version 3 reserved 0" in result.stdout


def test_regions_are_measured_by_name(play):
    run, _ = play(SOLVER)
    assert counts(run) == EXPECTED
    places = {region.name: (region.file, region.line) for region in run.known_regions}
    assert places["flux"] == ("solver.f90", 120)
    assert run.ends[0]["reason"] == "finalize"


def test_step_region_closes_steps(play):
    run, _ = play(SOLVER, step_region="time_step")
    assert len(run) == 10
    assert [frame.values["flux_count"][0] for frame in run.frames()] == 10 * [2]


def test_only_selected_regions_are_defined(play):
    run, _ = play(SOLVER, regions="flux_*", step_region="time_step")
    assert len(run) == 10
    assert counts(run) == {"flux_edge_count": 10}
    assert {region.name for region in run.known_regions} <= {"flux_edge", "time_step", "other regions"}


def test_mpi_calls_are_not_regions(play):
    run, _ = play(f"{SOLVER}region 16 MPI_Send\nenter 16\nexit 16\n")
    assert "MPI_Send" not in {region.name for region in run.known_regions}


def test_calling_contexts_count_as_their_regions(play):
    pair = "enter_context 3\nexit_context 3\n"
    run, _ = play(f"{REGIONS}context 3 120\ninit_mpp\n{5 * pair}")
    assert counts(run) == {"flux_count": 5}


def test_exit_without_enter_keeps_other_regions_right(play):
    run, _ = play(f"{REGIONS}init_mpp\nexit 88\n{STEP}exit 120\nexit 0\n{STEP}")
    assert counts(run) == {"time_step_count": 2, "flux_edge_count": 2, "flux_count": 4}


def test_nothing_is_counted_while_recording_is_off(play):
    run, _ = play(f"{REGIONS}init_mpp\n{STEP}enter 40\noff\n{5 * STEP}work 20\non\nexit 40\n{STEP}")
    assert counts(run) == {"time_step_count": 3, "flux_edge_count": 2, "flux_count": 4}
    assert sum(frame.values["time_step_time_s"][0] for frame in frames_of(run)) < 0.02


def test_recording_that_was_off_before_waking_stays_off(play):
    run, _ = play(f"{REGIONS}off\ninit_mpp\n{STEP}on\n{3 * STEP}")
    assert counts(run) == {"time_step_count": 3, "flux_edge_count": 3, "flux_count": 6}


@pytest.mark.parametrize("host", [("perfield", 2, 48), ("perfield", 3, 53), ("perfield", 4, 80)])
def test_older_and_newer_scorep_give_the_same(play, host):
    run, _ = play(SOLVER, *host, step_region="time_step")
    assert len(run) == 10
    assert counts(run) == EXPECTED


def test_scorep_without_region_names_is_reported(play):
    run, result = play(SOLVER, "perfield", 2, 20)
    assert result.stderr.count("does not give the names of regions") == 1
    assert counts(run) == {}


def test_plugin_loads_under_the_original_name(play):
    run, _ = play(SOLVER, "Catalyst", step_region="time_step")
    assert len(run) == 10


def test_64_threads_count_all_their_events(play):
    run, _ = play(f"{REGIONS}init_mpp\nthreads 64 1000 120\n")
    assert counts(run) == {"flux_count": 64000}


def test_region_after_10000_unselected_ones_is_measured(play):
    names = "".join(f"region {n} f{n}\nenter {n}\nexit {n}\n" for n in range(1000, 11000))
    run, _ = play(f"{REGIONS}init_mpp\n{names}{STEP}", regions="flux")
    assert counts(run) == {"flux_count": 2}


def test_measured_regions_are_added_up_beyond_the_table(play):
    names = "".join(f"region {n} f{n}\nenter {n}\nexit {n}\n" for n in range(1000, 2000))
    run, result = play(f"{REGIONS}init_mpp\n{names}", max_regions="64")
    assert sum(counts(run).values()) == 1000
    assert counts(run)["other_regions_count"] > 900
    assert result.stderr.count("raise max_regions (now 64) or choose fewer by `regions`") == 1
    assert run.ends[0]["dropped_regions"] > 900


def test_armed_region_is_measured_although_unselected(play):
    armed = 3 * f"arm\n{STEP}"
    run, _ = play(f"{REGIONS}init_mpp\n{STEP}{armed}", regions="flux_edge")
    assert counts(run) == {"time_step_count": 3, "flux_edge_count": 4}


def test_long_name_is_cut(play):
    run, _ = play(f"region 8 {'n' * 10000}\ninit_mpp\nenter 8\nexit 8\n")
    assert "n" * 1000 in {region.name for region in run.known_regions}


def test_rank_and_size_come_from_scorep(score_p_ranks_play, tmp_path):
    score_p_ranks_play(SOLVER, PERFIELD_STEP_REGION="time_step")
    run = perfield.open(tmp_path / "perfield-run")
    assert (run.n_ranks, len(run)) == (3, 10)
    assert [frame.values["flux_count"].tolist() for frame in run.frames()] == 10 * [[2, 2, 2]]


def test_messages_come_from_mpi_wrappers_above_scorep(score_p_ranks_play, mpi, tmp_path):
    score_p_ranks_play(SOLVER, mpi, PERFIELD_STEP_REGION="time_step")
    run = perfield.open(tmp_path / "perfield-run")
    assert (run.n_ranks, len(run)) == (3, 10)
    assert sorted(run.setup.messages[["source", "target"]].tolist()) == [(0, 1), (1, 2), (2, 0)]
    assert {end["reason"] for end in run.ends.values()} == {"finalize"}


def time_of(run: perfield.Run, region: str) -> float:
    """Seconds inside a region, in all frames together."""
    return sum(frame.values[f"{region}_time_s"][0] for frame in frames_of(run))


@pytest.mark.parametrize("clock", ["auto", "monotonic"])
@pytest.mark.parametrize("timer", ["tsc", "raw", "gettimeofday", "none"])
def test_times_are_right_for_any_stamp_clock(play, timer, clock):
    step = "enter 40\nwork 3\nenter 120\nwork 6\nexit 120\nexit 40\n"
    run, _ = play(f"timer {timer}\n{REGIONS}init_mpp\n{20 * step}", clock=clock)
    measured = sum(frame.values["step_time_s"][0] for frame in frames_of(run))
    assert 0.12 <= time_of(run, "flux") <= time_of(run, "time_step") - 0.0599 <= measured - 0.0599


def test_stamps_of_a_known_clock_are_used(play):
    run, _ = play(f"{REGIONS}timer tsc\ninit_mpp\nwork 20\nenter 40\nexit 40\nrepeat 20000 120\n")
    # Stamps of `repeat` are all the same: no time passes for who uses them.
    assert counts(run)["flux_count"] == 20000
    assert time_of(run, "flux") < 1e-6


def test_regions_open_at_waking_are_measured_from_there(play):
    run, _ = play(
        f"{REGIONS}enter 8\nenter 40\nwork 50\ninit_mpp\nenter 120\nwork 5\nexit 120\nexit 40\nexit 8\n"
    )
    assert counts(run) == {"main_count": 1, "time_step_count": 1, "flux_count": 1}
    assert 0.005 <= time_of(run, "time_step") <= time_of(run, "main") < 0.05
    assert run.ends[0]["faults"] == {}


def test_regions_over_at_waking_are_counted_and_reported(play):
    early = f"region 48 MPI_Initialized\nenter 48\nexit 48\nenter 8\n{4 * STEP}"
    run, result = play(f"{REGIONS}{early}init_mpp\n{STEP}exit 8\n")
    assert counts(run) == {"main_count": 1, "time_step_count": 1, "flux_edge_count": 1, "flux_count": 2}
    assert run.ends[0]["dropped_events"] == {"before_waking": 16}
    assert result.stderr.count("16 regions were over before MPI_Init") == 1


def test_device_events_are_left_out_and_reported(play):
    device = "device_enter 120\nenter 120\ndevice_exit 120\nwork 1\nexit 120\n"
    run, result = play(f"{REGIONS}device_enter 8\ninit_mpp\n{5 * device}")
    assert counts(run) == {"flux_count": 5}
    assert run.ends[0]["dropped_events"] == {"of_no_thread": 10}
    assert result.stderr.count("10 events of devices or metrics are not measured") == 1


def test_common_run_leaves_nothing_out_and_prints_nothing(play):
    run, result = play(SOLVER, summary="false")
    assert run.ends[0]["dropped_events"] == {}
    assert result.stderr == ""


def test_region_entered_in_unmeasured_step_counts_in_next_measured(play):
    step = "enter 40\nexit 40\n"
    crossing = f"enter 88\nwork 10\n{step}work 20\n{step}exit 88\n{step}"
    run, _ = play(f"{REGIONS}init_mpp\n{step}{crossing}", step_region="time_step", measure_every="2")
    assert [frame.index for frame in run.frames()] == [0, 2]
    measured = run.frame(1)
    assert 0.02 <= measured.values["flux_edge_time_s"][0] <= measured.values["step_time_s"][0]
    assert run.ends[0]["faults"] == {}


@pytest.mark.parametrize(
    "chosen",
    [
        "advance",
        "flow::Solver::advance",
        "flow::Solver::advance(double)",
        "_ZN4flow6Solver7advanceEd",
        "adv*",
    ],
)
def test_function_is_chosen_by_any_of_its_names(play, chosen):
    region = "region 16 flow::Solver::advance(double) _ZN4flow6Solver7advanceEd\nregion 24 other\n"
    run, _ = play(region + "init_mpp\n" + 3 * "enter 16\nexit 16\nenter 24\nexit 24\n", regions=chosen)
    assert sum(counts(run).values()) == 3


def test_unnamed_functions_lose_their_types(play):
    overloads = (
        "region 16 flow::Solver::advance(double) _ZN4flow6Solver7advanceEd\n"
        "region 24 flow::Solver::advance(int) _ZN4flow6Solver7advanceEi\n"
        "region 32 hand_made(again)\n"
    )
    run, _ = play(f"{overloads}init_mpp\nenter 16\nexit 16\nenter 24\nexit 24\nenter 32\nexit 32\n")
    assert {region.name for region in run.known_regions} == {"flow::Solver::advance", "hand_made(again)"}
    assert counts(run)["flow__Solver__advance_count"] == 2


def test_missing_step_region_is_reported_and_run_is_one_frame(play):
    run, result = play(SOLVER, step_region="time_stepp")
    assert result.stderr.count("the region time_stepp (step_region) never ended") == 1
    assert [frame.kind for frame in run.frames()] == ["whole"]
    assert run.frame(0).values["flux_count"][0] == 20


def test_only_armed_regions_are_open_together(play):
    # As in the thesis: each is armed right before the call that enters it, one inside the other.
    armed = "arm\nenter 40\narm\nenter 88\narm\nenter 120\nexit 120\nexit 88\nexit 40\n"
    run, _ = play(f"{REGIONS}init_mpp\n{STEP}{4 * armed}{STEP}", regions="")
    assert counts(run) == {"time_step_count": 4, "flux_edge_count": 4, "flux_count": 4}


def test_child_process_is_not_measured_and_ends_normally(play):
    run, result = play(f"{REGIONS}init_mpp\n{STEP}fork\n{STEP}", step_region="time_step")
    assert len(run) == 2
    assert counts(run) == {"time_step_count": 2, "flux_edge_count": 2, "flux_count": 4}
    assert result.stdout.count("child 0") == 1


def test_unbalanced_events_count_as_faults_and_are_reported(play):
    run, result = play(f"{REGIONS}init_mpp\nenter 40\nenter 88\nexit 40\nexit 88\n{STEP}enter 40\n")
    assert counts(run)["time_step_count"] == 3
    assert sum(run.ends[0]["faults"].values()) == 2
    assert "events that could not be right" in result.stderr


def test_entry_of_regions_that_fits_nothing_is_reported(play):
    run, _ = play(f"{REGIONS}init_mpp\n{STEP}", regions="flux_edges")
    (line,) = [line for line in _bridge.summary_lines(str(run.path)) if line.startswith("regions ")]
    assert line.split("no region is called ")[1].startswith("flux_edges; known: flux_edge")
