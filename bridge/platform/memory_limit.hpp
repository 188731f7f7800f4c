// SPDX-License-Identifier: BSD-3-Clause
//
// memory_limit.hpp - which limits of memory this process has, and how far it is from them. Reads
// files of /proc; not for the hot path.
#pragma once

#include <cstdint>
#include <string>

namespace perfield {

// Raises soft limits by what perfield may take beside the program, as far as the user may.
void make_room_for_perfield() noexcept;

// The warning for a limit that leaves no room for perfield's libraries beside a program; "" if
// there is none. Such a limit is small, and the user may not raise it enough.
std::string no_room_in_words();

// What the process may still take until it reaches a limit, or what the kernel still promises.
struct MemoryRoom {
  uint64_t bytes = UINT64_MAX;
  std::string limit;  // in words
};
MemoryRoom memory_room();

// To follow "no memory": ", because ..." with the limit and its value; "" if none is known.
std::string memory_limit_in_words();

}  // namespace perfield
