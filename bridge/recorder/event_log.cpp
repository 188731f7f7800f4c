// SPDX-License-Identifier: BSD-3-Clause
//
// event_log.cpp - see event_log.hpp.
#include "recorder/event_log.hpp"

#include <algorithm>

#include "platform/pages.hpp"
#include "recorder/thread_profile.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
// A token: the log's number, and the place of the event in it. kTokenOfRow is not set.
constexpr int kPlaceBits = 15;
static_assert(EventLog::kCapacity <= 1u << kPlaceBits);

// While one lives, a thread says that it may write to the log. It says so first and then looks
// whether there is one; the closing thread ends the log first and then asks who writes.
class Writing {
 public:
  explicit Writing(ThreadProfile& profile) noexcept : profile_(profile) {
    profile_.in_log.store(true, std::memory_order_seq_cst);
  }
  ~Writing() { profile_.in_log.store(false, std::memory_order_release); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  ThreadProfile& profile_;
};

}  // namespace

EventLog::~EventLog() {
  if (events_) munmap(events_, kBytes);
}

uint32_t EventLog::add(ThreadProfile& profile, const LoggedEvent& event) noexcept {
  const Writing writing(profile);
  if (!activity_.logs(std::memory_order_seq_cst)) return 0;
  const uint64_t place = next_.fetch_add(1, relaxed);
  if (place >= kCapacity) {
    uint64_t none = 0;
    lost_begin_.compare_exchange_strong(none, event.begun, relaxed);
    lost_end_.store(event.wait_end ? event.wait_end : event.begun, relaxed);
    return 0;
  }
  events_[place] = event;
  events_[place].thread = uint8_t(profile.number);
  return epoch_.load(relaxed) << kPlaceBits | uint32_t(place);
}

bool EventLog::end_send(ThreadProfile& profile, uint32_t token, uint64_t wait_begin,
                        uint64_t wait_end, bool* own) noexcept {
  const Writing writing(profile);
  const uint32_t place = token & ((1u << kPlaceBits) - 1);
  if (!activity_.logs(std::memory_order_seq_cst) || token >> kPlaceBits != epoch_.load(relaxed) ||
      place >= kCapacity)
    return false;
  LoggedEvent& event = events_[place];
  event.wait_begin = wait_begin;
  event.wait_end = wait_end;
  *own = event.thread == uint8_t(profile.number);
  return true;
}

void EventLog::begin(uint64_t step) noexcept {
  if (is_of(step)) return;
  if (!events_) {
    void* const memory = map_pages(kBytes);
    if (!memory) return;
    events_ = static_cast<LoggedEvent*>(memory);
  }
  step_ = step;
  next_.store(0, relaxed);
  lost_begin_.store(0, relaxed);
  lost_end_.store(0, relaxed);
  const uint32_t epoch = epoch_.load(relaxed);
  epoch_.store(epoch < 0xFFFF ? epoch + 1 : 1, relaxed);
  has_begun_ = true;
  activity_.messages.fetch_or(Activity::logged, std::memory_order_seq_cst);
}

EventLog::Taken EventLog::stopped(bool late) noexcept {
  const uint64_t all = next_.load(relaxed);
  Taken taken{events_, uint32_t(std::min<uint64_t>(all, kCapacity))};
  most_ = std::max<uint64_t>(most_, taken.n);
  if (late) taken.n = 0;
  taken.lost = all - taken.n;
  taken.lost_begin = lost_begin_.load(relaxed);
  taken.lost_end = lost_end_.load(relaxed);
  all_lost_ += taken.lost;
  return taken;
}

}  // namespace perfield
