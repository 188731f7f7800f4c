// SPDX-License-Identifier: BSD-3-Clause
//
// one_sided.cpp - see one_sided.hpp. Both sides count epochs, so their numbers match them. Locks
// have no numbers: of each rank and window, events are walked in the order of time, and a lock
// belongs to the next unlock of the same rank. For whom a lock waited follows from when others
// unlocked.
#include "waits/one_sided.hpp"

#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "format/calls.h"
#include "format/peers.h"

namespace perfield::waits {
namespace {

constexpr int kMostLookedAt = 64;  // unlocks during one wait, from the last one back
constexpr int64_t kNone = -1;
constexpr double kFarApart = 1e18;  // ns

// A lock from its lock call to its unlock.
struct Hold {
  uint32_t window;
  int32_t rank, target;  // of the window that is locked; kEveryPeer
  bool is_exclusive = false;
  int64_t proven = kUnknown;  // when the first flush under it ended: the rank had the lock by then
  int64_t locked = kNone, unlocked = kNone;  // events
};

class OneSided {
 public:
  OneSided(const Event* events, const uint32_t* of_windows, size_t n, const Clocks& clocks)
      : events_(events), of_windows_(of_windows, of_windows + n), clocks_(clocks) {}

  std::vector<InWindow> find() {
    match_epochs();
    walk();
    index_unlocks();
    for (const Query& query : queries_) answer(query);
    return std::move(found_);
  }

 private:
  const Event& at(int64_t event) const { return events_[size_t(event)]; }

  // ---- epochs: post, start, complete, wait ----
  struct Epoch {
    uint64_t ranks, number;  // origin and target, window and number
    size_t event;
    bool operator<(const Epoch& other) const {
      return std::tie(ranks, number, event) < std::tie(other.ranks, other.number, other.event);
    }
    bool is_same(const Epoch& other) const {
      return ranks == other.ranks && number == other.number;
    }
  };

  void match_epochs() {
    std::vector<Epoch> epochs;
    for (const uint32_t i : of_windows_) {
      const Event& e = events_[i];
      if (e.kind != kSynchronisation || !bounds_epoch(e.call)) continue;
      if (e.call == PERFIELD_CALL_win_post || e.peer == e.rank)
        found_.push_back({i, kNone, InWindow::kNobody});
      else if (!clocks_.has(e.peer) || !e.channel || !e.number)
        found_.push_back({i});
      if (!clocks_.has(e.peer) || e.peer == e.rank || !e.channel || !e.number) continue;
      const bool is_origin =
          e.call == PERFIELD_CALL_win_start || e.call == PERFIELD_CALL_win_complete;
      const int32_t origin = is_origin ? e.rank : e.peer, target = is_origin ? e.peer : e.rank;
      epochs.push_back(
          {uint64_t(origin) << 32 | uint32_t(target), uint64_t(window_of(e)) << 32 | e.number, i});
    }
    std::sort(epochs.begin(), epochs.end());
    for (size_t first = 0, last; first < epochs.size(); first = last) {
      for (last = first + 1; last < epochs.size() && epochs[last].is_same(epochs[first]);) ++last;
      classify_epoch(&epochs[first], last - first);
    }
  }

  static uint32_t window_of(const Event& e) {
    const bool ends = e.call == PERFIELD_CALL_win_complete || e.call == PERFIELD_CALL_win_wait;
    return e.kind == kSynchronisation && ends ? other_end_of_epoch(e.channel) : e.channel;
  }

  void classify_epoch(const Epoch* epochs, size_t n) {
    int64_t of_call[4] = {kNone, kNone, kNone, kNone};
    bool clashes = false;
    for (size_t k = 0; k < n; ++k) {
      int64_t& event = of_call[events_[epochs[k].event].call - PERFIELD_CALL_win_start];
      clashes = clashes || event != kNone;
      event = int64_t(epochs[k].event);
    }
    const int64_t post = of_call[PERFIELD_CALL_win_post - PERFIELD_CALL_win_start];
    const int64_t complete = of_call[PERFIELD_CALL_win_complete - PERFIELD_CALL_win_start];
    for (size_t k = 0; k < n; ++k) {
      const size_t event = epochs[k].event;
      const uint16_t call = events_[event].call;
      if (call == PERFIELD_CALL_win_post) continue;
      const int64_t late = call == PERFIELD_CALL_win_wait ? complete : post;
      InWindow found{event};
      found.gap = clashes ? kClash : kNoPartner;
      if (!clashes && late != kNone) {
        found.late = late;
        found.answer = call == PERFIELD_CALL_win_wait ? InWindow::kLate : InWindow::kLateOrLeft;
        if (call == PERFIELD_CALL_win_start) post_of_[event] = late;
      }
      found_.push_back(found);
    }
  }

  // ---- what each rank did on each window, in the order of time ----
  struct Item {
    uint32_t window;
    int32_t rank;
    int64_t begun;
    size_t event;
    bool operator<(const Item& other) const {
      return std::tie(window, rank, begun, event) <
             std::tie(other.window, other.rank, other.begun, other.event);
    }
  };
  // An event that may have waited for the holder of a lock.
  struct Query {
    size_t event;
    int64_t hold;    // of its own rank; kNone: it is not known
    int32_t target;  // whose lock it needs; kEveryPeer
  };

