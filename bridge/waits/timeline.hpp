// SPDX-License-Identifier: BSD-3-Clause
//
// timeline.hpp - what each rank did when: its blocking MPI calls one after another, with
// computation between them, and the moments at which two ranks knew of each other. Times are ns on
// the common clock. Built once from events and their wait states; then any part of it is read in
// O(log n).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "waits/events.hpp"

namespace perfield::waits {

// A blocking call of a rank: all events with the same begin and end of a wait. The rank computes
// between the calls; computation belongs to the step of the call behind it.
struct Call {
  int64_t begin, end;
  int64_t step;   // the last in which one of them began, as of wait states
  double waited;  // of end - begin: for another rank
  int64_t state;  // the certain wait state that shows it; -1: none
};

// How a rank spent some time.
struct Spent {
  double computing = 0, waiting = 0, communicating = 0;
};

class Timeline {
 public:
  Timeline(const Event* events, size_t n_events, const State* states, size_t n_states);

  int32_t n_ranks() const { return int32_t(ranks_.size()); }
  // The calls of a rank, by their end.
  const std::vector<Call>& calls(int32_t rank) const { return ranks_[size_t(rank)].calls; }
  // How the rank spent the time from `begin` to `end`.
  Spent spent(int32_t rank, int64_t begin, int64_t end) const;
  // The first call of the rank that ends after `time`.
  size_t first_call_after(int32_t rank, int64_t time) const;
  // The step in which the rank was at that time.
  int64_t step_at(int32_t rank, int64_t time) const;
  // Begin and end of all that is known of the rank; equal where nothing is.
  std::pair<int64_t, int64_t> extent(int32_t rank) const;

  // Of each event: its call among those of its rank, the send that a receive matched or a probe
  // found (of a start the post, of a wait the complete), and the collective operation that it was a
  // part of, as the first of its events; -1: none.
  const std::vector<int64_t>& call_of() const { return call_of_; }
  const std::vector<int64_t>& send_of() const { return send_of_; }
  const std::vector<int64_t>& operation_of() const { return operation_of_; }

  // The last moments, on each rank's own timeline, until `before_a` and `before_b` at which two
  // ranks met: by one of the last two messages between them, or in a collective operation of both.
  // False: they never did.
  bool last_met(int32_t a, int64_t before_a, int32_t b, int64_t before_b, int64_t* at_a,
                int64_t* at_b) const;

 private:
  struct OfRank {
    std::vector<Call> calls;
    std::vector<double> computed, waited, communicated;  // before each call, and at the end
    int64_t begin = 0, end = 0;
  };
  struct Meeting {  // of ranks low < high
    int32_t low, high;
    int64_t at_low, at_high;
  };
  struct Gathering {  // a rank in a collective operation of all to all
    uint32_t communicator, number;
    int64_t end;
  };
  Spent until(int32_t rank, int64_t time) const;
  void add_calls(const Event* events, size_t n_events, const State* states, size_t n_states);
  void add_messages(const Event* events, size_t n_events);
  void add_collectives(const Event* events, size_t n_events);

  std::vector<OfRank> ranks_;
  std::vector<int64_t> call_of_, send_of_, operation_of_;
  std::vector<Meeting> meetings_;                   // by (low, high, at_low, at_high)
  std::vector<std::vector<Gathering>> gatherings_;  // of each rank, by end
};

}  // namespace perfield::waits
