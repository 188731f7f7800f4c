// SPDX-License-Identifier: BSD-3-Clause
//
// wanted.cpp - see wanted.hpp.
#include "sources/adaptors/wanted.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recorder/source.h"

namespace perfield::adaptors {
namespace {

Forever<Wanted> ours;

}  // namespace

void Wanted::read_settings() noexcept {
  if (is_read_) return;
  is_read_ = true;
  char word[16];
  perfield_source_setting("catalyst_attach", word, sizeof word);
  is_off_ = !strcmp(word, "none");
  takes_all_ = !strcmp(word, "all");
  perfield_source_setting("catalyst_association", word, sizeof word);
  where_ = !strcmp(word, "cells")   ? Where::cells
           : !strcmp(word, "field") ? Where::field
                                    : Where::points;
  static char fields[8192];  // the names stay here
  perfield_source_setting("catalyst_fields", fields, sizeof fields);
  char* rest = nullptr;
  for (char* name = strtok_r(fields, ",", &rest); name; name = strtok_r(nullptr, ",", &rest)) {
    words_.add(name, strlen(name));
    always_.push(name);
  }
}

void Wanted::add_file(const char* path) noexcept {
  constexpr size_t kMostFiles = 256;
  char* const whole = files_.size() < kMostFiles ? realpath(path, nullptr) : nullptr;
  if (whole && !files_.push(whole)) free(whole);
}

void Wanted::read_files() noexcept {
  for (char* file : files_) {
    words_.add_file(file);
    free(file);
  }
  files_.clear();
}

bool Wanted::is_off() noexcept {
  read_settings();
  return is_off_;
}

Where Wanted::where() noexcept {
  read_settings();
  return where_;
}

void Wanted::read(Rows<perfield_value>* rows) noexcept {
  rows->clear();
  if (is_off()) return;
  read_files();
  // There may be more by the second call: regions are new.
  int n = perfield_source_values(0, nullptr);
  if (n <= 0 || !all_.resize(size_t(n))) return;
  const int found = perfield_source_values(n, all_.data());
  if (found < n) n = found;
  for (int i = 0; i < n; ++i)
    if (takes_all_ || words_.has(all_[size_t(i)].name)) rows->push(all_[size_t(i)]);
  add_absent(rows);
}

// All ranks get the same arrays for the names of a setting.
void Wanted::add_absent(Rows<perfield_value>* rows) noexcept {
  const size_t n_found = rows->size();
  for (const char* name : always_) {
    bool is_there = false;
    for (size_t i = 0; i < n_found; ++i) is_there = is_there || !strcmp((*rows)[i].name, name);
    if (is_there) continue;
    rows->push({name, NAN});
    char sentence[512];
    snprintf(sentence, sizeof sentence,
             "catalyst_fields names %s, which a rank has not measured; its array holds NaN there "
             "until it has (perfield fields lists the names of a run)",
             name);
    perfield_warn_once_per_node("adaptor-fields", sentence);
  }
}

Wanted& wanted() noexcept { return ours.it; }

}  // namespace perfield::adaptors
