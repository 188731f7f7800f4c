# SPDX-License-Identifier: BSD-3-Clause
"""When steps close, which of them are measured, and what belongs to no step."""

from __future__ import annotations

import numpy as np
import pytest

LOOP = """
  perfield_region r = REGION("work");
  work(20);
  perfield_initialize();
  for (int s = 0; s < 12; ++s) {
    perfield_region_begin(r); work(2); perfield_region_end(r);
    perfield_step(100 + s, 0.5 * s);
  }
  work(10);
"""


def test_each_step_call_closes_a_frame_with_number_and_time(measured):
    run, _ = measured(LOOP)
    frames = list(run.frames())
    assert [f.index for f in frames] == list(range(12))
    assert [f.label for f in frames] == list(range(100, 112))
    assert [f.time for f in frames] == [0.5 * s for s in range(12)]
    assert all(f.values["work_count"][0] == 1 for f in frames)


def test_setup_and_teardown_are_kept_apart(measured):
    run, _ = measured(LOOP)
    assert [f.values["step_time_s"][0] for f in run.frames()] == pytest.approx([0.002] * 12)
    assert run.teardown.values["step_time_s"][0] == pytest.approx(0.010)


def test_first_step_call_ends_setup_without_initialize(measured):
    run, _ = measured(
        """
      work(30);
      for (int s = 0; s < 4; ++s) { perfield_step(s, s); work(2); }
    """,
        mpi=True,
    )
    assert len(run) == 3
    assert run.setup.values["step_time_s"][0] >= 0.0295


def test_measure_every_measures_one_step_of_n(measured):
    run, _ = measured(LOOP, env={"PERFIELD_MEASURE_EVERY": "5"})
    frames = list(run.frames())
    assert [f.label for f in frames] == [100, 105, 110]
    assert [f.values["work_count"][0] for f in frames] == [1, 1, 1]
    assert all(f.values["work_time_s"][0] == pytest.approx(0.002) for f in frames)


def test_open_region_counts_in_measured_steps_only(measured):
    run, _ = measured(
        """
      perfield_region all = REGION("all");
      perfield_initialize();
      perfield_region_begin(all);
      for (int s = 0; s < 6; ++s) { work(3); perfield_step(s, s); }
      perfield_region_end(all);
    """,
        env={"PERFIELD_MEASURE_EVERY": "3"},
    )
    frames = list(run.frames())
    assert [f.label for f in frames] == [0, 3]
    for frame in frames:
        assert frame.values["all_time_s"][0] == pytest.approx(0.003)


def test_sum_every_adds_steps_and_keeps_the_remainder(measured):
    run, _ = measured(LOOP, env={"PERFIELD_SUM_EVERY": "5"})
    frames = list(run.frames())
    assert [f.span for f in frames] == [5, 5, 2]
    assert [f.values["work_count"][0] for f in frames] == [5, 5, 2]
    assert sum(f.values["work_time_s"][0] for f in frames) == pytest.approx(0.024)


def test_skip_steps_omits_the_first_steps(measured):
    run, _ = measured(LOOP, env={"PERFIELD_SKIP_STEPS": "9"})
    assert [f.label for f in run.frames()] == [109, 110, 111]


def test_pause_counts_nothing_and_takes_no_time(measured):
    run, _ = measured("""
      perfield_region r = REGION("work");
      perfield_initialize();
      perfield_region_begin(r); work(5);
      perfield_pause(); work(40);
      perfield_begin("hidden"); work(1); perfield_end("hidden");
      perfield_resume();
      work(5); perfield_region_end(r);
      perfield_step(0, 0.0);
    """)
    values = run.frame(0).values
    assert values["work_time_s"][0] == pytest.approx(0.010)
    assert "hidden_count" not in values or values["hidden_count"][0] != 1


def test_pauses_nest(measured):
    run, _ = measured("""
      perfield_initialize();
      perfield_pause(); perfield_pause(); perfield_resume();
      perfield_begin("hidden"); perfield_end("hidden");
      perfield_resume();
      perfield_begin("seen"); perfield_end("seen");
      perfield_step(0, 0.0);
    """)
    values = run.frame(0).values
    assert values["seen_count"][0] == 1
    assert "hidden_count" not in values or values["hidden_count"][0] != 1


def test_start_paused_waits_for_resume(measured):
    run, _ = measured(
        """
      perfield_initialize();
      perfield_begin("early"); perfield_end("early");
      perfield_step(0, 0.0);
      perfield_resume();
      perfield_begin("late"); perfield_end("late");
      perfield_step(1, 1.0);
    """,
        env={"PERFIELD_START_PAUSED": "true"},
    )
    values = run.frame(1).values
    assert values["late_count"][0] == 1
    assert "early_count" not in run.frame(0).values or run.frame(0).values["early_count"][0] != 1


