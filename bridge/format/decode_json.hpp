// SPDX-License-Identifier: BSD-3-Clause
//
// decode_json.hpp - takes single values out of the JSON object of a rare entry or of run.json.
// Only what the closing lines need: keys of the outermost object; wrong text gives "".
#pragma once

#include <cstdint>
#include <string>

namespace perfield {

// The value of a key as it stands in the text (a string with its quotes), "" if it is not there.
std::string json_value(const std::string& text, const std::string& key);

// The same as a number or as plain text; `otherwise` if it is absent or of another kind.
int64_t json_integer(const std::string& text, const std::string& key, int64_t otherwise);
std::string json_text(const std::string& text, const std::string& key);

// Run id of a run.json: hexadecimal text or a number; 0 if it is not there.
uint64_t json_run_id(const std::string& text);

}  // namespace perfield
