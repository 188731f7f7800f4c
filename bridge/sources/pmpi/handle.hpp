// SPDX-License-Identifier: BSD-3-Clause
//
// handle.hpp - handles of MPI as keys of tables.
#pragma once

#include <cstdint>

#include "mpi_header.hpp"

namespace perfield::pmpi {

// An MPI handle, which may be an address or a number.
struct Handle {
  constexpr Handle() noexcept = default;
  // Of a request, or of a type that converts to one.
  template <typename Request,
            typename = std::enable_if_t<std::is_convertible_v<Request, MPI_Request>>>
  Handle(const Request& request) noexcept : Handle(value_of(static_cast<MPI_Request>(request))) {}
  // Of a message, if that is another type.
  Handle(void* address) noexcept : Handle(value_of(address)) {}
  explicit operator bool() const noexcept { return value != 0; }
  bool operator==(Handle other) const noexcept { return value == other.value; }
  bool operator!=(Handle other) const noexcept { return value != other.value; }

  uint64_t value = 0;

 private:
  constexpr explicit Handle(uint64_t value) noexcept : value(value) {}
  static uint64_t value_of(const void* address) noexcept {
    return reinterpret_cast<uintptr_t>(address);
  }
  static uint64_t value_of(int number) noexcept { return static_cast<uint32_t>(number); }
};

}  // namespace perfield::pmpi
