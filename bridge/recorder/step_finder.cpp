// SPDX-License-Identifier: BSD-3-Clause
//
// step_finder.cpp - see step_finder.hpp.
#include "recorder/step_finder.hpp"

#include <algorithm>

namespace perfield {
namespace {

constexpr uint32_t kFewestHits = 3;   // two gaps that resemble each other
constexpr uint64_t kFewestSteps = 2;  // at the end
constexpr uint32_t kAlike_percent = 50, kAlike = 3;
constexpr uint32_t kEachTime = 32;  // so long, the sequence is examined each time
constexpr uint32_t kManySites = 3, kPartDeeper = 8;
constexpr uint32_t kFewStages = 4;   // of a time step, as those of Runge and Kutta
constexpr uint32_t kFirstSolve = 4;  // times as many iterations as any later one

}  // namespace

bool StepFinder::is_round(uint64_t n) noexcept {
  if (n < 5) return false;
  while (n % 10 == 0) n /= 10;
  return n == 1 || n == 2 || n == 5 || n == 25;
}

uint8_t StepFinder::find_or_add(uint64_t identity, uint16_t depth, bool in_a_row) noexcept {
  for (uint8_t site = 0; site < n_sites_; ++site)
    if (is_of(site, identity, in_a_row)) return site;
  const uint8_t site = n_sites_ < kMostSites ? n_sites_++ : hit_longest_ago();
  if (site == kNone) return kNone;
  if (n_sites_ == kMostSites) ignore(site);
  sites_[site] = {identity, 0, depth, in_a_row, false, 0, 0, 0, 0};
  return site;
}

// Of those in the sequence; the site that ends steps stays. kNone: no other.
uint8_t StepFinder::hit_longest_ago() const noexcept {
  bool seen[kMostSites] = {};
  uint8_t found = kNone;
  for (uint32_t at = length_; at-- > 0;) {
    const uint8_t site = sequence_[at];
    if (seen[site] || site == chosen_) continue;
    seen[site] = true;
    found = site;
  }
  return found;
}

StepFinder::Answer StepFinder::met(uint8_t site) noexcept {
  if (site >= n_sites_) return Answer::nothing;
  ++sites_[site].hits;
  if (chosen_ != kNone && site != chosen_) count_steps(sites_[site]);
  bool restarts = false;
  if (length_ == kLongest) make_room();
  if (!sites_[site].ignored) {
    sequence_[length_++] = site;
    if (repeats_ && sequence_[length_ - 1 - repeats_] != site) repeats_ = 0;
    const uint8_t found = is_due() ? examine() : kNone;
    if (found != kNone && found != chosen_ && may_replace(found)) {
      restarts = chosen_ != kNone;
      follow(found);
      first_hits_ = sites_[found].hits + (found != site);
    }
  }
  const bool closes = site == chosen_;
  if (restarts) return closes ? Answer::restarts_and_closes : Answer::restarts;
  return closes ? Answer::closes : Answer::nothing;
}

void StepFinder::ignore(uint8_t site) noexcept {
  sites_[site].ignored = true;
  length_ = uint32_t(std::remove(sequence_, sequence_ + length_, site) - sequence_);
  repeats_ = 0;
  if (site == chosen_) chosen_ = kNone;
}

// Whether the call was made twice, in a row or not.
bool StepFinder::recurs(uint8_t site) const noexcept {
  if (sites_[site].hits > 1) return true;
  for (uint8_t other = 0; other < n_sites_; ++other)
    if (other != site && sites_[other].identity == sites_[site].identity) return true;
  return false;
}

bool StepFinder::is_right_at_end() noexcept {
  if (chosen_ == kNone || sites_[chosen_].hits < first_hits_ + kFewestSteps) return false;
  const uint8_t found = choose();
  if (found != kNone) return found == chosen_ || !may_replace(found);
  if (sites_[chosen_].ignored) return true;
  // Other loops may come before and after this one, but no longer ones. Calls that were made once
  // are of no loop.
  uint32_t n = 0, first = 0, last = 0;
  for (uint32_t at = 0; at < length_; ++at) {
    n += recurs(sequence_[at]);
    if (sequence_[at] != chosen_) continue;
    if (first == 0) first = n;
    last = n;
  }
  return first < last && 2 * (last - first + 1) >= n;
}

// Each time at first, then sixteen times in each doubling of the sequence; while that repeats
// itself, once more where its later half does.
bool StepFinder::is_due() const noexcept {
  if (length_ < kEachTime) return true;
  if (repeats_) return length_ == 2 * repeats_since_;
  const uint32_t apart = 1u << (31 - __builtin_clz(length_) - 4);
  return length_ % apart == 0;
}

uint8_t StepFinder::examine() noexcept {
  const uint8_t found = choose();
  if (found == kNone || found != chosen_) {
    repeats_ = 0;
  } else if (!repeats_) {
    repeats_ = hits_[found].gap;
    repeats_since_ = length_;
  }
  return found;
}

// Even: half of the gaps are between a third and three times the one before. They cover the time
// from `start` to now, up to two gaps.
bool StepFinder::Hits::are_even(uint32_t length, uint32_t n_alike) const noexcept {
  return are_even_lately(length, n_alike) && first - start <= 2 * std::max(mean_gap(), 1u);
}

bool StepFinder::Hits::are_even_lately(uint32_t length, uint32_t n_alike) const noexcept {
  return n >= kFewestHits && length - 1 - last <= 2 * std::max(mean_gap(), 1u) &&
         100 * n_alike >= kAlike_percent * (n - 2);
}

bool StepFinder::is_even(uint8_t site) const noexcept {
  const Hits& h = hits_[site];
  return h.are_even(length_) || (h.alternate(length_) && begins_steps(site));
}

// Whether a site whose gaps alternate begins the steps: the same other one is met right before each
// hit but the first, and not before that. Then what each second step does more lies inside the
// step. It would end the steps if these were two iterations of a solver.
bool StepFinder::begins_steps(uint8_t site) const noexcept {
  uint8_t before = kNone;
  for (uint32_t at = 0, first = length_; at < length_; ++at) {
    if (sequence_[at] != site) continue;
    if (first == length_) {
      first = at;
      continue;
    }
    if (before == kNone) {
      before = sequence_[at - 1];
      if (before == site || std::find(sequence_, sequence_ + first, before) != sequence_ + first)
        return false;
    }
    if (sequence_[at - 1] != before) return false;
  }
  return before != kNone && is_hit_as_often(before, site);
}

void StepFinder::count_hits() noexcept {
  for (uint8_t site = 0; site < n_sites_; ++site) hits_[site] = {length_ / 2, 0, 0, 0, 0, 0, 0, 0};
  for (uint32_t at = length_; at-- > 0;) {  // at least the newest three hits count
    Hits& h = hits_[sequence_[at]];
    if (h.n < kFewestHits && ++h.n == kFewestHits) h.start = std::min(h.start, at);
  }
  for (uint8_t site = 0; site < n_sites_; ++site) hits_[site].n = 0;
  for (uint32_t at = 0; at < length_; ++at) {
    Hits& h = hits_[sequence_[at]];
    if (at < h.start) continue;
    const uint32_t gap = at - h.last;
    const auto is_like = [gap](uint32_t other) {
      return gap <= kAlike * other && kAlike * gap >= other;
    };
    if (h.n == 0) h.first = at;
    if (h.n > 1 && is_like(h.gap)) ++h.alike;
    if (h.n > 2 && is_like(h.gap_before)) ++h.alike_second;
    if (h.n > 0) {
      h.gap_before = h.gap;
      h.gap = gap;
    }
    h.last = at;
    ++h.n;
  }
}

// The even site with the shortest gaps beyond this one; of several the one that ends steps now,
// else the one nearest to main, and of these the first or last. kNone: no other.
uint8_t StepFinder::next_beyond(uint32_t gap) const noexcept {
  uint8_t next = kNone;
  const auto rank = [this](uint8_t site) {
    const bool is_other = site != chosen_ && ends_ == Ends::first;
    return uint64_t(hits_[site].mean_gap()) << 32 | is_other << 16 | sites_[site].depth;
  };
  for (uint8_t site = 0; site < n_sites_; ++site)
    if (!sites_[site].ignored && hits_[site].n > 1 && hits_[site].mean_gap() > gap &&
        (next == kNone || rank(site) < rank(next) + (ends_ == Ends::last)) && is_even(site))
      next = site;
  return next;
}

// Whether a site is output of a loop that does not yet cover half of the sequence.
bool StepFinder::is_of_young_loop(uint8_t site) const noexcept {
  for (uint8_t s = 0; s < n_sites_; ++s) {
    const Hits& h = hits_[s];
    if (h.n < kFewestHits || h.mean_gap() >= hits_[site].mean_gap()) continue;
    if (std::find(sequence_, sequence_ + h.first, s) != sequence_ + h.first) continue;
    if (h.are_even_lately(length_, h.alike) && relation(s, site) == Relation::inner) return true;
  }
  return false;
}

// From the innermost loop outwards.
uint8_t StepFinder::choose() noexcept {
  count_hits();
  uint8_t best = kNone;
  for (uint8_t next = next_beyond(0); next != kNone; next = next_beyond(hits_[next].mean_gap())) {
    if (best == kNone && is_of_young_loop(next)) continue;
    const Relation found = best == kNone ? Relation::outer : relation(best, next);
    const bool is_kept = next == chosen_ && ends_ == Ends::first;
    if (found == Relation::outer || (found == Relation::same && is_kept)) best = next;
  }
  return best;
}

// Whether a loop takes back what another one has closed: it is the outer one, or the other has
// ended. Where the sequence no longer holds that one, it was an inner loop, unless this one looks
// like output (see relation).
bool StepFinder::may_replace(uint8_t found) const noexcept {
  if (chosen_ == kNone) return true;
  if (ends_ == Ends::last && found > chosen_ && sites_[found].depth == sites_[chosen_].depth &&
      hits_[found].mean_gap() == hits_[chosen_].mean_gap())
    return true;
  if (!sites_[chosen_].ignored)
    return between(chosen_, found).most == 0 || relation(chosen_, found) == Relation::outer;
  const Site &site = sites_[found], &inner = sites_[chosen_];
  if (site.depth > inner.depth || site.longest_gap == 1) return false;  // 1: of the same loop
  if (site.gaps == kNotAlike || site.gaps <= 1) return true;
  if (is_round(site.gap)) return is_one_of_many(found, inner.depth);
  return site.gap > 2 || site.depth < inner.depth;
}

uint32_t StepFinder::shortest_gap(uint8_t site) const noexcept {
  uint32_t shortest = kLongest, last = length_;
  for (uint32_t at = 0; at < length_; ++at) {
    if (sequence_[at] != site) continue;
    if (last < at) shortest = std::min(shortest, at - last);
    last = at;
  }
  return shortest;
}

void StepFinder::follow(uint8_t site) noexcept {
  chosen_ = site;
  ++n_choices_;
  for (uint8_t other = 0; other < n_sites_; ++other) {
    Site& s = sites_[other];
    s.last_step = s.gap = s.longest_gap = s.gaps = 0;
  }
}

void StepFinder::count_steps(Site& site) noexcept {
  const uint64_t now = sites_[chosen_].hits, gap = now - site.last_step;
  if (site.last_step) site.longest_gap = std::max(site.longest_gap, gap);
  if (site.last_step && site.gaps != kNotAlike)
    site.gaps = site.gaps == 0 || gap == site.gap ? site.gaps + 1 : kNotAlike;
  site.gap = gap;
  site.last_step = now;
}

// The fewest and most hits of `to` between two of `other`.
StepFinder::Between StepFinder::between(uint8_t to, uint8_t other) const noexcept {
  Between found = {~0u, 0};
  uint32_t n = 0;
  bool any = false;
  for (uint32_t at = hits_[other].first; at <= hits_[other].last; ++at) {
    n += sequence_[at] == to;
    if (sequence_[at] != other) continue;
    if (any) found = {std::min(found.least, n), std::max(found.most, n)};
    any = true;
    n = 0;
  }
  return found;
}

// The hits of `to` before the first one of `other`.
uint32_t StepFinder::before(uint8_t to, uint8_t other) const noexcept {
  const uint8_t* first = std::find(sequence_, sequence_ + length_, other);
  return uint32_t(std::count(sequence_, first, to));
}

// Whether `other` ends the steps in which `to` is an iteration. Nobody knows, from their order
// alone, three iterations and a sum from three steps and output. So: numbers of iterations that
// differ are those of a solver that converges, but a call that sometimes comes without any is one
// of a burst, one that first comes after far more of them belongs to the solver: it restarts, and
// one at which other calls go on to count iterations comes at some steps.
// These are output, or a refinement of the mesh: calls deeper in the program than the inner ones,
// those that come with such calls, those at each second hit that are no nearer to main, a call or
// two at each fifth, tenth, ... hit, or at each fifth or rarer one of a loop that has inner loops
// itself. A loop that ends with more calls is a solver's.
StepFinder::Relation StepFinder::relation(uint8_t to, uint8_t other) const noexcept {
  const auto [least, most] = between(to, other);
  if (most <= 1) return Relation::same;
  if (sites_[to].in_a_row && sites_[to].identity == sites_[other].identity) return Relation::outer;
  const uint16_t depth = sites_[other].depth, inside = depth_of_loop(to);
  if (depth > inside || least == 0) return Relation::inner;
  if (is_counted_through(to, other)) return Relation::inner;
  if (least != most)
    return before(to, other) > kFirstSolve * most ? Relation::inner : Relation::outer;
  if (most > kFewStages && brings_deeper(other, inside)) return Relation::inner;
  if ((is_round(most) || (most > kFewStages && has_inner(to))) && !is_one_of_many(other, inside))
    return Relation::inner;
  return depth < inside || most > 2 ? Relation::outer : Relation::inner;
}

// Whether some call comes after each same number of hits of `to`, more than one, no matter how many
// hits of `other` lie amid these.
bool StepFinder::is_counted_through(uint8_t to, uint8_t other) const noexcept {
  for (uint8_t s = 0; s < n_sites_; ++s) {
    const Hits& h = hits_[s];
    if (s == to || s == other || sites_[s].ignored || h.n <= kFewestHits) continue;
    const auto [least, most] = between(to, s);
    if (least != most || most < 2) continue;
    uint32_t n = 0, amid = 0;
    bool counts = true, is_known = false;
    for (uint32_t at = std::min(h.first, hits_[other].first); at <= h.last && counts; ++at) {
      n += sequence_[at] == to;
      amid += sequence_[at] == other && is_known && 0 < n && n < most;
      if (sequence_[at] != s) continue;
      counts = !is_known || n == most;
      is_known = true;
      n = 0;
    }
    if (!counts) continue;
    if (amid > 1) return true;
  }
  return false;
}

// Of the call nearest to main.
uint16_t StepFinder::depth_of_loop(uint8_t site) const noexcept {
  uint16_t depth = sites_[site].depth;
  for (uint8_t s = 0; s < n_sites_; ++s)
    if (comes_along(s, site)) depth = std::min(depth, sites_[s].depth);
  return depth;
}

// Whether a call is hit as often as another one of the same loop. Those of setup lie before all of
// its hits.
bool StepFinder::comes_along(uint8_t other, uint8_t site) const noexcept {
  if (other == site) return true;
  if (sites_[other].ignored || !is_hit_as_often(site, other)) return false;
  const auto [least, most] = between(other, site);
  return least == 1 && most == 1;
}

// Up to one, which may lie at either end of the sequence.
bool StepFinder::is_hit_as_often(uint8_t site, uint8_t other) const noexcept {
  return hits_[other].n + 1 >= hits_[site].n && hits_[other].n <= hits_[site].n + 1;
}

bool StepFinder::is_one_of_many(uint8_t site, uint16_t depth) const noexcept {
  uint32_t n = 0;
  for (uint8_t s = 0; s < n_sites_; ++s) n += comes_along(s, site) && sites_[s].depth <= depth;
  return n >= kManySites;
}

// Whether calls deeper than `depth` come with this one, as in a refinement: an eighth of all.
// Hundreds of calls with a few deeper ones among them are a time step.
bool StepFinder::brings_deeper(uint8_t site, uint16_t depth) const noexcept {
  uint32_t n = 0, deeper = 0;
  for (uint8_t s = 0; s < n_sites_; ++s) {
    if (s == site || !comes_along(s, site)) continue;
    ++n;
    deeper += sites_[s].depth > depth;
  }
  return deeper > 0 && kPartDeeper * deeper >= n;
}

// Whether a loop has a loop inside, which may have left the sequence. The same call made again in a
// row is none: an iteration of GMRES has such sums.
bool StepFinder::has_inner(uint8_t site) const noexcept {
  for (uint8_t s = 0; s < n_sites_; ++s) {
    const bool is_same_call = sites_[s].identity == sites_[site].identity;
    if (sites_[s].ignored || (!is_same_call && hits_[s].n >= 2 * hits_[site].n)) return true;
  }
  return false;
}

// Takes the hits of the innermost loop out of the sequence.
void StepFinder::make_room() noexcept {
  uint32_t n[kMostSites] = {};
  for (uint32_t at = 0; at < length_; ++at) ++n[sequence_[at]];
  const uint8_t chosen = chosen_;
  ignore(uint8_t(std::max_element(n, n + n_sites_) - n));
  chosen_ = chosen;
}

}  // namespace perfield