  void walk() {
    std::vector<Item> items;
    for (const uint32_t i : of_windows_) {
      const Event& e = events_[i];
      if (e.channel && e.begun != kUnknown)
        items.push_back({window_of(e), e.rank, e.begun, i});
      else if (e.kind == kSynchronisation && !bounds_epoch(e.call))
        queries_.push_back({i, kNone, e.peer});
    }
    std::sort(items.begin(), items.end());
    std::map<int32_t, size_t> access;  // the start of the present epoch with each target
    std::map<int32_t, size_t> held;    // the present lock of each target's window
    for (size_t k = 0; k < items.size(); ++k) {
      if (k == 0 || items[k].window != items[k - 1].window || items[k].rank != items[k - 1].rank) {
        access.clear();
        held.clear();
      }
      const size_t event = items[k].event;
      const Event& e = events_[event];
      if (e.kind == kSend) {
        walk_transfer(event, access, held);
      } else if (is_of_lock(e.call)) {
        walk_lock(items[k], held);
      } else if (e.call == PERFIELD_CALL_win_start) {
        access[e.peer] = event;
      } else if (e.call == PERFIELD_CALL_win_complete) {
        access.erase(e.peer);
      } else if (!bounds_epoch(e.call)) {
        queries_.push_back({event, kNone, e.peer});
      }
    }
  }

  using ByTarget = std::map<int32_t, size_t>;

  void walk_transfer(size_t event, const ByTarget& access, const ByTarget& held) {
    const Event& e = events_[event];
    const auto start = access.find(e.peer);
    if (start != access.end()) {
      const auto post = post_of_.find(start->second);
      if (post == post_of_.end() || !has_wait(e)) return;
      const int64_t posted = at(post->second).begun;
      if (posted != kUnknown && posted > e.wait_begin &&
          is_before(posted, at(post->second).rank, e))
        found_.push_back({event, post->second, InWindow::kLateOrLeft});
      return;
    }
    const int64_t hold = hold_for(e.peer, held);
    if (hold != kNone) queries_.push_back({event, hold, e.peer});
  }

  void walk_lock(const Item& item, ByTarget& held) {
    const Event& e = events_[item.event];
    if (e.call == PERFIELD_CALL_lock) {
      held[e.peer] = holds_.size();
      queries_.push_back({item.event, int64_t(holds_.size()), e.peer});
      holds_.push_back({item.window, e.rank, e.peer, (e.flags & kExclusive) != 0, kUnknown,
                        int64_t(item.event), kNone});
      return;
    }
    const int64_t hold = hold_for(e.peer, held);
    queries_.push_back({item.event, hold, e.peer});
    if (e.call == PERFIELD_CALL_flush) {
      for (const auto& [target, of_target] : held)
        if ((e.peer == kEveryPeer || e.peer == target) && has_wait(e) &&
            holds_[of_target].proven == kUnknown)
          holds_[of_target].proven = e.wait_end;
    } else if (const auto own = held.find(e.peer); own != held.end()) {
      holds_[own->second].unlocked = int64_t(item.event);
      held.erase(own);
    }
  }

  // The present lock under which a rank reaches a target, or all of them.
  static int64_t hold_for(int32_t target, const ByTarget& held) {
    auto found = held.find(target);
    if (found == held.end()) found = held.find(kEveryPeer);
    if (found == held.end() && target == kEveryPeer && held.size() == 1) found = held.begin();
    return found == held.end() ? kNone : int64_t(found->second);
  }

  // ---- for whom locks waited ----
  struct Unlock {
    uint32_t window;
    int32_t target;
    int64_t begun;
    size_t hold;
    bool operator<(const Unlock& other) const {
      return std::tie(window, target, begun, hold) <
             std::tie(other.window, other.target, other.begun, other.hold);
    }
  };
  static constexpr int32_t kAnyTarget = kEveryPeer - 1;

  // Sorted by their time: of each target, of all, and of any.
  void index_unlocks() {
    for (size_t k = 0; k < holds_.size(); ++k) {
      const Hold& h = holds_[k];
      if (h.unlocked == kNone || !has_wait(at(h.locked)) || !has_wait(at(h.unlocked))) continue;
      for (const int32_t target : {h.target, kAnyTarget})
        unlocks_.push_back({h.window, target, at(h.unlocked).begun, k});
    }
    std::sort(unlocks_.begin(), unlocks_.end());
    double most = 0;
    for (int32_t rank = 0; clocks_.has(rank); ++rank)
      most = std::max(most, clocks_.uncertainty_of(rank));
    reach_ = int64_t(std::min(2 * most, kFarApart));
  }

