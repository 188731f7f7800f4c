// SPDX-License-Identifier: BSD-3-Clause
//
// wanted.hpp - which of this rank's values the program's pipelines get, and where they sit: as the
// settings say, and as the pipelines name them. Not all: forty more arrays in each grid would
// change the files that the program writes, and slow what is measured. Before a step has closed,
// values are NaN: those of the setup would be the largest of the run in its first picture. One
// thread at a time.
#pragma once

#include "include/perfield.h"
#include "sources/adaptors/words.hpp"
#include "sources/rows.hpp"

namespace perfield::adaptors {

enum class Where { points, cells, field };

class Wanted {
 public:
  // The words of the program's pipelines.
  Words& words() noexcept { return words_; }
  // Those of a file or folder, which is read when values are first wanted: nothing may be measured
  // yet, and perhaps never is.
  void add_file(const char* path) noexcept;

  // Whether any value may be wanted, now or later; without looking at them.
  bool is_off() noexcept;
  Where where() noexcept;
  // Reads the values of the last closed step into `rows`: those that are wanted. NaN: a setting
  // names it, and this rank does not have it (yet).
  void read(Rows<perfield_value>* rows) noexcept;

 private:
  void read_settings() noexcept;
  void read_files() noexcept;
  void add_absent(Rows<perfield_value>* rows) noexcept;

  Words words_;
  bool is_read_ = false, is_off_ = false, takes_all_ = false;
  Where where_ = Where::points;
  Rows<const char*> always_;  // named by catalyst_fields
  Rows<perfield_value> all_;
  Rows<char*> files_;
};

// Those of this process.
Wanted& wanted() noexcept;

}  // namespace perfield::adaptors
