// SPDX-License-Identifier: BSD-3-Clause
//
// file_operations.hpp - the quantities of file I/O without MPI, as all sources of it define them.
// Readers know these names from format/known_quantities.hpp.
#pragma once

#include "recorder/source.h"

namespace perfield {

struct FileOperations {
  perfield_operation read, write;
};

// define(name, unit, scope, over steps, over threads, help): like perfield_quantity_define.
template <class Define>
FileOperations define_file_operations(Define define) noexcept {
  const auto of_rank = [&define](const char* name, const char* unit, const char* help) {
    return define(name, unit, PERFIELD_PER_RANK, PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM, help);
  };
  const perfield_quantity time = of_rank(
      "file_time", "ticks", "time in calls for files that reached the system, without MPI-IO");
  const perfield_quantity inside =
      define("file_time", "ticks", PERFIELD_PER_REGION, PERFIELD_STEPS_SUM,
             PERFIELD_THREADS_LONGEST, "time inside the region of reading and writing files");
  return {{of_rank("file_read_count", "1", "calls by which it read files, without MPI-IO"),
           of_rank("file_read", "B", "bytes that it read, without MPI-IO"), time, inside},
          {of_rank("file_write_count", "1",
                   "calls by which it wrote files, or waited until that was done, without MPI-IO"),
           of_rank("file_write", "B", "bytes that it wrote, without MPI-IO"), time, inside}};
}

}  // namespace perfield
