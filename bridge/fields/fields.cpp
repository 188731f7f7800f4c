// SPDX-License-Identifier: BSD-3-Clause
//
// fields.cpp - see fields.hpp.
#include "fields/fields.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_set>

#include "configuration/kernel_events.hpp"
#include "format/calls.h"
#include "format/units.hpp"

namespace perfield {

const char* const kMpiClassNames[kMpiClasses] = {"p2p",      "wait", "collective",
                                                 "onesided", "io",   "other"};

const char* const kMpiClassMeanings[kMpiClasses] = {
    "blocking point-to-point calls and the starting of non-blocking ones",
    "wait, test and probe calls",
    "collective calls; completing a non-blocking one counts as wait",
    "one-sided transfers and their synchronisation",
    "MPI-IO",
    "other MPI calls"};

namespace {

constexpr const char* kCalls[] = {
#define PERFIELD_CALL(number, name, time_class, message) #name,
#include "format/calls.def"
#undef PERFIELD_CALL
};

constexpr const char* kCounters[] = {
#define PERFIELD_COUNTER(name, type, number, modes, unit, meaning) #name,
#include "configuration/counters.def"
#undef PERFIELD_COUNTER
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Fields that Python adds to those of fields.def (python/perfield/fields/waits.py).
constexpr const char* kOfWaits[] = {
    "wait_late_sender_time_s", "wait_late_receiver_time_s", "wait_collective_time_s",
    "wait_one_sided_time_s",   "caused_wait_time_s",        "critical_path_time_s",
    "transfer_time_s",         "slow_transfer_time_s",
};
constexpr const char* kOfWaitsOfRegion = "_caused_wait_time_s";

std::string rule_words(const std::string& rule) {
  static const std::map<std::string, std::string> words = {
#define PERFIELD_IN_RUNS(rule, condition, meaning) {#rule, meaning},
#define PERFIELD_ABSENT(rule, condition, meaning) {#rule, meaning},
#include "fields/fields.def"
  };
  return words.at(rule);
}

std::vector<Field> read_rows() {
  std::vector<Field> rows = {
#define PERFIELD_FIELD(name, unit, better, over_steps, over_threads, in_runs, absent, source, \
                       value, meaning)                                                        \
  {name, unit, #better, #over_steps, #over_threads, #in_runs, #absent, #source, meaning},
#include "fields/fields.def"
  };
  for (Field& row : rows) {
    if (row.better == "neither") row.better.clear();
    row.in_runs = rule_words(row.in_runs);
    row.absent = rule_words(row.absent);
    if (has(row.name, "<region>"))
      row.absent = (row.absent == "never" ? "" : row.absent + ", or ") +
                   std::string("the region was not entered");
  }
  return rows;
}

// Calls take(row) for each row, once for each class or known counter that its pattern stands for.
template <class Take>
void for_each_expanded(const Field& row, Take take) {
  if (has(row.name, "<class>")) {
    for (int c = 0; c < kMpiClasses; ++c) {
      Field of_class = row;
      of_class.name = with(row.name, "<class>", kMpiClassNames[c]);
      of_class.meaning = with(row.meaning, "<class>", kMpiClassMeanings[c]);
      take(of_class);
    }
  } else if (has(row.name, "<region>_<quantity>")) {
    for (const char* known : kCounters) {
      const CounterAbout about = about_counter(known);
      const QuantityField counter = quantity_field(about.quantity, about.unit, false);
      Field of_counter = row;
      of_counter.name = with(row.name, "<quantity>", counter.suffix);
      of_counter.unit = counter.unit;
      of_counter.meaning = with(row.meaning, "<quantity>", about.meaning);
      take(of_counter);
    }
    take(row);
  } else {
    take(row);
  }
}

// The endings of a region's field names after the stem, without quantities.
const std::vector<std::string>& region_suffixes() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> suffixes;
    for (const Field& row : field_rows())
      if (has(row.name, "<region>") && !has(row.name, "<quantity>"))
        for_each_expanded(
            row, [&](const Field& f) { suffixes.push_back(with(f.name, "<region>", "")); });
    suffixes.push_back(kOfWaitsOfRegion);
    return suffixes;
  }();
  return all;
}

bool is_reserved(const std::string& name) {
  static const std::unordered_set<std::string> names(reserved_field_names().begin(),
                                                     reserved_field_names().end());
  return names.count(name) > 0;
}

bool is_call(const std::string& name) {
  return std::find(std::begin(kCalls), std::end(kCalls), name) != std::end(kCalls);
}

bool is_plain(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::string with(std::string text, std::string_view pattern, std::string_view to) {
  const size_t at = text.find(pattern);
  return at == std::string::npos ? text : text.replace(at, pattern.size(), to);
}

const std::vector<Field>& field_rows() {
  static const std::vector<Field> rows = read_rows();
  return rows;
}

const std::vector<Field>& all_fields() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> all;
    for (const Field& row : field_rows())
      for_each_expanded(row, [&](const Field& field) { all.push_back(field); });
    return all;
  }();
  return fields;
}

QuantityField quantity_field(const std::string& name, const std::string& stored, bool per_rank) {
  const Unit* unit = find_unit(stored);
  QuantityField field{identifier(name) + (unit ? unit->suffix : ""), unit ? unit->shown : stored,
                      unit ? unit->factor : 1.0};
  const auto& taken = region_suffixes();
  if (!per_rank && std::find(taken.begin(), taken.end(), "_" + field.suffix) != taken.end())
    field.suffix = "counter_" + field.suffix;
  return field;
}

const std::vector<std::string>& reserved_field_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Field& field : all_fields()) {
      if (has(field.name, "<call>"))
        for (const char* call : kCalls) all.push_back(with(field.name, "<call>", call));
      else if (!has(field.name, "<region>") && !has(field.name, "<quantity>"))
        all.push_back(field.name);
    }
    all.insert(all.end(), std::begin(kOfWaits), std::end(kOfWaits));
    return all;
  }();
  return names;
}

std::string identifier(std::string_view name) {
  std::string out;
  for (unsigned char c : name) {
    if (is_plain(c))
      out += char(c);
    else if ((c & 0xC0) != 0x80)  // skips continuation bytes of a character
      out += '_';
  }
  if (out.empty()) out = "_";
  if (out[0] >= '0' && out[0] <= '9') out.insert(0, "_");
  return out;
}

std::string region_stem(std::string_view name) {
  const std::string stem = identifier(name);
  const auto fields = region_fields(stem);
  const bool clashes =
      is_reserved(stem) || is_call(stem) || std::any_of(fields.begin(), fields.end(), is_reserved);
  return clashes ? "region_" + stem : stem;
}

std::vector<std::string> region_fields(const std::string& stem) {
  std::vector<std::string> fields;
  for (const std::string& suffix : region_suffixes()) fields.push_back(stem + suffix);
  return fields;
}

void Stems::add(const std::set<Place>& met) {
  for (const Place& place : met) {
    if (number_.count(place)) continue;
    const std::string first = region_stem(place.first);
    std::string stem = first;
    std::vector<std::string> fields = region_fields(stem);
    const auto is_taken = [this](const std::string& name) { return taken_.count(name) > 0; };
    for (int n = 2; std::any_of(fields.begin(), fields.end(), is_taken); ++n) {
      stem = first + "_" + std::to_string(n);
      fields = region_fields(stem);
    }
    taken_.insert(fields.begin(), fields.end());
    number_[place] = static_cast<uint32_t>(names_.size());
    names_.push_back(stem);
  }
}

}  // namespace perfield
