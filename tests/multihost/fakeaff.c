// SPDX-License-Identifier: BSD-3-Clause
//
// fakeaff.c - a preloaded library that lets a process bind itself to any PU of a fake machine. It
// keeps the binding in a file per process id, so the binding survives exec: the launcher's daemon
// binds its child, and the rank reads the binding back. It does nothing without
// FAKE_AFFINITY_FILES and FAKE_AFFINITY_PUS.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

// The file of a process; 0 and the ids of this process's threads mean this process. NULL: do not
// fake anything.
static const char* file_of(pid_t id, char* name, size_t size) {
  const char* folder = getenv("FAKE_AFFINITY_FILES");
  if (!folder || !getenv("FAKE_AFFINITY_PUS")) return NULL;
  char task[64];
  snprintf(task, sizeof task, "/proc/self/task/%d", (int)id);
  if (id == 0 || access(task, F_OK) == 0) id = getpid();
  snprintf(name, size, "%s/affinity.%d", folder, (int)id);
  return name;
}

int sched_setaffinity(pid_t id, size_t size, const cpu_set_t* pus) {
  char name[512];
  if (!file_of(id, name, sizeof name)) {
    int (*real)(pid_t, size_t, const cpu_set_t*) = dlsym(RTLD_NEXT, "sched_setaffinity");
    return real(id, size, pus);
  }
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  const ssize_t written = write(file, pus, size);
  close(file);
  return written == (ssize_t)size ? 0 : -1;
}

int sched_getaffinity(pid_t id, size_t size, cpu_set_t* pus) {
  char name[512];
  if (!file_of(id, name, sizeof name)) {
    int (*real)(pid_t, size_t, cpu_set_t*) = dlsym(RTLD_NEXT, "sched_getaffinity");
    return real(id, size, pus);
  }
  memset(pus, 0, size);
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) {  // not bound: all PUs
    const int n = atoi(getenv("FAKE_AFFINITY_PUS"));
    for (int pu = 0; pu < n && (size_t)pu < size * 8; pu++) CPU_SET_S(pu, size, pus);
    return 0;
  }
  const ssize_t got = read(file, pus, size);
  close(file);
  return got < 0 ? -1 : 0;
}
