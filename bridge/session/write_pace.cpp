// SPDX-License-Identifier: BSD-3-Clause
//
// write_pace.cpp - see write_pace.hpp.
#include "session/write_pace.hpp"

#include <algorithm>
#include <utility>

namespace perfield {

void WritePace::start(uint64_t now_ns, bool always) noexcept {
  *this = WritePace();
  always_ = always;
  credit_at_ns_ = last_end_ns_ = now_ns;
}

WritePace::Next WritePace::next(uint64_t now_ns, size_t gathered) noexcept {
  if (now_ns > credit_at_ns_) credit_ns_ += kShare * double(now_ns - credit_at_ns_);
  credit_ns_ = std::min(credit_ns_, kMostCredit_ns);
  credit_at_ns_ = now_ns;
  early_ = false;
  if (always_ || credit_ns_ >= 0) return Next::write;
  if (gathered < room_) return Next::gather;
  if (!room_is_final_) return Next::make_room;
  early_ = true;
  return Next::write;
}

void WritePace::wrote(uint64_t begin_ns, uint64_t end_ns) noexcept {
  const uint64_t took_ns = end_ns - begin_ns, since_last_ns = begin_ns - last_end_ns_;
  last_end_ns_ = end_ns;
  if (n_++ > 0) took_ns_[n_ % kSampled] = took_ns;  // the first one may open the file on its server
  const double charge = double(std::min(took_ns, std::max(kMostCharge_ns, 2 * shortest_ns())));
  credit_ns_ = std::max(credit_ns_ - charge, -charge);
  longer_ = std::exchange(early_, false) && apart_ns() > since_last_ns;
}

uint64_t WritePace::shortest_ns() const noexcept {
  return n_ > kSampled ? *std::min_element(took_ns_.begin(), took_ns_.end()) : 0;
}

bool WritePace::wants_longer_spans() noexcept { return std::exchange(longer_, false); }

}  // namespace perfield
