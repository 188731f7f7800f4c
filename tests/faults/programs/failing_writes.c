// SPDX-License-Identifier: BSD-3-Clause
//
// failing_writes.c - to preload: the write that FAULT_AT counts, from 0, among those of this
// process to files of a run directory fails; with FAULT_LASTS=1 all after it, too.
//   FAULT       ENOSPC, EDQUOT, EIO, EINTR, SIGXFSZ (the signal, and EFBIG), or SHORT (half of it)
//   FAULT_LOG   file that gets a line for each process: writes tried, and writes to streams that
//               succeeded
//   FAULT_IN    name of the only program that is concerned
//   FAULT_RANK  the only rank (of Open MPI) that is concerned
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int n_tried, n_streamed;

static int is_of_run(int file, int* is_stream) {
  char link[64], name[4096];
  sprintf(link, "/proc/self/fd/%d", file);
  ssize_t n = syscall(SYS_readlink, link, name, sizeof name - 1);
  name[n > 0 ? n : 0] = 0;
  *is_stream = strstr(name, "/stream/") && strstr(name, ".pf");
  const char* program = getenv("FAULT_IN");
  if (program && strcmp(program, program_invocation_short_name)) return 0;
  const char* rank = getenv("FAULT_RANK");
  const char* here = getenv("OMPI_COMM_WORLD_RANK");
  if (rank && here && strcmp(rank, here)) return 0;
  // Before it has its name, a run directory is called .perfield-*.
  return file > 2 && (strstr(name, "perfield-run") || strstr(name, "/.perfield-"));
}

static void note(void) {
  const char* path = getenv("FAULT_LOG");
  if (!path) return;
  char line[64];
  int n = sprintf(line, "%d %d\n", n_tried, n_streamed);
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  syscall(SYS_write, file, line, n);
  syscall(SYS_close, file);
}

// The kernel sends SIGXFSZ only where a limit is in force.
__attribute__((constructor)) static void at_begin(void) {
  const char* what = getenv("FAULT");
  struct rlimit limit;
  if (!what || strcmp(what, "SIGXFSZ") || getrlimit(RLIMIT_FSIZE, &limit)) return;
  limit.rlim_cur = (rlim_t)1 << 40;
  setrlimit(RLIMIT_FSIZE, &limit);
}

__attribute__((destructor)) static void at_end(void) { note(); }

// 0: writes it all. Else errno, or -1: half of it.
static int fault(int file) {
  static const struct {
    const char* name;
    int error;
  } known[] = {{"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EIO", EIO},
               {"EINTR", EINTR},   {"SIGXFSZ", EFBIG}, {"SHORT", -1}};
  int is_stream;
  const char* what = getenv("FAULT");
  if (!is_of_run(file, &is_stream)) return 0;
  int number = n_tried++, at = what ? atoi(getenv("FAULT_AT")) : -1;
  int fails = what && (number == at || (number > at && getenv("FAULT_LASTS")));
  n_streamed += is_stream && !fails;
  if (!fails) return 0;
  if (!strcmp(what, "SIGXFSZ")) raise(SIGXFSZ);
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (!strcmp(what, known[i].name)) return known[i].error;
  abort();
}

ssize_t write(int file, const void* bytes, size_t n) {
  int error = fault(file);
  if (error > 0) return errno = error, -1;
  return syscall(SYS_write, file, bytes, error ? n / 2 : n);
}

ssize_t writev(int file, const struct iovec* parts, int n) {
  int error = fault(file);
  if (error > 0) return errno = error, -1;
  if (error) return syscall(SYS_write, file, parts[0].iov_base, parts[0].iov_len / 2);
  return syscall(SYS_writev, file, parts, n);
}
