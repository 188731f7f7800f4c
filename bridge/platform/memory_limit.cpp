// SPDX-License-Identifier: BSD-3-Clause
//
// memory_limit.cpp - see memory_limit.hpp. The kernel refuses memory beyond a limit of the process,
// or beyond what it has promised, where it promises no more than it has.
#include "platform/memory_limit.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace perfield {

std::string memory_limit_in_words() {
  struct {
    decltype(RLIMIT_AS) limit;
    const char *what, *flag;
  } const kinds[] = {{RLIMIT_DATA, "data", "d"}, {RLIMIT_AS, "address space", "v"}};
  std::string found;
  for (const auto& kind : kinds) {
    rlimit limit;
    if (getrlimit(kind.limit, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    found += (found.empty() ? "" : " or") + std::string(" its limit of ") + kind.what +
             " (ulimit -" + kind.flag + " " + std::to_string(limit.rlim_cur / 1024) + ")";
  }
  if (!found.empty()) return ", because the process has reached" + found;
  char mode = 0;
  const int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (read(file, &mode, 1) != 1) mode = 0;
    close(file);
  }
  return mode == '2' ? ", because the kernel promises no more memory than it has "
                       "(vm.overcommit_memory is 2)"
                     : "";
}

}  // namespace perfield
