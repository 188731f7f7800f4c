// SPDX-License-Identifier: BSD-3-Clause
//
// shared_file.c - processes leave a barrier, and each appends an entry, as ranks do that close a
// step together.
//   shared_file PROCESSES FILES BYTES ROUNDS BARRIERS FOLDER
// Process p appends to file p % FILES; FILES 0: nobody writes. BARRIERS 0: only the first round has
// one. Prints for each round the time (us) from the first process that has left the barrier to the
// last one that has written; then the time of all rounds, divided by all writes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct stamps {
  double left, wrote;
};

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void* shared(size_t bytes) {
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const int processes = atoi(argv[1]), files = atoi(argv[2]), rounds = atoi(argv[4]),
            barriers = atoi(argv[5]);
  const size_t bytes = (size_t)atol(argv[3]);
  struct stamps* all = shared(sizeof *all * (size_t)processes * (size_t)rounds);
  pthread_barrier_t* barrier = shared(sizeof *barrier);
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(barrier, &attributes, (unsigned)processes);
  for (int p = 0; p < processes; ++p) {
    if (fork()) continue;
    char* entry = malloc(bytes);
    memset(entry, p, bytes);
    int file = -1;
    if (files) {
      char path[4096];
      snprintf(path, sizeof path, "%s/%d", argv[6], p % files);
      file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
      if (file < 0) _exit(1);
    }
    for (int r = 0; r < rounds; ++r) {
      struct stamps* mine = all + (size_t)r * (size_t)processes + p;
      if (r == 0 || barriers) pthread_barrier_wait(barrier);
      mine->left = now_us();
      if (files && write(file, entry, bytes) != (ssize_t)bytes) _exit(1);
      mine->wrote = now_us();
    }
    _exit(0);
  }
  int status, bad = 0;
  while (wait(&status) > 0) bad |= status;
  double begin = 1e300, end = 0;
  for (int r = 0; r < rounds; ++r) {
    double first = 1e300, last = 0;
    for (int p = 0; p < processes; ++p) {
      const struct stamps* s = all + (size_t)r * (size_t)processes + p;
      if (s->left < first) first = s->left;
      if (s->wrote > last) last = s->wrote;
    }
    printf("%.3f\n", last - first);
    if (first < begin) begin = first;
    if (last > end) end = last;
  }
  printf("%.3f\n", (end - begin) / rounds / processes);
  return bad != 0;
}
