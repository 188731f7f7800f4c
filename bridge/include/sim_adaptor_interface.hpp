// SPDX-License-Identifier: BSD-3-Clause
//
// sim_adaptor_interface.hpp - for Catalyst adaptors written for the Catalyst-Score-P plug-in
// (Alves, see README.md, Cite): its getters of what this rank measured in the step, on top
// of perfield.h. Needs no library; without perfield it reports no regions and no ranks. C++11.
// docs/original-plugin.md compares old and new; one line of perfield_vtk.hpp replaces an adaptor.
//
// Use it on one thread at a time. A loop that starts again at an index reads new values, so all
// numbers of one loop belong to one moment.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "perfield.h"

namespace cat_sco {
namespace detail {

// Says when to read new values: when a getter gets the same index as last time, or an earlier one.
class Loop {
 public:
  bool begins(int getter, std::size_t index) {
    const auto found = last_.find(getter);
    const bool anew = found == last_.end() ? last_.empty() : index <= found->second;
    if (anew) last_.clear();
    last_[getter] = index;
    return anew;
  }

 private:
  std::map<int, std::size_t> last_;  // getter -> the last index it got
};

constexpr int kNoGetter = -1;  // for names, which never change: read once

inline perfield_region_value region(int getter, std::size_t index) {
  static Loop loop;
  static std::vector<perfield_region_value> rows;
  if (getter == kNoGetter ? index >= rows.size() : loop.begins(getter, index)) {
    rows.resize(static_cast<std::size_t>(perfield_region_values(0, nullptr)));
    const int n = perfield_region_values(static_cast<int>(rows.size()), rows.data());
    if (static_cast<std::size_t>(n) < rows.size()) rows.resize(static_cast<std::size_t>(n));
  }
  const perfield_region_value none = {"", 0, 0.0};
  return index < rows.size() ? rows[index] : none;
}

struct Sent {
  uint64_t count, bytes;
};

inline Sent sent(int getter, const char* call, std::size_t rank) {
  static Loop loop;
  static std::map<std::pair<std::string, std::size_t>, Sent> sums;
  if (loop.begins(getter, rank)) {
    std::vector<perfield_message_value> rows(
        static_cast<std::size_t>(perfield_message_values(0, nullptr)));
    const int n = perfield_message_values(static_cast<int>(rows.size()), rows.data());
    if (static_cast<std::size_t>(n) < rows.size()) rows.resize(static_cast<std::size_t>(n));
    sums.clear();
    for (const perfield_message_value& row : rows) {
      if (row.peer < 0) continue;
      Sent& sum = sums[{row.call, static_cast<std::size_t>(row.peer)}];
      sum.count += row.count;
      sum.bytes += row.bytes;
    }
  }
  const auto found = sums.find({call, rank});
  const Sent none = {0, 0};
  return found == sums.end() ? none : found->second;
}

}  // namespace detail

// The measured regions of this rank.
namespace meas {

inline std::size_t get_size() {
  return static_cast<std::size_t>(perfield_region_values(0, nullptr));
}
inline std::string get_name(std::size_t i) { return detail::region(detail::kNoGetter, i).name; }
// How often this rank entered it.
inline unsigned int get_counter(std::size_t i) {
  return static_cast<unsigned int>(detail::region(1, i).count);
}
// Seconds spent in it.
inline double get_time(std::size_t i) { return detail::region(2, i).time_s; }

}  // namespace meas

// Messages and bytes that this rank sent to (put into, got from) rank i of MPI_COMM_WORLD.
namespace comm {

inline std::size_t get_size() { return static_cast<std::size_t>(perfield_world_size()); }

inline unsigned int get_counter_send(std::size_t i) {
  return static_cast<unsigned int>(detail::sent(0, "send", i).count);
}
inline unsigned int get_counter_isend(std::size_t i) {
  return static_cast<unsigned int>(detail::sent(1, "isend", i).count);
}
inline unsigned int get_counter_put(std::size_t i) {
  return static_cast<unsigned int>(detail::sent(2, "put", i).count);
}
inline unsigned int get_counter_get(std::size_t i) {
  return static_cast<unsigned int>(detail::sent(3, "get", i).count);
}

inline unsigned long get_bytes_send(std::size_t i) {
  return static_cast<unsigned long>(detail::sent(4, "send", i).bytes);
}
inline unsigned long get_bytes_isend(std::size_t i) {
  return static_cast<unsigned long>(detail::sent(5, "isend", i).bytes);
}
inline unsigned long get_bytes_put(std::size_t i) {
  return static_cast<unsigned long>(detail::sent(6, "put", i).bytes);
}
inline unsigned long get_bytes_get(std::size_t i) {
  return static_cast<unsigned long>(detail::sent(7, "get", i).bytes);
}

}  // namespace comm
}  // namespace cat_sco
