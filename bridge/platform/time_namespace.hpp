// SPDX-License-Identifier: BSD-3-Clause
//
// time_namespace.hpp - how far this process's CLOCK_MONOTONIC is ahead of that of its node: in a
// time namespace, as a container may have one, the kernel shifts that clock. Never throws.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace perfield {

struct TimeNamespace {
  // Whether ahead_ns is known. It is not after an unshare(CLONE_NEWTIME) by the process itself:
  // the kernel then gives the shift of its children.
  bool is_known = true;
  int64_t ahead_ns = 0;
  char name[64] = "";  // "time:[4026531834]"; "" in kernels without time namespaces
};

// The shift in the text of /proc/self/timens_offsets, in ns; false if there is none.
inline bool shift_in(const char* offsets, int64_t* ahead_ns) noexcept {
  const char* const at = strstr(offsets, "monotonic");
  if (!at) return false;
  char *seconds_end, *end;
  const long long seconds = strtoll(at + strlen("monotonic"), &seconds_end, 10);
  const long long ns = strtoll(seconds_end, &end, 10);
  *ahead_ns = seconds * 1'000'000'000 + ns;
  return end != seconds_end;
}

inline TimeNamespace time_namespace() noexcept {
  const auto link = [](const char* path, char* text, size_t room) {
    const ssize_t n = readlink(path, text, room - 1);
    text[n > 0 ? n : 0] = 0;
  };
  TimeNamespace found;
  char of_children[sizeof found.name], text[256];
  link("/proc/self/ns/time", found.name, sizeof found.name);
  if (!*found.name) return found;
  link("/proc/self/ns/time_for_children", of_children, sizeof of_children);
  const int file = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
  const ssize_t n = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  text[n > 0 ? n : 0] = 0;
  found.is_known = !strcmp(found.name, of_children) && shift_in(text, &found.ahead_ns);
  if (!found.is_known) found.ahead_ns = 0;
  return found;
}

}  // namespace perfield
