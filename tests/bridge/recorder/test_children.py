# SPDX-License-Identifier: BSD-3-Clause
"""A measured program that forks: the rank keeps its counters."""

from __future__ import annotations

# A stand-in for the kernel. Its counters belong to the process that opened them.
KERNEL = """
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
static pid_t rank;
long syscall(long number, ...) {
  if (rank && getpid() != rank) _exit(7);
  if (number == SYS_perf_event_open) return 900;
  if (number == SYS_close) return 0;
  errno = ENOSYS;
  return -1;
}
static int status = -1;
static void* forks(void* nothing) {
  perfield_begin("solve");
  const pid_t child = fork();
  if (child == 0) return nothing; /* ends the thread, and with it the child */
  waitpid(child, &status, 0);
  perfield_end("solve");
  return nothing;
}
"""


def test_thread_end_in_a_child_keeps_the_parents_counters(measured):
    _, result = measured(
        """
      rank = getpid();
      perfield_initialize();
      pthread_t thread;
      pthread_create(&thread, NULL, forks, NULL);
      pthread_join(thread, NULL);
      perfield_step(0, 0);
      printf("%d\\n", status);
    """,
        before=KERNEL,
        flags=("-pthread",),
        env={"PERFIELD_COUNTERS": "page_faults"},
    )
    assert result.stdout == "0\n"
