// SPDX-License-Identifier: BSD-3-Clause
//
// sim_adaptor_interface.hpp - for Catalyst adaptors that were written for the Catalyst-Score-P
// plug-in (Alves, see README.md, Publications): its getters of what this rank measured in the step,
// over perfield.h. Needs no library; where perfield is absent there are no regions and no ranks.
// C++11. docs/original-plugin.md says what corresponds to what; perfield_vtk.hpp does in one line
// what adaptors do with these.
//
// One thread at a time. A loop that begins anew looks anew, so all its numbers are of one moment.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "perfield.h"

namespace cat_sco {
namespace detail {

// Says whether a look is due: when a getter is asked for the same or an earlier index than last.
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
  std::map<int, std::size_t> last_;  // getter -> index that it was asked for last
};

constexpr int kNoGetter = -1;  // of what does not change: a look is due only if there was none

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
// Times that it was entered.
inline unsigned int get_counter(std::size_t i) {
  return static_cast<unsigned int>(detail::region(1, i).count);
}
// Seconds in it.
inline double get_time(std::size_t i) { return detail::region(2, i).time_s; }

}  // namespace meas

// What this rank sent to (put into, got from) rank i of MPI_COMM_WORLD: messages and bytes.
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