  void answer(const Query& query) {
    const Event& e = events_[query.event];
    InWindow found{query.event};
    found.gap = e.call == PERFIELD_CALL_lock ? kNoHolder : kOtherCall;
    if (query.hold != kNone && has_wait(e) && !is_held(query.hold, e)) {
      const Hold& own = holds_[size_t(query.hold)];
      const int32_t target = query.target == kEveryPeer ? own.target : query.target;
      std::vector<Unlock> candidates;
      look_back(target == kEveryPeer ? kAnyTarget : target, own, e, &candidates);
      if (target != kEveryPeer) look_back(kEveryPeer, own, e, &candidates);
      if (!candidates.empty()) choose(candidates, e, &found);
    }
    if (found.late != kNone || e.kind == kSynchronisation) found_.push_back(found);
  }

  // Whether a rank is known to have its lock already when it calls.
  bool is_held(int64_t hold, const Event& e) const {
    const int64_t proven = holds_[size_t(hold)].proven;
    return proven != kUnknown && proven <= e.wait_begin;
  }

  // Of the last holders whose unlocks began during the wait, the very last.
  void choose(const std::vector<Unlock>& candidates, const Event& e, InWindow* found) const {
    const auto rank_of = [this](const Unlock& one) { return holds_[one.hold].rank; };
    const Unlock& last = *std::max_element(
        candidates.begin(), candidates.end(), [&](const Unlock& a, const Unlock& b) {
          const int32_t rank_a = rank_of(a), rank_b = rank_of(b);
          return std::tie(a.begun, rank_b, b.hold) < std::tie(b.begun, rank_a, a.hold);
        });
    found->late = holds_[last.hold].unlocked;
    found->answer = InWindow::kLate;
    // What lasts longer than that after its unlock may be another holder that no event shows.
    const int64_t until = std::max(last.begun, at(found->late).wait_end);
    const double waited = double(difference(std::min(last.begun, e.wait_end), e.wait_begin));
    found->is_bound = until<e.wait_end&& double(difference(e.wait_end, until))> waited;
    for (const Unlock& other : candidates) {
      const double lead = double(difference(last.begun, other.begun));
      if (rank_of(other) != rank_of(last) &&
          lead < clocks_.uncertainty_between(rank_of(other), rank_of(last)))
        found->is_sure = false;
    }
  }

  // The last holder of that target's lock who unlocked during the wait, and others who may have
  // been later, within the uncertainty of the clocks.
  void look_back(int32_t target, const Hold& own, const Event& e,
                 std::vector<Unlock>* candidates) const {
    const size_t n_before = candidates->size();
    auto unlock = std::upper_bound(
        unlocks_.begin(), unlocks_.end(),
        Unlock{own.window, target, latest_before(e), std::numeric_limits<size_t>::max()});
    for (int looked = 0; looked < kMostLookedAt && unlock != unlocks_.begin(); ++looked) {
      --unlock;
      if (unlock->window != own.window || unlock->target != target || unlock->begun <= e.wait_begin)
        return;
      const bool is_first = candidates->size() == n_before;
      if (!is_first && difference((*candidates)[n_before].begun, unlock->begun) > reach_) return;
      const Hold& other = holds_[unlock->hold];
      if (other.rank == own.rank || !(other.is_exclusive || own.is_exclusive) ||
          !is_before(unlock->begun, other.rank, e) || !held_before(other, e))
        continue;
      candidates->push_back(*unlock);
    }
  }

  // The last stamp of any rank that may lie before the end of that event's wait.
  int64_t latest_before(const Event& e) const {
    constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
    return e.wait_end > kLast - reach_ ? kLast : e.wait_end + reach_;
  }

  // Whether a moment of a rank may lie before the end of that event's wait.
  bool is_before(int64_t time, int32_t rank, const Event& e) const {
    return double(difference(time, e.wait_end)) <= clocks_.uncertainty_between(rank, e.rank);
  }

  // Whether the rank had its lock before the call got its own. Both conflict, and the rank unlocked
  // during the call. A lock call that lasts so long takes the lock, so locks of others do, too.
  // Where the call needs a lock that was requested before, the other one must be known to be older:
  // two ranks may both have requested it, and then wait in their unlock.
  bool held_before(const Hold& other, const Event& e) const {
    if (e.kind == kSynchronisation && e.call == PERFIELD_CALL_lock) return true;
    const double apart = clocks_.uncertainty_between(other.rank, e.rank);
    const auto is_surely_before = [apart](int64_t time, int64_t until) {
      return double(difference(time, until)) <= -apart;
    };
    return is_surely_before(at(other.locked).wait_end, e.wait_begin) &&
           ((other.proven != kUnknown && is_surely_before(other.proven, e.wait_begin)) ||
            is_surely_before(at(other.unlocked).wait_end, e.wait_end));
  }

  const Event* events_;
  const std::vector<uint32_t> of_windows_;
  const Clocks& clocks_;
  std::vector<InWindow> found_;
  std::unordered_map<size_t, int64_t> post_of_;  // of the event of a start
  std::vector<Hold> holds_;
  std::vector<Query> queries_;
  std::vector<Unlock> unlocks_;
  int64_t reach_ = 0;  // by how much the clocks of two ranks disagree at most, ns
};

}  // namespace

std::vector<InWindow> waits_in_windows(const Event* events, const uint32_t* of_windows, size_t n,
                                       const Clocks& clocks) {
  return OneSided(events, of_windows, n, clocks).find();
}

}  // namespace perfield::waits
