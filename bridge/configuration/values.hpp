// SPDX-License-Identifier: BSD-3-Clause
//
// values.hpp - from a value as it was read to a member of Config, and from there to its
// literal. One overload for each type in keys.def.
#pragma once

#include "configuration/config.hpp"
#include "configuration/toml.hpp"

namespace perfield {

// Puts the value into the slot; false if it is of another type or too large. A single value will
// do for a list of one, and an integer for a number.
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

// "the integer 5", "the text \"ten\"", for a sentence about what was found.
std::string found_in_words(const TomlValue& value);

}  // namespace perfield
