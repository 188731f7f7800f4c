# SPDX-License-Identifier: BSD-3-Clause
"""Calls at the wrong time, repeated, or from the wrong place do not change the program."""

from __future__ import annotations

import pytest
from compiled.c_programs import mpi_program
from compiled.counting import series

import perfield

TWO_STEPS = """
  perfield_begin("work"); perfield_end("work"); perfield_step(0, 0.0);
  perfield_begin("work"); perfield_end("work"); perfield_step(1, 1.0);
"""


def test_calls_before_mpi_init_do_nothing(measured):
    run, result = measured(
        """
      perfield_begin("early"); perfield_end("early"); perfield_step(7, 7.0); perfield_pause();
      perfield_initialize();
      MPI_Init(&argc, &argv);
      int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      for (int s = 0; s < 3; ++s) { MPI_Barrier(MPI_COMM_WORLD); perfield_step(s, s); }
      MPI_Finalize();
    """,
        n=2,
    )
    assert [frame.label for frame in run.frames()] == [0, 1, 2]
    assert [rank["rank"] for rank in run.rank_entries] == [0, 1]
    assert all((frame.values["mpi_collective_time_s"] > 0).all() for frame in run.frames())
    assert "early_count" not in run.frame(0).values
    assert run.state == "finished" and not run.damage
    assert "fault" not in result.stderr and "could not be right" not in result.stderr


def test_calls_after_mpi_finalize_do_nothing(measured):
    run, result = measured(f"""
      MPI_Init(&argc, &argv);
      perfield_initialize();
      {TWO_STEPS}
      MPI_Finalize();
      {TWO_STEPS}
      perfield_mesh_changed(); perfield_pause(); perfield_resume(); perfield_pipeline_next();
      perfield_initialize(); perfield_finalize(); perfield_step(9, 9.0);
      printf("%d\\n", perfield_measuring());
    """)
    assert result.stdout == "0\n"
    assert series(run, "work_count") == [1, 1]
    assert run.state == "finished" and not run.damage
    assert result.stderr.count("perfield report") == 1


def test_second_initialize_and_finalize_do_nothing(measured):
    run, result = measured(f"""
      perfield_initialize(); perfield_initialize();
      {TWO_STEPS}
      perfield_initialize();
      {TWO_STEPS}
      perfield_finalize(); perfield_finalize();
      perfield_initialize(); {TWO_STEPS} perfield_finalize();
    """)
    assert series(run, "work_count") == [1, 1, 1, 1]
    assert len([rank for rank in run.rank_entries if rank]) == 1
    assert result.stderr.count("perfield report") == 1
    assert not run.damage


def test_mpi_calls_after_perfield_finalize_work(measured):
    run, result = measured(
        f"""
      perfield_initialize();
      {TWO_STEPS}
      perfield_finalize();
      MPI_Barrier(MPI_COMM_WORLD);
    """,
        mpi=True,
    )
    assert series(run, "work_count") == [1, 1]
    assert result.stderr.count("perfield report") == 1


def test_invalid_handles_and_names_are_ignored(measured):
    run, _ = measured("""
      perfield_initialize();
      perfield_region_begin(0); perfield_region_end(0);
      perfield_region_begin(123456789); perfield_region_end(123456789);
      perfield_begin(0); perfield_end(0);
      perfield_begin(""); perfield_end("");
      perfield_region r = REGION("real");
      perfield_region_begin_on(r, -7); perfield_region_end(r);
      perfield_field(0, 0, PERFIELD_POINTS, perfield_array_of(0, PERFIELD_FLOAT64, 1, 0));
      perfield_resume(); perfield_resume();
      perfield_step(0, 0.0);
    """)
    values = run.frame(0).values
    assert values["real_count"][0] == 1
    assert values["unnamed_count"][0] == 2


