// SPDX-License-Identifier: BSD-3-Clause
//
// fields.hpp - the table of fields as data, and the rule by which the name of a region becomes the
// beginning of its fields' names. Stated once, for the measured program and for Python.
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

// A row of fields.def, in words.
struct Field {
  std::string name, unit, better, over_steps, over_threads, in_runs, absent, source, meaning;
};

// All rows, with each class of MPI time and each counter of counters.def in its own.
const std::vector<Field>& all_fields();
// The rows as they stand in fields.def; a column of the kernel names one by its number.
const std::vector<Field>& field_rows();

// The classes of MPI time as they stand in names and meanings of fields, by number.
extern const char* const kMpiClassNames[];
extern const char* const kMpiClassMeanings[];

// What `<quantity>` stands for in a field's name, its unit, and the factor to that from the unit of
// its rows (format/units.hpp; an unknown one is shown as it is).
struct QuantityField {
  std::string suffix, unit;
  double factor = 1;
};
// per_rank: else of regions, whose other fields have names of their own.
QuantityField quantity_field(const std::string& name, const std::string& stored, bool per_rank);

// A row's name, with `to` in place of `pattern` ("<region>").
std::string with(std::string text, std::string_view pattern, std::string_view to);

// Names that no field of a region may have: all other fields, those of all calls included.
const std::vector<std::string>& reserved_field_names();

// A name that any expression takes: each character that is not an ASCII letter, digit or
// underscore becomes `_`; a leading digit gets `_` before it. Text in UTF-8.
std::string identifier(std::string_view name);

// A region's name as an identifier, with `region_` before it if one of its fields, or the region
// itself, would be called as something of perfield's own.
std::string region_stem(std::string_view name);

// The names of all fields that a region may have, from its stem, those of quantities aside.
std::vector<std::string> region_fields(const std::string& stem);

// What the fields of a run's regions begin with: one stem for all regions of the same name that
// were armed at the same place. Grows, and never renames.
class Stems {
 public:
  using Place = std::pair<std::string, uint64_t>;  // a region's name, and where it was armed

  // Names those that are new, in their order: a stem, with `_2`, `_3`, ... if one of its fields has
  // the name of another region's.
  void add(const std::set<Place>& met);
  // The number of a stem; its region was added.
  uint32_t of(const Place& place) const { return number_.at(place); }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<Place, uint32_t> number_;
  std::vector<std::string> names_;
  std::set<std::string> taken_;  // names of fields
};

}  // namespace perfield