def test_pcontrol_pauses_and_resumes(measured):
    run, _ = measured(
        """
      int out = 1, in;
      perfield_initialize();
      for (int s = 0; s < 2; ++s) {
        MPI_Pcontrol(0);
        for (int i = 0; i < 5; ++i)
          MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Pcontrol(1);
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        perfield_step(s, s);
      }
    """,
        mpi=True,
    )
    assert [f.values["sendrecv_count"][0] for f in run.frames()] == [1, 1]


def seen_after(measured, changes: list[str], **keys):
    """Whether measuring goes on after each of these changes."""
    rows = "".join(f'{change}; printf("%d ", perfield_measuring());' for change in changes)
    _, result = measured(f"perfield_initialize(); {rows} perfield_step(0, 0.0);", mpi=True, env=keys)
    return [word == "1" for word in result.stdout.split()]


def test_each_pause_ends_only_by_its_own_end(measured):
    """MPI_Pcontrol's switch and the API's pauses, in all orders."""
    off, on, pause, resume = "MPI_Pcontrol(0)", "MPI_Pcontrol(1)", "perfield_pause()", "perfield_resume()"
    changes = {
        pause: False, on: False, resume: True, off: False, f"{resume};": False, f"{pause};": False,
        f"{on};": False, f"{resume} ;": True, f"{off};": False, f"{off} ;": False, f"{on} ;": True,
    }  # fmt: skip
    assert seen_after(measured, list(changes)) == list(changes.values())


@pytest.mark.parametrize("end", ["perfield_resume()", "MPI_Pcontrol(1)"])
def test_either_interface_ends_a_start_in_a_pause(measured, end):
    changes = ["", "perfield_pause()", "perfield_resume()", end, "perfield_pause()"]
    seen = seen_after(measured, changes, PERFIELD_START_PAUSED="true")
    assert seen == [False, False, False, True, False]


def test_repeated_and_falling_step_numbers_make_separate_frames(measured):
    run, _ = measured("""
      perfield_initialize();
      int numbers[] = {5, 5, 3, 4};
      for (int i = 0; i < 4; ++i) { perfield_begin("r"); perfield_end("r"); perfield_step(numbers[i], 0.1); }
    """)
    frames = list(run.frames())
    assert [f.label for f in frames] == [5, 5, 3, 4]
    assert [f.index for f in frames] == [0, 1, 2, 3]


def test_step_region_closes_steps_without_step_calls(measured):
    run, _ = measured(
        """
      work(20);
      for (int s = 0; s < 4; ++s) {
        perfield_begin("time step"); perfield_begin("flux"); work(2); perfield_end("flux");
        perfield_end("time step");
      }
    """,
        mpi=True,
        env={"PERFIELD_STEP_REGION": "time step"},
    )
    frames = list(run.frames())
    assert len(frames) == 4
    assert all(f.values["time_step_time_s"][0] > 0.0019 for f in frames)
    assert all(f.values["flux_count"][0] == 1 for f in frames)


def test_program_without_steps_is_one_frame(measured):
    run, result = measured(
        """
      work(5);
    """,
        mpi=True,
    )
    assert [frame.kind for frame in run.frames()] == ["whole"]
    assert run.setup.values["step_time_s"][0] >= 0.0049
    assert result.returncode == 0


def test_time_of_perfield_is_recorded_and_in_no_step(measured):
    run, _ = measured(LOOP, real_time=True)
    own = [f.values["perfield_time_s"][0] for f in run.frames()]
    assert all(value > 0 for value in own)


def test_bytes_moved_by_mpi_io_are_fields_of_the_step(measured):
    run, _ = measured(
        """
      perfield_initialize();
      MPI_File file; double out[100] = {0}, in[40];
      MPI_File_open(MPI_COMM_SELF, "out.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
      MPI_File_write(file, out, 100, MPI_DOUBLE, MPI_STATUS_IGNORE);
      perfield_step(0, 0.0);
      MPI_File_read_at(file, 0, in, 40, MPI_DOUBLE, MPI_STATUS_IGNORE);
      MPI_File_close(&file);
      perfield_step(1, 1.0);
    """,
        mpi=True,
    )
    moved = [(f.values["io_write_bytes"][0], f.values["io_read_bytes"][0]) for f in run.frames()]
    assert moved == [(800, 0), (0, 320)]


