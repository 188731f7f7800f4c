// SPDX-License-Identifier: BSD-3-Clause
//
// file_kinds.hpp - whether a descriptor stands for a file, so that sockets and pipes of an MPI are
// not taken for the program's I/O. The kernel is asked once for each descriptor, and again when its
// number may stand for something else. Safe in signal handlers, never locks, leaves errno alone.
#pragma once

#include <atomic>
#include <cstdint>

namespace perfield::io {

enum class Kind : uint8_t { unknown = 0, file, other };

inline constexpr unsigned kRemembered = 65536;  // descriptors below are asked once; only touched
                                                // pages of the table take memory
extern std::atomic<Kind> kinds[kRemembered];
extern std::atomic<bool> ready;  // this library's constructor has run

// Asks the kernel, and remembers. False until `ready`.
bool ask(int descriptor) noexcept;

// Regular files and block devices; standard input, output and error, whatever they are.
inline bool is_file(int descriptor) noexcept {
  if (static_cast<unsigned>(descriptor) <= 2) return ready.load(std::memory_order_relaxed);
  if (static_cast<unsigned>(descriptor) >= kRemembered) return ask(descriptor);
  const Kind kind = kinds[descriptor].load(std::memory_order_relaxed);
  return kind == Kind::file || (kind == Kind::unknown && ask(descriptor));
}

// Its number is about to stand for something else, or for nothing.
inline void forget(int descriptor) noexcept {
  if (static_cast<unsigned>(descriptor) < kRemembered)
    kinds[descriptor].store(Kind::unknown, std::memory_order_relaxed);
}

}  // namespace perfield::io
