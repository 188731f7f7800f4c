/* SPDX-License-Identifier: BSD-3-Clause
 *
 * io.c - what one call for a file costs: `io
 * write|read|fwrite|fread|putc|printf|pipe`. Prints one number per repetition, nanoseconds per
 * call. Run bare and under perfield, the difference is perfield's share.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kRepetitions = 41, kCalls = 20000, kBytes = 64 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  char data[kBytes] = {0};
  FILE* stream = tmpfile(); /* a regular file, and gone at the end */
  if (!stream) return 1;
  static char buffer[1 << 16];
  setvbuf(stream, buffer, _IOFBF, sizeof buffer);
  int file = fileno(stream), ends[2];
  if (pipe(ends) != 0) return 1;
  for (int i = 0; i < kCalls; i++)
    if (write(file, data, kBytes) != kBytes) return 1;

  long done = 0;
  for (int i = 0; i <= kRepetitions; i++) {
    rewind(stream);
    double begin = now_ns();
    for (int n = 0; n < kCalls; n++) {
      if (!strcmp(what, "write")) done += pwrite(file, data, kBytes, 0);
      if (!strcmp(what, "read")) done += pread(file, data, kBytes, 0);
      if (!strcmp(what, "fwrite")) done += (long)fwrite(data, 1, kBytes, stream);
      if (!strcmp(what, "fread")) done += (long)fread(data, 1, kBytes, stream);
      if (!strcmp(what, "putc")) done += putc('x', stream) != EOF;
      if (!strcmp(what, "printf")) done += fprintf(stream, "%d %s\n", n, "words of a line");
      if (!strcmp(what, "pipe")) {
        done += write(ends[1], data, kBytes);
        done += read(ends[0], data, kBytes);
      }
    }
    if (i > 0) printf("%.3f\n", (now_ns() - begin) / kCalls); /* 0 warms up */
  }
  MPI_Finalize();
  return done <= 0;
}
