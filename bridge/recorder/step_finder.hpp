// SPDX-License-Identifier: BSD-3-Clause
//
// step_finder.hpp - finds the time steps of a program that reports none, while it runs. Collective
// operations of all ranks happen equally often and in the same order on every rank. So each rank
// takes the same decisions from the sequence of its own call sites, and asks no other. Only the
// order of sites counts, neither their names nor time. One thread at a time; allocates nothing.
//
// A site ends steps if its hits come evenly, to the newest one, and cover half of the sequence so
// far. Of several the outermost loop does, except where its extra calls look like output or
// refinement of every nth step (see relation). A later decision for another loop takes the earlier
// one back: what was closed until then belongs to setup. Hits of a site without a message or
// the like since the one before are a site of their own: forty sums in a row are an inner loop.
#pragma once

#include <cstdint>

#include "format/calls.h"

namespace perfield {

class StepFinder {
 public:
  static constexpr uint8_t kMostSites = 255, kNone = kMostSites;
  static constexpr uint32_t kLongest = 4096;  // of the sequence
  // Of several calls of one loop, the first that shows it ends steps; or the last one, until a call
  // is kept.
  enum class Ends : uint8_t { first, last };
  explicit StepFinder(Ends ends = Ends::first) noexcept : ends_(ends) {}
  void keep_chosen() noexcept { ends_ = Ends::first; }
  enum class Answer : uint8_t { nothing, closes, restarts, restarts_and_closes };

  // The number of a call site, which is new or not; kNone if there are too many. Where there is no
  // room, the site that was hit longest ago is forgotten: setup may have hundreds. known: the
  // number that it had when it was hit last. depth: of its chain of callers. in_a_row: hit again
  // with none but such operations in between.
  uint8_t number_of(uint64_t identity, uint16_t depth, bool in_a_row, uint8_t known) noexcept {
    if (known < n_sites_ && is_of(known, identity, in_a_row)) return known;
    return find_or_add(identity, depth, in_a_row);
  }
  // A collective operation of all ranks returned at this site.
  Answer met(uint8_t site) noexcept;
  // Hits of this site end no steps from now on.
  void ignore(uint8_t site) noexcept;
  // The program ends. Returns whether the steps that were closed are time steps: enough of them, of
  // the loop that the whole sequence shows.
  bool is_right_at_end() noexcept;

  // 5, 10, 20, 25, 50, 100, ...: numbers that people choose for output and checks.
  static bool is_round(uint64_t n) noexcept;
  // The fewest operations from one hit of a site to the next, in the sequence.
  uint32_t shortest_gap(uint8_t site) const noexcept;
  // Whether at least two further sites, no deeper than `depth`, are hit as often as this one.
  bool is_one_of_many(uint8_t site, uint16_t depth = UINT16_MAX) const noexcept;

  uint8_t chosen() const noexcept { return chosen_; }  // kNone: no site ends steps
  uint32_t n_choices() const noexcept { return n_choices_; }
  uint64_t identity(uint8_t site) const noexcept { return sites_[site].identity; }
  uint64_t hits(uint8_t site) const noexcept { return sites_[site].hits; }
  // Steps of the program, and those of them until the first closing. Call them with a chosen site.
  uint64_t steps() const noexcept { return sites_[chosen_].hits; }
  uint64_t first_steps() const noexcept { return first_hits_; }

 private:
  struct Site {
    uint64_t identity, hits;
    uint16_t depth;
    bool in_a_row;
    bool ignored;  // its hits would fill the sequence
    // Steps between hits of this site, as the chosen one closes them now.
    uint64_t last_step, gap;  // at its last hit; between its last two
    uint64_t longest_gap;     // of all
    uint32_t gaps;            // that were alike so far; kNotAlike: they were not
  };
  static constexpr uint32_t kNotAlike = ~0u;
  // The hits of a site since `start`, in positions of the sequence.
  struct Hits {
    uint32_t start, n, first, last, gap, gap_before, alike, alike_second;
    bool are_even(uint32_t length) const noexcept { return are_even(length, alike); }
    // The same, from no matter when on.
    bool are_even_lately(uint32_t length, uint32_t n_alike) const noexcept;
    // Each second gap resembles the other ones.
    bool alternate(uint32_t length) const noexcept { return are_even(length, alike_second); }
    uint32_t mean_gap() const noexcept { return (last - first) / (n - 1); }

   private:
    bool are_even(uint32_t length, uint32_t n_alike) const noexcept;
  };

  enum class Relation : uint8_t { same, inner, outer };
  struct Between {
    uint32_t least, most;
  };

  bool is_of(uint8_t site, uint64_t identity, bool in_a_row) const noexcept {
    return sites_[site].identity == identity && sites_[site].in_a_row == in_a_row;
  }
  uint8_t find_or_add(uint64_t identity, uint16_t depth, bool in_a_row) noexcept;
  uint8_t hit_longest_ago() const noexcept;
  bool recurs(uint8_t site) const noexcept;
  bool is_due() const noexcept;
  uint8_t examine() noexcept;
  bool is_of_young_loop(uint8_t site) const noexcept;
  uint8_t choose() noexcept;
  bool may_replace(uint8_t found) const noexcept;
  void follow(uint8_t site) noexcept;
  void count_steps(Site& site) noexcept;
  void count_hits() noexcept;
  uint8_t next_beyond(uint32_t gap) const noexcept;
  Between between(uint8_t to, uint8_t other) const noexcept;
  uint32_t before(uint8_t to, uint8_t other) const noexcept;
  Relation relation(uint8_t to, uint8_t other) const noexcept;
  bool is_counted_through(uint8_t to, uint8_t other) const noexcept;
  uint16_t depth_of_loop(uint8_t site) const noexcept;
  bool comes_along(uint8_t other, uint8_t site) const noexcept;
  bool is_hit_as_often(uint8_t site, uint8_t other) const noexcept;
  bool has_inner(uint8_t site) const noexcept;
  bool brings_deeper(uint8_t site, uint16_t depth) const noexcept;
  bool is_even(uint8_t site) const noexcept;
  bool begins_steps(uint8_t site) const noexcept;
  void make_room() noexcept;

  Site sites_[kMostSites];
  Hits hits_[kMostSites];
  uint8_t sequence_[kLongest];
  uint32_t length_ = 0;
  uint8_t n_sites_ = 0, chosen_ = kNone;
  // So many operations lay between the last two hits of the chosen site when it was chosen again at
  // that length, and each one since then was that of so many before. 0: it was not.
  uint32_t repeats_ = 0, repeats_since_ = 0;
  Ends ends_;
  uint32_t n_choices_ = 0;  // of sites that ended steps, one after the other
  uint64_t first_hits_ = 0;
};

}  // namespace perfield
