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

}  // namespace

// Whether this rank may propose the site that it has hit, once its period is known.
bool AgreedSite::may_propose(uint64_t identity, uint16_t depth, uint8_t* in_finder) noexcept {
  *in_finder = finder_.number_of(identity, depth, false, *in_finder);
  const uint8_t before = finder_.chosen();
  finder_.met(*in_finder);
  if (finder_.chosen() != before) n_alone_ = n_calls_around_ = 0;
  ++n_calls_alone_;
  ++n_calls_around_;
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
  wish_for(identity, hits, every);
  in_finder_ = finder_.chosen();
  finder_.keep_chosen();
  return true;
}

// From a step on before which each rank looks twice. The hits come as lately, or as in the whole
// run.
void AgreedSite::wish_for(uint64_t identity, uint64_t hits, uint64_t every) noexcept {
  const uint64_t unseen = pause() - 1;
  const auto passed = [unseen](uint64_t n, uint64_t calls) {
    return calls ? unseen * n / calls : 0;
  };
  const uint64_t between =
      std::max(passed(n_alone_, n_calls_around_), passed(hits, n_calls_)) / every;
  wish_ = {identity, every * (hits / every + 2 * between + kAhead), 0, every, between};
}

uint32_t AgreedSite::pause() const noexcept { return n_calls_ < kEachTime ? 1 : n_calls_ / kPart; }

HitAnswer AgreedSite::answer(uint32_t site, uint64_t hits, bool wishes) noexcept {
  bool asks = wishes;
  if (proposes_ && closes_ && site == site_ && hits == every_ * kAgain * proposed_at_) {
    wish_for(identity_, hits, every_);
    asks = true;
  }
  if (++n_calls_ == next_look_) {
    next_look_ += pause();
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
             std::max<uint64_t>(kFewestBehind, uint64_t{kTimesBehind} * second_longest_);
}

StepProposal AgreedSite::take_wish() noexcept {
  const StepProposal wish = wish_;
  wish_ = {};
  return wish;
}

// Since its last look, this rank made so many steps at most, and rank 0 its proposal.
bool AgreedSite::fits(const StepProposal& proposal, uint64_t hits) noexcept {
  const uint64_t first = proposal.first / proposal.every, then = proposal.made_at();
  const uint64_t steps = hits / proposal.every;
  return then > 0 && steps < first && steps + kApart >= then &&
         steps <= then + proposal.between + kApart;
}

uint64_t StepProposal::made_at() const noexcept {
  const uint64_t ahead = 2 * between + kAhead, step = first / every;
  return step > ahead ? step - ahead : 0;
}

bool AgreedSite::agree(const StepProposal& proposal, uint32_t site, uint64_t hits) noexcept {
  const bool again = is_about(proposal);
  if (again && !has_agreed()) return true;  // refused already
  const bool agrees = site != kNone && fits(proposal, hits);
  if (agrees && again) return true;
  identity_ = proposal.identity;
  first_ = proposal.first;
  every_ = proposal.every;
  proposed_at_ = proposal.made_at();
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
