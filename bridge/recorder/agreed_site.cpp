// SPDX-License-Identifier: BSD-3-Clause
//
// agreed_site.cpp - see agreed_site.hpp.
#include "recorder/agreed_site.hpp"

namespace perfield {
namespace {

// So many hits without a collective operation of all ranks, or one that ends so many calls.
constexpr uint32_t kEvenHits = 4, kEvenCalls = 128;
constexpr uint32_t kFewestBehind = 512, kTimesBehind = 16;  // calls, where these ended steps before
constexpr uint32_t kFarApart = 16;  // calls, more than a loop over neighbours makes for each
constexpr uint64_t kAgain = 4;      // times as many steps, then rank 0 asks again
constexpr uint64_t kApart = 2;      // steps by which ranks of a loop may be ahead of one another
// Ranks look for a proposal at each call at first, then after a sixteenth more calls each time.
constexpr uint32_t kEachTime = 64, kPart = 16;

// A rank that is ahead looks for the proposal once more before that step.
constexpr uint64_t kAhead = 2 * kApart;
uint64_t first_after(uint64_t steps) { return steps + 2 * (steps / kPart) + kAhead; }
uint64_t proposed_at(uint64_t first) {
  if (first <= kAhead) return 0;
  uint64_t steps = (first - kAhead) / (kPart + 2) * kPart;
  for (uint32_t n = 0; n < kPart + 2 && first_after(steps) < first; ++n) ++steps;
  return steps;
}

}  // namespace

// Whether this rank may propose the site that it has hit, once its period is known.
bool AgreedSite::may_propose(uint64_t identity, uint16_t depth, uint8_t* in_finder) noexcept {
  *in_finder = finder_.number_of(identity, depth, false, *in_finder);
  const uint8_t before = finder_.chosen();
  finder_.met(*in_finder);
  if (finder_.chosen() != before) n_alone_ = 0;
  ++n_calls_alone_;
  const bool is_chosen = *in_finder != StepFinder::kNone && *in_finder == finder_.chosen();
  n_alone_ += is_chosen;
  if (!is_chosen || identity == identity_) return false;
  if (is_behind_steps_ && !is_alone()) return false;
  if (looks_at_ != identity) period_.restart();
  looks_at_ = identity;
  return true;
}

// Returns whether it wants to.
bool AgreedSite::propose(uint64_t identity, uint64_t hits) noexcept {
  if (!is_alone()) return false;
  const bool is_far_apart = finder_.shortest_gap(finder_.chosen()) >= kFarApart;
  const uint64_t every = is_far_apart ? 1 : period_.period();
  if (every == 0) return false;
  wish_ = {identity, every * first_after(hits / every), 0, every};
  in_finder_ = finder_.chosen();
  finder_.keep_chosen();
  return true;
}

HitAnswer AgreedSite::answer(uint32_t site, uint64_t hits, bool wishes) noexcept {
  bool asks = wishes;
  if (proposes_ && closes_ && site == site_ &&
      hits == every_ * kAgain * proposed_at(first_step())) {
    wish_ = {identity_, every_ * first_after(hits / every_), 0, every_};
    asks = true;
  }
  if (++n_calls_ == next_look_) {
    next_look_ += n_calls_ < kEachTime ? 1 : n_calls_ / kPart;
    asks = true;
  }
  const bool ends_step = site == site_ && hits % every_ == 0;
  is_first_ = ends_step && !closes_ && hits >= first_;
  return HitAnswer((asks || is_first_ ? kHitAsks : 0) | (ends_step && closes_ ? kHitCloses : 0));
}

bool AgreedSite::is_alone() const noexcept {
  if (n_alone_ < kEvenHits && n_calls_alone_ < kEvenCalls) return false;
  return !is_behind_steps_ ||
         n_calls_alone_ >=
             std::max<uint64_t>(kFewestBehind, uint64_t{kTimesBehind} * longest_alone_);
}

StepProposal AgreedSite::take_wish() noexcept {
  const StepProposal wish = wish_;
  wish_ = {};
  return wish;
}

// Since its last look, this rank made a sixteenth of its calls at most, and rank 0 its proposal.
bool AgreedSite::fits(const StepProposal& proposal, uint64_t hits) noexcept {
  const uint64_t first = proposal.first / proposal.every, then = proposed_at(first);
  const uint64_t steps = hits / proposal.every;
  return first > kAhead && steps < first && steps + kApart >= then &&
         steps - steps / kPart <= then + kApart;
}

bool AgreedSite::agree(const StepProposal& proposal, uint32_t site, uint64_t hits) noexcept {
  const bool again = is_about(proposal);
  if (again && !has_agreed()) return true;  // refused already
  const bool agrees = site != kNone && fits(proposal, hits);
  if (agrees && again) return true;
  identity_ = proposal.identity;
  first_ = proposal.first;
  every_ = proposal.every;
  site_ = agrees ? site : kNone;
  closes_ = is_first_ = false;
  return agrees;
}

void AgreedSite::refuse() noexcept {
  if (has_agreed() && in_finder_ != StepFinder::kNone) finder_.ignore(in_finder_);
  closes_ = is_first_ = false;
  site_ = kNone;
}

}  // namespace perfield
