# SPDX-License-Identifier: BSD-3-Clause
"""The Kokkos source, with a stand-in that calls the hooks as Kokkos does."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfield import _bridge

MS = 1e-3
HOST = (Path(__file__).parent / "programs/kokkos_host.h").read_text()


@pytest.fixture
def kokkos(measured):
    """kokkos(body, **options): starts the stand-in, then runs the body measured; (Run, process)."""

    def run(body: str, before: str = "", **options):
        return measured("kokkos_start();\n" + body, before=HOST + before, **options)

    return run


def values(run, *names: str) -> list[float]:
    """Fields of rank 0 in the first frame."""
    frame = run.frame(0)
    return [float(frame.values[name][0]) for name in names]


def test_kernels_and_regions_are_measured_by_name(kokkos):
    run, result = kokkos(
        """
      perfield_initialize();
      tool.push_profile_region("advance");
      for (int i = 0; i < 3; ++i) parallel_for("flux edge", 2);
      uint64_t reduce, scan;
      tool.begin_parallel_reduce("residual", 0, &reduce);
      tool.begin_parallel_scan("offsets", 0, &scan); work(1); tool.end_parallel_scan(scan);
      work(4);
      tool.end_parallel_reduce(reduce);
      tool.pop_profile_region();
      perfield_step(0, 0.0);
    """
    )
    assert {region.name for region in run.known_regions} == {"advance", "flux edge", "residual", "offsets"}
    assert values(run, "advance_count", "flux_edge_count", "residual_count", "offsets_count") == [1, 3, 1, 1]
    times = values(run, "advance_time_s", "flux_edge_time_s", "residual_time_s", "residual_self_time_s")
    assert times == pytest.approx([11 * MS, 6 * MS, 5 * MS, 4 * MS])
    assert "could not be right" not in result.stderr


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        ("Z4mainEUlRKiE_", "main::lambda#1"),
        ("ZN4flow6SolverIdE7advanceEiEUliE0_", "flow::Solver::advance::lambda#2"),
        ("ZNK4flow6SolverIdE7advanceEiEUliE_", "flow::Solver::advance::lambda#1"),
        ("N12_GLOBAL__N_14FluxIdLi3EEE", "Flux"),
        ("N4flow4FluxIdEE/N4flow4EdgeE", "flow::Flux/flow::Edge"),
        ("main(int, char**)::<lambda(int)>", "main::lambda(int)"),
        ("flow::Solver<double>::step()::<lambda(int, double&)>", "flow::Solver::step::lambda(int, double&)"),
        ("(lambda at cases/main.cpp:3:7)", "lambda at main.cpp:3:7"),
        ("3D advection", "3D advection"),
        ("i", "i"),
        ("N", "N"),
        ("Zone/4", "Zone/4"),
        ("", "unnamed"),
    ],
)
def test_kernel_without_label_is_named_after_its_functor(kokkos, reported, name):
    run, _ = kokkos(f'perfield_initialize(); parallel_for("{reported}", 1); perfield_step(0, 0.0);')
    assert [region.name for region in run.known_regions] == [name]


def test_all_fences_are_one_region(kokkos):
    run, _ = kokkos(
        """
      perfield_initialize();
      uint64_t fence;
      for (int i = 0; i < 2; ++i) {
        tool.begin_fence(i ? "copy: after" : "copy: before", 0, &fence); work(3); tool.end_fence(fence);
      }
      perfield_step(0, 0.0);
    """
    )
    assert values(run, "Kokkos_fence_count", "Kokkos_fence_time_s") == pytest.approx([2, 6 * MS])


def test_overlapping_sections_have_whole_times(kokkos):
    run, result = kokkos(
        """
      uint32_t first, second, never;
      tool.create_profile_section("first", &first);
      tool.create_profile_section("second", &second);
      tool.create_profile_section("never", &never);
      perfield_initialize();
      tool.start_profile_section(first); work(1);
      tool.start_profile_section(second); work(2);
      tool.stop_profile_section(first); work(4);
      tool.stop_profile_section(second); work(8);
      tool.stop_profile_section(never);
      tool.destroy_profile_section(first);
      perfield_step(0, 0.0);
    """
    )
    assert values(run, "first_time_s", "second_time_s") == pytest.approx([3 * MS, 6 * MS])
    assert values(run, "first_count") == [1]
    assert "could not be right" not in result.stderr


COPIES = """
      perfield_initialize();
      deep_copy("Cuda", "Host", 1000, 2);
      deep_copy("HIP", "CudaHostPinned", 500, 1);
      deep_copy("Host", "Cuda", 70, 4);
      deep_copy("Cuda", "CudaUVM", 6, 8);
      deep_copy("Host", "HBW", 5, 16);
      perfield_step(0, 0.0);
      perfield_step(1, 1.0);
