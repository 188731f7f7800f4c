// SPDX-License-Identifier: BSD-3-Clause
//
// step_call.cpp - see step_call.hpp.
#include "configuration/step_call.hpp"

#include <vector>

#include "configuration/names.hpp"
#include "format/calls.h"

namespace perfield {
namespace {

struct CallName {
  uint16_t call;
  const char* name;
};
constexpr CallName kCallNames[] = {
#define PERFIELD_CALL(number, name, time_class, message) {number, #name},
#include "format/calls.def"
#undef PERFIELD_CALL
};

// Lower case without MPI_, whatever the language.
std::string plain(const std::string& name) {
  std::string small;
  for (char c : name) small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small.compare(0, 4, "mpi_") == 0 ? small.substr(4) : small;
}

}  // namespace

StepCall read_step_call(const std::string& text, std::string* complaint) {
  complaint->clear();
  if (text.empty()) return {};
  const size_t at = text.find('@');
  const std::string digits = at == std::string::npos ? "" : text.substr(at + 1);
  const bool is_number = !digits.empty() && digits.size() <= 4 && digits[0] != '0' &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) {
    *complaint = "expected a call and the number of its call site, such as Allreduce@3";
    return {};
  }
  const std::string name = plain(text.substr(0, at));
  std::vector<std::string> known;
  for (const CallName& c : kCallNames) {
    if (name == c.name) return {c.call, uint16_t(std::stoi(digits))};
    known.push_back(c.name);
  }
  const std::string nearest = nearest_name(name, known);
  *complaint = "expected an MPI call that perfield counts, such as Allreduce@3";
  for (const CallName& c : kCallNames)
    if (nearest == c.name) *complaint += " (did you mean " + call_title(c.call) + "?)";
  return {};
}

std::string call_title(uint16_t call) {
  for (const CallName& c : kCallNames) {
    if (c.call != call) continue;
    std::string title = c.name;
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    return title;
  }
  return "?";
}

}  // namespace perfield
