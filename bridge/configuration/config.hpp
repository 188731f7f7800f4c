// SPDX-License-Identifier: BSD-3-Clause
//
// config.hpp - the configuration: every key of keys.def, from perfield.toml (or the file that
// PERFIELD_CONFIG names) and from PERFIELD_<KEY>, which wins. Read once, before measuring.
// Never throws out of load_config: all errors come back together, as sentences.
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

// One key as it was found, for `perfield config`.
struct ConfigOrigin {
  std::string key, type, value, default_value, unit, help;
  std::string origin;  // "default", "perfield.toml:3", "PERFIELD_REGIONS"
};

struct ConfigResult {
  Config config;
  std::vector<ConfigOrigin> origins;  // every key of keys.def, in its order
  std::vector<std::string> errors;    // empty: all is well
};

// Reads the file (a missing perfield.toml is no error, a missing PERFIELD_CONFIG is) and the
// environment of this process.
ConfigResult load_config();

}  // namespace perfield
