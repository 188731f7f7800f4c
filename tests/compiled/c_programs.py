# SPDX-License-Identifier: BSD-3-Clause
"""The C text around what a test program is about: its headers, its main(), and MPI's start and end.

    from compiled.c_programs import mpi_program

    build_c(mpi_program("perfield_initialize(); perfield_step(rank, 0.5);"))

Each program may call `work(ms)`, which takes that much time, `REGION(name)`, which defines a region here, and
`print_values()`, which prints the fields of its own rank.
"""

from __future__ import annotations

PROLOGUE = """
#include "perfield.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef REAL_TIME
/* Works for this many milliseconds of wall time. */
static inline void work(double ms) {
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  do clock_gettime(CLOCK_MONOTONIC, &b);
  while ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6 < ms);
}
#else
/* A clock of the test's own, which perfield reads, too: only work() makes time pass. */
static _Atomic long long clock_ns = 1000000000LL;
int clock_gettime(clockid_t id, struct timespec* t) {
  (void)id;
  t->tv_sec = clock_ns / 1000000000LL;
  t->tv_nsec = clock_ns % 1000000000LL;
  return 0;
}
static inline void work(double ms) { clock_ns += (long long)(ms * 1e6); }
#endif
#define REGION(name) perfield_region_define(name, __FILE__, __LINE__)
/* Prints one line per field of this rank: its name, and its value with all digits. */
static inline void print_values(void) {
  perfield_value v[300];
  int n = perfield_values(300, v);
  for (int i = 0; i < n; ++i) printf("%s %a\\n", v[i].name, v[i].value);
}
"""

_START_MPI = """
int rank, size;
MPI_Init(&argc, &argv);
MPI_Comm_rank(MPI_COMM_WORLD, &rank);
MPI_Comm_size(MPI_COMM_WORLD, &size);
(void)rank; (void)size;
"""


def c_program(body: str, before: str = "", *, mpi: bool = False, own_clock: bool = False) -> str:
    """A program whose main(argc, argv) runs `body` and returns 0.

    before : text at file scope. mpi : includes mpi.h. own_clock : time passes only in work(ms), also for
    perfield, which must then read its time with PERFIELD_CLOCK=monotonic.
    """
    include = "#include <mpi.h>\n" if mpi else ""
    clock = "" if own_clock else "#define REAL_TIME\n"
    main = f"int main(int argc, char** argv) {{\n(void)argc; (void)argv;\n{body}\nreturn 0;\n}}\n"
    return f"{include}{clock}{PROLOGUE}{before}\n{main}"


def mpi_program(body: str, before: str = "", after: str = "") -> str:
    """A program that runs `body` between MPI_Init and MPI_Finalize.

    The body knows its `rank` and the `size` of the world.

    before : text at file scope. after : what main does after MPI_Finalize.
    """
    return c_program(between_init_and_finalize(body, after), before, mpi=True)


def between_init_and_finalize(body: str, after: str = "") -> str:
    """The body of main in `mpi_program`."""
    return f"{_START_MPI}{body}\nMPI_Finalize();\n{after}"
