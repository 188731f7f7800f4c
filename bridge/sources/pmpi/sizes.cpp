// SPDX-License-Identifier: BSD-3-Clause
//
// sizes.cpp - see sizes.hpp.
#include "sizes.hpp"

namespace perfield::pmpi {

__thread KnownSize known_sizes[kKnownSizes];

uint64_t find_size(MPI_Datatype type, KnownSize& slot) noexcept {
  MPI_Count size = 0;
  if (!type || type == library.type_null) return 0;  // MPI would call the program's error handler
  if (library.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
  int integers, addresses, types, combiner = MPI_UNDEFINED;
  const bool is_predefined =
      size <= UINT32_MAX &&
      library.Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
      combiner == MPI_COMBINER_NAMED;
  if (is_predefined) slot = {type, static_cast<uint32_t>(size)};
  return static_cast<uint64_t>(size);
}

namespace {

bool is_plain(uint64_t bytes, bool cancelled) noexcept {
  MPI_Status status = {};
  return library.Status_set_elements_x(&status, library.byte, bytes) == MPI_SUCCESS &&
         library.Status_set_cancelled(&status, cancelled) == MPI_SUCCESS &&
         received_bytes(status) == bytes && was_cancelled(status) == cancelled;
}

}  // namespace

void prepare_sizes() noexcept {
  library.plain_statuses = is_plain(0x1234567890, false) && is_plain(3, true);
}

}  // namespace perfield::pmpi
