// SPDX-License-Identifier: BSD-3-Clause
//
// agreed_site.cpp - see agreed_site.hpp.
#include "recorder/agreed_site.hpp"

namespace perfield {
namespace {

// So many hits without a collective operation of all ranks, or one that ends so many calls.
constexpr uint32_t kEvenHits = 4, kEvenCalls = 128;
constexpr uint32_t kFewestBehind = 512, kTimesBehind = 16;  // calls, where these ended steps before
constexpr uint64_t kAgain = 4;  // times as many hits, then rank 0 asks again
constexpr uint64_t kApart = 2;  // hits by which ranks of a loop may be ahead of one another
// Ranks look for a proposal at each call at first, then after a sixteenth more calls each time.
constexpr uint32_t kEachTime = 64, kPart = 16;

// A rank that is ahead looks for the proposal once more before that hit.
constexpr uint64_t kAhead = 2 * kApart;
uint64_t first_after(uint64_t hits) { return hits + 2 * (hits / kPart) + kAhead; }
uint64_t proposed_at(uint64_t first) {
  if (first <= kAhead) return 0;
  uint64_t hits = (first - kAhead) / (kPart + 2) * kPart;
  for (uint32_t n = 0; n < kPart + 2 && first_after(hits) < first; ++n) ++hits;
  return hits;
}

}  // namespace

HitAnswer AgreedSite::met(uint32_t site, uint64_t identity, uint16_t depth, uint64_t hits,
                          uint8_t* in_finder) noexcept {
  bool asks = false;
  if (proposes_) {
    *in_finder = finder_.number_of(identity, depth, false, *in_finder);
    const uint8_t before = finder_.chosen();
    finder_.met(*in_finder);
    if (finder_.chosen() != before) n_alone_ = 0;
    ++n_calls_alone_;
    const bool is_chosen = *in_finder != StepFinder::kNone && *in_finder == finder_.chosen();
    n_alone_ += is_chosen;
    if (is_chosen && is_alone() && identity != identity_) {
      wish_ = {identity, first_after(hits)};
      in_finder_ = *in_finder;
      asks = true;
    }
  }
  if (proposes_ && closes_ && site == site_ && hits == kAgain * proposed_at(first_)) {
    wish_ = {identity, first_after(hits)};
    asks = true;
  }
  if (++n_calls_ == next_look_) {
    next_look_ += n_calls_ < kEachTime ? 1 : n_calls_ / kPart;
    asks = true;
  }
  is_first_ = site == site_ && !closes_ && hits >= first_;
  const bool closes = site == site_ && closes_;
  return HitAnswer((asks || is_first_ ? kHitAsks : 0) | (closes ? kHitCloses : 0));
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
  const uint64_t then = proposed_at(proposal.first);
  return proposal.first > kAhead && hits < proposal.first && hits + kApart >= then &&
         hits - hits / kPart <= then + kApart;
}

bool AgreedSite::agree(const StepProposal& proposal, uint32_t site, uint64_t hits) noexcept {
  const bool again = is_about(proposal);
  if (again && !has_agreed()) return true;  // refused already
  const bool agrees = site != kNone && fits(proposal, hits);
  if (agrees && again) return true;
  identity_ = proposal.identity;
  first_ = proposal.first;
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
