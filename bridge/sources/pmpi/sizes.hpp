// SPDX-License-Identifier: BSD-3-Clause
//
// sizes.hpp - bytes of items and of received messages. The size of a predefined type never changes,
// so each thread keeps those that it used last. MPI is asked for the size of a type only where the
// program's own call has just read it, since asking for any other may end the program: so whoever
// counts items hands on the type as the program gave it, and a count of 0 leaves it unread. Any
// thread.
#pragma once

#include <cstdint>

#include "library.hpp"

namespace perfield::pmpi {

// An empty slot holds no type of any MPI.
struct KnownSize {
  MPI_Datatype type;
  uint32_t bytes;
};
inline constexpr int kKnownSizes = 8;
extern __thread KnownSize known_sizes[kKnownSizes] __attribute__((tls_model("initial-exec")));

// Asks MPI, and keeps the answer for a predefined type.
uint64_t find_size(MPI_Datatype type, KnownSize& slot) noexcept;

inline KnownSize& slot_of(MPI_Datatype type) noexcept {
  return known_sizes[(uint64_t)type * 0x9E3779B97F4A7C15u >> 61];
}

// Bytes of one item, without the gaps of derived types.
[[gnu::always_inline]] inline uint64_t size_of(MPI_Datatype type) noexcept {
  KnownSize& slot = slot_of(type);
  return __builtin_expect(slot.type == type, 1) ? slot.bytes : find_size(type, slot);
}

// Whether the type can never be freed, as far as is known.
inline bool is_predefined(MPI_Datatype type) noexcept {
  size_of(type);
  return slot_of(type).type == type;
}

// type: an MPI_Datatype, or what converts to it.
template <typename Type>
[[gnu::always_inline]] inline uint64_t bytes_of(MPI_Count count, Type type) noexcept {
  return count <= 0 ? 0 : static_cast<uint64_t>(count) * size_of(static_cast<MPI_Datatype>(type));
}

// Bytes received.
inline uint64_t bytes_of(const MPI_Status& status) noexcept {
  if (__builtin_expect(library.plain_statuses, 1)) return received_bytes(status);
  MPI_Count bytes = 0;
  library.Get_elements_x(&status, library.byte, &bytes);
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

inline bool is_cancelled(const MPI_Status& status) noexcept {
  if (__builtin_expect(library.plain_statuses, 1)) return was_cancelled(status);
  int cancelled = 0;
  library.Test_cancelled(&status, &cancelled);
  return cancelled;
}

// Call it in MPI_Init: asks this MPI whether its statuses look as its header says.
void prepare_sizes() noexcept;

}  // namespace perfield::pmpi
