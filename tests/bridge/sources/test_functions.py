# SPDX-License-Identifier: BSD-3-Clause
"""Functions of programs compiled with -finstrument-functions: chosen by name, counted exactly."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compiled.counting import series

import perfield

PROGRAMS = Path(__file__).resolve().parent / "programs"
HOOKS = "-finstrument-functions"
STEPS, CALLS = 3, 5

FLOW = """
#include <csetjmp>
#include <stdexcept>
#include <thread>
#include <vector>
volatile double sink;
static void relax(double x) { sink = x; }
namespace flow {
template <class Real> struct Solver {
  void advance(Real x) { relax(x); }
  void advance(int n) { relax(n); }
};
}
namespace { void limit() { sink = 1; } }
void fail() { throw std::runtime_error("no convergence"); }
extern "C" void recover() { try { fail(); } catch (const std::exception&) {} }
std::jmp_buf back;
void leap() { std::longjmp(back, 1); }
void dive() { if (!setjmp(back)) leap(); }
extern "C" void time_step() {
  flow::Solver<double> solver;
  for (int i = 0; i < 5; ++i) solver.advance(0.5);
  solver.advance(1);
  limit();
  recover();
  dive();
}
"""
MAIN = "int main() { for (int i = 0; i < 3; ++i) time_step(); }\n"


@pytest.fixture
def follow(execute, tmp_path):
    """follow(program, regions, step_region="time_step", *arguments, **environment): Run and process."""

    def run(program, regions: str, step_region: str = "time_step", *arguments, **environment):
        env = {"PERFIELD_REGIONS": regions, "PERFIELD_STEP_REGION": step_region, **environment}
        result = execute("perfield-exec", program, *arguments, env=env)
        assert result.returncode == 0, result.stderr
        return perfield.open(tmp_path / "perfield-run"), result

    return run


@pytest.fixture
def flow(build_c):
    """The program above; its step is a function."""
    return build_c(FLOW + MAIN, HOOKS, name="flow.cpp", mpi=False)


def names(run) -> set[str]:
    """Names of the run's regions."""
    return {region.name for region in run.known_regions}


@pytest.mark.parametrize(
    ("glob", "region", "calls"),
    [
        ("advance", "advance", CALLS + 1),
        ("flow::*", "flow::Solver<double>::advance", CALLS + 1),
        ("flow::Solver<double>::advance(int)", "flow::Solver<double>::advance(int)", 1),
        ("_ZN4flow6SolverIdE7advanceEd", "_ZN4flow6SolverIdE7advanceEd", CALLS),
        ("rel?x", "relax", CALLS + 1),
        ("limit", "limit", 1),
    ],
)
def test_each_name_of_a_function_makes_it_a_region(flow, follow, glob, region, calls):
    run, _ = follow(flow, glob)
    assert names(run) == {region}
    (found,) = [known for known in run.known_regions if known.name == region]
    assert series(run, f"{found.field}_count") == [calls] * STEPS


def test_lone_star_chooses_only_the_step(flow, follow):
    run, _ = follow(flow, "*")
    assert len(run) == STEPS
    assert names(run) == {"time_step"}


def test_exceptions_and_jumps_keep_counts_right(flow, follow):
    run, _ = follow(flow, "fail,recover,leap,dive")
    assert len(run) == STEPS
    for function in ("fail", "recover", "leap", "dive"):
        assert series(run, f"{function}_count") == [1] * STEPS


@pytest.mark.parametrize("option", [HOOKS, f"{HOOKS}-after-inlining"])
def test_clang_functions_count_like_gcc(follow, tmp_path, option):
    if not shutil.which("clang++"):
        pytest.skip("clang++ is not installed")
    (tmp_path / "flow.cpp").write_text(FLOW + MAIN)
    words = ["clang++", "-O1", "-std=c++17", "-fno-inline", option, "flow.cpp", "-o", "flow", "-pthread"]
    subprocess.run(words, cwd=tmp_path, check=True)
    run, _ = follow(tmp_path / "flow", "advance,relax,fail,dive")
    expected = {"advance": CALLS + 1, "relax": CALLS + 1, "fail": 1, "dive": 1}
    assert {name: series(run, f"{name}_count") for name in expected} == {
        name: [calls] * STEPS for name, calls in expected.items()
    }


RECURSION = """
#include <sys/wait.h>
#include <unistd.h>
extern "C" int deep(int n) { return n ? 1 + deep(n - 1) : 0; }
extern "C" void relax() {}
extern "C" void time_step() {
  deep(999);
  relax();
  if (fork() == 0) {
    for (int i = 0; i < 50; ++i) relax();
    _exit(0);
  }
  int status = 1;
  wait(&status);
  if (status == 0) relax();
}
"""


