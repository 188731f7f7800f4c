// SPDX-License-Identifier: BSD-3-Clause
//
// site_hits.hpp - how a thread hits call sites (see CallSites): the rhythm of each, level by level.
// They are no part of a step's entry: session/step_sites.cpp writes them.
#pragma once

#include <cstdint>

#include "recorder/rhythm.hpp"

namespace perfield {

class SiteHits {
 public:
  // Gets the tables; false if there is no memory.
  bool start() noexcept;
  void end() noexcept;
  bool is_started() const noexcept { return is_started_; }

  // --- count: by the thread itself ---------------------------------------------------------------
  // Counts a hit of a site; returns how many the site has now.
  uint64_t count(uint32_t site, uint64_t now) noexcept {
    bool begins = levels_[0][site].beat(now, n_calls);
    for (int level = 1; begins && level < kRhythmLevels; ++level)
      begins = beat_above(level, site, now);
    return levels_[0][site].beats.get();
  }
  uint32_t n_calls = 0;  // of the thread while sites are followed
  uint32_t newest = 0;   // site that it hit, or none
  // The hits of site `from` become those of `to`; nobody else may read them meanwhile.
  void move(uint32_t from, uint32_t to) noexcept;
  void forget(uint32_t from, uint32_t until) noexcept;

  // --- by others ---------------------------------------------------------------------------------
  const Rhythm& at(int level, uint32_t site) const noexcept { return levels_[level][site]; }
  uint64_t bytes(uint64_t n_sites) const noexcept;

 private:
  bool beat_above(int level, uint32_t site, uint64_t now) noexcept;

  Rhythm* levels_[kRhythmLevels] = {};  // [kMostSites] each
  bool is_started_ = false;
};

}  // namespace perfield
