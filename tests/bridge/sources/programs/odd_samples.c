/* SPDX-License-Identifier: BSD-3-Clause
 *
 * odd_samples - `odd_samples WHAT STEPS`: what makes sampling hard.
 *   nested   solve inside pEqn and inside UEqn, each with functions of its own, and work in no
 * region; prints the CPU time in s of pEqn, of solve in it, of UEqn, and of solve in it, each
 *            without what is inside
 *   brief    threads that live for some microseconds, and enter a region
 *   many     200 threads at once, each now and then in a region of its own
 *   forks    children that compute and end, and one that becomes another program
 *   clones   children made past the C library, which enter a region and close a step
 *   made     code that the program makes itself
 *   listed   the same, listed for perf, among lines that are none
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <perfield.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

enum { kThreads = 200 };
static volatile int ends;
static pthread_barrier_t together;
static perfield_region pEqn, UEqn, solve, inside;

#define FUNCTION static __attribute__((noinline)) void
FUNCTION of_pressure(void) { SPIN(6 * kUnit); }
FUNCTION of_velocity(void) { SPIN(3 * kUnit); }
FUNCTION assemble(void) { SPIN(2 * kUnit); }
FUNCTION in_no_region(void) { SPIN(4 * kUnit); }
FUNCTION in_thread(long n) { SPIN(n); }

static double spent[4];
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void solve_inside(perfield_region outer, void (*function)(void), double* spent_so) {
  const double begin = now();
  perfield_region_begin(outer);
  assemble();
  const double middle = now();
  perfield_region_begin(solve);
  function();
  perfield_region_end(solve);
  perfield_region_end(outer);
  spent_so[0] += middle - begin;
  spent_so[1] += now() - middle;
}

static void* brief(void* unused) {
  perfield_region_begin(inside);
  perfield_region_end(inside);
  return unused;
}

static void* steady(void* number) {
  char name[32];
  snprintf(name, sizeof name, "thread %ld", (long)number);
  const perfield_region own = perfield_region_define(name, NULL, 0);
  pthread_barrier_wait(&together);
  while (!ends) {
    perfield_region_begin(own);
    in_thread(kUnit);
    perfield_region_end(own);
    usleep(200000);
  }
  return NULL;
}

static void begin_and_end(pthread_t* threads, int n, void* (*function)(void*)) {
  for (long i = 0; i < n; i++)
    if (pthread_create(threads + i, NULL, function, (void*)i)) abort();
}

static void forks(int step) {
  const pid_t child = fork();
  if (child == 0) {
    perfield_region_begin(inside);
    of_pressure();
    perfield_region_end(inside);
    if (step % 2) execl("/bin/true", "true", (char*)NULL);
    _exit(0);
  }
  in_no_region();
  waitpid(child, NULL, 0);
}

static void clones(void) {
  int status = -1;
  const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    perfield_region_begin(inside);
    of_pressure();
    perfield_region_end(inside);
    perfield_step(99, 99);
    _exit(0);
  }
  in_no_region();
  waitpid(child, &status, 0);
  if (status) abort();
}

/* A loop that counts down: mov rax, n; dec rax; jnz -5; ret. */
static void (*make_code(void))(void) {
  unsigned char* at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uint64_t n = 20L * kUnit;
  const unsigned char code[] = {0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};
  at[0] = 0x48, at[1] = 0xb8;
  memcpy(at + 2, &n, 8);
  memcpy(at + 10, code, sizeof code);
  mprotect(at, 4096, PROT_READ | PROT_EXEC);
  return (void (*)(void))(uintptr_t)at;
}

static char list[64];

static void list_code(const void* code) {
  snprintf(list, sizeof list, "/tmp/perf-%d.map", (int)getpid());
  FILE* file = fopen(list, "w");
  if (!file) abort();
  fprintf(file, "no line\n\n%lx\n%lx zz wrong\n%lx 0 empty\n", (long)code, (long)code, (long)code);
  fprintf(file, "%lx 10 flow::made(int) \"\xff\"\n%lx 10 unfinished", (long)code, (long)code);
  fclose(file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* const what = argv[1];
  pEqn = perfield_region_define("pEqn", NULL, 0);
  UEqn = perfield_region_define("UEqn", NULL, 0);
  solve = perfield_region_define("solve", NULL, 0);
  inside = perfield_region_define("inside", NULL, 0);
  perfield_initialize();
  static pthread_t threads[kThreads];
  if (!strcmp(what, "many")) {
    pthread_barrier_init(&together, NULL, kThreads + 1);
    begin_and_end(threads, kThreads, steady);
    pthread_barrier_wait(&together);
  }
  const int is_listed = !strcmp(what, "listed");
  void (*made)(void) = is_listed || !strcmp(what, "made") ? make_code() : NULL;
  if (is_listed) list_code((const void*)(uintptr_t)made);
  for (int step = 0; step < atoi(argv[2]); step++) {
    if (!strcmp(what, "nested")) {
      solve_inside(pEqn, of_pressure, spent);
      solve_inside(UEqn, of_velocity, spent + 2);
      in_no_region();
    } else if (!strcmp(what, "brief")) {
      begin_and_end(threads, 20, brief);
      in_no_region();
      for (int i = 0; i < 20; i++) pthread_join(threads[i], NULL);
    } else if (!strcmp(what, "forks")) {
      forks(step);
    } else if (!strcmp(what, "clones")) {
      clones();
    } else {
      perfield_region_begin(inside);
      if (made)
        made();
      else
        in_no_region();
      perfield_region_end(inside);
      if (!strcmp(what, "many")) usleep(100000);
    }
    perfield_step(step, step);
  }
  ends = 1;
  for (int i = 0; i < kThreads && !strcmp(what, "many"); i++) pthread_join(threads[i], NULL);
  perfield_finalize();
  MPI_Finalize();
  if (is_listed) unlink(list);
  printf("spent %.6f %.6f %.6f %.6f\ndone\n", spent[0], spent[1], spent[2], spent[3]);
  return 0;
}