def test_deep_recursion_counts_each_level(build_c, follow):
    program = build_c(RECURSION + MAIN, HOOKS, name="recursion.cpp", mpi=False)
    run, _ = follow(program, "deep")
    assert series(run, "deep_count") == [1000] * STEPS


def test_forked_child_is_not_counted(build_c, follow):
    program = build_c(RECURSION + MAIN, HOOKS, name="recursion.cpp", mpi=False)
    run, _ = follow(program, "relax")
    assert series(run, "relax_count") == [2] * STEPS


def test_10000_of_100000_functions_are_distinguished(build_c, follow):
    program = build_c(PROGRAMS / "many_functions.c", mpi=False)
    run, _ = follow(program, "f*7", "f0", STEPS, PERFIELD_MAX_REGIONS="12000")
    assert len(run.known_regions) == 10000
    later = list(run.frames())[1:]  # everything before the first step is setup
    assert len(later) == STEPS - 1
    for frame in later:
        entered = [frame.values[f"{region.field}_count"][0] for region in run.known_regions]
        assert entered == [1] * 10000


@pytest.mark.parametrize("regions", ["*", "no_such_function"])
def test_program_without_chosen_functions_is_reported(execute, flow, regions):
    result = execute("perfield-exec", flow, env={"PERFIELD_REGIONS": regions})
    assert (result.returncode, result.stderr.count("nothing was measured")) == (0, 1), result.stderr


def test_calls_on_all_threads_are_counted(build_c, follow):
    body = """
    int main() {
      for (int i = 0; i < 3; ++i) {
        std::vector<std::thread> team;
        for (int t = 0; t < 8; ++t)
          team.emplace_back([] { for (int n = 0; n < 1000; ++n) relax(n); });
        for (std::thread& member : team) member.join();
        time_step();
      }
    }
    """
    program = build_c(FLOW + body, HOOKS, "-pthread", name="team.cpp", mpi=False)
    run, _ = follow(program, "relax")
    first, *others = series(run, "relax_count")
    assert first == CALLS + 1  # everything before the first step is setup
    assert others == [8000 + CALLS + 1] * (STEPS - 1)


def test_functions_of_a_linked_library_are_found(build_c, follow, tmp_path):
    library = tmp_path / "libflow.so"
    source = tmp_path / "flow.cpp"
    source.write_text(FLOW)
    subprocess.run(["g++", "-shared", "-fPIC", HOOKS, source, "-o", library], check=True)
    link = f"-L{tmp_path}", "-l:libflow.so", f"-Wl,-rpath,{tmp_path}"
    main = 'extern "C" void time_step();\n' + MAIN
    program = build_c(main, *link, name="uses_flow.cpp", mpi=False)
    run, _ = follow(program, "relax")
    assert series(run, "relax_count") == [CALLS + 1] * STEPS


OPENER = """
#include <dlfcn.h>
#include <cstdlib>
__attribute__((no_instrument_function)) static void use(const char* file, const char* function) {
  void* library = dlopen(file, RTLD_NOW);
  if (!library) std::abort();
  for (int i = 0; i < 5; ++i) reinterpret_cast<void (*)()>(dlsym(library, function))();
  dlclose(library);
}
extern "C" void time_step() {
  use("./libone.so", "one");
  use("./libtwo.so", "two");
}
"""


def build_plugin(folder, name: str, *flags: str):
    """folder/lib<name>.so, whose function <name> calls `helper`."""
    source = folder / f"{name}.c"
    source.write_text(
        f"volatile int sink; static void helper(void) {{ sink = 1; }} void {name}(void) {{ helper(); }}"
    )
    library = folder / f"lib{name}.so"
    subprocess.run(["gcc", "-shared", "-fPIC", HOOKS, *flags, source, "-o", library], check=True)
    return library


def test_opened_and_closed_libraries_are_followed(build_c, follow, tmp_path):
    # Each library gets the addresses of the one before, which must be forgotten when it is closed.
    for name in ("one", "two"):
        build_plugin(tmp_path, name)
    program = build_c(OPENER + MAIN, HOOKS, name="opener.cpp", mpi=False)
    run, _ = follow(program, "one,two,helper")
    assert names(run) == {"one", "two", "helper"}
    assert series(run, "one_count") == series(run, "two_count") == [CALLS] * STEPS
    assert series(run, "helper_count") == [2 * CALLS] * STEPS


def test_library_loaded_by_python_is_measured(execute, tmp_path):
    build_plugin(tmp_path, "one")
    script = "import ctypes; one = ctypes.CDLL('./libone.so').one\nfor i in range(5): one()"
    env = {"PERFIELD_REGIONS": "one,helper"}
    result = execute("perfield-exec", sys.executable, "-c", script, env=env)
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert series(run, "one_count") == series(run, "helper_count") == [CALLS]


