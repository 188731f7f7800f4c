// SPDX-License-Identifier: BSD-3-Clause
//
// values.hpp - turns a parsed value into a member of Config, and that into a literal. One overload
// per type in keys.def.
#pragma once

#include "configuration/config.hpp"
#include "configuration/toml.hpp"

namespace perfield {

// Assigns the value; false if it has another type or is too large. A single value also makes a list
// of one, and an integer makes a real.
bool assign(config_type::boolean& slot, const TomlValue& value);
bool assign(config_type::integer& slot, const TomlValue& value);
bool assign(config_type::real& slot, const TomlValue& value);
bool assign(config_type::text& slot, const TomlValue& value);
bool assign(config_type::texts& slot, const TomlValue& value);

// The literal, the same in TOML and in JSON.
std::string spell(config_type::boolean value);
std::string spell(config_type::integer value);
std::string spell(config_type::real value);
std::string spell(const config_type::text& value);
std::string spell(const config_type::texts& value);

// "the integer 5", "the text \"ten\"": the value found, for a message.
std::string found_in_words(const TomlValue& value);

}  // namespace perfield
