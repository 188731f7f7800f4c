// SPDX-License-Identifier: BSD-3-Clause
//
// file_kinds.cpp - see file_kinds.hpp; also the constructor of libperfield_io.so. Calls before it
// runs (by allocators, by constructors of other libraries) go straight through and are not counted.
#include "sources/io/file_kinds.hpp"

#include <errno.h>
#include <sys/stat.h>

#include "recorder/source.h"
#include "sources/io/counting.hpp"
#include "sources/io/unseen.hpp"

// Begin and end of the functions to look up, defined by the linker.
extern "C" perfield::io::Next __start_perfield_next[] __attribute__((visibility("hidden")));
extern "C" perfield::io::Next __stop_perfield_next[] __attribute__((visibility("hidden")));

namespace perfield::io {

std::atomic<Kind> kinds[kRemembered];
std::atomic<bool> ready{false};
FileOperations operations;

bool ask(int descriptor) noexcept {
  if (descriptor < 0 || !ready.load(std::memory_order_relaxed)) return false;
  const int error = errno;
  struct stat facts;
  const bool is_open = fstat(descriptor, &facts) == 0;
  errno = error;
  if (!is_open) return false;
  const bool is_file = S_ISREG(facts.st_mode) || S_ISBLK(facts.st_mode);
  if (static_cast<unsigned>(descriptor) < kRemembered)
    kinds[descriptor].store(is_file ? Kind::file : Kind::other, std::memory_order_relaxed);
  return is_file;
}

namespace {

__attribute__((constructor)) void start() {
  for (Next* next = __start_perfield_next; next < __stop_perfield_next; ++next) next->get();
  dlerror();  // hides failed look-ups from the program
  perfield_source_present("io");
  operations = define_file_operations(perfield_quantity_define);
  perfield_source_before_close(look_for_unseen);
  ready.store(true, std::memory_order_release);
}

}  // namespace
}  // namespace perfield::io
