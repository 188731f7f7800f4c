// SPDX-License-Identifier: BSD-3-Clause
//
// toml.hpp - the part of TOML that a configuration needs: comments, tables, one-line texts,
// integers, numbers, booleans and lists of them. It knows no key of perfield. It collects errors as
// sentences with file and line, and reads on after each.
#pragma once

#include <string>
#include <vector>

namespace perfield {

struct TomlValue {
  enum class Kind { boolean, integer, real, text, list };
  Kind kind = Kind::text;
  std::string spelling;            // text: its characters; else as written, without underscores
  std::vector<std::string> items;  // list: the spelling of each value in it
};

struct TomlEntry {
  std::string key;  // including the names of its table: "table.key"
  int line = 0;
  TomlValue value;
};

struct TomlFile {
  std::vector<TomlEntry> entries;
  std::vector<std::string> errors;
};

TomlFile parse_toml(const std::string& text, const std::string& file_name);

// Reads a word without quotes (true, 10_000, 1.5e-3); false if it is none of these.
bool read_bare_word(const std::string& word, TomlValue* value);

}  // namespace perfield
