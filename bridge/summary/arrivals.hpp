// SPDX-License-Identifier: BSD-3-Clause
//
// arrivals.hpp - collects when messages and collective operations were begun and awaited, and finds
// for whom ranks waited. Keeps the newest steps, so that neither memory
// nor time grow with the run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "format/decode.hpp"
#include "summary/rank_clocks.hpp"
#include "waits/arrivals.hpp"
#include "waits/delay_costs.hpp"
#include "waits/wait_states.hpp"

namespace perfield {

// Waiting of others that began on a rank, in some step.
struct CausedWaiting {
  waits::Cost cost;
  bool is_followed;  // to where it began; else the rank is that waited for

  double ns() const { return cost.computing_ns + cost.communicating_ns; }
};

// Why ranks waited in some steps.
struct FoundWaiting {
  std::vector<CausedWaiting> caused;
  std::map<std::pair<int32_t, int32_t>, double> by_pair[waits::kStateKinds];  // cause, who waits
  double by_kind[waits::kStateKinds] = {};
  double caused_ns = 0;                                 // by ranks that are known
  double waiting_ns = 0;                                // of all states that are certain
  double exact_ns = 0, bounded_ns = 0, blocked_ns = 0;  // time in MPI: how much of it is explained
  double hidden_ns = 0;    // of that, what may be waiting although nothing shows it
  double measured_ns = 0;  // of all ranks
  uint64_t n_steps = 0;
  bool is_all = true;  // else older steps were left out
};

class Arrivals {
 public:
  // The bodies of these entries, in the order of their file; JSON as text.
  void add_rank(int32_t rank, const std::string& body) { clocks_.add_rank(rank, body); }
  void add_clock(int32_t rank, const std::string& body) { clocks_.add_comparison(rank, body); }
  void add_communicator(uint32_t name, int32_t rank, const std::string& body);
  void add_step(int32_t rank, int64_t index, const StepView& step);
  void add_log(int32_t rank, int64_t index, const unsigned char* body, size_t bytes);

  bool any() const { return !events_.empty(); }
  // Call it once, at the end.
  FoundWaiting find();

 private:
  static constexpr size_t kMostEvents = size_t{1} << 17;  // 9 MB, and 20 to 60 MB to evaluate them
  static constexpr int64_t kFollowed = 64;                // steps across which delays are followed
  struct Log : waits::Log {
    bool is_used = false;  // in place of rows of that step alone
  };
  struct OfStep {
    size_t n_events = 0;
    double measured_ns = 0;
  };
  struct Described {
    int64_t place, rank, size;
    bool operator<(const Described& other) const {
      return std::tie(place, rank, size) < std::tie(other.place, other.rank, other.size);
    }
  };
  // Leaves the oldest steps out until there is room.
  void make_room();
  // Keeps the log of a step or its rows, and marks the events of incomplete logs.
  void sort_out();
  // Gives collective operations the sizes of their communicators.
  void take_sizes();

  RankClocks clocks_;
  waits::Events events_;                             // with stamps of their ranks
  std::map<std::pair<int64_t, int32_t>, Log> logs_;  // by step and rank
  std::map<uint32_t, std::set<Described>> communicators_;
  std::map<int64_t, OfStep> steps_;
  int64_t from_ = 0;  // steps before are left out
  bool is_all_ = true;
};

}  // namespace perfield
