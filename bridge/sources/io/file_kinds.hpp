// SPDX-License-Identifier: BSD-3-Clause
//
// file_kinds.hpp - whether a descriptor is a file, so that MPI's sockets and pipes do not
// count as the program's I/O. Asks the kernel once per descriptor, and again after its number may
// have been reused. Safe in signal handlers, never locks, keeps errno.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfield::io {

enum class Kind : uint8_t { unknown = 0, file, other };

inline constexpr unsigned kRemembered = 65536;  // descriptors below are asked once; only touched
                                                // pages of the table take memory
extern std::atomic<Kind> kinds[kRemembered];
extern std::atomic<bool> ready;  // this library's constructor has run

// Asks the kernel and remembers the answer. False until `ready`.
bool ask(int descriptor) noexcept;

// True for regular files, block devices, and standard input, output and error of any kind.
inline bool is_file(int descriptor) noexcept {
  if (static_cast<unsigned>(descriptor) <= 2) return ready.load(std::memory_order_relaxed);
  if (static_cast<unsigned>(descriptor) >= kRemembered) return ask(descriptor);
  const Kind kind = kinds[descriptor].load(std::memory_order_relaxed);
  return kind == Kind::file || (kind == Kind::unknown && ask(descriptor));
}

// Call before the number is closed or reused.
inline void forget(int descriptor) noexcept {
  if (static_cast<unsigned>(descriptor) < kRemembered)
    kinds[descriptor].store(Kind::unknown, std::memory_order_relaxed);
}

}  // namespace perfield::io
