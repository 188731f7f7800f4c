/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rank_cost.c - `rank_cost FOLDER PROGRAM ARGS` runs the program as its child and writes what it
 * cost to FOLDER/<process id>: seconds, seconds of CPU, and the peak of its resident memory in kB
 * (VmHWM). Ends as the program ended. Helpers that the program waited for (lstopo under
 * perfield-exec) count as well.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval time) {
  return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

int main(int argc, char** argv) {
  struct timespec begin, end;
  struct rusage used;
  char path[4096];
  int status;
  if (argc < 3) {
    fprintf(stderr, "rank_cost: usage: rank_cost FOLDER PROGRAM [ARGUMENT ...]\n");
    return 2;
  }
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    fprintf(stderr, "rank_cost: %s cannot be started: %s\n", argv[2], strerror(errno));
    _exit(127);
  }
  if (child < 0) {
    fprintf(stderr, "rank_cost: %s cannot be started: %s\n", argv[2], strerror(errno));
    return 127;
  }
  while (wait4(child, &status, 0, &used) < 0)
    if (errno != EINTR) return 126;
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  if (WEXITSTATUS(status)) return WEXITSTATUS(status);
  snprintf(path, sizeof path, "%s/%ld", argv[1], (long)getpid());
  FILE* file = fopen(path, "w");
  if (!file) {
    fprintf(stderr, "rank_cost: %s cannot be written: %s\n", path, strerror(errno));
    return 125;
  }
  fprintf(file, "%.6f %.6f %ld\n",
          (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec),
          seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss);
  return fclose(file) ? 125 : 0;
}
