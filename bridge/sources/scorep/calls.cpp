// SPDX-License-Identifier: BSD-3-Clause
//
// calls.cpp - see calls.hpp. Score-P reports no calls inside calls. So a call that begins inside
// another one ends it: its end was lost.
#include "sources/scorep/calls.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "sources/scorep/files.hpp"
#include "sources/scorep/messages.hpp"

namespace perfield::scorep {

__thread OpenCall open_call = {};

namespace {

struct Kind {
  const char* function;
  perfield_call call;
};
constexpr Kind kKinds[] = {
#define PERFIELD_CALL_KIND(function, call) {#function, PERFIELD_CALL_##call},
#include "call_kinds.def"
#undef PERFIELD_CALL_KIND
};

}  // namespace

void watch_mpi() noexcept { perfield_source_present("scorep-mpi"); }

bool is_of_mpi(const char* region) noexcept { return strncmp(region, "MPI_", 4) == 0; }

perfield_call kind_of(const char* region) noexcept {
  if (perfield_source_is_present("pmpi")) return kNotCounted;
  watch_mpi();
  const Kind* found = std::lower_bound(
      std::begin(kKinds), std::end(kKinds), region,
      [](const Kind& kind, const char* name) { return strcmp(kind.function, name) < 0; });
  const bool is_known = found != std::end(kKinds) && strcmp(found->function, region) == 0;
  return is_known ? found->call : kNotCounted;
}

void enter_call(perfield_call kind) noexcept {
  initialized();
  leave_call();
  if (kind == kNotCounted) return;
  end_operation();
  const uint64_t stamp = perfield_call_enter(kind, nullptr, nullptr).stamp;
  open_call = {true, kind, 0, stamp, 0, 0};
}

void leave_call() noexcept {
  if (!open_call.is_open) return;
  open_call.is_open = false;
  if (open_call.stamp)
    perfield_call_exit_bytes(open_call.kind, open_call.stamp, 0, open_call.bytes_out,
                             open_call.bytes_in);
}

}  // namespace perfield::scorep