def test_outer_end_closes_regions_that_an_exception_left_open(measured, build_c, bin_dir, mpirun):
    program = build_c(
        """
      #include "perfield.hpp"
      #include <cstdio>
      #include <stdexcept>
      static void inner() {
        perfield_begin("inner");
        throw std::runtime_error("left in a hurry");
      }
      int main() {
        perfield_initialize();
        for (int s = 0; s < 3; ++s) {
          perfield_begin("outer");
          try { inner(); } catch (const std::exception& e) { std::puts(e.what()); }
          perfield_end("outer");
          perfield_step(s, s);
        }
      }
    """,
        name="throws.cpp",
        mpi=False,
    )
    result = mpirun(1, bin_dir / "perfield-exec", program)
    assert (result.returncode, result.stdout) == (0, "left in a hurry\n" * 3)
    run = perfield.open(result.cwd / "perfield-run")
    assert series(run, "inner_count") == series(run, "outer_count") == [1, 1, 1]
    for frame in run.frames():
        assert frame.values["inner_time_s"][0] <= frame.values["outer_time_s"][0]
    assert result.stderr.count("perfield: events that could not be right") == 1


def test_exit_in_a_signal_handler_during_a_write_does_not_hang(measured):
    """The handler interrupts the thread that closes a step, inside perfield's write(2)."""
    run, result = measured(
        f"""
      signal(SIGTERM, handler);
      perfield_initialize();
      {TWO_STEPS}
      in_the_next_write = 1;
      {TWO_STEPS}
      puts("not reached");
    """,
        before="""
      #include <signal.h>
      #include <sys/syscall.h>
      static volatile int in_the_next_write;
      static void handler(int signal) { (void)signal; perfield_pause(); exit(3); }
      ssize_t write(int fd, const void* data, size_t n) {
        ssize_t written = syscall(SYS_write, fd, data, n);
        if (fd > 2 && in_the_next_write) { in_the_next_write = 0; raise(SIGTERM); }
        return written;
      }
    """,
        check=False,
        timeout=120,
    )
    assert (result.returncode, result.stdout) == (3, "")
    assert len(run) == 3


def test_small_tables_bound_regions_defined_before_initialize(measured):
    run, _ = measured(
        """
      for (int i = 0; i < 100; ++i) { char n[32]; snprintf(n, sizeof n, "early %d", i); REGION(n); }
      perfield_initialize();
      for (int s = 0; s < 3; ++s) {
        for (int i = 0; i < 100; ++i) {
          char n[32]; snprintf(n, sizeof n, "early %d", i);
          perfield_begin(n); perfield_end(n);
        }
        perfield_step(s, s);
      }
    """,
        env={"PERFIELD_MAX_REGIONS": "10", "PERFIELD_MAX_PEERS": "1"},
    )
    assert len(run) == 3
    for frame in run.frames():
        assert (
            sum(
                v[0]
                for n, v in frame.values.items()
                if n.endswith("_count") and v[0] == v[0] and ("early" in n or n.startswith("other_regions"))
            )
            == 100
        )


def test_large_tables_hold_regions_defined_before_initialize(measured):
    run, result = measured(
        """
      REGION("the first");
      perfield_initialize();
      for (int i = 0; i < 5000; ++i) {
        char n[32]; snprintf(n, sizeof n, "r%d", i);
        perfield_begin(n); perfield_end(n);
      }
      perfield_step(0, 0.0);
    """,
        env={"PERFIELD_MAX_REGIONS": "6000"},
    )
    values = run.frame(0).values
    assert sum(values[f"r{i}_count"][0] for i in range(5000)) == 5000
    assert "max_regions" not in result.stderr


LEFT = """
  #include <csetjmp>
  #include <stdexcept>
  static jmp_buf back;
  static void leaves(MPI_Comm*, int*, ...) { if (JUMPS) longjmp(back, 1); throw std::runtime_error("MPI"); }
"""
EXCHANGE = """
  static __attribute__((noinline)) void exchange(int levels) {  // further and further down the stack
    volatile char room[200] = {0};
    int out = 1, in = 0;
    if (levels) exchange(levels - 1);
    else MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    room[0] = 1;
  }
"""


