// SPDX-License-Identifier: BSD-3-Clause
//
// values_io.cpp - see values_io.hpp. Which calls read and which write stands in their names.
#include "session/values_io.hpp"

#include <algorithm>
#include <string_view>

#include "format/calls.h"

namespace perfield {
namespace {

struct Ways {
  bool reads[PERFIELD_CALL_LIMIT] = {}, writes[PERFIELD_CALL_LIMIT] = {};
  constexpr Ways() {
    const auto has = [](std::string_view name, std::string_view word) {
      return name.find(word) != std::string_view::npos;
    };
#define PERFIELD_CALL(number, name, time_class, message)  \
  if (PERFIELD_CLASS_##time_class == PERFIELD_CLASS_io || \
      PERFIELD_CLASS_##time_class == PERFIELD_CLASS_file) \
    reads[number] = has(#name, "_read"), writes[number] = has(#name, "_write");
#include "format/calls.def"
#undef PERFIELD_CALL
  }
};
constexpr Ways kWays;

}  // namespace

IoValues io_values(const StepView& step) {
  IoValues values;
  double ns = 0, file_ns = 0;
  for (const CallRow row : step.calls) {
    const bool is_file = row.time_class == PERFIELD_CLASS_file;
    if (!is_file && row.time_class != PERFIELD_CLASS_io) continue;
    const auto call = std::min<uint16_t>(row.call, PERFIELD_CALL_LIMIT - 1);
    if (kWays.reads[call]) values.read_count += double(row.count);
    if (kWays.writes[call]) values.write_count += double(row.count);
    ns += double(row.ns);
    if (is_file) file_ns += double(row.ns);
    values.is_seen |= is_file && row.count > 0;
  }
  values.time_s = ns * 1e-9;
  values.file_time_s = file_ns * 1e-9;
  return values;
}

}  // namespace perfield
