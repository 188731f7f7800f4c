// SPDX-License-Identifier: BSD-3-Clause
//
// abi_mpich.hpp - the part that is specific to MPICH and the MPIs with its binary interface (Intel
// MPI, Cray MPICH, MVAPICH): handles are integers, and mpi.h defines the constant ones.
#pragma once

#include "constant_handles.hpp"

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

}  // namespace perfield::pmpi