def test_threads_opening_libraries_lose_no_call(build_c, follow, tmp_path):
    body = """
    #include <dlfcn.h>
    int main() {
      time_step();
      std::vector<std::thread> team;
      for (int t = 0; t < 8; ++t)
        team.emplace_back([t] {
          void* library = dlopen(t % 2 ? "./libone.so" : "./libtwo.so", RTLD_NOW);
          auto run = reinterpret_cast<void (*)()>(dlsym(library, t % 2 ? "one" : "two"));
          for (int n = 0; n < 1000; ++n) run();
        });
      for (std::thread& member : team) member.join();
      time_step();
    }
    """
    for name in ("one", "two"):
        build_plugin(tmp_path, name)
    program = build_c(FLOW + body, HOOKS, "-pthread", name="openers.cpp", mpi=False)
    run, _ = follow(program, "one,two,helper")
    assert [series(run, f"{name}_count")[1] for name in ("one", "two", "helper")] == [4000, 4000, 8000]


def test_stripped_program_has_exported_functions(build_c, follow):
    program = build_c(FLOW + MAIN, HOOKS, "-rdynamic", "-s", name="stripped.cpp", mpi=False)
    run, _ = follow(program, "relax,recover")
    assert names(run) == {"recover"}  # relax is static
    assert series(run, "recover_count") == [1] * STEPS


FORTRAN = """
module flow
contains
  subroutine advance(x)
    real, intent(inout) :: x
    integer :: i
    do i = 1, 5
      call relax(x)
    end do
    call inner
  contains
    subroutine inner
      x = x / 2
    end subroutine
  end subroutine
end module
subroutine relax(x)
  real, intent(inout) :: x
  x = x + 1
end subroutine
program main
  use flow
  real :: x = 0
  integer :: i
  do i = 1, 3
    call advance(x)
  end do
end program
"""


@pytest.mark.parametrize("advance", ["advance", "flow::advance", "__flow_MOD_advance"])
@pytest.mark.parametrize("relax", ["relax", "relax_"])
def test_fortran_procedures_match_source_names_and_symbols(follow, tmp_path, advance, relax):
    (tmp_path / "flow.f90").write_text(FORTRAN)
    argv = ["gfortran", "-O1", HOOKS, "flow.f90", "-o", "flow"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    run, _ = follow(tmp_path / "flow", f"inner,{relax}", advance)
    assert names(run) == {relax, "inner"}
    assert series(run, f"{relax}_count") == [CALLS] * STEPS
    assert series(run, "inner_count") == [1] * STEPS


def test_each_rank_counts_its_functions(build_c, mpi, bin_dir):
    body = """
    #include <mpi.h>
    void relax(void) {}
    void time_step(int n) { while (n-- > 0) relax(); MPI_Barrier(MPI_COMM_WORLD); }
    int main(int argc, char** argv) {
      int rank;
      MPI_Init(&argc, &argv);
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      for (int i = 0; i < 3; ++i) time_step(rank + 1);
      MPI_Finalize();
    }
    """
    program = build_c(body, HOOKS, by=mpi)
    env = {"PERFIELD_REGIONS": "main,relax", "PERFIELD_STEP_REGION": "time_step"}
    result = mpi.run(2, bin_dir / "perfield-exec", program, env=env)
    assert result.returncode == 0, result.stderr
    run = perfield.open(result.cwd / "perfield-run")
    assert len(run) == STEPS
    for i in range(STEPS):
        assert run.frame(i).values["relax_count"].tolist() == [1, 2]


def preloads_functions(result) -> bool:
    """Whether `perfield-exec --print` lists the library."""
    assert result.returncode == 0, result.stderr
    return "libperfield_functions.so" in result.stdout


def test_only_programs_with_hooks_get_the_library(execute, build_c, flow):
    plain = build_c(FLOW + MAIN, name="flow.cpp", mpi=False)
    assert preloads_functions(execute("perfield-exec", "--print", flow))
    assert not preloads_functions(execute("perfield-exec", "--print", plain))
    chosen = {"PERFIELD_REGIONS": "relax"}  # may be in a library loaded later
    assert preloads_functions(execute("perfield-exec", "--print", plain, env=chosen))


def test_program_keeps_its_own_hooks(execute, build_c):
    skip = "__attribute__((no_instrument_function))"
    hooks = "".join(
        f'extern "C" {skip} void __cyg_profile_func_{way}(void*, void*) {{}}\n' for way in ("enter", "exit")
    )
    program = build_c(hooks + FLOW + MAIN, HOOKS, "-rdynamic", name="hooks.cpp", mpi=False)
    assert not preloads_functions(execute("perfield-exec", "--print", program))
