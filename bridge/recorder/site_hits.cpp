// SPDX-License-Identifier: BSD-3-Clause
//
// site_hits.cpp - see site_hits.hpp.
#include "recorder/site_hits.hpp"

#include <cstring>
#include <new>

#include "platform/pages.hpp"
#include "recorder/call_sites.hpp"

namespace perfield {
namespace {

constexpr size_t kBytes = kRhythmLevels * kMostSites * sizeof(Rhythm);

}  // namespace

bool SiteHits::start() noexcept {
  char* const memory = map_pages(kBytes);
  if (!memory) return false;
  for (int level = 0; level < kRhythmLevels; ++level)
    levels_[level] = reinterpret_cast<Rhythm*>(memory) + level * kMostSites;
  return is_started_ = true;
}

void SiteHits::end() noexcept {
  if (levels_[0]) munmap(static_cast<void*>(levels_[0]), kBytes);
}

// A burst is complete. The first one since the statistics of the level below began starts this
// level anew.
bool SiteHits::beat_above(int level, uint32_t site, uint64_t now) noexcept {
  const Rhythm& below = levels_[level - 1][site];
  Rhythm& here = levels_[level][site];
  if (below.bursts.get() == 1) {
    new (&here) Rhythm;
    here.beat(below.since.get(), below.since_call.get());
  }
  return here.beat(now, n_calls);
}

void SiteHits::move(uint32_t from, uint32_t to) noexcept {
  for (Rhythm* level : levels_)
    memcpy(static_cast<void*>(level + to), static_cast<const void*>(level + from), sizeof *level);
}

void SiteHits::forget(uint32_t from, uint32_t until) noexcept {
  for (Rhythm* level : levels_)
    for (uint32_t site = from; site < until; ++site)
      if (level[site].beats.get()) new (level + site) Rhythm;
}

uint64_t SiteHits::bytes(uint64_t n_sites) const noexcept {
  return is_started_ ? bytes_of_pages(n_sites * sizeof(Rhythm)) : 0;
}

}  // namespace perfield
