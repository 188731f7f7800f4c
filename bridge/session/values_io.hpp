// SPDX-License-Identifier: BSD-3-Clause
//
// values_io.hpp - the fields of reading and writing in a step entry: by MPI-IO, and by the program
// itself. The arithmetic is that of perfield/run/io_values.py.
#pragma once

#include "format/decode.hpp"
#include "recorder/quantities.hpp"

namespace perfield {

struct IoValues {
  double read_bytes = 0, write_bytes = 0;
  double read_count = 0, write_count = 0;
  double time_s = 0;       // in all calls on files
  double file_time_s = 0;  // of it, in those that are not MPI's
  bool is_seen = false;    // there is a call of the program's own
};

IoValues io_values(const Quantities& quantities, const StepView& step);

}  // namespace perfield
