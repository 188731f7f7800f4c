// SPDX-License-Identifier: BSD-3-Clause
//
// decode_json.hpp - reads single values from the JSON object of a rare entry or of run.json. Serves
// the summary only: keys of the outermost object; malformed text gives "".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfield {

// The raw text of a key's value (a string with its quotes), "" if the key is missing.
std::string json_value(const std::string& text, const std::string& key);

// The value as a number or as plain text; `otherwise` if it is missing or of another type.
int64_t json_integer(const std::string& text, const std::string& key, int64_t otherwise);
std::string json_text(const std::string& text, const std::string& key);

// The texts of a list of texts; others are left out.
std::vector<std::string> json_texts(const std::string& text, const std::string& key);

// What distinguishes the node of a `rank` entry from others: its boot id, else the host. Hosts only
// label nodes, as containers of one node may have names of their own.
std::string node_in(const std::string& rank_entry);

// The run id in a run.json: hexadecimal text or a number; 0 if it is missing.
uint64_t json_run_id(const std::string& text);

}  // namespace perfield
