// SPDX-License-Identifier: BSD-3-Clause
//
// agreed_site.hpp - the call site that closes steps where the program's loop has no collective
// operation of all ranks. Rank 0 looks for a site whose hits come evenly (StepFinder), and proposes
// it from a hit on before which all ranks will look. A rank that takes other branches there, as
// even and odd ones do that send and receive in turn, chooses another call of the same function.
// A rank that has hit none about as often refuses, now or when rank 0 asks again at four times as
// many hits: it has other numbers of neighbours in a loop over them. Several hits may make a step
// (SitePeriod), and all is counted in steps then. The session carries proposals and refusals by
// notes (session/agreed_steps.hpp). One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "recorder/site_period.hpp"
#include "recorder/step_finder.hpp"
#include "recorder/step_pace.hpp"

namespace perfield {

struct StepProposal {
  uint64_t identity = 0;  // of the site; 0: none
  uint64_t first = 0;     // its hit that closes the first step; 0: none
  uint64_t level = 0;     // of the site; see CallSite
  uint64_t every = 1;     // hits that make a step
  uint64_t between = 0;   // steps between two looks of a rank

  // The step at which it was made.
  uint64_t made_at() const noexcept;
};

// What a thread has done when it hits a site; see SitePeriod.
struct SeenSoFar {
  uint64_t partners;
  uint32_t calls;
};

class AgreedSite {
 public:
  static constexpr uint32_t kNone = ~uint32_t(0);
  explicit AgreedSite(bool proposes) noexcept
      : finder_(StepFinder::Ends::last), proposes_(proposes) {}

  // --- by the thread that calls MPI
  // A blocking call that completes messages returned at this site, its hits-th time. depth: of its
  // chain of callers. in_finder: the site's number there, kept by the caller. seen: returns
  // SeenSoFar; called only where that is needed.
  template <class Seen>
  HitAnswer met(uint32_t site, uint64_t identity, uint16_t depth, uint64_t hits, uint8_t* in_finder,
                Seen seen) noexcept {
    bool wishes = false;
    if (proposes_ && may_propose(identity, depth, in_finder)) {
      const SeenSoFar now = seen();
      period_.hit(now.partners, now.calls);
      wishes = propose(identity, hits);
    }
    return answer(site, hits, wishes);
  }
  // A collective operation of all ranks was called: the loop may be another one.
  void met_by_all() noexcept {
    second_longest_ = std::max(second_longest_, std::min(longest_alone_, n_calls_alone_));
    longest_alone_ = std::max(longest_alone_, n_calls_alone_);
    n_alone_ = n_calls_alone_ = n_calls_around_ = 0;
  }
  // Such operations end steps. So this rank proposes nothing until their loop has ended: many calls
  // come without one, and many times as many as twice before.
  void wait_for_end() noexcept { is_behind_steps_ = true; }

  // --- by the session, where met() asks
  // What this rank wants to propose, once; none: {}.
  StepProposal take_wish() noexcept;
  // Whether a site that this rank has hit so often may be the one that is proposed.
  static bool fits(const StepProposal& proposal, uint64_t hits) noexcept;
  // A proposal, of a new site or of the same one again. site, hits: where this rank knows that
  // site, or one that fits in its place, and how often it has hit it so far. Returns whether it
  // agrees.
  bool agree(const StepProposal& proposal, uint32_t site, uint64_t hits) noexcept;
  // This rank or another one refuses what was proposed.
  void refuse() noexcept;
  bool has_agreed() const noexcept { return site_ != kNone; }
  // Whether that is about the newest proposal, made again.
  bool is_about(const StepProposal& proposal) const noexcept {
    return proposal.identity == identity_;
  }
  // Rank 0 has looked for long enough.
  bool gives_up() const noexcept { return proposes_ && !has_agreed() && n_calls_ >= kMostCalls; }
  // Whether the hit that met() asks about closes a step, if nobody has refused.
  bool is_first() const noexcept { return is_first_; }
  void begin() noexcept {
    closes_ = true;
    n_looks_ = 0;
  }
  // Whether others may not have begun: they refuse before their next collective operations.
  bool is_new() noexcept { return n_looks_ < kMostLooks && ++n_looks_; }

  bool closes() const noexcept { return closes_; }
  // How many hits of the site make a step.
  uint64_t every() const noexcept { return every_; }
  // The program ends after so many steps. Whether those that were closed are enough.
  bool is_right_at_end(uint64_t steps) const noexcept {
    return steps >= first_step() + kFewestSteps;
  }
  uint32_t site() const noexcept { return site_; }
  // Of the site that rank 0 has proposed; this rank's may be another one.
  uint64_t proposed() const noexcept { return identity_; }
  // The step of that site that was closed first.
  uint64_t first_step() const noexcept { return first_ / every_; }
  void move(uint32_t from, uint32_t to) noexcept {
    if (site_ == from) site_ = to;
  }

 private:
  bool may_propose(uint64_t identity, uint16_t depth, uint8_t* in_finder) noexcept;
  bool propose(uint64_t identity, uint64_t hits) noexcept;
  void wish_for(uint64_t identity, uint64_t hits, uint64_t every) noexcept;
  // Calls until the next look for a proposal.
  uint32_t pause() const noexcept;
  HitAnswer answer(uint32_t site, uint64_t hits, bool wishes) noexcept;
  // Whether enough calls came without a collective operation of all ranks.
  bool is_alone() const noexcept;

  StepFinder finder_;
  SitePeriod period_;      // of the site that this rank would propose
  uint64_t looks_at_ = 0;  // that site
  StepProposal wish_;
  uint64_t identity_ = 0, first_ = 0, every_ = 1, proposed_at_ = 0;
  uint32_t site_ = kNone, n_calls_ = 0, next_look_ = kFirstLook, n_alone_ = 0;
  // n_alone_ of n_calls_around_ hit the site that this rank would propose.
  uint32_t n_calls_around_ = 0, n_calls_alone_ = 0, longest_alone_ = 0, second_longest_ = 0,
           n_looks_ = 0;
  uint8_t in_finder_ = StepFinder::kNone;  // what this rank has proposed
  bool proposes_, closes_ = false, is_first_ = false, is_behind_steps_ = false;

  static constexpr uint32_t kFirstLook = 4, kMostCalls = 1 << 17, kMostLooks = 4;
  static constexpr uint64_t kFewestSteps = 2;  // beyond the first
};

}  // namespace perfield