def test_record_limit_sums_steps_exactly(measured, tmp_path):
    run, result = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 4000; ++s) {
        perfield_begin("work"); perfield_end("work");
        MPI_Barrier(MPI_COMM_WORLD);
        perfield_step(s, s);
      }
    """,
        mpi=True,
        n=2,
        env={"PERFIELD_RECORD_LIMIT": "400000"},
    )
    assert result.stderr.count("nears record_limit") == 1
    assert "steps share an entry" in result.stderr
    written = sum(path.stat().st_size for path in (tmp_path / "perfield-run/stream").iterdir())
    assert 200_000 < written < 600_000  # 3 MB without a limit
    for rank in range(2):
        seen = [frame.values["work_count"][rank] for frame in run.frames() if frame.present[rank]]
        assert sum(seen) == 4000
        assert seen[0] == 1 and max(seen) > 1
    assert run.steps_closed.tolist() == [4000, 4000]


def test_pause_inside_a_summed_step_omits_only_itself(measured):
    run, _ = measured(
        """
      perfield_region r = REGION("work");
      perfield_initialize();
      for (int s = 0; s < 6; ++s) {
        perfield_region_begin(r);
        work(2);
        perfield_pause(); perfield_pause(); work(50); perfield_resume(); work(50); perfield_resume();
        work(1);
        perfield_region_end(r);
        perfield_step(s, s);
      }
    """,
        env={"PERFIELD_SUM_EVERY": "3"},
    )
    assert [frame.values["work_count"][0] for frame in run.frames()] == [3, 3]
    assert [frame.values["work_time_s"][0] for frame in run.frames()] == pytest.approx([0.009, 0.009])


def test_paused_steps_are_empty_frames(measured):
    run, _ = measured("""
      perfield_initialize();
      for (int s = 0; s < 6; ++s) {
        if (s == 2) perfield_pause();
        if (s == 4) perfield_resume();
        perfield_begin("work"); work(1); perfield_end("work");
        perfield_step(s, s);
      }
    """)
    assert [frame.label for frame in run.frames()] == list(range(6))
    count = [frame.values["work_count"][0] for frame in run.frames()]
    assert [n == 1 for n in count] == [True, True, False, False, True, True]


def test_record_limit_widens_measure_every(measured, tmp_path):
    run, result = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 8000; ++s) {
        perfield_begin("work"); work(1); perfield_end("work");
        perfield_step(s, s);
      }
    """,
        env={"PERFIELD_RECORD_LIMIT": "300000", "PERFIELD_MEASURE_EVERY": "4"},
    )
    assert result.stderr.count("nears record_limit") == 1
    assert "one step in" in result.stderr
    written = sum(path.stat().st_size for path in (tmp_path / "perfield-run/stream").iterdir())
    assert 150_000 < written < 450_000  # 2 MB without a limit
    labels = [frame.label for frame in run.frames()]
    assert labels[:3] == [0, 4, 8] and all(label % 4 == 0 for label in labels)
    assert all(frame.span == 1 and frame.values["work_count"][0] == 1 for frame in run.frames())
    assert all(frame.values["step_time_s"][0] == pytest.approx(0.001) for frame in run.frames())
    assert run.steps_closed.tolist() == [8000]
    assert not run.damage


@pytest.mark.parametrize("setting", ["SUM_EVERY", "MEASURE_EVERY", "SKIP_STEPS", "FIELDS_EVERY"])
def test_largest_settings_work(measured, setting):
    largest = {"SKIP_STEPS": 10**15, "FIELDS_EVERY": 10**15}.get(setting, 10**9)
    run, result = measured(LOOP, env={f"PERFIELD_{setting}": str(largest)})
    assert "perfield: " not in result.stderr
    assert run.steps_closed.tolist() == [12]


def test_closing_a_step_loses_nothing_of_other_threads(measured):
    run, _ = measured(
        """
      perfield_initialize();
      pthread_t other;
      pthread_create(&other, 0, enter_often, 0);
      for (int s = 0; !done; ++s) perfield_step(s, s);
      pthread_join(other, 0);
    """,
        before="""
      #include <pthread.h>
      static volatile int done = 0;
      static void* enter_often(void* nothing) {
        perfield_region region = REGION("often");
        for (int i = 0; i < 2000000; ++i) { perfield_region_begin(region); perfield_region_end(region); }
        done = 1;
        return nothing;
      }
    """,
        flags=["-pthread"],
        real_time=True,
    )
    assert len(run) > 100
    steps = run.steps["region_count"].sel(region="often").sum()
    assert np.nansum([steps, run.teardown.values["often_count"][0]]) == 2_000_000
