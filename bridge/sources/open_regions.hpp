// SPDX-License-Identifier: BSD-3-Clause
//
// open_regions.hpp - the open regions of one thread, for tools whose "end" has no name. One object
// per thread (thread_local, all zeros at first). Nothing allocates or fails. Beyond the table's
// depth, begin and end still match but are not measured.
#pragma once

#include "include/perfield.h"

namespace perfield {

class OpenRegions {
 public:
  void begin(perfield_region region) noexcept {
    if (depth_ < kDeepest) {
      stack_[depth_] = region;
      perfield_region_begin(region);
    }
    ++depth_;
  }

  // Ends the innermost one.
  void end() noexcept {
    if (depth_ == 0) return;
    if (--depth_ < kDeepest) perfield_region_end(stack_[depth_]);
  }

  // Ends an open region that need not be the innermost. Regions inside it stay open: they end and
  // begin again, so their time is complete and their count is one higher.
  void end(perfield_region region) noexcept {
    int at = depth_ < kDeepest ? depth_ : kDeepest;
    while (at > 0 && stack_[at - 1] != region) --at;
    if (at == 0) return;
    if (depth_ > kDeepest) return end();  // beyond the table only the depth is known
    for (int i = depth_; i-- > at - 1;) perfield_region_end(stack_[i]);
    --depth_;
    for (int i = at - 1; i < depth_; ++i) perfield_region_begin(stack_[i] = stack_[i + 1]);
  }

 private:
  static constexpr int kDeepest = 128;
  perfield_region stack_[kDeepest];
  int depth_;
};

}  // namespace perfield
