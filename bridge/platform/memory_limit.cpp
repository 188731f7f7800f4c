// SPDX-License-Identifier: BSD-3-Clause
//
// memory_limit.cpp - see memory_limit.hpp. The kernel refuses memory beyond a limit of the process,
// or beyond what it has promised, where it promises no more than it has.
#include "platform/memory_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "platform/kept_file.hpp"

namespace perfield {
namespace {

constexpr uint64_t kMB = uint64_t{1} << 20;
constexpr rlim_t kRaise = 32 * kMB;

struct Kind {
  decltype(RLIMIT_AS) limit;
  const char *what, *flag;
  int field;       // of /proc/self/statm: what counts, in pages
  uint64_t least;  // a hard limit for a program and perfield's libraries (1 MB; 6 MB)
};
constexpr Kind kKinds[] = {{RLIMIT_DATA, "data", "d", 5, 32 * kMB},
                           {RLIMIT_AS, "address space", "v", 0, 256 * kMB}};
constexpr char kNoOvercommit[] = "(vm.overcommit_memory is 2)";

std::string in_words(const Kind& kind, const char* which, rlim_t bytes) {
  return std::string(kind.what) + " (ulimit -" + which + kind.flag + " " +
         std::to_string(bytes / 1024) + ")";
}

bool read_small(const char* path, char* text, size_t room) noexcept {
  KeptFile file;
  const bool has_any = file.read(path, text, room) > 0;
  file.close();
  return has_any;
}

bool promises_only_what_it_has() {
  char mode[16];
  return read_small("/proc/sys/vm/overcommit_memory", mode, sizeof mode) && mode[0] == '2';
}

uint64_t field_of_statm(int field) {
  char text[256];
  if (!read_small("/proc/self/statm", text, sizeof text)) return 0;
  char* at = text;
  uint64_t pages = 0;
  for (int i = 0; i <= field; ++i) pages = strtoull(at, &at, 10);
  return pages * uint64_t(sysconf(_SC_PAGESIZE));
}

uint64_t meminfo_bytes(const char* text, const char* name) {
  const char* at = strstr(text, name);
  return at ? strtoull(at + strlen(name), nullptr, 10) * 1024 : 0;
}

}  // namespace

void make_room_for_perfield() noexcept {
  for (const Kind& kind : kKinds) {
    rlimit limit;
    if (getrlimit(kind.limit, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    const bool has_room =
        limit.rlim_max == RLIM_INFINITY || limit.rlim_max - limit.rlim_cur >= kRaise;
    limit.rlim_cur = has_room ? limit.rlim_cur + kRaise : limit.rlim_max;
    setrlimit(kind.limit, &limit);
  }
}

std::string no_room_in_words() {
  for (const Kind& kind : kKinds) {
    rlimit limit;
    if (getrlimit(kind.limit, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < kind.least)
      return "the hard limit of " + in_words(kind, "H", limit.rlim_max) +
             " leaves no room for perfield beside the program, which runs unmeasured; raise that "
             "limit to measure";
  }
  return "";
}

MemoryRoom memory_room() {
  MemoryRoom room;
  const auto bound = [&room](uint64_t most, uint64_t used, const std::string& limit) {
    const uint64_t left = most - std::min(used, most);
    if (left < room.bytes) room = {left, limit};
  };
  for (const Kind& kind : kKinds) {
    rlimit limit;
    if (getrlimit(kind.limit, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    bound(limit.rlim_cur, field_of_statm(kind.field),
          "its limit of " + in_words(kind, "", limit.rlim_cur));
  }
  char text[4096];
  if (promises_only_what_it_has() && read_small("/proc/meminfo", text, sizeof text))
    bound(meminfo_bytes(text, "CommitLimit:"), meminfo_bytes(text, "Committed_AS:"),
          std::string("what the kernel promises to all processes ") + kNoOvercommit);
  return room;
}

std::string memory_limit_in_words() {
  std::string found;
  for (const Kind& kind : kKinds) {
    rlimit limit;
    if (getrlimit(kind.limit, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    found += (found.empty() ? "" : " or") + std::string(" its limit of ") +
             in_words(kind, "", limit.rlim_cur);
  }
  if (!found.empty()) return ", because the process has reached" + found;
  return promises_only_what_it_has()
             ? std::string(", because the kernel promises no more memory than it has ") +
                   kNoOvercommit
             : "";
}

}  // namespace perfield
