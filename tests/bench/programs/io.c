/* SPDX-License-Identifier: BSD-3-Clause
 *
 * io.c - what perfield adds to a file call: `io write|read|pipe|fwrite|fread|printf|putc`, under
 * perfield-exec. Prints one number per repetition: nanoseconds per call of the program's function
 * minus nanoseconds per call of the C library's own function, measured in turn.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kRepetitions = 201, kCalls = 2000, kBytes = 64 };

/* The measured functions: the program's or the C library's. */
struct functions {
  ssize_t (*pwrite)(int, const void*, size_t, off_t);
  ssize_t (*pread)(int, void*, size_t, off_t);
  ssize_t (*write)(int, const void*, size_t);
  ssize_t (*read)(int, void*, size_t);
  size_t (*fwrite)(const void*, size_t, size_t, FILE*);
  size_t (*fread)(void*, size_t, size_t, FILE*);
  int (*fprintf)(FILE*, const char*, ...);
  int (*putc)(int, FILE*);
};

static char data[kBytes];
static int file, ends[2];
static FILE* stream;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double calls(const struct functions* f, const char* what) {
  long done = 0;
  rewind(stream);
  if (!strcmp(what, "fread")) done += (long)f->fread(data, 1, kBytes, stream); /* fills it */
  double begin = now_ns();
  for (int n = 0; n < kCalls; n++) {
    if (what[0] == 'w') done += f->pwrite(file, data, kBytes, 0);
    if (what[0] == 'r') done += f->pread(file, data, kBytes, 0);
    if (!strcmp(what, "fwrite")) done += (long)f->fwrite(data, 1, kBytes, stream);
    if (!strcmp(what, "fread")) done += (long)f->fread(data, 1, kBytes, stream);
    if (!strcmp(what, "printf")) done += f->fprintf(stream, "%d %s\n", n, "words of a line");
    if (!strcmp(what, "putc")) done += f->putc('x', stream) != EOF;
    if (!strcmp(what, "pipe")) {
      done += f->write(ends[1], data, kBytes);
      done += f->read(ends[0], data, kBytes);
    }
  }
  double spent = now_ns() - begin;
  if (done <= 0) exit(1);
  return spent / kCalls;
}

int main(int argc, char** argv) {
  static char buffer[1 << 18]; /* holds the data of one repetition */
  const char* what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  struct functions own = {pwrite, pread, write, read, fwrite, fread, fprintf, putc}, bare;
  void* library = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY);
  const char* names[] = {"pwrite", "pread", "write", "read", "fwrite", "fread", "fprintf", "putc"};
  for (int i = 0; i < 8; i++) ((void**)&bare)[i] = dlsym(library, names[i]);
  stream = tmpfile(); /* a regular file that disappears at the end */
  if (!stream || setvbuf(stream, buffer, _IOFBF, sizeof buffer) != 0 || pipe(ends) != 0) return 1;
  file = fileno(stream);
  for (int i = 0; i < kCalls + 1; i++)
    if (write(file, data, kBytes) != kBytes) return 1;
  for (int i = 0; i <= kRepetitions; i++) {
    double without = calls(&bare, what);
    double with = calls(&own, what);
    if (i > 0) printf("%.3f\n", with - without); /* 0 warms up */
  }
  MPI_Finalize();
  return 0;
}
