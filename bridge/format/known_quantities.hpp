// SPDX-License-Identifier: BSD-3-Clause
//
// known_quantities.hpp - the names of the quantities that perfield computes its own fields from.
// All other quantities become fields of their own.
#pragma once

#include <string>

#include "format/calls.h"

namespace perfield {

enum class KnownQuantity {
  none = -1,
  // Of regions; the first ones are numbered as the classes of MPI calls.
  mpi_p2p_time = PERFIELD_CLASS_p2p,
  mpi_wait_time,
  mpi_collective_time,
  mpi_onesided_time,
  mpi_io_time,
  mpi_other_time,
  file_time_inside,
  // Of ranks: reading and writing without MPI.
  file_time,
  file_read_count,
  file_write_count,
  file_read,
  file_write,
  // Of ranks: times without a CPU.
  run_delay,
  mpi_without_pu,
  mpi_without_pu_at_least,
  throttled_time,
  stolen_time
};

inline constexpr const char* kMpiTimeNames[kMpiClasses] = {
    "mpi_p2p_time",      "mpi_wait_time", "mpi_collective_time",
    "mpi_onesided_time", "mpi_io_time",   "mpi_other_time"};
inline constexpr const char* kFileTime = "file_time";  // of regions and of ranks
inline constexpr const char* kFileNames[] = {"file_time", "file_read_count", "file_write_count",
                                             "file_read", "file_write"};
inline constexpr const char* kWithoutPuNames[] = {
    "run_delay_time", "mpi_without_pu", "mpi_without_pu_at_least", "throttled_time", "stolen_time"};
inline constexpr int kTimesWithoutPu = 5;
constexpr int number_without_pu(KnownQuantity what) {  // of these; negative or more: another
  return int(what) - int(KnownQuantity::run_delay);
}

inline KnownQuantity known_quantity(const std::string& name, bool is_per_rank) {
  if (!is_per_rank) {
    for (int c = 0; c < kMpiClasses; ++c)
      if (name == kMpiTimeNames[c]) return KnownQuantity(c);
    return name == kFileTime ? KnownQuantity::file_time_inside : KnownQuantity::none;
  }
  int known = int(KnownQuantity::file_time);
  for (const char* of_files : kFileNames) {
    if (name == of_files) return KnownQuantity(known);
    ++known;
  }
  for (const char* without_pu : kWithoutPuNames) {
    if (name == without_pu) return KnownQuantity(known);
    ++known;
  }
  return KnownQuantity::none;
}

}  // namespace perfield
