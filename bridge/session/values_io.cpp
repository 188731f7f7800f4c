// SPDX-License-Identifier: BSD-3-Clause
//
// values_io.cpp - see values_io.hpp. Which calls read and which write stands in their names.
#include "session/values_io.hpp"

#include <algorithm>
#include <string_view>

#include "format/calls.h"
#include "format/known_quantities.hpp"

namespace perfield {
namespace {

struct Ways {
  bool reads[PERFIELD_CALL_LIMIT] = {}, writes[PERFIELD_CALL_LIMIT] = {};
  constexpr Ways() {
    const auto has = [](std::string_view name, std::string_view word) {
      return name.find(word) != std::string_view::npos;
    };
#define PERFIELD_CALL(number, name, time_class, message) \
  if (PERFIELD_CLASS_##time_class == PERFIELD_CLASS_io)  \
    reads[number] = has(#name, "_read"), writes[number] = has(#name, "_write");
#include "format/calls.def"
#undef PERFIELD_CALL
  }
};
constexpr Ways kWays;

}  // namespace

IoValues io_values(const Quantities& quantities, const StepView& step) {
  IoValues values;
  double ns = 0;
  for (const CallRow row : step.calls) {
    if (row.time_class != PERFIELD_CLASS_io) continue;
    const auto call = std::min<uint16_t>(row.call, PERFIELD_CALL_LIMIT - 1);
    if (kWays.reads[call]) values.read_count += double(row.count);
    if (kWays.writes[call]) values.write_count += double(row.count);
    values.read_bytes += double(row.bytes_in);
    values.write_bytes += double(row.bytes_out);
    ns += double(row.ns);
  }
  double file_ns = 0;
  for (const QuantityRow row : step.quantities) {
    if (row.region != kOfRank) continue;
    const auto value = double(row.value);
    switch (known_quantity(quantities[row.quantity].name, true)) {
      case KnownQuantity::file_read_count:
        values.read_count += value;
        break;
      case KnownQuantity::file_write_count:
        values.write_count += value;
        break;
      case KnownQuantity::file_read:
        values.read_bytes += value;
        break;
      case KnownQuantity::file_write:
        values.write_bytes += value;
        break;
      case KnownQuantity::file_time:
        file_ns = value;
        break;
      default:
        continue;
    }
    values.is_seen = true;
  }
  values.time_s = (ns + file_ns) * 1e-9;
  values.file_time_s = file_ns * 1e-9;
  return values;
}

}  // namespace perfield
