// SPDX-License-Identifier: BSD-3-Clause
//
// abi_standard.hpp - the part that is specific to the binary interface of the MPI standard (from
// MPI 5.0 on): handles are pointers, mpi.h defines the constant ones, and what a status holds is
// each library's own affair.
#pragma once

#include "constant_handles.hpp"

#define PERFIELD_BEHIND perfield_behind_mpi_abi

namespace perfield::pmpi {

inline constexpr Family kOurs = Family::standard, kOthers = Family::none;
inline constexpr char kOurName[] = "an MPI with the standard's binary interface";
inline constexpr char kBehindOthers[] = "perfield_behind_none";

// Not read from the status: learn_statuses() sees that, and MPI is asked.
inline uint64_t received_bytes(const MPI_Status&) noexcept { return ~uint64_t{0}; }
inline bool was_cancelled(const MPI_Status&) noexcept { return false; }

}  // namespace perfield::pmpi
