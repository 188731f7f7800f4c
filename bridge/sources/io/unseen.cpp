// SPDX-License-Identifier: BSD-3-Clause
//
// unseen.cpp - see unseen.hpp. All of it shows in the list of the process's memory mappings: rings
// and contexts of the kernel have mappings with names of their own.
#include "sources/io/unseen.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

#include "recorder/source.h"

namespace perfield::io {
namespace {

constexpr unsigned long kSmallestFile = 1 << 20;  // shared caches of libraries are smaller

// MPIs, and the libraries that they communicate by, map files as shared memory.
bool is_of_mpi(const char* path) noexcept {
  for (const char* part : {"/ompi.", "openmpi-sessions", "pmix", "prte.", "vader_segment", "mpich",
                           "ucx", "psm", "libfabric", "nvidia"})
    if (strstr(path, part)) return true;
  return false;
}

void warn_of_mapping(const char* path, unsigned long bytes) noexcept {
  if (strncmp(path, "anon_inode:[io_uring]", 21) == 0)
    return perfield_warn_once_per_node(
        "unseen io_uring",
        "this program uses io_uring; what it reads and writes so is not "
        "counted among its files (docs/counters.md)");
  if (strncmp(path, "/[aio]", 6) == 0)
    return perfield_warn_once_per_node(
        "unseen aio",
        "this program uses the kernel's asynchronous I/O (io_submit); what "
        "it reads and writes so is not counted among its files "
        "(docs/counters.md)");
  const size_t length = strlen(path);
  const bool is_deleted = length > 10 && strcmp(path + length - 10, " (deleted)") == 0;
  if (path[0] != '/' || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/memfd:", 7) == 0 ||
      strncmp(path, "/SYSV", 5) == 0 || is_deleted || is_of_mpi(path) || bytes < kSmallestFile)
    return;
  const char* slash = strrchr(path, '/');
  char sentence[512];
  snprintf(sentence, sizeof sentence,
           "this program maps files into its memory (as %.200s); what it reads and writes there is "
           "not counted among its files (docs/counters.md)",
           slash + 1);
  perfield_warn_once_per_node("unseen mapping", sentence);
}

// A line of the list: "55d0-55e0 rw-s 00000000 fe:00 1234    /path".
void look_at(const char* line) noexcept {
  const char* rights = strchr(line, ' ');
  if (!rights || strnlen(rights, 5) < 5 || rights[4] != 's') return;
  char* end = nullptr;
  const unsigned long from = strtoul(line, &end, 16);
  if (*end != '-') return;
  const unsigned long until = strtoul(end + 1, &end, 16);
  for (int field = 0; field < 4 && end; ++field) end = strchr(end + 1, ' ');
  if (!end) return;
  warn_of_mapping(end + strspn(end, " "), until - from);
}

void look_at_mappings() noexcept {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[8192];
  size_t kept = 0;
  for (;;) {
    const ssize_t got = read(file, text + kept, sizeof text - 1 - kept);
    if (got <= 0) break;
    text[kept + static_cast<size_t>(got)] = '\0';
    char* line = text;
    for (char* end; (end = strchr(line, '\n')); line = end + 1) {
      *end = '\0';
      look_at(line);
    }
    kept = strlen(line);
    if (kept >= sizeof text - 1) kept = 0;  // no such line exists
    memmove(text, line, kept);
  }
  close(file);
}

}  // namespace

void look_for_unseen() noexcept {
  static unsigned long closings = 0;  // one thread at a time closes
  const unsigned long n = ++closings;
  if (n & (n - 1)) return;
  const int error = errno;
  perfield_own_begin();
  look_at_mappings();
  perfield_own_end();
  errno = error;
}

}  // namespace perfield::io
