// SPDX-License-Identifier: BSD-3-Clause
//
// json.hpp - writes one JSON object, key by key, for rare entries. Keys are perfield's own and need
// no escaping; values are quoted like the configuration's. Any tool reads JSON, and it grows
// without a new version of the format; only frequent entries are binary. Off the hot path; may
// allocate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/quoted.hpp"

namespace perfield {

class JsonObject {
 public:
  JsonObject& text(const char* key, const std::string& value) { return raw(key, quoted(value)); }
  JsonObject& integer(const char* key, int64_t value) { return raw(key, std::to_string(value)); }
  JsonObject& natural(const char* key, uint64_t value) { return raw(key, std::to_string(value)); }
  JsonObject& number(const char* key, double value);
  JsonObject& numbers(const char* key, const int64_t* values, int n);
  JsonObject& numbers(const char* key, const double* values, int n);
  JsonObject& texts(const char* key, const std::vector<std::string>& values);
  // value: already JSON.
  JsonObject& raw(const char* key, const std::string& value);
  std::string str() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

}  // namespace perfield
