// SPDX-License-Identifier: BSD-3-Clause
//
// config.hpp - the configuration: every key of keys.def, set by perfield.toml (or the file that
// PERFIELD_CONFIG names) and by PERFIELD_<KEY>, which wins. Read once, before measuring.
// load_config never throws: it returns all errors together, as sentences. A perfield.toml that
// another user may have written is not read, since settings name scripts that run in the program
// and files that are copied into the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfield {

namespace config_type {
using boolean = bool;
using integer = int64_t;
using real = double;
using text = std::string;
using texts = std::vector<std::string>;
}  // namespace config_type

struct Config {
#define PERFIELD_KEY(name, type, default_value, unit, help) config_type::type name{};
#include "configuration/keys.def"
#undef PERFIELD_KEY
};

// The value of one key and its origin, for `perfield setup config`.
struct ConfigOrigin {
  std::string key, type, value, default_value, unit, help;
  std::string origin;  // "default", "perfield.toml:3", "PERFIELD_REGIONS"
};

struct ConfigResult {
  Config config;
  std::vector<ConfigOrigin> origins;  // every key of keys.def, in its order
  std::vector<std::string> errors;    // empty if all is well
  std::vector<std::string> notices;   // what is ignored, though all is well
  std::string file;                   // what was read: a path, or "" if there is none
};

// Reads the file and this process's environment. A missing perfield.toml is no error; if
// PERFIELD_CONFIG names a missing file, that is one.
ConfigResult load_config();

}  // namespace perfield