@pytest.mark.parametrize("jumps", [0, 1], ids=["exception", "longjmp"])
def test_calls_after_one_that_was_left_count_in_the_same_step(mpi, jumps, build_c, bin_dir, tmp_path):
    """An MPI error handler may leave: the wrapper of that call never returns."""
    program = build_c(
        mpi_program(
            """
          MPI_Errhandler handler;
          MPI_Comm_create_errhandler(leaves, &handler);
          MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
          perfield_initialize();
          for (volatile int levels = 0; levels < 10; levels = levels + 1) {
            try {
              if (!setjmp(back)) MPI_Send(back, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
            } catch (const std::exception&) {}
            exchange(levels);
          }
          perfield_step(0, 0.0);
          exchange(0);
          perfield_step(1, 1.0);
        """,
            before=LEFT + EXCHANGE,
        ),
        f"-DJUMPS={jumps}",
        name="leaves.cpp",
        by=mpi,
    )
    result = mpi.run(1, bin_dir / "perfield-exec", program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    run = perfield.open(tmp_path / "perfield-run")
    assert [run.frame(k).values["sendrecv_count"][0] for k in (0, 1)] == [10, 1]
    assert "first seen by rank 0: mpi_call_not_returned_from, 10 times" in result.stderr


def test_calls_inside_callbacks_of_mpi_belong_to_the_outer_call(measured):
    """An attribute's delete function and an error handler call MPI on the stack of the outer call."""
    run, result = measured(
        """
        MPI_Errhandler handler;
        MPI_Comm_create_errhandler(handle, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        MPI_Comm copy;
        int key;
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &key, NULL);
        MPI_Comm_set_attr(copy, key, NULL);
        perfield_initialize();
        exchange(3);
        MPI_Comm_free(&copy);
        MPI_Send(&rank, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
        exchange(0);
        if (called != 2) return 3;
        perfield_step(0, 0.0);
        """,
        before=EXCHANGE
        + """
        static int called = 0;
        static void handle(MPI_Comm* c, int* e, ...) { (void)c; (void)e; ++called; exchange(1); }
        static int drop(MPI_Comm c, int k, void* a, void* e) {
          (void)c; (void)k; (void)a; (void)e;
          ++called;
          exchange(2);
          return MPI_SUCCESS;
        }
        """,
        mpi=True,
    )
    assert run.frame(0).values["sendrecv_count"][0] == 2
    assert "mpi_call_not_returned_from" not in result.stderr


def test_lack_of_memory_ends_measuring_not_the_program(measured):
    run, result = measured(
        """
      perfield_initialize();
      perfield_step(0, 0.0);
      struct rlimit limit;
      getrlimit(RLIMIT_AS, &limit);
      limit.rlim_cur = 1;
      setrlimit(RLIMIT_AS, &limit);
      while (malloc(1 << 12)) {}
      while (malloc(8)) {}
      char name[900];
      memset(name, 'x', sizeof name);
      for (int i = 0; i < 20; ++i) {
        name[800] = 0; name[0] = 'a' + i;
        perfield_begin(name); perfield_end(name); perfield_step(1 + i, 0.0);
      }
      if (write(1, "the answer is 42\\n", 17) != 17) return 1;
      _exit(0);
    """,
        before="#include <string.h>\n#include <sys/resource.h>",
    )
    assert result.stdout == "the answer is 42\n"
    assert len(run) >= 1


def test_program_may_close_and_reuse_any_descriptor(measured):
    """perfield opens its memory source in each step, so closed and reused descriptors do not matter."""
    run, _ = measured(
        """
      perfield_initialize();
      for (int s = 0; s < 4; ++s) {
        for (int fd = 3; fd < 100; ++fd) close(fd);
        work(20);
        perfield_step(s, s);
      }
    """,
    )
    assert all(frame.values["resident_bytes"][0] > 100_000 for frame in run.frames())