"""


def test_copies_are_counted_by_memory_space(kokkos):
    run, _ = kokkos(COPIES)
    names = [f"device_copy_{what}" for what in ("to_bytes", "from_bytes", "within_bytes", "count", "time_s")]
    assert values(run, *names) == pytest.approx([1500, 70, 11, 5, 31 * MS])
    assert [run.frame(1).values[name][0] for name in names] == [0] * 5
    assert not run.known_regions


def test_kokkos_alone_has_no_device_kernel_fields(kokkos):
    run, _ = kokkos(COPIES)
    assert not [name for name in run.frame(0).values if name.startswith("device_kernel")]


def test_run_without_device_has_no_device_fields(measured):
    run, _ = measured("perfield_initialize(); work(1); perfield_step(0, 0.0);")
    assert not [name for name in run.frame(0).values if name.startswith("device_")]


def test_killed_run_has_device_fields_in_all_frames(kokkos):
    run, result = kokkos(
        """
      perfield_initialize();
      perfield_step(0, 0.0);
      deep_copy("Cuda", "Host", 1000, 2);
      perfield_step(1, 1.0);
      kill(getpid(), SIGKILL);
    """,
        before="#include <signal.h>\n",
        check=False,
    )
    assert result.returncode
    assert [frame.values["device_copy_to_bytes"][0] for frame in run.frames()] == [0, 1000]


def test_the_program_gets_the_numbers_of_its_frames(kokkos):
    run, result = kokkos(
        """
      perfield_initialize();
      deep_copy("Cuda", "Host", 1000, 0.3); deep_copy("Host", "Cuda", 33, 0.7);
      perfield_step(0, 0.0);
      print_values();
    """
    )
    rows = [line.split() for line in result.stdout.splitlines()]
    reported = {name: float.fromhex(value) for name, value in rows if name.startswith("device_")}
    assert reported == {name: v[0] for name, v in run.frame(0).values.items() if name.startswith("device_")}
    assert len(reported) == 5


def test_kernels_on_all_threads_are_counted(kokkos):
    run, result = kokkos(
        """
      perfield_initialize();
      pthread_t team[8];
      for (int t = 0; t < 8; ++t) pthread_create(&team[t], NULL, member, NULL);
      for (int t = 0; t < 8; ++t) pthread_join(team[t], NULL);
      perfield_step(0, 0.0);
    """,
        before="""
      static void* member(void* nothing) {
        char name[20];
        for (int i = 0; i < 1000; ++i) {
          tool.push_profile_region("outer");
          sprintf(name, "kernel %d", i % 50); parallel_for(name, 0);
          tool.pop_profile_region();
        }
        return nothing;
      }
    """,
        flags=["-pthread"],
    )
    frame = run.frame(0)
    assert frame.values["outer_count"] == [8000]
    assert [frame.values[f"kernel_{i}_count"][0] for i in range(50)] == [160] * 50
    assert "could not be right" not in result.stderr


def test_unmatched_hooks_do_no_harm(kokkos):
    run, _ = kokkos(
        """
      uint64_t early;
      tool.begin_parallel_for("early", 0, &early);
      tool.pop_profile_region();
      tool.end_deep_copy();
      perfield_initialize();
      tool.end_parallel_for(early);
      tool.end_parallel_for(early);
      tool.end_parallel_for(12345);
      for (int i = 0; i < 300; ++i) tool.push_profile_region("deep");
      for (int i = 0; i < 299; ++i) tool.pop_profile_region();
      work(1);
      tool.pop_profile_region();
      parallel_for("after", 1);
      perfield_step(0, 0.0);
    """
    )
    assert values(run, "deep_time_s", "after_count", "after_time_s") == pytest.approx([MS, 1, MS])


def test_kokkos_region_closes_steps_without_perfield_calls(kokkos):
    run, _ = kokkos(
        """
      for (int step = 0; step < 4; ++step) {
        tool.push_profile_region("time step");
        parallel_for("flux", 1); parallel_for("limit", 1);
        tool.pop_profile_region();
      }
    """,
        env={"PERFIELD_STEP_REGION": "time step", "PERFIELD_REGIONS": "fl*"},
    )
    assert len(run) == 4
    assert [frame.values["flux_count"][0] for frame in run.frames()] == [1] * 4
    assert not [region for region in run.known_regions if region.name == "limit"]


def test_kokkos_does_not_fence_around_kernels(measured):
    body = 'perfield_initialize(); printf("%d\\n", kokkos_start().requires_global_fencing);'
    _, result = measured(body, before=HOST)
    assert result.stdout == "0\n"


@pytest.mark.parametrize("variable", ["KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY"])
def test_users_own_kokkos_tool_stays(execute, variable):
    printed = execute("perfield-exec", "--print", "true", env={variable: "libother.so"})
    assert printed.returncode == 0, printed.stderr
    assert "KOKKOS_TOOLS_LIBS" not in printed.stdout


def test_tool_is_set_by_absolute_path(execute):
    (line,) = [
        line
        for line in execute("perfield-exec", "--print", "true").stdout.splitlines()
        if "KOKKOS_TOOLS_LIBS" in line
    ]
    path = line.partition("=")[2].strip("'")
    assert Path(path).is_absolute() and Path(path).name == "libperfield_kokkos.so" and Path(path).is_file()


def test_entry_of_regions_that_fits_no_kernel_is_reported(kokkos):
    body = 'perfield_initialize(); parallel_for("flux edge", 1); perfield_step(0, 0.0);'
    run, _ = kokkos(body, env={"PERFIELD_REGIONS": "flux edges"})
    (line,) = [line for line in _bridge.summary_lines(str(run.path)) if line.startswith("regions ")]
    assert line == "regions    no region is called flux edges; known: flux edge"
