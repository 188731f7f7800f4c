// SPDX-License-Identifier: BSD-3-Clause
//
// fields.hpp - the table of fields as data, and the rule that turns a region's name into the
// beginning of its fields' names. Defined once, for the measured program and for Python.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace perfield {

// A row of fields.def as text.
struct Field {
  std::string name, unit, better, over_steps, over_threads, in_runs, absent, source, meaning;
};

// All rows, with a row for each class of MPI time and each counter of counters.def.
const std::vector<Field>& all_fields();
// The rows as in fields.def; a column of the kernel refers to one by its number.
const std::vector<Field>& field_rows();

// The names and meanings of the classes of MPI time in fields, by number.
extern const char* const kMpiClassNames[];
extern const char* const kMpiClassMeanings[];

// The text for `<quantity>` in a field's name, its unit, and the factor from the unit of its rows
// to that unit (format/units.hpp; an unknown unit is shown unchanged).
struct QuantityField {
  std::string suffix, unit;
  double factor = 1;
};
// per_rank: false for regions, whose other fields have names of their own.
QuantityField quantity_field(const std::string& name, const std::string& stored, bool per_rank);

// Replaces `pattern` ("<region>") in a row's name by `to`.
std::string with(std::string text, std::string_view pattern, std::string_view to);

// Names that no field of a region may have: all other fields, including those of all calls.
const std::vector<std::string>& reserved_field_names();

// Makes a name usable in any expression: each character that is not an ASCII letter, digit or
// underscore becomes `_`; a leading digit gets `_` before it. Text in UTF-8.
std::string identifier(std::string_view name);

// Makes a region's name an identifier. Puts `region_` before it if the region or one of its fields
// would have a name of perfield's own.
std::string region_stem(std::string_view name);

// The names of all fields that a region with this stem may have, without quantities.
std::vector<std::string> region_fields(const std::string& stem);

// The beginnings (stems) of the field names of a run's regions: one stem for all regions with the
// same name and place of arming. Grows, and never renames.
class Stems {
 public:
  using Place = std::pair<std::string, uint64_t>;  // a region's name, and its place of arming

  // Names the new ones in their order. A stem gets `_2`, `_3`, ... if one of its fields would have
  // the name of another region's field.
  void add(const std::set<Place>& met);
  // The number of a stem; its region must have been added.
  uint32_t of(const Place& place) const { return number_.at(place); }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<Place, uint32_t> number_;
  std::vector<std::string> names_;
  std::set<std::string> taken_;  // names of fields
};

}  // namespace perfield
