// SPDX-License-Identifier: BSD-3-Clause
//
// abi_mpich.hpp - the part that is specific to MPICH and the MPIs with its binary interface (Intel
// MPI, Cray MPICH, MVAPICH): handles are integers, and mpi.h defines the constant ones.
#pragma once

#define PERFIELD_BEHIND perfield_behind_mpich

namespace perfield::pmpi {

inline constexpr Family kOurs = Family::mpich, kOthers = Family::openmpi;
inline constexpr char kOurName[] = "MPICH";
inline constexpr char kBehindOthers[] = "perfield_behind_openmpi";

// What a status holds: the bytes received, and whether the request was cancelled.
inline uint64_t received_bytes(const MPI_Status& status) noexcept {
  const auto upper = static_cast<uint32_t>(status.count_hi_and_cancelled) >> 1;
  return static_cast<uint64_t>(upper) << 32 | static_cast<uint32_t>(status.count_lo);
}
inline bool was_cancelled(const MPI_Status& status) noexcept {
  return status.count_hi_and_cancelled & 1;
}

template <typename Library, typename FindObject>
void find_objects(Library& library, FindObject) {
  library.comm_world = MPI_COMM_WORLD;
  library.comm_self = MPI_COMM_SELF;
  library.comm_null = MPI_COMM_NULL;
  library.errors_return = MPI_ERRORS_RETURN;
  library.byte = MPI_BYTE;
  library.type_null = MPI_DATATYPE_NULL;
  library.win_null = MPI_WIN_NULL;
  library.no_op = MPI_NO_OP;
  library.no_request = MPI_REQUEST_NULL;
  library.no_message = MPI_MESSAGE_NO_PROC;
}

template <typename Library>
bool has_objects(const Library&) {
  return true;
}

}  // namespace perfield::pmpi
