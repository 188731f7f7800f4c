// SPDX-License-Identifier: BSD-3-Clause
//
// site_period.hpp - how many hits of a call site make one time step: a halo exchange may call
// MPI_Sendrecv at one place for each neighbour in turn. The partners of the messages between one
// hit and the next recur with the step. One thread at a time; allocates nothing.
#pragma once

#include <cstdint>

namespace perfield {

class SitePeriod {
 public:
  static constexpr uint32_t kMost = 64;  // intervals that are looked at

  void restart() noexcept { n_ = 0; }
  // The site was hit. partners: a sum over all messages so far, of a number for each partner.
  // calls: MPI calls of the thread so far.
  void hit(uint64_t partners, uint32_t calls) noexcept;
  // So many hits make one step; 0: not known yet.
  uint32_t period() const noexcept;

 private:
  struct Interval {
    uint64_t partners;
    bool is_direct;  // no other call came in between
  };
  const Interval& newest(uint32_t i) const noexcept { return intervals_[(n_ - 2 - i) % kMost]; }
  bool recurs(uint32_t period, uint32_t n) const noexcept;
  bool is_step(uint32_t period) const noexcept;

  Interval intervals_[kMost];
  uint64_t last_partners_ = 0;
  uint32_t last_calls_ = 0, n_ = 0;  // hits
};

}  // namespace perfield
