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

bool is_made_of(const std::string& text, const char* characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string::npos;
}

constexpr const char* kDigits = "0123456789";
constexpr const char* kExpected =
    "expected a call and the name of its call site, such as Allreduce@solve-3f2a, or "
    "Wait@solve-3f2a/4 for each fourth hit";

// Reads what follows the call: "solve-3f2a/4". Returns what is wrong.
std::string read_site(std::string site, StepCall* step) {
  const std::string list = "`perfield steps perfield-run` lists the names";
  if (const size_t slash = site.rfind('/'); slash != std::string::npos) {
    const std::string every = site.substr(slash + 1);
    if (!is_made_of(every, kDigits) || every[0] == '0' || every.size() > 6)
      return "expected a number from 1 to 999999 behind '/', such as Wait@solve-3f2a/4 for each "
             "fourth hit";
    step->every = uint32_t(std::stoul(every));
    site.resize(slash);
  }
  if (is_made_of(site, kDigits))
    return "expected a name, such as Allreduce@solve-3f2a: a number depends on what a rank called "
           "before, so that ranks closed different steps; " +
           list;
  if (const size_t colon = site.rfind(':');
      colon != std::string::npos && is_made_of(site.substr(colon + 1), kDigits))
    return "expected a name, such as Allreduce@solve-3f2a: only `perfield run` knows file and "
           "line, "
           "from an earlier run; " +
           list;
  const size_t dash = site.rfind('-');
  if (dash == std::string::npos || dash == 0) return kExpected;
  const std::string hash = site.substr(dash + 1);
  if (!is_made_of(hash, "0123456789abcdef") || hash.size() < size_t(kSiteDigits) ||
      hash.size() > 16)
    return kExpected;
  step->digits = std::stoull(hash, nullptr, 16);
  step->n_digits = int(hash.size());
  return "";
}

}  // namespace

StepCall read_step_call(const std::string& text, std::string* complaint) {
  complaint->clear();
  if (text.empty()) return {};
  const size_t at = text.find('@');
  if (at == std::string::npos) {
    *complaint = kExpected;
    return {};
  }
  const std::string name = plain(text.substr(0, at));
  StepCall step;
  std::vector<std::string> known;
  for (const CallName& c : kCallNames) {
    if (name == c.name) step.call = c.call;
    known.push_back(c.name);
  }
  if (step.call) {
    *complaint = read_site(text.substr(at + 1), &step);
    return complaint->empty() ? step : StepCall();
  }
  const std::string nearest = nearest_name(name, known);
  *complaint = "expected an MPI call that perfield counts, such as Allreduce@solve-3f2a";
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
