// SPDX-License-Identifier: BSD-3-Clause
//
// field_names.cpp - see field_names.hpp.
#include "fields/field_names.hpp"

#include <algorithm>
#include <unordered_set>

namespace perfield {
namespace {

constexpr const char* kFixed[] = {"sent_count",
                                  "sent_bytes",
                                  "received_count",
                                  "received_bytes",
                                  "peer_count",
                                  "mpi_time_s",
                                  "mpi_p2p_time_s",
                                  "mpi_wait_time_s",
                                  "mpi_io_time_s",
                                  "mpi_collective_time_s",
                                  "mpi_onesided_time_s",
                                  "mpi_other_time_s",
                                  "waited_for_time_s",
                                  "step_time_s",
                                  "compute_time_s",
                                  "perfield_time_s",
                                  "resident_bytes",
                                  "cpu_user_time_s",
                                  "cpu_system_time_s",
                                  "voluntary_switches",
                                  "involuntary_switches",
                                  "minor_faults",
                                  "major_faults",
                                  "io_read_bytes",
                                  "io_write_bytes",
                                  "device_kernel_count",
                                  "device_kernel_time_s",
                                  "device_copy_to_bytes",
                                  "device_copy_from_bytes",
                                  "device_copy_within_bytes",
                                  "device_copy_count",
                                  "device_copy_time_s",
                                  "io_read_count",
                                  "io_write_count",
                                  "io_time_s",
                                  "rank",
                                  "pu_id",
                                  "node_id",
                                  "package_id",
                                  "core_id"};

constexpr const char* kCalls[] = {
#define PERFIELD_CALL(number, name, time_class, message) #name,
#include "format/calls.def"
#undef PERFIELD_CALL
};

bool is_reserved(const std::string& name) {
  static const std::unordered_set<std::string> names(reserved_field_names().begin(),
                                                     reserved_field_names().end());
  return names.count(name) > 0;
}

bool is_call(const std::string& name) {
  return std::find(std::begin(kCalls), std::end(kCalls), name) != std::end(kCalls);
}

bool any_field(const std::string& stem, const std::function<bool(const std::string&)>& is_one) {
  const auto own = region_fields(stem);
  const auto inside = inside_fields(stem);
  return std::any_of(own.begin(), own.end(), is_one) ||
         std::any_of(inside.begin(), inside.end(), is_one);
}

bool is_plain(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

const std::vector<std::string>& reserved_field_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all(std::begin(kFixed), std::end(kFixed));
    for (const char* call : kCalls)
      for (const char* suffix : kCallSuffixes) all.push_back(std::string(call) + suffix);
    return all;
  }();
  return names;
}

std::string identifier(std::string_view name) {
  std::string out;
  for (unsigned char c : name) {
    if (is_plain(c))
      out += char(c);
    else if ((c & 0xC0) != 0x80)  // the other bytes of a character follow its first
      out += '_';
  }
  if (out.empty()) out = "_";
  if (out[0] >= '0' && out[0] <= '9') out.insert(0, "_");
  return out;
}

std::array<std::string, 3> region_fields(const std::string& stem) {
  std::array<std::string, 3> fields;
  for (size_t n = 0; n < fields.size(); ++n) fields[n] = stem + kRegionSuffixes[n];
  return fields;
}

std::array<std::string, kInsideSuffixes.size()> inside_fields(const std::string& stem) {
  std::array<std::string, kInsideSuffixes.size()> fields;
  for (size_t n = 0; n < fields.size(); ++n) fields[n] = stem + kInsideSuffixes[n];
  return fields;
}

std::string region_stem(std::string_view name) {
  const std::string stem = identifier(name);
  const bool clashes = is_reserved(stem) || is_call(stem) || any_field(stem, is_reserved);
  return clashes ? "region_" + stem : stem;
}

std::string unique_stem(std::string_view name,
                        const std::function<bool(const std::string&)>& is_taken) {
  const std::string first = region_stem(name);
  std::string stem = first;
  for (int number = 2;; ++number) {
    if (!any_field(stem, is_taken)) return stem;
    stem = first + "_" + std::to_string(number);
  }
}

}  // namespace perfield
